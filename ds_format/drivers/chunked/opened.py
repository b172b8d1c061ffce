"""A file that the library has open: which of its slabs are read without it, in threads that hold no lock."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base import parallel, signatures
from ...body.body import Body, FileBody
from ...body.stamp import Stamp
from ...errors import FormatError
from ...kernels.hdf5 import chunks
from ..slabs import Slices, clipped, read_filled
from .filters import decode
from .index import ChunkIndex, ChunkLayout, ChunkTable, check_run, layout_of, locate, ranges, run_of

PIECE_SIZE = 1024 * 1024
"""Bytes that a thread works on before it looks for others, about; a multiple of all sizes of values."""

ROOM_SIZE = 128 * 1024 * 1024
"""Bytes that all threads may have in memory together beside the array: each has a chunk twice, inflated and not."""


def read_chunks(file: Body, layout: ChunkLayout, table: ChunkTable, shape: list[int]) -> NDArray[Any]:
    """Return a slab in native byte order.

    Parameters
    ----------
    file : Body
    layout : ChunkLayout
    table : ChunkTable
    shape : list of int
        Of the slab.

    Raises
    ------
    OSError
        As the system says.
    FormatError
        If a chunk is damaged.
    """
    array = np.empty(shape, layout.dtype.newbyteorder("="))
    target, sizes = array.reshape(-1).view(np.uint8), np.array(shape, np.int64)
    chunk_shape, rank = np.array(layout.chunk, np.int64), len(shape)
    swapped, size = not layout.dtype.isnative, layout.chunk_size

    def work(first: int, last: int) -> None:
        room = np.empty(max(each.size for each in table.places[first:last]), np.uint8)
        for i in range(first, last):
            found, part = table.places[i], table.parts[i]
            if found.offset is None:
                _fill(array, layout, part, rank)
                continue
            stored = room[: found.size]
            try:
                file.read_into(found.offset, stored)
                decoded = decode(stored, layout.filters, found.mask, size)
            except FormatError as error:
                where = f"the chunk of {found.size} bytes at {found.offset} of the file"
                raise type(error)(f"{where}: {error.message}") from error
            chunks.place(
                decoded.data, chunk_shape, target, sizes, part, layout.dtype.itemsize, decoded.is_shuffled, swapped
            )

    largest = size + max(each.size for each in table.places)
    parallel.each(work, len(table.places), max(PIECE_SIZE // size, 1), max(ROOM_SIZE // largest, 1))
    return array


def read_run(file: Body, layout: ChunkLayout, offset: int, shape: list[int]) -> NDArray[Any]:
    """Return a slab that lies in one piece from `offset` on, in native byte order; see `read_chunks`."""
    array = np.empty(shape, layout.dtype)
    target = array.reshape(-1).view(np.uint8)

    def work(first: int, last: int) -> None:
        part = target[first:last]
        file.read_into(offset + first, part)
        if not layout.dtype.isnative:
            part.view(layout.dtype).byteswap(inplace=True)

    parallel.each(work, target.size, PIECE_SIZE)
    return array.view(layout.dtype.newbyteorder("="))


def read_nothing(layout: ChunkLayout, shape: list[int]) -> NDArray[Any]:
    """Return a slab of which nobody wrote a value."""
    array = np.empty(shape, layout.dtype.newbyteorder("="))
    array[...] = layout.fill
    return array


def _fill(array: NDArray[Any], layout: ChunkLayout, part: NDArray[np.int64], rank: int) -> None:
    where = zip(part[2 * rank :].tolist(), part[rank : 2 * rank].tolist(), strict=True)
    array[tuple(slice(start, start + n) for start, n in where)] = layout.fill


MIN_SIZE = 1024 * 1024
"""Bytes of a slab from which on threads gain."""

MAX_WASTE = 2
"""Times the bytes of a slab that the chunks it crosses may have, if the slab before crossed some of them too.

Else the library reads, which keeps chunks in its cache.
"""

LARGE_SIZE = 16 * 1024 * 1024
"""Bytes of a chunk above which a smaller part of one alone is left to the library, too: what follows is likely to be
wanted next, and both would have the chunk in memory."""

READ_ONLY = 0
"""H5F_ACC_RDONLY, of a file which nobody in this process writes."""


SlabReader = Callable[[], NDArray[Any]]
"""Returns a slab, and needs no library for it: in any thread, also after the file was closed."""


class Chunks:
    """What is known of an open file. The lock of the library is held by whoever calls.

    Parameters
    ----------
    file : h5py.File
        Open to read.
    path : str
    """

    def __init__(self, file: Any, path: str):
        self._known: dict[Any, tuple[ChunkLayout | None, ChunkIndex]] = {}
        self._last: tuple[Any, list[range]] | None = None
        # another driver has no file descriptor, or not only one; what this process writes may lie in a cache
        self._file: FileBody | None = None
        if file.driver == "sec2" and file.id.get_intent() == READ_ONLY:
            found = FileBody.open(path)  # a copy of the descriptor would share the lock of the library
            self._stamp = Stamp.of_fd(found.fd)
            # what lies behind a user block has other positions than the library tells
            if (
                found.read(0, len(signatures.HDF5)) == signatures.HDF5
                and Stamp.of_fd(file.id.get_vfd_handle()) == self._stamp
            ):
                self._file = found

    @property
    def stamp(self) -> Stamp | None:
        """What tells the file from others; None if the library shall read all of it."""
        return None if self._file is None else self._stamp

    def prepare(self, key: Any, find: Callable[[], Any], slices: Slices, fill: Callable[[], Any]) -> SlabReader | None:
        """Return what reads a slab.

        Parameters
        ----------
        key
            Of the variable.
        find : callable
            Returns the dataset, as h5py.h5d.DatasetID, or None.
        slices : tuple of slice
            Of step 1, one for each dimension.
        fill : callable
            Returns what is beyond the extent of the dataset, as an array of one value.

        Returns
        -------
        callable or None
            None: the library shall read the slab.

        Raises
        ------
        FormatError
            If the file has no room for the chunks, or has one of them twice.
        """
        if self._file is None or any(s.start >= s.stop for s in slices):
            return None
        if key not in self._known:
            dataset = find()
            self._known[key] = None if dataset is None else layout_of(dataset), ChunkIndex(dataset)
        layout, known = self._known[key]
        if layout is None or len(layout.shape) != len(slices) or Stamp.of_fd(self._file.fd) != self._stamp:
            return None
        n = math.prod(s.stop - s.start for s in slices)
        if n * layout.dtype.itemsize < MIN_SIZE:
            return None
        inner = clipped(slices, layout.shape)
        if inner == slices:
            return self._prepare(key, known, layout, slices)
        if any(s.start >= s.stop for s in inner):
            return None
        found = self._prepare(key, known, layout, inner)
        if found is None:
            return None
        value = fill()
        return lambda: read_filled(lambda _: found(), slices, layout.shape, lambda: value)

    def _prepare(self, key: Any, known: ChunkIndex, layout: ChunkLayout, slices: Slices) -> SlabReader | None:
        shape = [s.stop - s.start for s in slices]
        file = self._file
        if file is None:
            return None
        if layout.chunk is None:
            return _one_piece(file, layout, slices, shape)
        axes = ranges(layout, slices)
        if not known.expect(math.prod(map(len, axes))) or self._is_repeated(key, layout, axes, shape):
            return None
        table = locate(known, layout, slices, file.size)
        return None if table is None else lambda: read_chunks(file, layout, table, shape)

    def _is_repeated(self, key: Any, layout: ChunkLayout, axes: list[range], shape: list[int]) -> bool:
        last, self._last = self._last, (key, axes)
        crossed = math.prod(map(len, axes)) * layout.chunk_size
        if crossed <= MAX_WASTE * math.prod(shape) * layout.dtype.itemsize:
            return False
        if crossed == layout.chunk_size > LARGE_SIZE:
            return True
        if last is None or last[0] != key:
            return False
        return all(a.start < b.stop and b.start < a.stop for a, b in zip(axes, last[1], strict=True))


def _one_piece(file: FileBody, layout: ChunkLayout, slices: Slices, shape: list[int]) -> SlabReader | None:
    run = run_of(layout, slices)
    if run is None:
        return None
    if layout.offset is None:
        return None if layout.fill is None else lambda: read_nothing(layout, shape)
    first, n = run
    offset = layout.offset + first * layout.dtype.itemsize
    check_run(offset, n * layout.dtype.itemsize, file.size)
    return lambda: read_run(file, layout, offset, shape)
