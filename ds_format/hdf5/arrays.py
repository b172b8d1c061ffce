"""A dataset and the body of its file → array, whole or in part; the places of its chunks → `Stored`."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..body.body import Body
from ..codec.filters import SHUFFLE
from ..codec.pipeline import WORD_SIZES, ChunkFilter, find_filter, simple_filters
from ..codec.slab_reading import locate_chunks, read_chunks, read_strided, strided_ranges
from ..codec.stored import Stored, StoredChunks
from ..errors import DsError, FormatError, TruncatedError, Unusual
from ..kernels.common.finishing import Finisher
from ..kernels.hdf5.indexes import find_chunks
from ..kernels.hdf5.small import SmallArray, read_small, read_strings
from .header import check_dataset
from .reading import read_known, read_together
from .records import HDF5Dataset, HDF5Filter, HDF5Layout

REFERENCE = "|V16"
"""A string of variable length: how long it is, and where in the file."""
NO_LENGTH = bytes(4)
"""The first bytes of a reference to a string without characters."""

SMALL_SIZE = 1024 * 1024
"""Bytes of an array up to which threads do not gain."""

MAX_SIZE = 16 * 1024 * 1024
"""Bytes of an array that are allocated for any file, however small."""

MAX_RATIO = 1100
"""Times the bytes of the file that a larger array may have. A file with more is mostly fill values, or damaged."""


@dataclass(slots=True)  # not frozen: such a one takes four times as long to make
class DatasetPlace:
    """Where the values of a dataset are in its file, and how they are stored there. It can be pickled.

    The index of chunks is read when it is needed first.
    """

    dtype: np.dtype[Any]
    """Native; S with the size of text; `REFERENCE`: strings."""
    is_big: bool
    """Whether the file has values in big-endian order."""
    shape: tuple[int, ...]
    max_shape: tuple[int, ...]
    """-1: unlimited."""
    layout: HDF5Layout
    filters: tuple[ChunkFilter, ...]
    small: SmallArray | None = field(compare=False, repr=False)
    """Reads all of its values from memory; None: there is another way."""
    fill: bytes | None
    """One value, as in the file, in place of those that were not written; None: zeros."""
    size: int
    """Bytes of all values in memory."""
    padding: str
    """As of `HDF5Type`. Values of text still have it."""
    chunks: StoredChunks | None = field(default=None, compare=False)
    """None: the index was not read yet."""

    @property
    def is_one_chunk(self) -> bool:
        """Whether all values are in one chunk, so that threads do not share the work of reading them."""
        chunk = self.layout.chunk
        return chunk is not None and all(n <= step for n, step in zip(self.shape, chunk, strict=True))

    def moved(self, layout: HDF5Layout) -> DatasetPlace:
        """Return the place of a dataset that is the same except for its layout."""
        return DatasetPlace(
            self.dtype, self.is_big, self.shape, self.max_shape, layout, self.filters, self.small, self.fill,
            self.size, self.padding,
        )  # fmt: skip


def place_of(dataset: HDF5Dataset) -> DatasetPlace:
    """Return where the values of a dataset are; nothing is read.

    Raises
    ------
    FormatError
        If layout, type and dataspace do not fit each other.
    Unusual
        If a library must read the values: for their type, their filters or their layout.
    """
    shape, size = check_dataset(dataset)
    type_, layout = dataset.type, dataset.layout
    dtype, is_big = _native(REFERENCE if type_.code is None else type_.code)
    if dtype.itemsize != type_.size:
        raise FormatError(f"datatype: found values of {type_.size} bytes, expected {dtype.itemsize}")
    filters = () if layout.chunk is None else _filters(dataset.filters, dtype.itemsize)
    small = _small_array(shape, size, layout, filters, dtype, is_big, dataset.fill)
    return DatasetPlace(
        dtype, is_big, shape, dataset.max_shape, layout, filters, small, dataset.fill, size, type_.padding
    )  # fmt: skip


@lru_cache(256)
def _native(code: str) -> tuple[np.dtype[Any], bool]:
    """Return a dtype in native byte order, and whether the one of a code is big-endian."""
    dtype = np.dtype(code)
    return dtype.newbyteorder("="), dtype.isnative == (sys.byteorder == "big")


@lru_cache(256)
def _filters(filters: tuple[HDF5Filter, ...], item_size: int) -> tuple[ChunkFilter, ...]:
    """Return the filters of chunks."""
    found = []
    for each in filters:
        filter_ = find_filter(each.number, each.values)
        if filter_ is None:
            raise Unusual(f"the filter {each.number}, which is not supported or whose library is not installed")
        found.append(filter_)
    if found and found[0].number == SHUFFLE and found[0].size not in (0, item_size):
        raise Unusual("the filter shuffle for values of another size")
    return tuple(found)


def _small_array(
    shape: tuple[int, ...],
    size: int,
    layout: HDF5Layout,
    filters: tuple[ChunkFilter, ...],
    dtype: np.dtype[Any],
    is_big: bool,
    fill: bytes | None,
) -> SmallArray | None:
    """Return the fastest reader of a whole dataset in memory; None if there is another way."""
    chunk, is_text = layout.chunk, dtype.kind == "V"
    simple = (False, False) if chunk is None else simple_filters(filters, 1 if is_text else dtype.itemsize)
    if simple is None or (chunk is not None and (layout.index != "btree1" or size > SMALL_SIZE)):
        return None
    if chunk is None or (is_text and fill is not None and fill[:4] == NO_LENGTH):
        fill = None  # all values are written, or zeros are the same as the fill value: an empty string
    if (fill is not None or simple[0]) if is_text else dtype.itemsize not in WORD_SIZES:
        return None
    return SmallArray(shape, chunk, dtype, is_big, *simple, fill)


class DatasetPlaces(Sequence[DatasetPlace]):
    """Places of datasets of a file, which may say the same as a file before. Each is made when it is asked for.

    Parameters
    ----------
    known : list of DatasetPlace
        Places in the file before.
    numbers : list of int
        The dataset of each.
    datasets : list of HDF5Dataset
        Those of this file, with the layouts.
    forms : list of (SmallArray or None), optional
        Those of the known places.
    """

    __slots__ = ("_datasets", "_known", "_numbers", "forms")

    def __init__(
        self,
        known: list[DatasetPlace],
        numbers: list[int],
        datasets: list[HDF5Dataset],
        forms: list[SmallArray | None] | None = None,
    ):
        self._known, self._numbers, self._datasets = known, numbers, datasets
        self.forms = [place.small for place in known] if forms is None else forms

    def in_file(self, datasets: list[HDF5Dataset]) -> DatasetPlaces:
        """Return the places in another file that says the same."""
        return DatasetPlaces(self._known, self._numbers, datasets, self.forms)

    def addresses(self) -> list[int | None]:
        """Return where the layout of each dataset says that its values are."""
        datasets = self._datasets
        return [datasets[i].layout.address for i in self._numbers]

    def __len__(self) -> int:
        return len(self._known)

    def __getitem__(self, i: Any) -> Any:
        return self._known[i].moved(self._datasets[self._numbers[i]].layout)

    def __iter__(self) -> Iterator[DatasetPlace]:
        return map(self.__getitem__, range(len(self)))


def small_values(
    body: Body, places: Sequence[DatasetPlace], requests: list[tuple[tuple[int, ...], Finisher] | None], masked: bool
) -> tuple[list[Any], list[int]]:
    """Read all datasets of a file in memory that need nothing special, in one call; see `small.read_small`."""
    if isinstance(places, DatasetPlaces):
        forms, addresses = places.forms, places.addresses()
    else:
        forms, addresses = [place.small for place in places], [place.layout.address for place in places]
    return read_small(body.memory, forms, addresses, requests, masked)


def values(
    body: Body,
    place: DatasetPlace,
    slices: tuple[slice, ...] | None = None,
    sought: NDArray[Any] | None = None,
    *,
    as_text: bool = False,
) -> tuple[NDArray[Any], bool]:
    """Return a dataset, or a part of it, and whether one of some values may be in it.

    Any number of threads may do so at a time, and other threads run meanwhile.

    Parameters
    ----------
    body : Body
        The bytes of the file.
    place : DatasetPlace
    slices : tuple of slice, optional
        Slices of step 1, one per dimension, inside of its shape. Default: the whole dataset.
    sought : (N,) ndarray, optional
        Values of the type of the dataset. NaN equals NaN.
    as_text : bool
        Whether strings of variable length are returned as `str`.

    Returns
    -------
    ndarray
        In native byte order, of full rank, not a view of the file. Text is of the dtype S; strings of variable length
        are objects, `bytes` or `str`, each up to its first NUL.
    bool

    Raises
    ------
    OSError
        As the operating system says.
    FormatError
        If the index of chunks, a chunk or a string is damaged.
    TruncatedError
        If the file ends before the values do.
    Unusual
        If a library must read the values, or say what is wrong with them: text that is not UTF-8.
    """
    if slices is None:
        found = _small(body, place, sought)
        if found is not None:
            return (_strings(body, found[0], as_text), found[1]) if place.dtype.kind == "V" else found
        slices = tuple([slice(0, n) for n in place.shape])
    shape = tuple([s.stop - s.start for s in slices])
    check_size(math.prod(shape) * place.dtype.itemsize, body)
    may_be_found = sought is not None
    if 0 in shape:
        array, may_be_found = np.empty(shape, place.dtype), False
    elif place.layout.address is None:
        array = np.empty(shape, place.dtype)
        array[...] = _fill(place)
    elif place.layout.chunk is not None:
        array, may_be_found = _from_chunks(body, place, slices, sought)
    else:
        array, may_be_found = _from_run(body, place, slices, shape, sought)
    if place.dtype.kind == "V":
        array = _strings(body, array, as_text)
    return array, may_be_found


def check_size(size: int, body: Body) -> None:
    """Refuse an array that is far larger than the file: it would be mostly fill values, or the file is damaged.

    Parameters
    ----------
    size : int
        Bytes of the array.
    body : Body
        The bytes of the file.

    Raises
    ------
    Unusual
        If a library must read it.
    """
    if size > MAX_SIZE and size > MAX_RATIO * body.size:
        raise Unusual(f"an array of {size} bytes in a file of {body.size}")


def _small(body: Body, place: DatasetPlace, sought: NDArray[Any] | None) -> tuple[NDArray[Any], bool] | None:
    """Return a small dataset in the way that takes least time; None if there is another way."""
    small, address = place.small, place.layout.address
    if small is None or address is None:
        return None
    if body.memory is not None:
        return small.read(body.memory, address, sought)
    if place.layout.chunk is None:
        return None
    chunks = _chunks(body, place)
    sizes = chunks.sizes.astype(np.int64)
    total = int(sizes.sum())
    if total > MAX_SIZE:
        return None
    data = np.empty(total, np.uint8)
    try:
        body.ranges(chunks.offsets.astype(np.int64), sizes, [data])
    except TruncatedError:
        return None  # reading it in another way says which chunk it is
    return small.read_listed(data, chunks.numbers, sizes, chunks.masks, sought)


def _fill(place: DatasetPlace) -> NDArray[Any]:
    """Return what is there where nothing was written, without a dimension."""
    if place.fill is None:
        return np.zeros((), place.dtype)
    return np.frombuffer(place.fill, _stored_dtype(place)).reshape(()).astype(place.dtype)


def _stored_dtype(place: DatasetPlace) -> np.dtype[Any]:
    return place.dtype.newbyteorder(">" if place.is_big else "<")


def stored_of(body: Body, place: DatasetPlace) -> Stored:
    """Return how the values of a dataset are stored, with the places of its chunks.

    Raises
    ------
    FormatError
        If the index of chunks is damaged.
    Unusual
        If it is not supported.
    """
    layout = place.layout
    if layout.chunk is not None:
        _chunks(body, place)
    offset = layout.address if layout.chunk is None else None
    return Stored(_stored_dtype(place), place.shape, offset, layout.chunk, place.filters, _fill(place), place.chunks)


PLAIN_EDGES = 1
"""A flag of layouts: chunks that are not inside of the shape whole went through no filter."""


def _chunks(body: Body, place: DatasetPlace) -> StoredChunks:
    """Return where the chunks of a dataset are, which is found out once."""
    if place.chunks is None:
        place.chunks = _sorted(*read_known(body, _index_parser(place), body.at_hand))
    return place.chunks


def load_indexes(body: Body, places: Iterable[DatasetPlace]) -> None:
    """Read the indexes of the chunks of several datasets, each level of all of them together.

    Indexes that are damaged or unusual are left out; `values` raises the reason.
    """
    missing = [place for place in places if place.layout.chunk is not None and place.chunks is None]

    def lenient(place: DatasetPlace) -> Callable[[Any, int], Any]:
        parse = _index_parser(place)

        def parse_or_leave(segments: Any, size: int) -> Any:
            try:
                return parse(segments, size)
            except (DsError, Unusual):
                return None

        return parse_or_leave

    for place, found in zip(missing, read_together(body, map(lenient, missing), body.at_hand), strict=True):
        if found is not None:
            place.chunks = _sorted(*found)


def find_index(body: Body, place: DatasetPlace) -> None:
    """Find the chunks of a dataset if its index is at hand; see `Body.at_hand`. Errors are left to `values`."""
    if place.layout.chunk is not None and place.chunks is None:
        with contextlib.suppress(DsError, Unusual):
            found = _index_parser(place)(body.at_hand, body.size)
            if not isinstance(found, list):
                place.chunks = _sorted(*found)


def check_index(body: Body, dataset: HDF5Dataset) -> None:
    """Check the index of the chunks of a dataset, whatever type and filters it has.

    Raises
    ------
    FormatError
        If it is damaged.
    Unusual
        If it is not supported.
    """
    if dataset.layout.chunk is not None and dataset.shape:
        read_known(body, _index_parser(dataset), body.at_hand)


def _sorted(
    numbers: NDArray[np.int64], offsets: NDArray[np.uint64], sizes: NDArray[np.uint64], masks: NDArray[np.uint32]
) -> StoredChunks:
    order = np.argsort(numbers, kind="stable")  # an extensible array may have another order
    return StoredChunks(numbers[order], offsets[order], sizes[order], masks[order])


def _index_parser(place: DatasetPlace | HDF5Dataset) -> Callable[[Any, int], Any]:
    """Return a function that parses the index of the chunks of a dataset, for `read_known`."""
    layout, shape, max_shape = place.layout, place.shape or (), place.max_shape
    index, address, chunk = layout.index or "", layout.address, layout.chunk or ()

    def parse(segments: Any, size: int) -> Any:
        if address is None:
            nothing = np.zeros(0, np.uint64)
            return nothing.astype(np.int64), nothing, nothing, nothing.astype(np.uint32)
        return find_chunks(
            segments,
            size,
            index,
            address,
            layout.parameters,
            shape,
            max_shape,
            chunk,
            layout.size,
            bool(place.filters),
            bool(layout.flags & PLAIN_EDGES),
            Unusual,
        )

    return parse


def _from_chunks(
    body: Body, place: DatasetPlace, slices: tuple[slice, ...], sought: NDArray[Any] | None
) -> tuple[NDArray[Any], bool]:
    stored = stored_of(body, place)
    table = locate_chunks(stored, slices, body.size)
    if table is None:
        raise Unusual("chunks that take far more bytes than their values")
    return read_chunks(body, stored, table, [s.stop - s.start for s in slices], sought)


def _from_run(
    body: Body, place: DatasetPlace, slices: tuple[slice, ...], shape: tuple[int, ...], sought: NDArray[Any] | None
) -> tuple[NDArray[Any], bool]:
    """Return values that lie in one piece, or a part of them."""
    item_size = place.dtype.itemsize
    if (place.layout.address or 0) + place.size > body.size:
        raise _truncated(body.size, place)
    begin, strides = _strides(place, slices)
    if item_size in WORD_SIZES and not (sought is not None and place.dtype.char == "e"):
        try:
            return read_strided(body, begin, shape, tuple(strides), place.dtype, sought, place.is_big)
        except EOFError:
            raise _truncated(body.current_size(), place) from None
    size = item_size + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    data = body.read(begin, size)
    return np.ndarray(shape, _stored_dtype(place), data, 0, strides).astype(place.dtype, order="C"), sought is not None


def _strides(place: DatasetPlace, slices: tuple[slice, ...]) -> tuple[int, list[int]]:
    """Return the position of the first value of a slab in the file, and the distances between values, in bytes."""
    strides = [place.dtype.itemsize] * len(place.shape)
    for axis in range(len(strides) - 1, 0, -1):
        strides[axis - 1] = strides[axis] * place.shape[axis]
    begin = place.layout.address or 0
    return begin + sum(s.start * stride for s, stride in zip(slices, strides, strict=True)), strides


def ranges_of(
    body: Body, place: DatasetPlace, slices: tuple[slice, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return offset and size of each range of bytes that a slab is read from; as `values`.

    There are none if the index of chunks is not loaded; see `load_indexes`. Those of strings are references.

    Raises
    ------
    TruncatedError
        If a chunk is outside of the file.
    """
    shape = tuple([s.stop - s.start for s in slices])
    if 0 not in shape and place.layout.address is not None:
        if place.layout.chunk is None:
            begin, strides = _strides(place, slices)
            return strided_ranges(begin, shape, tuple(strides), place.dtype.itemsize)
        table = None if place.chunks is None else locate_chunks(stored_of(body, place), slices, body.size)
        if table is not None:
            return np.array(table.offsets, np.int64), np.array(table.sizes, np.int64)
    return np.zeros(0, np.int64), np.zeros(0, np.int64)


def _strings(body: Body, references: NDArray[Any], as_text: bool) -> NDArray[Any]:
    """Return the strings of references."""
    flat = references.reshape(-1).view(np.uint8)
    shape = references.shape if references.dtype.kind == "V" else references.shape[:-1]

    def parse(segments: Any, size: int) -> Any:
        return read_strings(segments, size, flat, as_text, Unusual)

    try:
        strings: NDArray[Any] = read_known(body, parse, body.at_hand)
    except UnicodeDecodeError:
        raise Unusual("strings that are not UTF-8") from None
    return strings.reshape(shape)


def _truncated(size: int, place: DatasetPlace) -> TruncatedError:
    return TruncatedError(
        f"found {size} bytes in the file, expected at least {(place.layout.address or 0) + place.size}"
    )
