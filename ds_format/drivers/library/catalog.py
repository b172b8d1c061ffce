"""The description of a file, and the facts that reading each variable needs.

The netCDF4 library and the codec of classic files describe a NetCDF file in the same form. The catalog of a format
makes metadata of a dataset from it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ...base.dtypes import TYPES, np
from ...base.text import escape
from ...codec.header import is_too_deep
from ...errors import DsError, UnsupportedError
from ...model.missing import Sentinels
from ..base import OBJECT_SIZE, Metadata

if TYPE_CHECKING:
    from numpy.typing import NDArray


class DescribedVariable(NamedTuple):
    """A variable."""

    name: str
    """With its groups."""
    dims: Sequence[str]
    """Names of its dimensions, each with the group that defines it."""
    shape: tuple[int, ...]
    """In the file, that is with the dimension of characters."""
    code: str
    """NumPy kind and size of numbers; `S1`: characters, `O`: strings of variable length, `V`: values with fields."""
    attributes: dict[str, Any]
    """By name; for the catalog to change."""
    strings: list[str]
    """Names of attributes that are one text of the type string, not characters; as well."""
    is_filled: bool
    """Whether the library fills it before it is written."""
    storage: dict[str, Any]
    """How it is stored, where that is not as by default; see `ds_format.drivers.netcdf.format`."""
    chunk: tuple[int, ...] | None
    place: Any
    """The object by which its values are read."""


class Refused(NamedTuple):
    """A variable that ds cannot hold."""

    name: str
    error: UnsupportedError
    dims: Sequence[str] = ()
    """As of `DescribedVariable`, if they are known."""
    code: str = ""


class DescribedGroup(NamedTuple):
    """A group."""

    prefix: str
    """Prefix of the names in it: `""` for the root, `"g/"`, `"g/h/"`."""
    attributes: dict[str, Any]
    strings: list[str]
    """As of `DescribedVariable`."""


class DescribedFile(NamedTuple):
    """A file."""

    format: str
    dimensions: Sequence[tuple[str, int, bool]]
    """Names with groups, sizes, and whether they are unlimited."""
    groups: Sequence[DescribedGroup]
    """Outer ones first."""
    variables: Iterable[DescribedVariable | Refused]
    """Once."""
    enums: Sequence[tuple[str, dict[str, Any]]] = ()
    """Names of enum types, and the records of them."""


class FileVariable(NamedTuple):
    """A variable of a file, as reading needs it."""

    name: str
    type: str
    """ds type."""
    kind: str
    """How values are stored in the file, by the name that the format has for it."""
    shape: tuple[int, ...] | None
    """Shape of the ds variable; None: it has no data."""
    length: int | None
    """Characters along a last dimension of the file that make one string; None: there is no such dimension."""
    size: int
    """Bytes of one value in the file, about; of a string of fixed length, all of it."""
    chunk: tuple[int, ...] | None
    sentinels: Sentinels
    """In the type of the file."""
    mark: str | bytes | None
    """Text, or the bytes of characters, that mark a missing string."""
    is_decoded: bool = False
    """Whether the library returns text as `str`, not as the bytes of the file."""
    place: Any = None
    """The object by which its values are read: a netCDF4.Variable, the path of a dataset of HDF5, or the
    `ClassicVariable` of a classic file."""
    sought: NDArray[Any] | None = None
    """The sentinels in one array; None without any, or if the reader of values does not search for them."""
    growing: tuple[int, ...] = ()
    """Axes in the file that are unlimited, if one is not the first: there the netCDF4 library needs help."""
    extent: tuple[int, ...] | None = None
    """In the file, if the variable is known to be shorter there than its dimensions."""
    dtype: np.dtype[Any] | None = None
    """Dtype of values with fields, for which ds has no type."""

    @property
    def shape_in_file(self) -> tuple[int, ...]:
        """Shape with the dimension of characters; it has data."""
        shape = self.shape or ()
        return shape if self.length is None else (*shape, self.length)

    @property
    def memory_size(self) -> int:
        """Estimated bytes of one value in memory."""
        if self.dtype is not None:
            return self.size
        ds_type = TYPES[self.type]
        return self.size + OBJECT_SIZE if ds_type.is_string else max(self.size, ds_type.size)

    @property
    def may_be_missing(self) -> bool:
        """Whether something in the file means "missing"."""
        return bool(self.sentinels) or self.mark is not None


class Catalog:
    """Variables of a file, by their keys.

    Parameters
    ----------
    path : str
        For messages.
    skip_unsupported : bool
        Whether to leave out variables that ds cannot hold, with a warning.
    warn : callable
        Takes a message, a path and the name of a variable.

    Attributes
    ----------
    meta : Metadata
    variables : dict
        `FileVariable` of each.
    faults : dict
        Errors of variables that cannot be read.
    """

    def __init__(self, path: str, skip_unsupported: bool, warn: Callable[[str, str, str], None]):
        self.path = path
        self.meta: Metadata = {}
        self.variables: dict[str, FileVariable] = {}
        self.faults: dict[str, DsError] = {}
        self._skips = skip_unsupported
        self._warn = warn

    def add(self, variable: FileVariable, properties: dict[str, Any]) -> None:
        """Add a variable with its metadata."""
        key = escape(variable.name)
        self.variables[key], self.meta[key] = variable, properties

    def refuse(self, name: str, error: UnsupportedError) -> None:
        """Leave a variable out, or list it with the error that reading it raises."""
        if self._skips:
            self._warn(f"left out: {error.message}", self.path, name)
            return
        key = escape(name)
        self.faults[key] = error.at(path=self.path, variable=name)
        self.meta[key] = {".dims": [], ".size": None, ".type": None, ".missing": False}


def joinable(names: Iterable[str], variables: Iterable[tuple[Collection[str], str]]) -> frozenset[str]:
    """Return the dimensions along which characters are joined to byte strings, by the rule of xarray.

    Such a dimension is the last one of its variables, only characters have it, and no variable has its name.

    Parameters
    ----------
    names : iterable of str
        Names of all variables.
    variables : iterable of (collection of str, str)
        Dimensions and code of each.
    """
    last: set[str] = set()
    others = set(names)
    for dims, code in variables:
        own = [*dims]
        if code == "S1":
            last.update(own[-1:])
            own = own[:-1]
        others.update(own)
    return frozenset(last - others)


def split(name: str) -> tuple[str, str]:
    """Return the group of a name (`""` for the root) and the name inside of it."""
    group, _, base = name.rpartition("/")
    return group, base


def lineage(name: str) -> list[str]:
    """Return the groups around a name, outermost first: `g` and `g/h` for `g/h/x`."""
    parts = name.split("/")[:-1]
    return ["/".join(parts[: i + 1]) for i in range(len(parts))]


def groups_of(names: Iterable[str], groups: Iterable[str]) -> list[str]:
    """Return groups in their order, then others around names, each once, and outer ones before those in them."""
    paths = (*(f"{group}/" for group in groups), *names)
    return list(dict.fromkeys(group for path in paths for group in lineage(path)))


@cache
def dtype_of(code: str) -> np.dtype[Any]:
    """Return the dtype of a code in native byte order."""
    return np.dtype(code)


BOOL_ATTRIBUTE = ("dtype", "bool")
"""Marks int8 values of NetCDF files as booleans, as xarray does it."""


def take_bool(attributes: dict[str, Any]) -> bool:
    """Remove the attribute that marks booleans, and return whether it was there."""
    name, value = BOOL_ATTRIBUTE
    is_marked = isinstance(attributes.get(name), str) and attributes[name] == value
    if is_marked:
        del attributes[name]
    return is_marked


MARKER_DEPTH = 4
"""Lists and objects of a marker that are around the values of attributes."""


def parse_marker(text: Any) -> dict[str, Any] | None:
    """Return the marker of this package from the text of its attribute; None if it is not a marker."""
    try:
        marker = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None
    return marker if isinstance(marker, dict) and not is_too_deep(marker, MARKER_DEPTH) else None


def decode_json(attributes: dict[str, Any], names: Any) -> None:
    """Decode the attributes of a list, which are JSON text. Attributes that are not valid JSON stay unchanged."""
    for name in names if isinstance(names, list) else []:
        with contextlib.suppress(KeyError, TypeError, ValueError, RecursionError):
            value = json.loads(attributes[name])
            if not is_too_deep(value):
                attributes[name] = value
