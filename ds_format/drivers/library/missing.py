"""Missing values: sentinels in a file ↔ a mask in memory."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...codec import parallel

BLOCK = 256 * 1024
"""Values that are looked through at a time; they stay in the caches of a core."""

FILL_ATTRIBUTE = "_FillValue"
SENTINEL_ATTRIBUTES = (FILL_ATTRIBUTE, "missing_value")
VALUE_ATTRIBUTES = (*SENTINEL_ATTRIBUTES, "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks")
"""Attributes whose plain Python numbers are meant in the type of the variable (CF conventions)."""

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
"""What the NetCDF library fills values with that nobody wrote (`NC_FILL_...` in netcdf.h)."""

Sentinels = list[np.generic]
"""Distinct values that mean "missing", of the dtype of the variable; the first is the one to write."""


@cache
def default_fill(dtype: np.dtype[Any]) -> np.generic:
    """Return what the NetCDF library pre-fills numbers of a type with."""
    fill: np.generic = dtype.type(DEFAULT_FILLS[dtype.str[1:]])
    return fill


def candidates(dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return numbers that may stand for missing ones, the best first; of the types up to 2 bytes all there are."""
    default = np.array([default_fill(dtype)], dtype=dtype)
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
        By unescaped name.
    dtype : dtype
        Of the values in the file.
    is_filled : bool
        Whether the library pre-fills the variable, so that without a `_FillValue` the default one means "missing".
    """
    found: Sentinels = []
    for name in SENTINEL_ATTRIBUTES:
        if name in attributes:
            found += fitting(attributes[name], dtype)
    if is_filled and FILL_ATTRIBUTE not in attributes:
        found.append(default_fill(dtype))
    if len(found) < 2:
        return found
    distinct: Sentinels = []
    for value in found:
        if not any(is_value(np.asarray(value), known) for known in distinct):
            distinct.append(value)
    return distinct


def fitting(value: Any, dtype: np.dtype[Any]) -> Sentinels:
    """Return those of an attribute's numbers that are possible values of a dtype.

    Real numbers are rounded to it: a `missing_value` in double precision is meant for single precision values too.
    """
    if type(value) is dtype.type:
        return [value]
    given = np.atleast_1d(np.asarray(value))
    if given.dtype.kind not in "fiub" or given.ndim != 1:
        return []
    with np.errstate(invalid="ignore", over="ignore"):
        cast = given.astype(dtype)
        if dtype.kind == "f":
            is_fit = np.isfinite(cast) | ~np.isfinite(given)
        else:
            # a value beyond the range does not survive the way there and back
            is_fit = (cast.astype(given.dtype) == given) & ((cast < 0) == (given < 0))
    return list(cast[is_fit])


def is_value(values: NDArray[Any], sentinel: np.generic) -> Any:
    """Return where values equal a sentinel; NaN equals NaN."""
    if sentinel.dtype.kind == "f" and np.isnan(sentinel):
        return np.isnan(values)
    return values == sentinel


def count(values: NDArray[Any], found: Sentinels) -> tuple[NDArray[np.bool_] | None, list[int]]:
    """Return the mask of values that mean "missing" (None if there are none), and how many are of each sentinel."""
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
    """Return what `count` does, by several threads, and without touching memory for a mask that nobody needs."""
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

    parallel.each(work, flat.size, BLOCK)
    sums = [sum(n for k, n in counts if k == i) for i in range(len(found))]
    return mask.reshape(values.shape) if counts else None, sums


def filled(values: NDArray[Any], mask: NDArray[np.bool_], found: Sentinels) -> NDArray[Any]:
    """Return values with a sentinel wherever the mask says so: the one that lies there already, or the first."""
    others = mask.copy()
    for sentinel in found:
        others &= ~np.asarray(is_value(values, sentinel))
    return np.where(others, found[0], values).astype(values.dtype, copy=False)
