"""Where the values of a dataset are in its file: what the library says of it, and the chunks that a slab crosses."""

from __future__ import annotations

import importlib
import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import FormatError, TruncatedError
from ..slabs import Slices
from .filters import SHUFFLE, ChunkFilter, find_filter

CODES = frozenset({"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"})
"""Numbers, as NumPy kind and item size."""

MIN_CHUNK_SIZE = {False: 256 * 1024, True: 48 * 1024}
"""Bytes of a chunk, by whether it went through a filter, from which on threads gain: each takes some steps in Python,
which no two threads take at once."""

MAX_CHUNK_SIZE = 64 * 1024 * 1024
"""Bytes of a chunk, of which there are several in memory at once. Larger ones are left to the library."""


class ChunkLayout(NamedTuple):
    """How values lie in the file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    """In the order of the file."""
    chunk: tuple[int, ...] | None
    """None: values lie in one piece."""
    offset: int | None
    """Of that piece, in bytes; None: nobody wrote one."""
    filters: tuple[ChunkFilter, ...]
    fill: NDArray[Any] | None
    """Value of what nobody wrote, without a dimension; None: the library knows."""

    @property
    def chunk_size(self) -> int:
        """Bytes of a chunk in memory."""
        n = self.dtype.itemsize
        for each in self.chunk or ():
            n *= each
        return n


def layout_of(dataset: Any) -> ChunkLayout | None:
    """Return how the values of a dataset lie in its file; None if the library shall read them.

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
    found_layout = ChunkLayout(
        tuple(int(n) for n in shape), dtype, chunk, offset, tuple(filters), _fill(h5py, properties, dtype)
    )
    least = MIN_CHUNK_SIZE[bool(filters)] if chunk is not None else 0
    return found_layout if least <= found_layout.chunk_size <= MAX_CHUNK_SIZE else None


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
    """Return what the library has where nobody wrote; None where it says nothing, or has what was in memory."""
    if properties.get_fill_time() == h5py.h5d.FILL_TIME_NEVER:
        return None
    if properties.fill_value_defined() == h5py.h5d.FILL_VALUE_UNDEFINED:
        return None
    fill = np.zeros((), dtype)
    properties.get_fill_value(fill)
    return fill


MAX_KNOWN = 200_000
"""Chunks of a dataset whose places are kept, in some 200 bytes each."""

SPARE_SIZE = 64 * 1024
"""Bytes that a chunk may take more than twice those of its values, in whatever way it was compressed."""


class ChunkPlace(NamedTuple):
    """Where a chunk lies."""

    offset: int | None
    """Of its first byte; None: nobody wrote it."""
    size: int
    """In bytes."""
    mask: int
    """A bit for each filter that it did not go through."""


NOWHERE = ChunkPlace(None, 0, 0)


class ChunkIndex:
    """Where the chunks of one dataset lie; the lock of the library is held by whoever asks.

    All chunks are listed once: a damaged index may have a chunk twice, which is not seen when it is asked for alone.
    To list 20,000 chunks takes as long as to ask for 20 of them, since the library goes through all to find one.

    Parameters
    ----------
    dataset : h5py.h5d.DatasetID
    """

    def __init__(self, dataset: Any):
        self._dataset = dataset
        self._known: dict[tuple[int, ...], Any] | None = None

    def expect(self, n: int) -> bool:
        """Say that so many chunks will be asked for, and return whether they should be; list all unless that was done.

        Raises
        ------
        FormatError
            If a chunk is there twice. Which of both the library reads depends on how it is asked.
        """
        if self._known is None:
            if n > MAX_KNOWN or self._dataset.get_num_chunks() > MAX_KNOWN:
                return False
            found: list[Any] = []
            self._dataset.chunk_iter(found.append)
            known = {each.chunk_offset: each for each in found}
            if len(known) != len(found):
                first = next(each.chunk_offset for each in found if known[each.chunk_offset] is not each)
                raise FormatError(f"the index of chunks has the chunk at {first} twice, expected each once")
            self._known = known
        return True

    def place(self, first: tuple[int, ...]) -> ChunkPlace:
        """Return where the chunk lies that begins with the value at a position; the chunks are listed."""
        found = (self._known or {}).get(first)
        # of a chunk that nobody wrote the library says no place, or none that is one
        if found is None or found.byte_offset is None or not found.size:
            return NOWHERE
        return ChunkPlace(int(found.byte_offset), int(found.size), int(found.filter_mask))


class ChunkTable(NamedTuple):
    """The chunks that a slab crosses."""

    places: list[ChunkPlace]
    parts: NDArray[np.int64]
    """(N, 3 * R): of each, the first value along each axis; how many; and where these belong in the slab."""


def ranges(layout: ChunkLayout, slices: Slices) -> list[range]:
    """Return which chunks a slab crosses, along each axis."""
    chunk = layout.chunk or ()
    return [range(s.start // step, -(-s.stop // step)) for s, step in zip(slices, chunk, strict=True)]


def locate(known: ChunkIndex, layout: ChunkLayout, slices: Slices, file_size: int) -> ChunkTable | None:
    """Return the chunks that a slab crosses; the lock of the library is held.

    Parameters
    ----------
    known : ChunkIndex
        Its chunks are listed.
    layout : ChunkLayout
        In chunks.
    slices : tuple of slice
        Not empty, and within the shape.
    file_size : int
        Bytes.

    Returns
    -------
    ChunkTable or None
        None: the library shall read them.

    Raises
    ------
    FormatError
        If a chunk is not inside of the file.
    """
    chunk = layout.chunk or ()
    axes = ranges(layout, slices)
    places: list[ChunkPlace] = []
    for position in itertools.product(*axes):
        first = tuple(i * step for i, step in zip(position, chunk, strict=True))
        place = known.place(first)
        if place.offset is None:
            if layout.fill is None:
                return None
        elif place.offset < 0 or place.size > file_size or place.offset > file_size - place.size:
            expected = f"expected it within the {file_size} bytes of the file"
            message = f"the chunk at {first} lies at {place.offset} and takes {place.size} bytes, {expected}"
            raise TruncatedError(message)
        elif place.size > 2 * layout.chunk_size + SPARE_SIZE or _may_be_whole(layout, place, first):
            return None
        places.append(place)
    return ChunkTable(places, _parts(chunk, slices, axes))


def _may_be_whole(layout: ChunkLayout, place: ChunkPlace, first: tuple[int, ...]) -> bool:
    """Return whether a chunk at the edge may have gone through no filter, which its mask need not say.

    A file may have it so for all chunks that it needs in part; h5py does not tell.
    """
    is_at_edge = any(i + step > n for i, step, n in zip(first, layout.chunk or (), layout.shape, strict=True))
    return bool(layout.filters) and is_at_edge and not place.mask and place.size == layout.chunk_size


def _parts(chunk: tuple[int, ...], slices: Slices, axes: list[range]) -> NDArray[np.int64]:
    rank = len(chunk)
    parts = np.empty([*map(len, axes), 3 * rank], np.int64)
    for axis, (s, step, crossed) in enumerate(zip(slices, chunk, axes, strict=True)):
        begins = np.arange(crossed.start, crossed.stop, dtype=np.int64) * step
        start = np.maximum(begins, s.start)
        stop = np.minimum(begins + step, s.stop)
        along = [-1 if i == axis else 1 for i in range(rank)]
        for i, values in enumerate((start - begins, stop - start, start - s.start)):
            parts[..., i * rank + axis] = values.reshape(along)
    return parts.reshape(-1, 3 * rank)


def run_of(layout: ChunkLayout, slices: Slices) -> tuple[int, int] | None:
    """Return first value and number of values of a slab of values in one piece; None if it is not one piece itself."""
    first, n, is_whole = 0, 1, True
    inner = 1
    for s, size in zip(reversed(slices), reversed(layout.shape), strict=True):
        count = s.stop - s.start
        if count > 1 and not is_whole:
            return None
        first, n, is_whole = first + s.start * inner, n * count, is_whole and count == size
        inner *= size
    return first, n


def check_run(offset: int, size: int, file_size: int) -> None:
    """Refuse values in one piece that are not inside of the file."""
    if offset < 0:
        raise FormatError(f"its values lie at {offset}")
    if offset + size > file_size:
        raise TruncatedError(f"found {file_size} bytes in the file, expected at least {offset + size}")
