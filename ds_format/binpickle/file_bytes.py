"""Where the bytes of a file come from: copied, or mapped into memory.

Both give a buffer with its checksum compared and its codecs undone. A copy is apart from the file, and writable. A view
of a map is read only, and keeps the map, whatever becomes of the file's name and of who opened it.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..body import Opened, open_binary
from ..body.body import FileBody
from ..errors import DsError, IntegrityError, TruncatedError
from ..kernels.files import ranges
from . import checksums
from .codecs.decoders import decode
from .format import IndexEntry

SMALL = 1 << 16
"""Bytes below which buffers are read together with their neighbours."""
BLOCK = 1 << 18
"""Bytes that are read at once, and of which the checksum is made while they are in the cache."""


class FileBytes(Protocol):
    """The bytes of a file."""

    size: int
    """Bytes of the file when it was opened."""

    def read(self, offset: int, size: int) -> Any:
        """Return bytes of the file.

        Raises
        ------
        TruncatedError
            If it has become shorter.
        """

    def buffers(self, entries: Sequence[IndexEntry], which: range, version: int, verify: bool | None) -> Iterator[Any]:
        """Iterate over the decoded bytes of some of the entries; `verify` as `BinPickleFile` takes it.

        Raises
        ------
        IntegrityError
            If a checksum differs.
        DsError
            If they cannot be decoded; all messages name the entry.
        """

    def fill(self, offsets: NDArray[np.int64], size: int, out: Any) -> None:
        """Fill a buffer with stretches of `size` bytes each, one after another.

        Raises
        ------
        TruncatedError
            If the file has become shorter.
        """

    def close(self) -> None:
        """Let go of the file."""


def open_bytes(path: str, *, direct: bool) -> FileBytes:
    """Open a file.

    Raises
    ------
    OSError
        If it cannot be opened, or is no file.
    """
    return Mapped(path) if direct else Copied(path)


class Copied(Opened):
    """A file that is read."""

    def __init__(self, path: str):
        self._path = path
        self._file: FileBody | None = FileBody.open(path)
        self.size = self._file.size

    def _opened(self) -> FileBody:
        if self._file is None:
            raise ValueError(f"{self._path}: the file is closed")
        return self._file

    def read(self, offset: int, size: int) -> Any:
        """Return bytes of the file, writable."""
        data = bytearray(size) if size < SMALL else np.empty(size, np.uint8).data
        self._fill(offset, data)
        return data

    def _fill(self, offset: int, data: Any) -> None:
        file = self._opened()  # which is held until it has been read
        found = ranges.read_at(file.fd, offset, data)
        if found < len(data):
            raise _shorter(offset + found)

    def fill(self, offsets: NDArray[np.int64], size: int, out: Any) -> None:
        """Read stretches of one size."""
        file = self._opened()
        found = ranges.read_ranges(file.fd, offsets, size, out)
        if found < len(offsets) * size:
            raise _shorter(int(offsets[found // size]) + found % size)

    def buffers(self, entries: Sequence[IndexEntry], which: range, version: int, verify: bool | None) -> Iterator[Any]:
        """Iterate over the decoded bytes of entries, writable."""
        window, start, sum_of = memoryview(b""), 0, checksums.OF[version]
        for i in which:
            offset, size, _, checksum, codec, _ = entry = entries[i]
            steps = entry.steps if codec else ()
            if size >= SMALL:
                data = self._large(i, entry, version, verify is not False)
                yield _decoded(i, entry, data) if steps else data
                continue
            place = offset - start
            if place < 0 or place + size > len(window):
                start, place = offset, 0
                window = memoryview(self.read(start, _end_of_run(entries, which[which.index(i) :]) - start))
            data = window[place : place + size]
            if verify is not False and sum_of(data) != checksum:
                raise _differs(i, entry, sum_of(data))
            yield _decoded(i, entry, data) if steps else bytearray(data)

    def _large(self, i: int, entry: IndexEntry, version: int, verify: bool) -> memoryview:
        """Read an entry in blocks, each of which gets its checksum while it is in the cache."""
        data = np.empty(entry.enc_length, np.uint8).data
        if not verify:
            self._fill(entry.offset, data)
            return data
        sum_ = checksums.new(version)
        for start in range(0, len(data), BLOCK):
            block = data[start : start + BLOCK]
            self._fill(entry.offset + start, block)
            sum_.update(block)
        if sum_.result() != entry.checksum:
            raise _differs(i, entry, sum_.result())
        return data

    def close(self) -> None:
        """Let go of the file, which is closed when nobody reads it any more."""
        self._file = None


class Mapped(Opened):
    """A file that is mapped into memory.

    The map ends with the last view of it. It is never closed, which would refuse, or take memory away from arrays.
    """

    def __init__(self, path: str):
        with open_binary(path, 0) as file:
            self.size = os.fstat(file.fileno()).st_size
            self._view = memoryview(mmap.mmap(file.fileno(), self.size, access=mmap.ACCESS_READ) if self.size else b"")

    def read(self, offset: int, size: int) -> Any:
        """Return a view."""
        return self._view[offset : offset + size]

    def buffers(self, entries: Sequence[IndexEntry], which: range, version: int, verify: bool | None) -> Iterator[Any]:
        """Iterate over views of entries that are stored as they are, and copies of the others."""
        view, sum_of = self._view, checksums.OF[version]
        for i in which:
            offset, size, _, checksum, codec, _ = entry = entries[i]
            steps = entry.steps if codec else ()
            data = view[offset : offset + size]
            if (verify or (verify is None and steps)) and sum_of(data) != checksum:
                raise _differs(i, entry, sum_of(data))
            yield _decoded(i, entry, data) if steps else data

    def fill(self, offsets: NDArray[np.int64], size: int, out: Any) -> None:
        """Copy stretches of one size."""
        target = memoryview(out).cast("B")
        for i, offset in enumerate(offsets.tolist()):
            target[i * size : (i + 1) * size] = self._view[offset : offset + size]

    def close(self) -> None:
        """Let go of the map."""
        self._view = memoryview(b"")


def scan(source: FileBytes, i: int, entry: IndexEntry, version: int) -> None:
    """Compare the checksum of an entry, in blocks.

    Raises
    ------
    IntegrityError
        If it differs.
    """
    sum_ = checksums.new(version)
    for start in range(entry.offset, entry.end, BLOCK):
        sum_.update(source.read(start, min(entry.end - start, BLOCK)))
    if sum_.result() != entry.checksum:
        raise _differs(i, entry, sum_.result())


def _shorter(place: int) -> TruncatedError:
    return TruncatedError(f"the file has become shorter: it has no byte {place} any more")


def _differs(i: int, entry: IndexEntry, found: int | bytes) -> IntegrityError:
    expected = checksums.shown(entry.checksum)
    return IntegrityError(f"entry {i}: checksum: found {checksums.shown(found)}, expected {expected}")


def _decoded(i: int, entry: IndexEntry, data: Any) -> bytearray:
    try:
        return decode(entry.steps, data, entry.dec_length)
    except DsError as error:
        raise type(error)(f"entry {i}: {error.message}") from None


def _end_of_run(entries: Sequence[IndexEntry], which: range) -> int:
    """Return where the last of the small entries ends that are read together with the first one."""
    start, end = entries[which[0]].offset, entries[which[0]].end
    for i in which[1:]:
        offset, size = entries[i][:2]
        if size >= SMALL or not end <= offset + size <= start + BLOCK:
            break
        end = offset + size
    return end
