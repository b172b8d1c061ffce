"""The bytes of one member of an archive: stored or inflated."""

from __future__ import annotations

import os
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Iterable, Iterator

from ..base.threads import renew_lock
from ..body import Opened
from ..body.body import PIECE_SIZE, Body, FileBody, MemoryBody
from ..codec.filters import DEFLATE
from ..errors import FormatError, IntegrityError, TruncatedError, UnsupportedError
from .elsewhere import BytesBody

MEMORY_SIZE = 1 << 24
"""Inflated members up to this size, in bytes, are kept in memory; larger ones in a temporary file."""


class StoredMember(BytesBody):
    """An uncompressed member. Its checksum is compared if all of it is read.

    Parameters
    ----------
    file : Body
        Its bytes in the archive.
    info : ZipInfo
    name : str
        For messages.
    """

    __slots__ = ("_crc",)

    def __init__(self, file: Body, info: zipfile.ZipInfo, name: str):
        super().__init__(file, name)
        self._crc = info.CRC

    def in_file(self) -> tuple[int, int] | None:
        """Return the position of the bytes in the archive. Reading there does not compare a checksum."""
        return super().in_file()

    def read(self, offset: int, size: int) -> bytes:
        """Return bytes."""
        _check_within(offset, size, self)
        data = super().read(offset, size)
        if size == self.size:
            _compare(zlib.crc32(data), self._crc, self.name)
        return data

    def section(self, offset: int, size: int | None = None) -> Body:
        """Return a part. Reading it does not compare a checksum."""
        _check_within(offset, size or 0, self)
        return super().section(offset, size)

    def blocks(self, offset: int = 0, size: int | None = None) -> Iterator[bytes]:
        """Iterate over bytes. The checksum of the whole member is compared before the last block is returned."""
        blocks = self._file.blocks(offset, size)
        return blocks if offset else _checked(blocks, self.size, self._crc, self.name)


class DeflatedMember(Opened, Body):
    """A compressed member. `blocks` inflates it in sequence; `read` inflates all of it, once.

    Parameters
    ----------
    archive : ZipFile
    info : ZipInfo
    file : Body
        Its compressed bytes.
    name : str
        For messages.
    """

    def __init__(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, file: Body, name: str):
        self._archive = archive
        self._info = info
        self._file = file
        self._lock = threading.Lock()
        renew_lock(self, threading.Lock)
        self._whole: bytes | FileBody | None = None
        self.name = name
        self.size = info.file_size

    def read(self, offset: int, size: int) -> bytes:
        """Return bytes."""
        _check_within(offset, size, self)
        whole = self._inflated()
        return whole[offset : offset + size] if isinstance(whole, bytes) else whole.read(offset, size)

    def section(self, offset: int, size: int | None = None) -> Body:
        """Return a part of the inflated bytes."""
        _check_within(offset, size or 0, self)
        whole = self._inflated()
        return (MemoryBody(self.name, whole) if isinstance(whole, bytes) else whole).section(offset, size)

    def _inflated(self) -> bytes | FileBody:
        with self._lock:
            whole = self._whole
            if whole is None:
                whole = self._whole = self._inflate()
        return whole

    def _inflate(self) -> bytes | FileBody:
        if self.size <= MEMORY_SIZE:
            return self._inflate_at_once() or b"".join(self.blocks())
        with tempfile.TemporaryFile() as file:
            file.writelines(self.blocks())
            file.flush()
            return FileBody.of(self.name, os.dup(file.fileno()))

    def _inflate_at_once(self) -> bytes | None:
        """Return all bytes, or None for damaged ones: `blocks` then raises the error."""
        try:
            whole = bytes(DEFLATE.decode(self._file.read(0, self._file.size), self.size))
        except FormatError:
            return None
        return whole if len(whole) == self.size and zlib.crc32(whole) == self._info.CRC else None

    def blocks(self, offset: int = 0, size: int | None = None) -> Iterator[bytes]:
        """Iterate over bytes, inflated on demand. zipfile compares the checksum of the whole member."""
        self._file.announce_spans([(0, self._file.size)])
        try:
            with self._archive.open(self._info) as stream:
                done = stream.seek(offset)
                while block := stream.read(size or PIECE_SIZE):
                    done += len(block)
                    yield block
        except zipfile.BadZipFile as error:
            raise IntegrityError(f"these are not the {self.size} bytes announced: {error}", path=self.name) from None
        except (zlib.error, EOFError, UnicodeDecodeError) as error:
            raise FormatError(f"damaged: {error}", path=self.name) from None
        except RuntimeError as error:
            raise UnsupportedError(str(error), path=self.name) from None
        if done != self.size:
            raise TruncatedError(f"the compressed data have {done} bytes, announced are {self.size}", path=self.name)


def _check_within(offset: int, size: int, member: Body) -> None:
    """Raise a TruncatedError unless a range is inside a member."""
    if offset < 0 or size < 0 or offset + size > member.size:
        reason = f"expected bytes {offset} to {offset + size}, there are {member.size}"
        raise TruncatedError(reason, path=member.name)


def _compare(found: int, crc: int, path: str) -> None:
    """Raise an IntegrityError if two checksums differ."""
    if found != crc:
        raise IntegrityError(f"CRC-32 is {found:08x}, expected {crc:08x}", path=path)


def _checked(blocks: Iterable[bytes], size: int, crc: int, path: str) -> Iterator[bytes]:
    """Iterate over blocks of `size` bytes in total, and compare their checksum before the last one."""
    done = found = 0
    for block in blocks:
        done += len(block)
        found = zlib.crc32(block, found)
        if done == size:
            _compare(found, crc, path)
        yield block
    if not size:
        _compare(0, crc, path)
