"""Slabs of numbers by their positions in a file, read and decoded in threads.

From low to high: the chunks that a slab crosses (`ChunkTable`), and functions that read chunks or other values into an
array (`read_chunks`, `read_strided`).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base import scratch, threads
from ..body.body import Body
from ..errors import FormatError, TruncatedError
from ..kernels.classic import arrays, slabs
from ..kernels.hdf5.chunks import put_chunks
from .filters import MAX_RATIO
from .pipeline import SPARE_SIZE, decode, simple_filters
from .stored import Stored, StoredChunks

PIECE_SIZE = 1024 * 1024
"""Approximate bytes that a thread processes at a time, a multiple of all sizes of values."""

MAX_MEMORY = 128 * 1024 * 1024
"""Maximum bytes that all threads together need in addition to the array: a chunk each, encoded and decoded."""


class ChunkTable(NamedTuple):
    """The written chunks that a slab crosses."""

    offsets: list[int]
    """Position of the first byte of each chunk in the file."""
    sizes: list[int]
    """Bytes of each chunk in the file."""
    masks: list[int]
    """For each chunk, one bit per filter that was skipped."""
    parts: NDArray[np.int64]
    """(N, 3 * R): for each chunk and each axis, the first value in the chunk, the number of values, and the first
    position in the slab."""
    is_whole: bool
    """Whether these are all chunks that the slab crosses. If not, its other values are fill values."""


def locate_chunks(stored: Stored, slices: tuple[slice, ...], file_size: int) -> ChunkTable | None:
    """Return the written chunks that a slab crosses; None if a chunk is too large to be what its filters made.

    Parameters
    ----------
    stored : Stored
    slices : tuple of slice
        One for each dimension, with step 1, not empty, and within the shape.
    file_size : int

    Raises
    ------
    TruncatedError
        If a chunk is outside of the file.
    """
    index, chunk = stored.chunks, stored.chunk or ()
    if index is None:
        return None
    axes = stored.crossed(slices)
    at = _written(index, axes, stored.grid)
    firsts = [along * step for along, step in zip(chunk_positions(index.numbers[at], stored.grid), chunk, strict=True)]
    offsets, sizes, masks = index.offsets[at], index.sizes[at], index.masks[at]
    end = np.uint64(file_size)
    is_outside = (sizes > end) | (offsets > end - np.minimum(sizes, end))
    is_unknown = sizes > 2 * stored.chunk_size + SPARE_SIZE
    is_odd = is_outside | is_unknown
    if is_odd.any():
        i = int(is_odd.argmax())
        if is_outside[i]:
            first = tuple([int(along[i]) for along in firsts])
            expected = f"expected it within the {file_size} bytes of the file"
            raise TruncatedError(f"the chunk at {first} has {sizes[i]} bytes at {offsets[i]}, {expected}")
        return None
    is_whole = len(at) == math.prod(map(len, axes))
    return ChunkTable(offsets.tolist(), sizes.tolist(), masks.tolist(), _parts(chunk, slices, firsts), is_whole)


def _written(index: StoredChunks, axes: list[range], grid: list[int]) -> NDArray[np.intp]:
    """Return which chunks of an index a slab crosses.

    The work is limited by the number of chunks in the file, whatever the shape: a small file may have a shape of
    millions of chunks.
    """
    if math.prod(map(len, axes)) > len(index.numbers):
        positions = zip(chunk_positions(index.numbers, grid), axes, strict=True)
        inside = np.all([(along >= crossed.start) & (along < crossed.stop) for along, crossed in positions], axis=0)
        return np.flatnonzero(inside)
    numbers: NDArray[np.int64] = np.zeros(1, np.int64)
    for crossed, n in zip(axes, grid, strict=True):
        numbers = (numbers[:, None] * n + np.arange(crossed.start, crossed.stop)).ravel()
    at = np.searchsorted(index.numbers, numbers)
    written: NDArray[np.intp] = at[index.numbers.take(at, mode="clip") == numbers]
    return written


def chunk_positions(numbers: NDArray[np.int64], grid: list[int]) -> list[NDArray[np.int64]]:
    """Return the position of chunks along each axis, in units of chunks."""
    positions = []
    for n in reversed(grid):
        numbers, along = np.divmod(numbers, n)
        positions.append(along)
    return positions[::-1]


def _parts(chunk: tuple[int, ...], slices: tuple[slice, ...], firsts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    first, steps = np.stack(firsts, axis=1), np.array(chunk, np.int64)
    starts, stops = np.array([(s.start, s.stop) for s in slices], np.int64).T
    start = np.maximum(first, starts)
    return np.concatenate([start - first, np.minimum(first + steps, stops) - start, start - starts], axis=1)


def read_chunks(
    file: Body, stored: Stored, table: ChunkTable, shape: list[int], sought: NDArray[Any] | None = None
) -> tuple[NDArray[Any], bool]:
    """Return a slab in native byte order, and whether one of some values may be in it.

    Parameters
    ----------
    file : Body
    stored : Stored
    table : ChunkTable
    shape : list of int
        Shape of the slab.
    sought : (N,) ndarray, optional
        Values of the type of the slab to look for. NaN equals NaN.

    Raises
    ------
    OSError
        If the operating system cannot read the file.
    FormatError
        If a chunk is damaged.
    """
    array = np.empty(shape, stored.dtype.newbyteorder("=")) if table.is_whole else read_fill(stored, shape)
    target, lengths = array.reshape(-1).view(np.uint8), np.array(shape, np.int64)
    chunk_shape = np.array(stored.chunk, np.int64)
    swapped, size, item_size = not stored.dtype.isnative, stored.chunk_size, stored.dtype.itemsize
    offsets, sizes = np.array(table.offsets, np.int64), np.array(table.sizes, np.int64)
    masks, simple = np.array(table.masks, np.uint32), simple_filters(stored.filters, item_size)
    wanted = None if sought is None or sought.dtype.char == "e" else sought
    whole, no_mask = np.array([size], np.int64), np.zeros(1, np.uint32)  # a decoded chunk
    # fill values are not searched; those of chunks that the kernel does not put neither
    doubtful = [] if sought is None or table.is_whole else [True]

    def work(first: int, last: int) -> None:
        """Put some chunks to their places: as many as possible by a kernel, the others one by one."""
        n_read, largest = int(sizes[first:last].sum()), max(table.sizes[first:last])
        # a damaged chunk may be far too short for the memory that it would need
        is_simple = simple is not None and (not simple.is_deflated or size <= MAX_RATIO * largest)
        n_inflated = size if simple is not None and simple.is_deflated and is_simple else 0
        with scratch.lent(n_read + n_inflated) as memory:
            data, inflated = memory[:n_read], memory[n_read:]
            read(first, last, data)
            i, at = first, 0
            while i < last:
                if simple is not None and is_simple:
                    n, is_found = put_chunks(
                        data[at:],
                        sizes[i:last],
                        masks[i:last],
                        table.parts[i:last],
                        chunk_shape,
                        target,
                        lengths,
                        item_size,
                        swapped,
                        simple.is_shuffled,
                        inflated if simple.is_deflated else None,
                        wanted,
                    )
                    at += sum(table.sizes[i : i + n])
                    i += n
                    if is_found or wanted is not sought:
                        doubtful.append(True)
                if i < last:
                    put(i, data[at : at + table.sizes[i]])
                    at += table.sizes[i]
                    i += 1

    def read(first: int, last: int, data: NDArray[np.uint8]) -> None:
        """Read the bytes of some chunks, one after another."""
        try:
            file.ranges(offsets[first:last], sizes[first:last], [data])
        except FormatError:
            for i in range(first, last):  # which of them is it?
                with naming(i):
                    file.read_into(table.offsets[i], data[: table.sizes[i]])
            raise

    def put(i: int, data: NDArray[np.uint8]) -> None:
        if sought is not None:
            doubtful.append(True)
        with naming(i):
            decoded = decode(data, stored.filters, table.masks[i], size)
        data, part, is_shuffled = decoded.data, table.parts[i : i + 1], decoded.is_shuffled
        put_chunks(
            data, whole, no_mask, part, chunk_shape, target, lengths, item_size, swapped, is_shuffled, None, None
        )

    @contextlib.contextmanager
    def naming(i: int) -> Iterator[None]:
        """Say in errors which chunk is damaged."""
        try:
            yield
        except FormatError as error:
            message = f"the chunk of {table.sizes[i]} bytes at {table.offsets[i]} of the file: {error.message}"
            raise type(error)(message) from error

    if file.is_far:
        file.announce(offsets[sizes > 0], sizes[sizes > 0])
    largest = size + max(table.sizes, default=0)
    threads.each(work, len(table.sizes), max(PIECE_SIZE // size, 1), max(MAX_MEMORY // largest, 1))
    return array, bool(doubtful)


def read_strided(
    file: Body,
    begin: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: np.dtype[Any],
    sentinels: NDArray[Any] | None,
    is_big: bool,
) -> tuple[NDArray[Any], bool]:
    """Return a slab of numbers that are not in chunks, and whether it may contain a sentinel.

    Parameters
    ----------
    file : Body
    begin, shape, strides, dtype, sentinels, is_big
        As of `kernels.classic.slabs.read`.

    Raises
    ------
    TruncatedError, EOFError
        If the file ends before.
    """
    if 0 in shape:
        return np.empty(shape, dtype), False
    where = file.in_file()
    if where is not None:
        return slabs.read(where[0], where[1] + begin, shape, strides, dtype, sentinels, is_big)
    offsets, sizes = strided_ranges(begin, shape, strides, dtype.itemsize)
    runs = np.empty((len(offsets), int(sizes[0])), np.uint8)
    file.ranges(offsets, sizes, [runs])
    return arrays.decode(runs, 0, 0, shape, dtype, sentinels, is_big)


def strided_ranges(
    begin: int, shape: tuple[int, ...], strides: tuple[int, ...], item_size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return offset and size of each run of bytes that a slab consists of, in C order; all have the same size.

    Parameters
    ----------
    begin, shape, strides
        As of `read_strided`, with at least one value.
    item_size : int
        Bytes of a value.
    """
    axis, run = len(shape), item_size
    while axis and strides[axis - 1] == run:
        axis -= 1
        run *= shape[axis]
    offsets: NDArray[np.int64] = np.array([begin], np.int64)
    for n, stride in zip(shape[:axis], strides[:axis], strict=True):
        offsets = (offsets[:, None] + np.arange(n, dtype=np.int64) * stride).ravel()
    return offsets, np.full(len(offsets), run, np.int64)


def read_fill(stored: Stored, shape: list[int]) -> NDArray[Any]:
    """Return a slab of fill values, for values that were not written."""
    array = np.empty(shape, stored.dtype.newbyteorder("="))
    array[...] = stored.fill
    return array
