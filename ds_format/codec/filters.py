"""Filters: what a chunk went through when it was written, and how it is undone.

Libraries are loaded when a file needs them. Each decoder is told how many bytes there may be at most: nothing that a
file says of itself makes it allocate more.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import FormatError, UnsupportedError
from ..kernels.common.checksums import fletcher32
from ..kernels.hdf5.chunks import unshuffle

if TYPE_CHECKING:
    from typing_extensions import Buffer

DEFLATE, SHUFFLE, FLETCHER32, BLOSC, ZSTD = 1, 2, 3, 32001, 32015
"""Numbers of filters: those of HDF5, and those registered with The HDF Group."""

NUMCODECS = {BLOSC: "blosc", ZSTD: "zstd"}
"""Those that modules of the library numcodecs undo."""

CHECKSUM_SIZE = 4
"""Bytes behind the others of a chunk."""

MAX_RATIO = 1032
"""Bytes that one byte of deflate becomes at most: 258 for each two bits, and blocks have headers."""

Decode = Callable[[Any, int], Any]
"""Takes bytes and how many there may be at most, and returns bytes."""


class ChunkFilter(NamedTuple):
    """One step of what a chunk went through."""

    number: int
    size: int = 0
    """Of a value, in bytes; for the filter "shuffle"."""

    def decoder(self) -> Decode | None:
        """Return what undoes it; None if it is not known here, or its library is absent."""
        if self.number == SHUFFLE:
            return self._unshuffle
        if self.number == FLETCHER32:
            return _checked
        if self.number == DEFLATE:
            return inflater()
        return _numcodecs(NUMCODECS[self.number]) if self.number in NUMCODECS else None

    def _unshuffle(self, data: Any, limit: int) -> Any:
        return _unshuffled(data, self.size)


class Decoded(NamedTuple):
    """The bytes of a chunk."""

    data: Any
    is_shuffled: bool
    """Whether the bytes of each value are still apart."""


def find_filter(number: int, values: tuple[int, ...]) -> ChunkFilter | None:
    """Return a filter; None if it is not known here, or its library is absent.

    Parameters
    ----------
    number : int
    values : tuple of int
        What was said to the filter.
    """
    found = ChunkFilter(number, int(values[0]) if number == SHUFFLE and values else 0)
    if number == SHUFFLE and found.size <= 0:
        return None
    return None if found.decoder() is None else found


def decode(data: Any, filters: tuple[ChunkFilter, ...], mask: int, size: int) -> Decoded:
    """Undo what a chunk went through, but for the first step if that is "shuffle".

    Parameters
    ----------
    data : buffer
        As the file has it.
    filters : tuple of ChunkFilter
    mask : int
        A bit for each that this chunk did not go through.
    size : int
        Bytes that must come out.

    Raises
    ------
    FormatError
        If the chunk is damaged.
    UnsupportedError
        If the library of a filter is absent.
    """
    steps = [each for i, each in enumerate(filters) if not mask >> i & 1]
    is_shuffled = bool(filters) and filters[0].number == SHUFFLE and not mask & 1
    if is_shuffled:
        del steps[0]
    for i in reversed(range(len(steps))):
        checksums = sum(each.number == FLETCHER32 for each in steps[:i])
        undo = steps[i].decoder()
        if undo is None:
            raise UnsupportedError(f"went through the filter {steps[i].number}, whose library is not installed here")
        data = undo(data, size + CHECKSUM_SIZE * checksums)
    if memoryview(data).nbytes != size:
        raise FormatError(f"found {memoryview(data).nbytes} bytes, expected {size}")
    return Decoded(data, is_shuffled)


@cache
def inflater() -> Decode:
    """Return what inflates: the library deflate where it is installed, else that of Python."""
    try:
        deflate: Any = importlib.import_module("deflate")
    except ImportError:
        return _inflate_by_zlib

    def inflate(data: Buffer, limit: int) -> Any:
        _check_ratio(data, limit)
        try:
            return deflate.zlib_decompress(data, limit)
        except (deflate.DeflateError, ValueError) as error:
            raise FormatError(f"cannot be inflated to {limit} bytes: {error}") from error

    return inflate


def _inflate_by_zlib(data: Buffer, limit: int) -> bytes:
    _check_ratio(data, limit)
    machine = zlib.decompressobj()
    try:
        found = machine.decompress(data, limit)
    except zlib.error as error:
        raise FormatError(f"cannot be inflated to {limit} bytes: {error}") from error
    if len(found) == limit and not machine.eof:
        # what is left is the checksum, or too much
        try:
            rest = machine.decompress(machine.unconsumed_tail, 1)
        except zlib.error as error:
            raise FormatError(f"cannot be inflated to {limit} bytes: {error}") from error
        if rest:
            raise FormatError(f"found more than {limit} bytes when it was inflated")
    if not machine.eof:
        raise FormatError(f"found {len(found)} bytes when it was inflated, and no end; expected {limit}")
    return found


def _check_ratio(data: Buffer, limit: int) -> None:
    """Refuse what cannot become as many bytes, before there is room for them."""
    size = memoryview(data).nbytes
    if size * MAX_RATIO < limit:
        raise FormatError(f"found {size} bytes, which cannot be inflated to {limit}")


def _numcodecs(name: str) -> Decode | None:
    try:
        module: Any = importlib.import_module(f"numcodecs.{name}")
    except ImportError:
        return None

    def decompress(data: Buffer, limit: int) -> Any:
        room = np.empty(limit, np.uint8)
        try:
            # into room of that size: what the bytes say of themselves may be anything
            module.decompress(data, room)
        except (RuntimeError, ValueError) as error:
            raise FormatError(f"cannot be decoded by {name} to {limit} bytes: {error}") from error
        return room

    return decompress


def _unshuffled(data: Buffer, size: int) -> Any:
    room = np.empty(memoryview(data).nbytes, np.uint8)
    unshuffle(data, room, size)
    return room


def _checked(data: Buffer, limit: int) -> memoryview:
    """Return what is before the checksum, which must be right."""
    view = memoryview(data)
    content, stored = view[:-CHECKSUM_SIZE], int.from_bytes(view[-CHECKSUM_SIZE:], "little")
    if view.nbytes < CHECKSUM_SIZE:
        raise FormatError(f"found {view.nbytes} bytes, expected a checksum of {CHECKSUM_SIZE}")
    found = fletcher32(content)
    # HDF5 before 1.6.3 took pairs of bytes in the order of the machine
    swapped = (found & 0x00FF00FF) << 8 | (found & 0xFF00FF00) >> 8
    if stored not in (found, swapped):
        raise FormatError(f"its checksum is {stored:#010x}, expected {found:#010x}")
    return content
