"""Parts of arrays as hyperslabs, which libraries read and write at the speed of the disk.

With strides and lists, libraries read value by value. Here an enclosing slab is read, and values are picked in memory.

Each variable of a netCDF-4 file grows separately along unlimited dimensions. Beyond its own extent, where only other
variables have grown, it has fill values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .base import BLOCK_SIZE

GAP_SIZE = 64 * 1024
"""Maximum bytes of a gap that is read and dropped. Skipping it needs another call of a library, which costs more than
skipping in a body."""

Slices = tuple[slice, ...]


class AxisRun(NamedTuple):
    """Requested positions of one axis that are read together."""

    source: slice
    """Range in the file."""
    target: slice
    """Range among the distinct positions of the axis."""
    pick: NDArray[np.int64] | None
    """Offsets of the requested positions in `source`; None for all of it."""


def slab_runs(shape: Sequence[int], start: int, stop: int) -> Iterator[Slices]:
    """Iterate over the fewest consecutive slabs that cover the positions `start` to `stop` of a C-ordered array."""
    inner = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    if not shape and start < stop:
        yield ()
        return
    while start < stop:
        axis = next(i for i, n in enumerate(inner) if start % n == 0 and stop - start >= n)
        index = np.unravel_index(start, shape)
        count = min((stop - start) // inner[axis], shape[axis] - int(index[axis]))
        yield (
            *(slice(int(i), int(i) + 1) for i in index[:axis]),
            slice(int(index[axis]), int(index[axis]) + count),
            *(slice(0, n) for n in shape[axis + 1 :]),
        )
        start += count * inner[axis]


def read_part(
    fetch: Callable[[Slices], NDArray[Any]],
    shape: Sequence[int],
    index: Sequence[Any],
    item_size: int,
    chunk: Sequence[int] | None,
) -> NDArray[Any]:
    """Return the part of an array selected by an index, read in few slabs.

    Parameters
    ----------
    fetch : callable
        Called with slices of step 1, one per dimension; returns this slab, of full rank.
    shape : sequence of int
    index : sequence
        One item per dimension: an int, which removes the dimension, a range, or an (N,) int64 array of positions.
    item_size : int
        Bytes of one value in the file.
    chunk : sequence of int, optional
        Chunk lengths of the file. Positions in the same chunk are read together.
    """
    axes, orders = _axes(shape, index, item_size, chunk)
    part = _assemble(fetch, axes)
    for axis, order in enumerate(orders):
        if order is not None:
            part = part.take(order, axis=axis)
    return part[tuple(0 if isinstance(item, (int, np.integer)) else slice(None) for item in index)]


def slabs_of(
    shape: Sequence[int], index: Sequence[Any], item_size: int, chunk: Sequence[int] | None
) -> Iterator[Slices]:
    """Iterate over the slabs that `read_part` fetches; parameters as for it."""
    axes, _ = _axes(shape, index, item_size, chunk)
    for runs in itertools.product(*axes):
        yield tuple(run.source for run in runs)


def _axes(
    shape: Sequence[int], index: Sequence[Any], item_size: int, chunk: Sequence[int] | None
) -> tuple[list[list[AxisRun]], list[NDArray[np.int64] | None]]:
    """Return the runs of each axis, and the order of the requested positions along it, as `_runs`."""
    axes: list[list[AxisRun]] = []
    orders: list[NDArray[np.int64] | None] = []
    inner = item_size
    for axis in reversed(range(len(shape))):
        runs, order = _runs(index[axis], max(GAP_SIZE // inner, 1), chunk[axis] if chunk else 1, BLOCK_SIZE // inner)
        axes.insert(0, runs)
        orders.insert(0, order)
        inner *= max((run.source.stop - run.source.start for run in runs), default=1)
    return axes, orders


def _runs(item: Any, gap: int, chunk: int, budget: int) -> tuple[list[AxisRun], NDArray[np.int64] | None]:
    """Return the runs of one axis, and the indices of requested positions among the distinct ones (None: in order)."""
    if isinstance(item, (int, np.integer)):
        item = range(int(item), int(item) + 1)
    if isinstance(item, range) and item.step == 1:
        return ([AxisRun(slice(item.start, item.stop), slice(0, len(item)), None)] if item else []), None
    given = np.asarray(item, dtype=np.int64)
    distinct, order = np.unique(given, return_inverse=True)
    steps = np.diff(distinct)
    is_new_block = np.diff((distinct - distinct[:1]) // max(budget, 1)) > 0
    is_break = (steps > 1) & (is_new_block | ((steps > gap) & (np.diff(distinct // chunk) > 0)))
    edges = [0, *(np.flatnonzero(is_break) + 1).tolist(), len(distinct)] if len(distinct) else []
    runs = []
    for first, end in itertools.pairwise(edges):
        start, stop = int(distinct[first]), int(distinct[end - 1]) + 1
        pick = distinct[first:end] - start if stop - start > end - first else None
        runs.append(AxisRun(slice(start, stop), slice(first, end), pick))
    return runs, None if np.array_equal(distinct, given) else order


def _assemble(fetch: Callable[[Slices], NDArray[Any]], axes: list[list[AxisRun]]) -> NDArray[Any]:
    part: NDArray[Any] | None = None
    for runs in itertools.product(*axes):
        slab = fetch(tuple(run.source for run in runs))
        for axis, run in enumerate(runs):
            if run.pick is not None:
                slab = slab.take(run.pick, axis=axis)
        if all(len(axis) == 1 for axis in axes):
            return slab
        if part is None:
            part = np.empty([axis[-1].target.stop for axis in axes], dtype=slab.dtype)
        part[tuple(run.target for run in runs)] = slab
    if part is None:
        nothing = fetch(tuple(slice(0, 0) for _ in axes))
        return np.empty([axis[-1].target.stop if axis else 0 for axis in axes], dtype=nothing.dtype)
    return part


def clipped(slices: Slices, extent: Sequence[int]) -> Slices:
    """Return the part of a slab that is inside an extent."""
    return tuple(slice(min(s.start, n), min(s.stop, n)) for s, n in zip(slices, extent, strict=True))


def read_filled(
    fetch: Callable[[Slices], NDArray[Any]], slices: Slices, extent: Sequence[int], fill: Callable[[], Any]
) -> NDArray[Any]:
    """Return a slab, with fill values beyond an extent.

    Parameters
    ----------
    fetch : callable
        Called with slices of step 1 inside the extent; returns this slab, of full rank.
    slices : tuple of slice
        Not empty.
    extent : sequence of int
    fill : callable
        Returns the fill value, as an array of one value. It is only called if needed.
    """
    inner = clipped(slices, extent)
    if inner == slices:
        return fetch(slices)
    value = fill()
    slab = np.empty([s.stop - s.start for s in slices], value.dtype)
    slab[...] = value.item()
    if all(s.start < s.stop for s in inner):
        insert(slab, slices, inner, fetch(inner))
    return slab


def insert(slab: NDArray[Any], slices: Slices, part: Slices, values: NDArray[Any]) -> None:
    """Copy a part into a slab. The slices of both are positions in the same array."""
    slab[tuple(slice(p.start - s.start, p.stop - s.start) for p, s in zip(part, slices, strict=True))] = values
