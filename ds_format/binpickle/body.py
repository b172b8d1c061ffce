"""The bytes of a file that is being written, from the first to the last."""

from __future__ import annotations

import mmap
from typing import Any

from ..body import Opened
from ..body.target import naming
from ..kernels.files import ranges
from . import checksums
from .format import HEADER, FileHeader, FileTrailer, IndexEntry, encode_index, flags

GATHERED = 1 << 18
"""Bytes to which small buffers are gathered."""
BLOCK = 1 << 22
"""Bytes of large buffers that are written at once, after their checksum was made, which leaves some in the cache."""


class Body(Opened):
    """What is between header and trailer, and these at the end.

    Parameters
    ----------
    path : str
        For errors.
    fd : int
        An empty file, open for writing.
    align : bool
        Begin all buffers at pages.
    version : int
        Of the file.

    Attributes
    ----------
    entries : list of IndexEntry
        What the index will say: whoever adds a buffer adds its entry, in the order of the pickle.
    """

    def __init__(self, path: str, fd: int, *, align: bool, version: int):
        self.path, self.fd, self.version = path, fd, version
        self.entries: list[IndexEntry] = []
        self._align = align
        self._pending = bytearray(HEADER.size)
        self._start = 0

    @property
    def end(self) -> int:
        """Bytes from the start of the file to where the next buffer could begin, were it not aligned."""
        return self._start + len(self._pending)

    def put(self, data: memoryview) -> tuple[int, int | bytes]:
        """Write a whole buffer; return its offset and checksum."""
        if self._align:
            self._pending += bytes(-self.end % mmap.PAGESIZE)
        offset = self.end
        if data.nbytes < GATHERED:
            self._pending += data
            if len(self._pending) >= GATHERED:
                self._flush()
            return offset, checksums.OF[self.version](data)
        piecewise = self.begin(offset, data.nbytes)
        piecewise.write(data)
        self.go_on(piecewise.end)
        return offset, piecewise.checksum

    def begin(self, offset: int, size: int = 0) -> Piecewise:
        """Return a buffer that comes piece by piece, while others may, too.

        Parameters
        ----------
        offset : int
            `end`, or further on.
        size : int
            Bytes that it will have, if that is known.
        """
        self._flush()
        if self._align:
            offset += -offset % mmap.PAGESIZE
        if size >= GATHERED:
            ranges.reserve(self.fd, offset, size)
        return Piecewise(self, offset)

    def go_on(self, offset: int) -> None:
        """Say that all before a byte has been written."""
        self._flush()
        self._start = offset

    def finish(self, *, is_mappable: bool) -> None:
        """Write index, trailer and header, when all buffers and the pickle are there."""
        index = encode_index(self.entries)
        trailer = FileTrailer(self.end, len(index), checksums.OF[self.version](index))
        self._pending += index
        self._pending += trailer.encode()
        self._flush()
        set_flags = flags(is_mappable=is_mappable) if self.version == 2 else 0
        self.write_at(0, FileHeader(self.version, self._start, set_flags).encode())

    def write_at(self, offset: int, data: Any) -> int:
        """Write bytes at a place; return how many these are."""
        with naming(self.path):
            return ranges.write_at(self.fd, offset, data)

    def _flush(self) -> None:
        self._start += self.write_at(self._start, self._pending)
        self._pending = bytearray()


class Piecewise:
    """A buffer that is written piece by piece."""

    def __init__(self, body: Body, offset: int):
        self.offset = self.end = offset
        """Bytes from the start of the file to its first byte, and to that behind its last one."""
        self._body, self._checksum = body, checksums.new(body.version)

    @property
    def checksum(self) -> int | bytes:
        """Of the bytes so far."""
        return self._checksum.result()

    def write(self, data: Any) -> int:
        """Write the next bytes; return how many these are."""
        view = memoryview(data).cast("B") if memoryview(data).nbytes else memoryview(b"")
        for start in range(0, len(view), BLOCK):
            piece = view[start : start + BLOCK]
            self._checksum.update(piece)
            self.end += self._body.write_at(self.end, piece)
        return len(view)

    def entry(self, info: Any = None) -> IndexEntry:
        """Return what the index says of it."""
        size = self.end - self.offset
        return IndexEntry(self.offset, size, size, self.checksum, None, info)
