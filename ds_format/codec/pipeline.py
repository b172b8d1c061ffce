"""The pipeline of filters of a chunk of an HDF5 file: `encoder` applies them in their order, `decode` reverses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import DsError, FormatError
from .filters import CHECKSUM_SIZE, FLETCHER32, HDF5, SHUFFLE, SZIP, ZLIB_NUMBER, Options

SIMPLE = frozenset({(), (SHUFFLE,), (ZLIB_NUMBER,), (SHUFFLE, ZLIB_NUMBER)})
"""Numbers of filters, in the order in which they were applied, that a kernel undoes."""

WORD_SIZES = frozenset({1, 2, 4, 8})
"""Bytes of values that kernels turn to the native byte order, and search."""

SZIP_VALUES, SZIP_WIDTH = 4, 2
"""Number of client values of szip, and which of them is the number of bits of a value."""

SZIP_WIDTHS = frozenset({8, 16, 32, 64})
"""Bits of values that are decoded. Others are those of odd integers, which datasets do not have."""

KEEP_SIZE = frozenset({SHUFFLE, FLETCHER32})
"""Filters that do not change the size, except for a checksum."""

SPARE_SIZE = 64 * 1024
"""Bytes by which an encoded chunk may exceed twice the size of its values."""


class ChunkFilter(NamedTuple):
    """One step of the filter pipeline of a chunk."""

    number: int
    size: int = 0
    """Bytes of a value, for the filter "shuffle" only; 0: not in the file, so that all chunks must skip the filter."""
    level: int = 0
    """Level of compression. Decoding ignores it."""
    values: tuple[int, ...] = ()
    """Client values of the filter "szip"."""

    @property
    def options(self) -> Options:
        """The configuration, for `Filter.decode`."""
        return {"elementsize": self.size, "values": self.values}

    def decode(self, data: Any, limit: int) -> memoryview:
        """Reverse this step; see `Filter.decode`."""
        filter_ = HDF5[self.number]
        try:
            return filter_.decode(data, limit, self.options)
        except DsError as error:
            raise type(error)(f"filter {filter_.name}: {error.message}") from None


class SimpleFilters(NamedTuple):
    """Filters that a kernel undoes."""

    is_shuffled: bool
    """Whether chunks went through the filter "shuffle"."""
    is_deflated: bool
    """Whether they went through the filter "deflate", then."""


def simple_filters(filters: tuple[ChunkFilter, ...], item_size: int) -> SimpleFilters | None:
    """Return how a kernel undoes filters; None if it does not.

    Parameters
    ----------
    filters : tuple of ChunkFilter
        In the order in which they were applied.
    item_size : int
        Bytes of a value.
    """
    numbers = tuple([each.number for each in filters])
    if numbers not in SIMPLE or item_size not in WORD_SIZES or (SHUFFLE in numbers and not filters[0].size):
        return None
    return SimpleFilters(SHUFFLE in numbers, ZLIB_NUMBER in numbers)


class Decoded(NamedTuple):
    """The bytes of a chunk."""

    data: Any
    is_shuffled: bool
    """Whether the bytes of each value are still shuffled."""


def find_filter(number: int, values: tuple[int, ...]) -> ChunkFilter | None:
    """Return a filter, or None if it is not supported or its library is not installed.

    Parameters
    ----------
    number : int
        Number of the filter in HDF5.
    values : tuple of int
        The client data of the filter in the file.
    """
    if number not in HDF5 or not HDF5[number].is_available():
        return None
    if number == SZIP:
        is_usual = len(values) == SZIP_VALUES and int(values[SZIP_WIDTH]) in SZIP_WIDTHS
        return ChunkFilter(number, values=tuple(map(int, values))) if is_usual else None
    return ChunkFilter(number, int(values[0]) if number == SHUFFLE and values else 0)


def encoder(filters: tuple[ChunkFilter, ...]) -> Callable[[Any], Any]:
    """Return a function that applies filters, in their order, to the bytes of a chunk, and returns what is stored.

    The filters are shuffle, Fletcher-32, zlib, bzip2 and zstd.
    """
    steps = [(HDF5[each.number].encoder, each.level, each.options) for each in filters]

    def encode(data: Any) -> Any:
        for apply, level, options in steps:
            data = apply(data, level, options)  # type: ignore[misc]  # all of these have an encoder
        return data

    return encode


def decode(data: Any, filters: tuple[ChunkFilter, ...], mask: int, size: int) -> Decoded:
    """Reverse the filters of a chunk, except the first one if it is "shuffle".

    Parameters
    ----------
    data : buffer
        The bytes in the file.
    filters : tuple of ChunkFilter
        In the order in which they were applied.
    mask : int
        One bit per filter, set if the filter was skipped for this chunk.
    size : int
        Bytes of the decoded chunk.

    Raises
    ------
    FormatError
        If the chunk is damaged.
    UnsupportedError
        If the library of a filter is not installed.
    """
    steps = [each for i, each in enumerate(filters) if not mask >> i & 1]
    is_shuffled = bool(filters) and filters[0].number == SHUFFLE and filters[0].size > 0 and not mask & 1
    if is_shuffled:
        del steps[0]
    for i in reversed(range(len(steps))):
        data = steps[i].decode(data, _limit(steps[:i], size) if i else size)
    if memoryview(data).nbytes != size:
        raise FormatError(f"found {memoryview(data).nbytes} bytes, expected {size}")
    return Decoded(data, is_shuffled)


def _limit(steps: list[ChunkFilter], size: int) -> int:
    """Return the maximum bytes of a chunk of `size` bytes after some encoding steps."""
    numbers = [step.number for step in steps]
    if KEEP_SIZE.issuperset(numbers):
        return size + CHECKSUM_SIZE * numbers.count(FLETCHER32)
    return 2 * size + SPARE_SIZE
