"""What part is wanted, by position or by value → one index for each dimension."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import modes, timeaxis
from ..dataset import META, attrs, dims
from ..errors import UnsupportedError
from ..names import escape, unescape
from ..packing import is_packed, unpack
from .index import normalize_one


def resolve(
    sel: Mapping[str, Any] | None,
    range_: Mapping[str, Any] | None,
    at: Mapping[str, Any] | None,
    between: Mapping[str, Any] | None,
    meta: Mapping[str, Mapping[str, Any]],
    values: Callable[[str], Any],
    path: str | None = None,
) -> dict[str, Any]:
    """Return one index per dimension from all the ways to say what is wanted.

    Where several speak of one dimension, the positions that all of them want are taken, and the dimension is kept.

    Parameters
    ----------
    sel : dict, optional
        Dimension name → int (which removes the dimension), slice, or list or (n,) array of int or bool.
    range_ : dict, optional
        Dimension name → (first, end): positions from `first` up to but without `end`. Negative ones count from the end,
        None is open, and an end beyond the size is the size.
    at : dict, optional
        Name of a 1-d variable → value, or list of values: the positions of the values nearest to these, the first of
        several. One value removes the dimension. Text for a variable of numbers is a time in ISO 8601. Packed numbers
        are compared as what they stand for.
    between : dict, optional
        Name of a 1-d variable → (low, high): positions where low ≤ value < high; None is open.
    meta : dict
        Key → metadata with `.size`, and `.dims` unless they are generated.
    values : callable
        Key → the data of that variable.
    path : str, optional
        The file, for messages.

    Returns
    -------
    dict
        Dimension name → index, as `index.normalize` takes it.

    Raises
    ------
    IndexError
        If positions are out of bounds.
    UnsupportedError
        If a selector is none, or a variable has not one dimension or no value that could be near.
    MissingError
        For a dimension or variable that does not exist, in strict mode; else it is left out.
    """
    sizes = dim_sizes(meta)
    wanted: dict[str, list[Any]] = {}

    def want(dim: str, index: Any) -> None:
        if dim in sizes:
            wanted.setdefault(dim, []).append(index)
        else:
            modes.missing(f'dimension "{dim}" not found', path=path, meant=(dim, sizes), selects=True)

    for dim, index in (sel or {}).items():
        want(dim, index)
    for dim, limits in (range_ or {}).items():
        want(dim, slice(*_limits(limits, dim)))
    for find, told in ((nearest, at), (within, between)):
        for name, value in (told or {}).items():
            key = escape(name)
            if key not in meta or key == META:
                known = [unescape(other) for other in meta if other != META]
                modes.missing(f'variable "{name}" not found', path=path, meant=(name, known), selects=True)
                continue
            names = dims(key, meta[key], len(meta[key].get(".size") or ()))
            if len(names) != 1:
                raise UnsupportedError(f"found {len(names)} dimensions, expected one to select by", variable=name)
            try:
                want(names[0], find(_physical(values(key), meta[key]), value, attrs(meta[key])))
            except UnsupportedError as error:
                raise error.at(variable=name)
    return {dim: _intersection(indexes, sizes[dim], dim) for dim, indexes in wanted.items()}


def _physical(data: Any, entry: Mapping[str, Any]) -> Any:
    """Return what data stand for, if they are packed."""
    return unpack(data, entry) if is_packed(entry, np.ma.getdata(data).dtype.name) else data


def dim_sizes(meta: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """Return the size of each dimension of variables with data, by its name."""
    sizes: dict[str, int] = {}
    for key, entry in meta.items():
        size = entry.get(".size")
        if key != META and size:
            sizes.update(zip(dims(key, entry, len(size)), size, strict=True))
    return sizes


def _limits(limits: Any, name: str) -> tuple[Any, Any]:
    try:
        low, high = limits
    except (TypeError, ValueError):
        raise UnsupportedError(f"found {limits!r}, expected a pair of limits", variable=name) from None
    return low, high


def _intersection(indexes: Sequence[Any], n: int, dim: str) -> Any:
    if len(indexes) == 1:
        return indexes[0]
    positions = [np.unique(np.r_[normalize_one(index, n, f'"{dim}"')].astype(np.int64)) for index in indexes]
    return functools.reduce(np.intersect1d, positions)


def nearest(data: Any, value: Any, attributes: Mapping[str, Any]) -> int | NDArray[np.int64]:
    """Return the position of the value nearest to `value`, or the sorted positions nearest to each of several.

    Parameters
    ----------
    data : (n,) array or MaskedArray
    value : number, str, date, or list of these
        Text stands for a time in ISO 8601, unless the data are text, which it must equal.
    attributes : dict
        Of the variable: `units` and `calendar` tell how times are counted.
    """
    asked = [value] if np.ndim(value) == 0 else list(value)
    array = np.ma.asanyarray(data)
    found = {_nearest_one(array, _in_units(one, array, attributes), one) for one in asked}
    positions = np.array(sorted(found), np.int64)
    return int(positions[0]) if len(asked) == 1 else positions


def _nearest_one(array: Any, value: Any, told: Any) -> int:
    if array.dtype.kind in "OT":
        equal = np.flatnonzero(np.ma.filled(array == value, False))
        if not equal.size:
            raise UnsupportedError(f"no value equals {told!r}")
        return int(equal[0])
    distance = np.ma.masked_invalid(np.abs(array.astype(np.float64) - value))
    if not distance.count():
        raise UnsupportedError(f"no value to be near to {told!r}")
    return int(distance.argmin())


def within(data: Any, limits: Any, attributes: Mapping[str, Any]) -> NDArray[np.int64]:
    """Return the positions of values from a lower limit up to but without an upper one; see `nearest`."""
    low, high = _limits(limits, "between")
    array = np.ma.asanyarray(data)
    chosen = ~np.ma.getmaskarray(array)
    plain = np.ma.getdata(array)
    if low is not None:
        chosen[chosen] = plain[chosen] >= _in_units(low, array, attributes)
    if high is not None:
        chosen[chosen] = plain[chosen] < _in_units(high, array, attributes)
    return np.flatnonzero(chosen).astype(np.int64)


def _in_units(value: Any, array: Any, attributes: Mapping[str, Any]) -> Any:
    """Return a value to compare an array with: a time in the units of the array."""
    text = isinstance(value, (str, datetime.date, np.datetime64))
    if array.dtype.kind in "OT":
        if not isinstance(value, (str, bytes)):
            raise UnsupportedError(f"found {value!r}, expected text as the values are")
        return value
    if not text:
        if isinstance(value, bytes) or np.ndim(value) or not np.issubdtype(np.asarray(value).dtype, np.number):
            raise UnsupportedError(f"found {value!r}, expected a number")
        return value
    if not timeaxis.is_time(attributes):
        raise UnsupportedError(f"found {value!r}, but the variable has no units of time")
    try:
        return timeaxis.from_iso(str(value), attributes["units"], attributes.get("calendar"))
    except ValueError as error:
        raise error if isinstance(error, UnsupportedError) else UnsupportedError(str(error)) from None
