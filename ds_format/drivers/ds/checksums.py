"""Checksums of a ds file, in a trailer after the last value, which other readers ignore.

::

    trailer = sums header-sum count trailer-sum magic
    sums        for each variable, in the order of the header, the CRC-32 of its bytes: `.len` bytes at `.offset`
    header-sum  CRC-32 of the bytes before the body: version line, header line, and the line feed at its end
    count       number of variables
    trailer-sum CRC-32 of `sums`, `header-sum` and `count`
    magic       the 8 bytes `ds-crc32`, the last ones of the file

Numbers are unsigned integers of 32 bits, little-endian. A program that does not know the trailer drops it when it
rewrites the file.
"""

from __future__ import annotations

import bisect
import functools
import importlib
import itertools
import json
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ...body.body import PIECE_SIZE, FileBody
from ...codec.line import find_end
from ...datasets import META
from ...errors import FormatError, IntegrityError

MAGIC = b"ds-crc32"
END = struct.Struct("<III8s")
"""Header sum, number of variables, sum of the trailer, magic."""

Read = Callable[[int, int], Any]
"""Offset and size in bytes → the bytes."""


@functools.cache
def _crc32() -> Callable[[Any, int], int]:
    """Return a function that computes a CRC-32: from the library deflate if it is installed, otherwise from Python."""
    try:
        crc32: Callable[[Any, int], int] = importlib.import_module("deflate").crc32
    except ImportError:
        return zlib.crc32
    return crc32


class Sums(NamedTuple):
    """The checksums of a file."""

    header: int
    """Checksum of the bytes before the body."""
    variables: tuple[int, ...]
    """Checksum of each variable, in the order of the header."""

    def encode(self) -> bytes:
        """Return the trailer."""
        data = struct.pack(f"<{len(self.variables) + 2}I", *self.variables, self.header, len(self.variables))
        return data + struct.pack("<I", _crc32()(data, 0)) + MAGIC

    @property
    def size(self) -> int:
        """Bytes of the trailer."""
        return 4 * len(self.variables) + END.size


def find(read: Read, size: int, n: int) -> Sums | None:
    """Return the checksums of a file, or None if it has none.

    Parameters
    ----------
    read : callable
        Offset in the file and size in bytes → the bytes.
    size : int
        Size of the file, in bytes.
    n : int
        Number of variables in the header.

    Raises
    ------
    IntegrityError
        If the trailer is damaged.
    """
    if size < END.size:
        return None
    header, found, own, magic = END.unpack(bytes(read(size - END.size, END.size)))
    data = b""
    if found == n and size >= END.size + 4 * n:
        data = bytes(read(size - END.size - 4 * n, 4 * n + 8))
    computed = _crc32()(data, 0)
    fits = bool(data) and computed == own
    if magic != MAGIC:
        if fits:
            raise IntegrityError(f"trailer of checksums: found {magic!r} at its end, expected {MAGIC!r}")
        return None
    if not fits:
        raise IntegrityError(f"trailer of checksums: found CRC-32 {computed:08x}, expected {own:08x}")
    return Sums(header, struct.unpack(f"<{n}I", data[:-8]))


def is_damaged(read: Read, start: int, size: int, line: bytes) -> bool:
    """Return whether the bytes after the last value are what damage left of a trailer.

    They are if they have its size or its magic, or if one of the checksums that fit the file is in its place.
    Other programs may leave other bytes there.

    Parameters
    ----------
    read : callable
        See `find`, which returned None.
    start, size : int
        Position of these bytes, and their number.
    line : bytes
        The bytes of the file before its body.
    """
    places = extents(line)
    trailer_size = 4 * len(places) + END.size
    tail = bytes(read(start, min(size, trailer_size)))
    if size == trailer_size or MAGIC in tail:
        return True
    expected = _computed(read, line).encode()[: 4 * len(places) + 4] if any(tail) else b""
    words = (slice(i, i + 4) for i in range(0, min(len(tail), len(expected)), 4))
    return any(any(tail[word]) and expected[word].startswith(tail[word]) for word in words)


def compare(what: str, found: int, expected: int, variable: str | None = None) -> None:
    """Raise an IntegrityError if two checksums differ."""
    if found != expected:
        raise IntegrityError(f"{what}: found CRC-32 {found:08x}, expected {expected:08x}", variable=variable)


def of_range(read: Read, offset: int, size: int) -> int:
    """Return the CRC-32 of a range of bytes, which is read in blocks."""
    crc, crc32 = 0, _crc32()
    for start in range(offset, offset + size, PIECE_SIZE):
        crc = crc32(read(start, min(PIECE_SIZE, offset + size - start)), crc)
    return crc


def extents(line: bytes) -> list[tuple[int, int]]:
    """Return the position of the bytes of each variable in the file, and their number.

    Parameters
    ----------
    line : bytes
        The bytes of the file before its body.
    """
    found = []
    for key, entry in json.loads(line[line.index(b"{") :]).items():
        if key != META:
            offset, size = entry.get(".offset", 0), entry.get(".len", 0)
            if type(offset) is not int or type(size) is not int or min(offset, size) < 0:
                raise FormatError(f"expected .offset and .len, found {offset!r} and {size!r}", variable=key)
            found.append((len(line) + offset, size))
    return found


def of_buffers(buffers: Sequence[Any]) -> bytes:
    """Return the trailer of a file that consists of buffers. The first one begins with the header."""
    views = [memoryview(buffer).cast("B") for buffer in buffers if memoryview(buffer).nbytes]
    starts = list(itertools.accumulate((view.nbytes for view in views), initial=0))
    line = bytes(views[0][: find_end(bytes(views[0]), whole=True) + 1])
    crc32 = _crc32()

    def crc_of(offset: int, size: int) -> int:
        crc = 0
        for part in _parts(views, starts, offset, size):
            crc = crc32(part, crc)
        return crc

    return Sums(crc32(line, 0), tuple(crc_of(*place) for place in extents(line))).encode()


def _parts(views: Sequence[memoryview], starts: Sequence[int], offset: int, size: int) -> Iterator[memoryview]:
    """Iterate over the parts of a range of bytes in consecutive buffers, which begin at `starts`."""
    end = offset + size
    i = bisect.bisect_right(starts, offset) - 1
    while offset < end:
        part = views[i][offset - starts[i] : end - starts[i]]
        yield part
        offset += part.nbytes
        i += 1


def of_file(file: FileBody, line: bytes) -> bytes:
    """Return the trailer of a file that is written up to the end of its last value.

    Parameters
    ----------
    file : FileBody
    line : bytes
        Its bytes before the body.
    """
    buffer = bytearray(PIECE_SIZE)

    def read(offset: int, size: int) -> memoryview:
        view = memoryview(buffer)[:size]
        file.read_into(offset, view)
        return view

    return _computed(read, line).encode()


def _computed(read: Read, line: bytes) -> Sums:
    return Sums(_crc32()(line, 0), tuple(of_range(read, *place) for place in extents(line)))
