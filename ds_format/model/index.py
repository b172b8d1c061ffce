"""Indexes: one position, range or list for each dimension of an array.

Indexes of several dimensions select a grid (the outer product), even if several of them are lists.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Index = int | range | NDArray[np.int64]
"""An int removes its dimension. A range, or a 1-d array of positions, keeps it. All positions are 0 or more."""


def normalize(index: Any, shape: Sequence[int], names: Sequence[str] | None = None) -> tuple[Index, ...]:
    """Return an index as one item per dimension, after a check of all positions.

    Parameters
    ----------
    index : int, slice, list or array of int or bool, Ellipsis, or a tuple of these
        Negative positions count from the end. All positions of dimensions without an item are selected.
    shape : sequence of int
    names : sequence of str, optional
        Names of the dimensions, for messages.

    Raises
    ------
    IndexError
        If a position is out of bounds, an item is not an index, or there are more items than dimensions.
    """
    items = list(index) if isinstance(index, tuple) else [index]
    n_ellipsis = sum(item is Ellipsis for item in items)
    if n_ellipsis > 1:
        raise IndexError("an index can have only one ellipsis")
    if len(items) - n_ellipsis > len(shape):
        raise IndexError(f"found {len(items) - n_ellipsis} indexes, expected at most {len(shape)}, one per dimension")
    whole = [slice(None)] * (len(shape) - len(items) + n_ellipsis)
    at = next((i for i, item in enumerate(items) if item is Ellipsis), len(items))
    items[at : at + n_ellipsis] = whole
    labels = [str(axis) for axis in range(len(shape))] if names is None else [f'"{name}"' for name in names]
    return tuple(map(normalize_one, items, shape, labels))


def normalize_one(item: Any, n: int, axis: str) -> Index:
    """Return one item of an index, after a check of all positions.

    Parameters
    ----------
    item : int, slice, range, or list or array of int or bool
    n : int
        Size of the dimension.
    axis : str
        Name of the dimension in messages.

    Raises
    ------
    IndexError
        If a position is out of bounds, or the item is not an index.
    """
    if isinstance(item, slice):
        return range(n)[item]
    if isinstance(item, (bool, np.bool_)):
        raise IndexError(f"found {item} as index of dimension {axis}, expected a position, a slice or a list")
    if not isinstance(item, range) and not np.ndim(item):
        try:
            return _position(operator.index(item), n, axis)
        except TypeError:
            raise IndexError(
                f"found {item!r} as index of dimension {axis}, expected a position, a slice or a list"
            ) from None
    array = np.asarray(item)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iub"):
        raise IndexError(
            f"found {array.ndim}-d {array.dtype} as index of dimension {axis}, expected a list of positions"
        )
    if array.dtype.kind == "b":
        if array.size != n:
            raise IndexError(f"found {array.size} booleans as index of dimension {axis}, expected {n}")
        return np.flatnonzero(array).astype(np.int64)
    positions = array.astype(np.int64)
    if positions.size:
        _position(int(positions.min()), n, axis)
        _position(int(positions.max()), n, axis)
    return np.where(positions < 0, positions + n, positions)


def _position(i: int, n: int, axis: str) -> int:
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for dimension {axis} of size {n}")
    return i + n if i < 0 else i


def shape_of(index: Sequence[Index]) -> tuple[int, ...]:
    """Return the shape of the part that a normalized index selects."""
    return tuple(len(item) for item in index if not isinstance(item, int))


def is_whole(index: Sequence[Index], shape: Sequence[int]) -> bool:
    """Return whether a normalized index selects the whole array, in its order."""
    return all(isinstance(item, range) and item == range(n) for item, n in zip(index, shape, strict=True))


def count(item: Index) -> int:
    """Return the number of positions that one item of a normalized index selects."""
    return 1 if isinstance(item, int) else len(item)


def bounds(item: Index) -> tuple[int, int]:
    """Return the minimum position of a non-empty item, and its maximum plus one."""
    if isinstance(item, int):
        return item, item + 1
    if isinstance(item, range):
        return min(item[0], item[-1]), max(item[0], item[-1]) + 1
    return int(item.min()), int(item.max()) + 1


def take(array: Any, index: Sequence[Index]) -> Any:
    """Apply a normalized index to an array in memory. It selects a grid.

    Returns
    -------
    ndarray or MaskedArray
        It may be a view of `array`. For a single value, it does not have dimensions.
    """
    basic = tuple(
        as_slice(item) if isinstance(item, range) else item if isinstance(item, int) else slice(None) for item in index
    )
    out = array[(*basic, ...)]
    axis = 0
    for item in index:
        if isinstance(item, np.ndarray):
            out = out.take(item, axis=axis)
        axis += not isinstance(item, int)
    return out


def as_slice(item: range) -> slice:
    """Return the slice that selects the same positions as a range.

    A slice that goes backwards to the first position does not have an end.
    """
    if not item:
        return slice(0, 0)
    return slice(item.start, None if item.stop < 0 else item.stop, item.step)


def shifted(item: Index, start: int) -> Index:
    """Return one item of an index for an array that begins at position `start` of the dimension."""
    if isinstance(item, range):
        return range(item.start - start, item.stop - start, item.step)
    return item - start


def flat_positions(index: Sequence[Index], shape: Sequence[int]) -> NDArray[np.int64]:
    """Return the flat positions, in an array in C order, of the values that a normalized index selects.

    Returns
    -------
    (N,) int64
        In C order of the selected part; a single 0 for an array without dimensions.
    """
    positions = np.zeros(1, np.int64)
    for item, n in zip(index, shape, strict=True):
        along = np.array([item] if isinstance(item, int) else item, np.int64)
        positions = (positions[:, None] * n + along).reshape(-1)
    return positions


def split_axis(index: Sequence[Index], shape: Sequence[int], item_size: int, seek_size: int) -> int:
    """Return the axis along which a part of an array in C order is read at the lowest cost.

    There is one read for each combination of positions along the dimensions before the axis. It covers the axis from
    the minimum to the maximum position, and all positions of the dimensions after it.

    Parameters
    ----------
    index : sequence of Index
        One non-empty item per dimension.
    shape : sequence of int
    item_size : int
        Bytes of one stored value.
    seek_size : int
        Cost of one read, in bytes that could be read in the same time.

    Returns
    -------
    int
    """
    best, best_cost, n_reads = 0, math.inf, 1
    for axis, item in enumerate(index):
        first, last = bounds(item)
        size = (last - first) * math.prod(shape[axis + 1 :]) * item_size
        cost = n_reads * (size + seek_size)
        if cost < best_cost:
            best, best_cost = axis, cost
        n_reads *= count(item)
    return best
