"""The types of a ds variable: ds name ↔ NumPy dtype ↔ bits per value ↔ has a byte order.

Nothing here imports NumPy, so that a header can be listed without it: modules that use it rarely have `np` from here.
"""

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "EXACT",
    "HDF5",
    "LIMITS",
    "MAX_COUNT",
    "NETCDF",
    "PACKED",
    "RECORDS",
    "TYPES",
    "TYPE_OF_CODE",
    "Type",
    "TypedNumbers",
    "np",
    "type_of_integers",
]


class _NumPy:
    """NumPy, which takes longer to load than most commands to run. It is loaded when something of it is used first."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(importlib.import_module("numpy"), name)
        setattr(self, name, found)  # later uses take no time
        return found


if not TYPE_CHECKING:
    np = _NumPy()


class Type(NamedTuple):
    """One row of the table."""

    name: str
    """Name in the property `.type` of a ds-1.0 header."""
    code: str
    """NumPy kind and item size without a byte order: `f8`, `?`; `O` for strings."""
    bits: int
    """Bits that one value takes in the body; for strings those of one length."""
    ordered: bool
    """Whether `.endian` applies: to values, and to the lengths of strings."""
    size: int
    """Bytes per value; 0 for booleans, of which eight share a byte."""
    is_number: bool
    """Whether each value takes a fixed number of whole bytes."""
    is_string: bool
    """Whether values are length-prefixed strings."""


def _row(name: str, code: str, bits: int, ordered: bool) -> Type:
    return Type(name, code, bits, ordered, bits // 8, code not in "?O", code == "O")


TYPES: dict[str, Type] = {
    row.name: row
    for row in (
        _row("float16", "f2", 16, True),
        _row("float32", "f4", 32, True),
        _row("float64", "f8", 64, True),
        _row("int8", "i1", 8, False),
        _row("int16", "i2", 16, True),
        _row("int32", "i4", 32, True),
        _row("int64", "i8", 64, True),
        _row("uint8", "u1", 8, False),
        _row("uint16", "u2", 16, True),
        _row("uint32", "u4", 32, True),
        _row("uint64", "u8", 64, True),
        _row("bool", "?", 1, False),
        _row("str", "O", 64, True),
        _row("unicode", "O", 64, True),
    )
}
"""The types of ds-1.0, by name."""

TYPE_OF_CODE: dict[str, Type] = {row.code: row for row in TYPES.values() if not row.is_string}
"""The types of ds-1.0 by NumPy kind and item size."""


COMPOUND = "compound"
"""Type of variables of a NetCDF file whose values have fields, which reading returns as structured arrays.
ds files do not have it."""


MAX_COUNT = 2**62
"""Maximum number of values along an axis, and of chunks of a shape, written or not."""


EXACT = 1 << 53
"""float64 represents all integers up to this one."""


LIMITS = {"int64": (-1 << 63, (1 << 63) - 1), "uint64": (0, (1 << 64) - 1), "float64": (-EXACT, EXACT)}
"""Type → minimum and maximum of the range of integers that it represents exactly."""


def type_of_integers(low: int, high: int, names: Iterable[str]) -> str | None:
    """Return the first of some `LIMITS` that represents all integers from `low` to `high` exactly, or None.

    Examples
    --------
    >>> from ds_format.base.dtypes import type_of_integers
    >>> (
    ...     type_of_integers(0, 1 << 63, ["int64", "uint64"]),
    ...     type_of_integers(-1, 1 << 63, ["int64", "uint64"]),
    ... )
    ('uint64', None)
    """
    return next((name for name in names if LIMITS[name][0] <= low and high <= LIMITS[name][1]), None)


class TypedNumbers:
    """Numbers of an attribute without NumPy, in place of a scalar or an array of it.

    Attributes
    ----------
    values : int, float or list of these
    dtype : Type
        As stored.
    """

    __slots__ = ("dtype", "values")

    def __init__(self, values: Any, code: str):
        self.values = values
        self.dtype = TYPE_OF_CODE[code]

    def tolist(self) -> Any:
        """Return a list of numbers, or one number."""
        return self.values


NETCDF, HDF5 = RECORDS = (".netcdf", ".hdf5")
"""Properties with the storage of a variable in a NetCDF or HDF5 file; see `model.settings`."""
PACKED = "packed"
"""Setting in these properties: the variable is stored as packed numbers, which reading unpacks."""
