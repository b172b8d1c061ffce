"""The buffers of a file: reading compares checksums and decodes, writing is at once or in pieces.

Buffers that are read are writable copies. Those of a mapped file are read-only views, which keep the mapping alive.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..body import Opened
from ..body.body import Body, OutputBody
from ..body.target import naming
from ..errors import DsError, IntegrityError
from ..kernels.files import ranges
from .decoding import decode
from .format import (
    CHECKSUMS,
    HEADER,
    FileHeader,
    FileTrailer,
    IndexEntry,
    checksum_text,
    encode_index,
    flags,
    new_checksum,
)

SMALL = 1 << 16
"""Bytes below which buffers are read together with their neighbours."""
BLOCK = 1 << 18
"""Bytes that are read at once, so that the checksum is computed while they are in the cache."""
GATHERED = 1 << 18
"""Bytes of small buffers that are collected before they are written."""
WRITTEN_BLOCK = 1 << 22
"""Bytes of a large buffer that are written at once, after their checksum, which leaves some of them in the cache."""


def decoded(
    source: Body, entries: Sequence[IndexEntry], which: range, version: int, verify: bool | None
) -> Iterator[Any]:
    """Iterate over the decoded bytes of some entries of a file; `verify` as for `BinPickleFile`.

    Raises
    ------
    TruncatedError
        If the file has become shorter.
    IntegrityError
        If a checksum differs.
    DsError
        If they cannot be decoded; all messages name the entry.
    """
    read = _copies if source.memory is None else _views
    return read(source, entries, which, version, verify)


def _copies(
    source: Body, entries: Sequence[IndexEntry], which: range, version: int, verify: bool | None
) -> Iterator[Any]:
    """Iterate over the decoded bytes of entries, writable."""
    window, start, sum_of = memoryview(b""), 0, CHECKSUMS[version]
    if source.is_far:
        some = [entries[i] for i in which]
        source.announce(np.array([e.offset for e in some], np.int64), np.array([e.enc_length for e in some], np.int64))
    for i in which:
        offset, size, _, checksum, codec, _ = entry = entries[i]
        steps = entry.steps if codec else ()
        if size >= SMALL:
            data = _large(source, i, entry, version, verify is not False)
            yield _decoded(i, entry, data) if steps else data
            continue
        place = offset - start
        if place < 0 or place + size > len(window):
            start, place = offset, 0
            window = memoryview(source.read(start, _end_of_run(entries, which[which.index(i) :]) - start))
        data = window[place : place + size]
        if verify is not False and sum_of(data) != checksum:
            raise _differs(i, entry, sum_of(data))
        yield _decoded(i, entry, data) if steps else bytearray(data)


def _large(source: Body, i: int, entry: IndexEntry, version: int, verify: bool) -> memoryview:
    """Read an entry in blocks, and compute the checksum of each while it is in the cache."""
    data = np.empty(entry.enc_length, np.uint8).data
    if not verify:
        source.read_into(entry.offset, data)
        return data
    sum_ = new_checksum(version)
    for start in range(0, len(data), BLOCK):
        block = data[start : start + BLOCK]
        source.read_into(entry.offset + start, block)
        sum_.update(block)
    if sum_.digest() != entry.checksum:
        raise _differs(i, entry, sum_.digest())
    return data


def _views(
    source: Body, entries: Sequence[IndexEntry], which: range, version: int, verify: bool | None
) -> Iterator[Any]:
    """Iterate over views of uncompressed entries, and copies of the others."""
    sum_of = CHECKSUMS[version]
    for i in which:
        offset, size, _, checksum, codec, _ = entry = entries[i]
        steps = entry.steps if codec else ()
        data = source.read(offset, size)
        if (verify or (verify is None and steps)) and sum_of(data) != checksum:
            raise _differs(i, entry, sum_of(data))
        yield _decoded(i, entry, data) if steps else data


def scan(source: Body, i: int, entry: IndexEntry, version: int) -> None:
    """Compare the checksum of an entry, in blocks.

    Raises
    ------
    IntegrityError
        If it differs.
    """
    sum_ = new_checksum(version)
    for start in range(entry.offset, entry.end, BLOCK):
        sum_.update(source.read(start, min(entry.end - start, BLOCK)))
    if sum_.digest() != entry.checksum:
        raise _differs(i, entry, sum_.digest())


def _differs(i: int, entry: IndexEntry, found: int | bytes) -> IntegrityError:
    expected = checksum_text(entry.checksum)
    return IntegrityError(f"entry {i}: checksum: found {checksum_text(found)}, expected {expected}")


def _decoded(i: int, entry: IndexEntry, data: Any) -> bytearray:
    try:
        return decode(entry.steps, data, entry.dec_length)
    except DsError as error:
        raise type(error)(f"entry {i}: {error.message}") from None


def _end_of_run(entries: Sequence[IndexEntry], which: range) -> int:
    """Return the end of the last small entry that is read together with the first one."""
    start, end = entries[which[0]].offset, entries[which[0]].end
    for i in which[1:]:
        offset, size = entries[i][:2]
        if size >= SMALL or not end <= offset + size <= start + BLOCK:
            break
        end = offset + size
    return end


class BufferWriter(Opened):
    """Writes the buffers of a new file, and at the end its index, trailer and header.

    Parameters
    ----------
    path : str
        For errors.
    file : OutputBody
        An empty file.
    align : bool
        Align all buffers to pages.
    version : int
        Version of the format.

    Attributes
    ----------
    entries : list of IndexEntry
        The index: add an entry with each buffer, in the order of the pickle.
    """

    def __init__(self, path: str, file: OutputBody, *, align: bool, version: int):
        self.path, self.file, self.version = path, file, version
        self.entries: list[IndexEntry] = []
        self._align = align
        self._pending = bytearray(HEADER.size)
        self._start = 0

    @property
    def end(self) -> int:
        """Bytes from the start of the file to the next buffer, without alignment."""
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
            return offset, CHECKSUMS[self.version](data)
        piecewise = self.begin(offset, data.nbytes)
        piecewise.write(data)
        self.go_on(piecewise.end)
        return offset, piecewise.checksum

    def put_joined(self, data: bytes, entries: list[IndexEntry]) -> None:
        """Write the first buffers of a file that is not aligned, one after another, with their entries."""
        self._pending += data
        self.entries += entries

    def begin(self, offset: int, size: int = 0) -> Piecewise:
        """Return a buffer to be written piece by piece. Others may be written at the same time.

        Parameters
        ----------
        offset : int
            `end`, or more.
        size : int
            Bytes of the whole buffer, if known.
        """
        self._flush()
        if self._align:
            offset += -offset % mmap.PAGESIZE
        if size >= GATHERED and (opened := self.file.in_file()) is not None:
            ranges.reserve(opened[0], offset, size)
        return Piecewise(self, offset)

    def go_on(self, offset: int) -> None:
        """Continue at an offset, before which everything has been written."""
        self._flush()
        self._start = offset

    def finish(self, *, is_mappable: bool) -> None:
        """Write index, trailer and header, after all buffers and the pickle."""
        index = encode_index(self.entries)
        trailer = FileTrailer(self.end, len(index), CHECKSUMS[self.version](index))
        self._pending += index
        self._pending += trailer.encode()
        self._flush()
        set_flags = flags(is_mappable=is_mappable) if self.version == 2 else 0
        self.write_at(0, FileHeader(self.version, self._start, set_flags).encode())

    def write_at(self, offset: int, data: Any) -> None:
        """Write bytes at a position."""
        with naming(self.path):
            self.file.write(offset, data)

    def _flush(self) -> None:
        self.write_at(self._start, self._pending)
        self._start += len(self._pending)
        self._pending = bytearray()


class Piecewise:
    """A buffer that is written piece by piece."""

    def __init__(self, writer: BufferWriter, offset: int):
        self.offset = self.end = offset
        """Bytes from the start of the file to its first byte, and to its end."""
        self._writer, self._checksum = writer, new_checksum(writer.version)

    @property
    def checksum(self) -> int | bytes:
        """Checksum of the bytes so far."""
        return self._checksum.digest()

    def write(self, data: Any) -> int:
        """Write the next bytes; return their number."""
        view = memoryview(data).cast("B") if memoryview(data).nbytes else memoryview(b"")
        for start in range(0, len(view), WRITTEN_BLOCK):
            block = view[start : start + WRITTEN_BLOCK]
            self._checksum.update(block)
            self._writer.write_at(self.end, block)
            self.end += len(block)
        return len(view)

    def entry(self, info: Any = None) -> IndexEntry:
        """Return its entry of the index."""
        size = self.end - self.offset
        return IndexEntry(self.offset, size, size, self.checksum, None, info)
