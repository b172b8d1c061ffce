"""The bytes of one member of an archive: as they lie in it, or inflated."""

from __future__ import annotations

import os
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Iterable, Iterator

from ...base.forks import renew_lock
from ...body.body import FileBody
from ...errors import DsError, FormatError, IntegrityError, TruncatedError, UnsupportedError
from ..places import BLOCK_SIZE
from .directory import Member, data_start, open_zip

MEMORY_SIZE = 1 << 24
"""Bytes of the largest member that is kept in memory when it was inflated; a larger one goes into a temporary file."""


class ArchiveFile:
    """The open file of an archive, which all its regions share.

    Attributes
    ----------
    path : str
    size : int
        Bytes.
    zip : ZipFile
        Its directory, and what inflates members.
    """

    def __init__(self, path: str):
        self._file = FileBody.open(path)
        self.path = path
        self.size = self._file.size
        try:
            self.zip = open_zip(self._file)
        except DsError as error:
            raise error.at(path=path)

    def start_of(self, member: Member, path: str) -> int:
        """Return where the data of a member start; a FormatError that names `path` if they cannot."""
        try:
            return data_start(self._file, member)
        except FormatError as error:
            raise error.at(path=path)

    def read(self, start: int, stop: int) -> bytes:
        """Return bytes of the archive; a TruncatedError if it ends before `stop`."""
        return self._file.read(start, stop - start)

    @property
    def fd(self) -> int:
        """The descriptor, open as long as this is held."""
        return self._file.fd


class StoredRegion:
    """A member that lies in the archive as it is; see `places.Region`."""

    def __init__(self, file: ArchiveFile, member: Member, path: str):
        self._file: ArchiveFile | None = file
        self._crc = member.info.CRC
        self._start = file.start_of(member, path)
        self.path = path
        self.size = member.info.file_size

    def _opened(self) -> ArchiveFile:
        if self._file is None:
            raise ValueError(f"{self.path} is closed")
        return self._file

    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes from `start` up to before `stop`."""
        within(start, stop, self.size, self.path)
        data = self._opened().read(self._start + start, self._start + stop)
        if len(data) == self.size:
            compare(zlib.crc32(data), self._crc, self.path)
        return data

    def blocks(self, start: int = 0, size: int = BLOCK_SIZE) -> Iterator[bytes]:
        """Iterate over the bytes from `start` to the end."""
        blocks = self._pieces(self._opened(), start, size)
        return blocks if start else checked(blocks, self.size, self._crc, self.path)

    def _pieces(self, file: ArchiveFile, start: int, size: int) -> Iterator[bytes]:
        for place in range(start, self.size, size):
            yield file.read(self._start + place, self._start + min(place + size, self.size))

    def in_file(self) -> tuple[int, int]:
        """Return the descriptor of the archive, and where the bytes begin in it."""
        return self._opened().fd, self._start

    def close(self) -> None:
        """Let go of the archive."""
        self._file = None


class DeflatedRegion:
    """A member that is inflated: block by block in sequence, or once and as a whole for `read`; see `places.Region`."""

    def __init__(self, file: ArchiveFile, member: Member, path: str):
        file.start_of(member, path)
        self._file: ArchiveFile | None = file
        self._info = member.info
        self._lock = threading.Lock()
        renew_lock(self, threading.Lock)
        self._whole: bytes | FileBody | None = None
        self.path = path
        self.size = member.info.file_size

    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes from `start` up to before `stop`."""
        within(start, stop, self.size, self.path)
        with self._lock:
            whole = self._whole
            if whole is None:
                whole = self._whole = self._inflate()
        data: bytes = whole[start:stop] if isinstance(whole, bytes) else whole.read(start, stop - start)
        return data

    def _inflate(self) -> bytes | FileBody:
        if self.size <= MEMORY_SIZE:
            return b"".join(self.blocks())
        with tempfile.TemporaryFile() as file:
            file.writelines(self.blocks())
            file.flush()
            return FileBody.of(self.path, os.dup(file.fileno()))

    def blocks(self, start: int = 0, size: int = BLOCK_SIZE) -> Iterator[bytes]:
        """Iterate over the bytes from `start` to the end."""
        if self._file is None:
            raise ValueError(f"{self.path} is closed")
        return self._blocks(self._file.zip, start, size)

    def _blocks(self, archive: zipfile.ZipFile, start: int, size: int) -> Iterator[bytes]:
        try:
            with archive.open(self._info) as stream:
                done = stream.seek(start)
                while block := stream.read(size):
                    done += len(block)
                    yield block
        except zipfile.BadZipFile as error:
            raise IntegrityError(f"these are not the {self.size} bytes announced: {error}", path=self.path) from None
        except (zlib.error, EOFError, UnicodeDecodeError) as error:
            raise FormatError(f"damaged: {error}", path=self.path) from None
        except RuntimeError as error:
            raise UnsupportedError(str(error), path=self.path) from None
        if done != self.size:
            raise TruncatedError(f"the compressed data hold {done} bytes, announced are {self.size}", path=self.path)

    def in_file(self) -> None:
        """Return none: the bytes are not in the archive as they are."""

    def close(self) -> None:
        """Let go of the archive, and of what was inflated."""
        self._file = self._whole = None


def within(start: int, stop: int, size: int, path: str) -> None:
    """Raise a TruncatedError unless a range lies in the first `size` bytes."""
    if not 0 <= start <= stop <= size:
        raise TruncatedError(f"expected bytes {start} to {stop}, there are {size}", path=path)


def compare(found: int, crc: int, path: str) -> None:
    """Raise an IntegrityError if two checksums differ."""
    if found != crc:
        raise IntegrityError(f"CRC-32 is {found:08x}, expected {crc:08x}", path=path)


def checked(blocks: Iterable[bytes], size: int, crc: int, path: str) -> Iterator[bytes]:
    """Yield blocks of `size` bytes in all, and compare their checksum before the last one."""
    done = found = 0
    for block in blocks:
        done += len(block)
        found = zlib.crc32(block, found)
        if done == size:
            compare(found, crc, path)
        yield block
    if not size:
        compare(0, crc, path)
