"""A file that the library has open: which of its slabs are read without it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from ...base import signatures
from ...body.body import FileBody
from ...body.stamp import Stamp
from ..library.extents import clipped, read_filled
from ..slabs import Slices
from . import index, reading
from .layout import Layout, layout_of

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


Reading = Callable[[], NDArray[Any]]
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
        self._known: dict[Any, tuple[Layout | None, index.Index]] = {}
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

    def prepare(self, key: Any, find: Callable[[], Any], slices: Slices, fill: Callable[[], Any]) -> Reading | None:
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
            self._known[key] = None if dataset is None else layout_of(dataset), index.Index(dataset)
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

    def _prepare(self, key: Any, known: index.Index, layout: Layout, slices: Slices) -> Reading | None:
        shape = [s.stop - s.start for s in slices]
        file = self._file
        if file is None:
            return None
        if layout.chunk is None:
            return _one_piece(file, layout, slices, shape)
        axes = index.ranges(layout, slices)
        if not known.expect(math.prod(map(len, axes))) or self._is_repeated(key, layout, axes, shape):
            return None
        table = index.locate(known, layout, slices, file.size)
        return None if table is None else lambda: reading.read_chunks(file, layout, table, shape)

    def _is_repeated(self, key: Any, layout: Layout, axes: list[range], shape: list[int]) -> bool:
        last, self._last = self._last, (key, axes)
        crossed = math.prod(map(len, axes)) * layout.chunk_size
        if crossed <= MAX_WASTE * math.prod(shape) * layout.dtype.itemsize:
            return False
        if crossed == layout.chunk_size > LARGE_SIZE:
            return True
        if last is None or last[0] != key:
            return False
        return all(a.start < b.stop and b.start < a.stop for a, b in zip(axes, last[1], strict=True))


def _one_piece(file: FileBody, layout: Layout, slices: Slices, shape: list[int]) -> Reading | None:
    run = index.run(layout, slices)
    if run is None:
        return None
    if layout.offset is None:
        return None if layout.fill is None else lambda: reading.read_nothing(layout, shape)
    first, n = run
    offset = layout.offset + first * layout.dtype.itemsize
    index.check_run(offset, n * layout.dtype.itemsize, file.size)
    return lambda: reading.read_run(file, layout, offset, shape)
