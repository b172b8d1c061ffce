"""Values of HDF5 files, netCDF-4 among them, read in threads where their library inflates in one.

The library tells where the chunks of a variable are; they are read by position, inflated and put to their places while
no lock is held. Everything that is not certain here is left to the library.

From low to high: how the values of a dataset are stored (`ChunkLayout`), the chunks that a slab crosses (`ChunkTable`),
these chunks as an array, and which slabs of an open file are worth it (`Chunks`).
"""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base import signatures, threads
from ..body.body import Body, FileBody
from ..body.stamp import Stamp
from ..codec.filters import SHUFFLE, ChunkFilter, decode, find_filter
from ..errors import FormatError, TruncatedError
from ..kernels.hdf5 import chunks
from .slabs import Slices, clipped, read_filled

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
                _fill_part(array, layout, part, rank)
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
    threads.each(work, len(table.places), max(PIECE_SIZE // size, 1), max(ROOM_SIZE // largest, 1))
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

    threads.each(work, target.size, PIECE_SIZE)
    return array.view(layout.dtype.newbyteorder("="))


def read_nothing(layout: ChunkLayout, shape: list[int]) -> NDArray[Any]:
    """Return a slab of which nobody wrote a value."""
    array = np.empty(shape, layout.dtype.newbyteorder("="))
    array[...] = layout.fill
    return array


def _fill_part(array: NDArray[Any], layout: ChunkLayout, part: NDArray[np.int64], rank: int) -> None:
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
            self._known[key] = None if dataset is None else layout_of(dataset), ChunkIndex(dataset)
        layout, known = self._known[key]
        if layout is None or len(layout.shape) != len(slices) or self._file.current_stamp() != self._stamp:
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
