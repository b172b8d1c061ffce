"""Values of HDF5 files, including netCDF-4, read in threads, because their library inflates in one thread only.

The library gives the layout of the values of a variable (`stored_of`) and the positions of its chunks (`with_chunks`).
These are read by position, inflated and copied into the array without any lock (`codec.slab_reading`). `Chunks` decides
for which slabs of an open file this is faster. All uncertain cases are left to the library.
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
from ..codec.filters import SHUFFLE
from ..codec.pipeline import ChunkFilter, find_filter
from ..codec.slab_reading import SlabReader, slab_reader
from ..codec.stored import Stored
from .slabs import Slices, clipped, read_filled

CODES = frozenset({"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"})
"""Types of numbers, as NumPy kind and item size."""

MIN_CHUNK_SIZE = {False: 256 * 1024, True: 48 * 1024}
"""Minimum bytes of a chunk for which threads are faster, without and with a filter. Each chunk needs some steps in
Python, which only one thread can take at a time."""

MAX_CHUNK_SIZE = 64 * 1024 * 1024
"""Maximum bytes of a chunk, since several are in memory at once. Larger ones are left to the library."""


def stored_of(dataset: Any) -> Stored | None:
    """Return the layout of a dataset, without the positions of its chunks; None if the library must read it.

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
    """Return the dtype of a dataset, if its values are numbers as in NumPy, bit by bit; otherwise None."""
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
    """Return whether the library may give wrong positions of chunks.

    HDF5 2.0.0 does so for chunks in an extensible array, which files in the latest format have for a single unlimited
    axis. The array counts chunks as if this axis were the first one, but the library reads it in another order.
    """
    sizes = dataset.get_space().get_simple_extent_dims(True)
    unlimited = [axis for axis, size in enumerate(sizes) if size == h5py.h5s.UNLIMITED]
    return len(unlimited) == 1 and any(size > n for size, n in zip(sizes[: unlimited[0]], chunk, strict=False))


def _fill(h5py: Any, properties: Any, dtype: np.dtype[Any]) -> NDArray[Any] | None:
    """Return the value for positions that were never written; None if it is undefined, or the library does not fill."""
    if properties.get_fill_time() == h5py.h5d.FILL_TIME_NEVER:
        return None
    if properties.fill_value_defined() == h5py.h5d.FILL_VALUE_UNDEFINED:
        return None
    fill = np.zeros((), dtype)
    properties.get_fill_value(fill)
    return fill


MAX_CHUNKS = 200_000
"""Maximum number of chunks of a dataset whose positions are stored."""


def with_chunks(stored: Stored, dataset: Any) -> Stored | None:
    """Return the layout of a dataset with the positions of its chunks; None if there are too many.

    All chunks are listed once. A damaged index may have a chunk twice, which is not detected if single chunks are
    requested. Listing 20,000 chunks takes as long as requesting 20, since the library searches all for each of them.

    Parameters
    ----------
    stored : Stored
    dataset : h5py.h5d.DatasetID

    Raises
    ------
    FormatError
        If a chunk is listed twice.
    """
    if dataset.get_num_chunks() > MAX_CHUNKS:
        return None
    found: list[Any] = []
    dataset.chunk_iter(found.append)
    return stored.with_chunks([(each.chunk_offset, each.byte_offset, each.size, each.filter_mask) for each in found])


MIN_SIZE = 1024 * 1024
"""Minimum bytes of a slab for which threads are faster."""

MAX_WASTE = 2
"""Maximum bytes of the chunks that a slab crosses, as a multiple of its own, if the slab before crossed one of them.

Otherwise the library reads the slab, because it keeps chunks in its cache.
"""

LARGE_SIZE = 16 * 1024 * 1024
"""Bytes of a chunk above which a smaller part of a single chunk is left to the library, too. The rest of the chunk is
likely to be requested next, and both would have the chunk in memory."""

READ_ONLY = 0
"""H5F_ACC_RDONLY: the mode of a file that this process does not write."""


class Chunks:
    """The layouts and chunk positions of an open file. The caller must hold the lock of the library.

    Parameters
    ----------
    file : h5py.File
        Opened for reading.
    path : str
    """

    def __init__(self, file: Any, path: str):
        self._layouts: dict[Any, tuple[Stored | None, Any]] = {}
        self._last: tuple[Any, list[range]] | None = None
        # other drivers have no file descriptor, or several; data that this process writes may be in a cache
        self._file: FileBody | None = None
        if file.driver == "sec2" and file.id.get_intent() == READ_ONLY:
            found = FileBody.open(path)  # a duplicate of the descriptor would share the file lock of the library
            self._stamp = found.current_stamp()
            # after a user block, positions differ from those that the library gives
            if (
                found.read(0, len(signatures.HDF5)) == signatures.HDF5
                and Stamp.of_fd(file.id.get_vfd_handle()) == self._stamp
            ):
                self._file = found

    @property
    def stamp(self) -> Stamp | None:
        """Stamp of the file; None if the library must read all of it."""
        return None if self._file is None else self._stamp

    def prepare(self, key: Any, find: Callable[[], Any], slices: Slices, fill: Callable[[], Any]) -> SlabReader | None:
        """Return a function that reads a slab.

        Parameters
        ----------
        key
            Key of the variable.
        find : callable
            Returns the dataset, as h5py.h5d.DatasetID, or None.
        slices : tuple of slice
            One for each dimension, of step 1.
        fill : callable
            Returns the value beyond the extent of the dataset, as an array of one value.

        Returns
        -------
        callable or None
            None if the library must read the slab.

        Raises
        ------
        FormatError
            If chunks are outside of the file, or one is listed twice.
        """
        if self._file is None or any(s.start >= s.stop for s in slices):
            return None
        if key not in self._layouts:
            dataset = find()
            self._layouts[key] = None if dataset is None else stored_of(dataset), dataset
        stored, _ = self._layouts[key]
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
        file, (stored, dataset) = self._file, self._layouts[key]
        if file is None or stored is None:
            return None
        if stored.chunk is not None:
            axes = stored.crossed(slices)
            if stored.chunks is None:
                if math.prod(map(len, axes)) > MAX_CHUNKS:
                    return None
                stored = with_chunks(stored, dataset)
                self._layouts[key] = stored, dataset
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
