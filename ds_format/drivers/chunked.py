"""Values of HDF5 files, netCDF-4 among them, read in threads where their library inflates in one.

The library says how the values of a variable lie (`stored_of`) and where its chunks are (`with_chunks`). They are read
by position, inflated and put to their places while no lock is held (`codec.slab_reading`). `Chunks` decides which slabs
of an open file are worth it. Everything that is not certain here is left to the library.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base import signatures
from ..body.body import FileBody
from ..body.stamp import Stamp
from ..codec.filters import SHUFFLE, ChunkFilter, find_filter
from ..codec.slab_reading import SlabReader, slab_reader
from ..codec.stored import Stored
from .slabs import Slices, clipped, read_filled

CODES = frozenset({"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"})
"""Numbers, as NumPy kind and item size."""

MIN_CHUNK_SIZE = {False: 256 * 1024, True: 48 * 1024}
"""Bytes of a chunk, by whether it went through a filter, from which on threads gain: each takes some steps in Python,
which no two threads take at once."""

MAX_CHUNK_SIZE = 64 * 1024 * 1024
"""Bytes of a chunk, of which there are several in memory at once. Larger ones are left to the library."""


def stored_of(dataset: Any) -> Stored | None:
    """Return how the values of a dataset lie, its chunks not listed; None if the library shall read them.

    Parameters
    ----------
    dataset : h5py.h5d.DatasetID
    """
    h5py: Any = importlib.import_module("h5py")
    shape = dataset.shape
    dtype = _dtype(h5py, dataset)
    if dtype is None or not shape:
        return None
    properties = dataset.get_create_plist()
    if properties.get_external_count():
        return None
    kind = properties.get_layout()
    chunk: tuple[int, ...] | None = None
    offset: int | None = None
    filters: list[ChunkFilter] = []
    if kind == h5py.h5d.CHUNKED:
        chunk = tuple(int(n) for n in properties.get_chunk())
        if _may_be_misplaced(h5py, dataset, chunk):
            return None
        for i in range(properties.get_nfilters()):
            number, _, values, _ = properties.get_filter(i)
            found = find_filter(int(number), tuple(values))
            if found is None or (number == SHUFFLE and i == 0 and found.size != dtype.itemsize):
                return None
            filters.append(found)
    elif kind == h5py.h5d.CONTIGUOUS:
        offset = dataset.get_offset()
    else:
        return None
    fill = _fill(h5py, properties, dtype)
    stored = Stored(dtype, tuple(int(n) for n in shape), offset, chunk, tuple(filters), fill)
    least = MIN_CHUNK_SIZE[bool(filters)] if chunk is not None else 0
    return stored if least <= stored.chunk_size <= MAX_CHUNK_SIZE else None


def _dtype(h5py: Any, dataset: Any) -> np.dtype[Any] | None:
    """Return the dtype of numbers that are as NumPy has them, to the last bit."""
    kind = dataset.get_type()
    if kind.get_class() not in (h5py.h5t.INTEGER, h5py.h5t.FLOAT):
        return None
    try:
        dtype = np.dtype(dataset.dtype.str)
    except TypeError:
        return None
    is_plain = dtype.str[1:] in CODES and kind.equal(h5py.h5t.py_create(dtype))
    return dtype if is_plain else None


def _may_be_misplaced(h5py: Any, dataset: Any, chunk: tuple[int, ...]) -> bool:
    """Return whether the library may say of chunks that they lie where others do.

    It does (HDF5 2.0.0) of those in an extensible array, which files in the latest format have for a single unlimited
    axis: that counts chunks as if this axis was the first, and the library goes through it as if that was not so.
    """
    sizes = dataset.get_space().get_simple_extent_dims(True)
    unlimited = [axis for axis, size in enumerate(sizes) if size == h5py.h5s.UNLIMITED]
    return len(unlimited) == 1 and any(size > n for size, n in zip(sizes[: unlimited[0]], chunk, strict=False))


def _fill(h5py: Any, properties: Any, dtype: np.dtype[Any]) -> NDArray[Any] | None:
    """Return what the library has where nothing was written; None where it says nothing, or has what was in memory."""
    if properties.get_fill_time() == h5py.h5d.FILL_TIME_NEVER:
        return None
    if properties.fill_value_defined() == h5py.h5d.FILL_VALUE_UNDEFINED:
        return None
    fill = np.zeros((), dtype)
    properties.get_fill_value(fill)
    return fill


MAX_KNOWN = 200_000
"""Chunks of a dataset whose places are kept."""


def with_chunks(stored: Stored, dataset: Any) -> Stored | None:
    """Return how the values of a dataset lie with the places of its chunks; None if these are too many.

    All chunks are listed once: a damaged index may have a chunk twice, which is not seen when it is asked for alone.
    To list 20,000 chunks takes as long as to ask for 20 of them, since the library goes through all to find one.

    Parameters
    ----------
    stored : Stored
    dataset : h5py.h5d.DatasetID

    Raises
    ------
    FormatError
        If a chunk is there twice.
    """
    if dataset.get_num_chunks() > MAX_KNOWN:
        return None
    found: list[Any] = []
    dataset.chunk_iter(found.append)
    return stored.with_chunks([(each.chunk_offset, each.byte_offset, each.size, each.filter_mask) for each in found])


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
"""H5F_ACC_RDONLY, of a file that this process does not write."""


class Chunks:
    """What is known of an open file. The caller holds the lock of the library.

    Parameters
    ----------
    file : h5py.File
        Open to read.
    path : str
    """

    def __init__(self, file: Any, path: str):
        self._known: dict[Any, tuple[Stored | None, Any]] = {}
        self._last: tuple[Any, list[range]] | None = None
        # another driver has no file descriptor, or not only one; what this process writes may lie in a cache
        self._file: FileBody | None = None
        if file.driver == "sec2" and file.id.get_intent() == READ_ONLY:
            found = FileBody.open(path)  # a copy of the descriptor would share the lock of the library
            self._stamp = found.current_stamp()
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
            self._known[key] = None if dataset is None else stored_of(dataset), dataset
        stored, _ = self._known[key]
        if stored is None or len(stored.shape) != len(slices) or self._file.current_stamp() != self._stamp:
            return None
        n = math.prod(s.stop - s.start for s in slices)
        if n * stored.dtype.itemsize < MIN_SIZE:
            return None
        inner = clipped(slices, stored.shape)
        if inner == slices:
            return self._prepare(key, slices)
        if any(s.start >= s.stop for s in inner):
            return None
        found = self._prepare(key, inner)
        if found is None:
            return None
        value = fill()
        return lambda: read_filled(lambda _: found(), slices, stored.shape, lambda: value)

    def _prepare(self, key: Any, slices: Slices) -> SlabReader | None:
        file, (stored, dataset) = self._file, self._known[key]
        if file is None or stored is None:
            return None
        if stored.chunk is not None:
            axes = stored.crossed(slices)
            if stored.chunks is None:
                if math.prod(map(len, axes)) > MAX_KNOWN:
                    return None
                stored = with_chunks(stored, dataset)
                self._known[key] = stored, dataset
            if stored is None or self._is_repeated(key, stored, axes, [s.stop - s.start for s in slices]):
                return None
        return slab_reader(file, stored, slices)

    def _is_repeated(self, key: Any, stored: Stored, axes: list[range], shape: list[int]) -> bool:
        last, self._last = self._last, (key, axes)
        crossed = math.prod(map(len, axes)) * stored.chunk_size
        if crossed <= MAX_WASTE * math.prod(shape) * stored.dtype.itemsize:
            return False
        if crossed == stored.chunk_size > LARGE_SIZE:
            return True
        if last is None or last[0] != key:
            return False
        return all(a.start < b.stop and b.start < a.stop for a, b in zip(axes, last[1], strict=True))
