"""Missing values: sentinels in a file ↔ a mask in memory."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from ..base.dtypes import TypedNumbers, np
from ..errors import NotInHeaderError
from .conventions import is_unsigned

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 256 * 1024
"""Values that are compared at a time, few enough for the caches of a core."""

FILL_ATTRIBUTE = "_FillValue"
SENTINEL_ATTRIBUTES = (FILL_ATTRIBUTE, "missing_value")
VALUE_ATTRIBUTES = (*SENTINEL_ATTRIBUTES, "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks")
"""Attributes whose plain Python numbers are converted to the type of the variable (CF conventions)."""

DEFAULT_FILLS = {
    "i1": -127,
    "u1": 255,
    "i2": -32767,
    "u2": 65535,
    "i4": -2147483647,
    "u4": 4294967295,
    "i8": -9223372036854775806,
    "u8": 18446744073709551614,
    "f4": 9.969209968386869e36,
    "f8": 9.969209968386869e36,
}
"""Default fill values of the NetCDF library (`NC_FILL_...` in netcdf.h), which values have that were never written."""

Sentinels: TypeAlias = "list[np.generic]"
"""Distinct values that mean "missing", of the dtype of the variable. The first one is used for writing."""


@cache
def default_fill(dtype: np.dtype[Any]) -> np.generic:
    """Return the default fill value of the NetCDF library for a type of numbers; NaN for float16, which it lacks."""
    fill: np.generic = dtype.type(DEFAULT_FILLS.get(dtype.str[1:], np.nan))
    return fill


def candidates(dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return candidates for the number that means "missing", in order of preference.

    For types of at most 2 bytes, these are all their numbers.
    """
    default = np.array([default_fill(dtype)], dtype=dtype)
    if dtype == np.float16:
        every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
        return every[np.isfinite(every)][np.r_[-1, : np.isfinite(every).sum() - 1]]
    if dtype.kind == "f":
        return np.concatenate([default, -default, [np.finfo(dtype).max]]).astype(dtype)
    limits = np.iinfo(dtype)
    if dtype.itemsize <= 2:
        return np.concatenate([default, np.arange(limits.min, limits.max + 1).astype(dtype)])
    return np.concatenate([default, np.array([limits.min, limits.max, limits.max - 1], dtype=dtype)])


def sentinels(attributes: dict[str, Any], dtype: np.dtype[Any], is_filled: bool) -> Sentinels:
    """Return the values that mean "missing" in a variable of numbers.

    Parameters
    ----------
    attributes : dict
        Unescaped name → value.
    dtype : dtype
        Dtype of the values in the file.
    is_filled : bool
        Whether the library pre-fills the variable.
    """
    found: Sentinels = []
    for name in SENTINEL_ATTRIBUTES:
        if name in attributes:
            found += fitting(attributes[name], dtype)
    if is_filled and is_default_missing(attributes, dtype.kind):
        found.append(default_fill(dtype))
    if len(found) < 2:
        return found
    distinct: Sentinels = []
    for value in found:
        if not any(is_value(np.asarray(value), other) for other in distinct):
            distinct.append(value)
    return distinct


def is_default_missing(attributes: Mapping[str, Any], kind: str) -> bool:
    """Return whether the default fill value of a pre-filled variable means "missing".

    It does not where signed numbers represent unsigned ones, as in the netCDF4 library: 129 is a value of bytes.

    Parameters
    ----------
    attributes : dict
        Unescaped name → value.
    kind : str
        NumPy kind of the values in the file.
    """
    return FILL_ATTRIBUTE not in attributes and not (kind == "i" and is_unsigned(attributes))


def are_possible(attributes: dict[str, Any], code: str, is_filled: bool, *, is_scalar: bool) -> bool:
    """Return whether `sentinels` finds any, by attributes of `TypedNumbers`.

    Parameters
    ----------
    attributes, is_filled
        As of `sentinels`.
    code : str
        Kind and size of the values in the file.
    is_scalar : bool
        Whether the variable has no dimensions. Then there must be at most one.

    Raises
    ------
    NotInHeaderError
        If only `sentinels` can tell, or a scalar may have several.
    """
    n = 0
    for name in SENTINEL_ATTRIBUTES:
        value = attributes.get(name)
        if isinstance(value, TypedNumbers):
            if value.dtype.code != code:
                raise NotInHeaderError(f'the attribute "{name}" of another type')
            n += len(value.values) if isinstance(value.values, list) else 1
    n += is_filled and is_default_missing(attributes, code[0])
    if is_scalar and n > 1:
        raise NotInHeaderError("several numbers that mark a scalar as missing")
    return n > 0


def fitting(value: Any, dtype: np.dtype[Any]) -> Sentinels:
    """Return those numbers of an attribute that a dtype can represent.

    Floats are rounded, so that a `missing_value` in double precision applies to single precision values, too.
    """
    if type(value) is dtype.type:
        return [value]
    try:
        given = np.atleast_1d(np.asarray(value))
    except ValueError:  # lists of different lengths, which metadata in JSON may have
        return []
    if given.dtype.kind not in "fiub" or given.ndim != 1:
        return []
    with np.errstate(invalid="ignore", over="ignore"):
        cast = given.astype(dtype)
        if dtype.kind == "f":
            is_fit = np.isfinite(cast) | ~np.isfinite(given)
        else:
            # a value outside of the range changes when it is converted there and back
            is_fit = (cast.astype(given.dtype) == given) & ((cast < 0) == (given < 0))
    return list(cast[is_fit])


def in_type_of_variable(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a number or list of numbers in the dtype of a variable; unchanged if it cannot represent all of them."""
    fits = fitting(value, dtype)
    if not fits or len(fits) != np.size(value):
        return value
    return np.array(fits) if np.ndim(value) else fits[0]


def is_value(values: NDArray[Any], sentinel: np.generic) -> Any:
    """Return whether each value equals a sentinel. NaN equals NaN."""
    if sentinel.dtype.kind == "f" and np.isnan(sentinel):
        return np.isnan(values)
    return values == sentinel


def count(values: NDArray[Any], found: Sentinels) -> tuple[NDArray[np.bool_] | None, list[int]]:
    """Return the mask of missing values (None if no value is missing), and the number of values of each sentinel."""
    if found and values.size > BLOCK and values.flags.c_contiguous:
        return _count_in_blocks(values, found)
    mask: NDArray[np.bool_] | None = None
    counts = []
    for sentinel in found:
        hits = np.asarray(is_value(values, sentinel))
        counts.append(int(np.count_nonzero(hits)))
        if counts[-1]:
            mask = hits if mask is None else mask | hits
    return mask, counts


def _count_in_blocks(values: NDArray[Any], found: Sentinels) -> tuple[NDArray[np.bool_] | None, list[int]]:
    """Do the same as `count` in several threads. Memory of the mask is not touched if no value is missing."""
    flat, counts = values.reshape(-1), []
    mask = np.zeros(flat.size, np.bool_)

    def work(first: int, last: int) -> None:
        part = mask[first:last]
        for i, sentinel in enumerate(found):
            hits = is_value(flat[first:last], sentinel)
            n = int(np.count_nonzero(hits))
            if n:
                part |= hits
                counts.append((i, n))

    from ..base import threads

    threads.each(work, flat.size, BLOCK)
    sums = [sum(n for k, n in counts if k == i) for i in range(len(found))]
    return mask.reshape(values.shape) if counts else None, sums


def filled(values: NDArray[Any], mask: NDArray[np.bool_], found: Sentinels) -> NDArray[Any]:
    """Return values with a sentinel where the mask is set. A masked value that is a sentinel already is not changed."""
    others = mask.copy()
    for sentinel in found:
        others &= ~np.asarray(is_value(values, sentinel))
    return np.where(others, found[0], values).astype(values.dtype, copy=False)
