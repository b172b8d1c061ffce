"""A file that is read at positions, by any number of threads and processes at a time."""

from __future__ import annotations

import errno
import io
import mmap
import os
import threading
from collections.abc import Callable
from typing import Any, Self

from .errors import TruncatedError
from .kernels.files import ranges
from .opened import Opened
from .regular import open_binary, open_file

if os.name == "posix":
    from .kernels.files.fetch import Fetcher
else:
    Fetcher = None  # type: ignore[assignment, misc]

_lock = threading.Lock()


def _pread_locked(fd: int, size: int, offset: int) -> bytes:
    """Do what `os.pread` does where the system has no such call: threads take turns."""
    buffer = bytearray(size)
    with _lock:
        found = ranges.read_at(fd, offset, buffer)
    return bytes(memoryview(buffer)[:found])


pread: Callable[[int, int, int], bytes] = getattr(os, "pread", _pread_locked)


def _nothing(i: int) -> None:
    """Leave it to the long way."""


class RawFile(Opened):
    """A file that is open for reading, and is closed when nobody holds it any more.

    So a thread that closes a reader takes the file from no other thread. There is no position that several threads, or
    processes after a fork, would have to share.

    Parameters
    ----------
    path : str
    flags : int
        What else `os.open` shall know, like `os.O_NOFOLLOW`.

    Attributes
    ----------
    path : str
    fd : int
        The descriptor.
    status : os.stat_result
        What the system knew of it when it was opened.
    """

    fd = -1

    def __init__(self, path: str, flags: int = 0):
        self.path = path
        self.fd, self.status = open_file(path, flags)

    @classmethod
    def of(cls, fd: int, path: str) -> Self:
        """Take over an open descriptor."""
        file = cls.__new__(cls)
        file.path, file.fd, file.status = path, fd, os.fstat(fd)
        return file

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        if self.fd >= 0:
            close(self.fd)

    def size(self) -> int:
        """Return the bytes of the file."""
        return os.fstat(self.fd).st_size

    def fetcher(self, offsets: Any) -> Callable[[int], bytes | None]:
        """Return the short cut from the number of a sample to its bytes; None is for where it does not do."""
        if Fetcher is None:
            return _nothing
        return Fetcher(self.fd, offsets, self.size()).get

    def read(self, start: int, stop: int) -> Any:
        """Return the bytes from `start` up to before `stop`.

        Raises
        ------
        TruncatedError
            If the file ends before.
        """
        size = stop - start
        data = pread(self.fd, size, start)
        return data if len(data) == size else self._pieces(data, start, stop)

    def _pieces(self, piece: bytes, start: int, stop: int) -> bytes:
        """Go on reading where one call does not return all: Linux moves 2 GiB at once."""
        pieces = [piece]
        place = start + len(piece)
        while place < stop:
            piece = pread(self.fd, stop - place, place)
            if not piece:
                raise TruncatedError(f"the file ends at byte {place}, expected bytes {start} to {stop}", path=self.path)
            pieces.append(piece)
            place += len(piece)
        return b"".join(pieces)


class PositionedFile(Opened, io.RawIOBase):
    """A file for libraries that want one with a position, which processes do not share after a fork.

    Parameters
    ----------
    file : RawFile
    """

    def __init__(self, file: RawFile):
        self._file = file
        self._size = file.size()
        self._position = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position, in bytes from the start, the position or the end, and return it from the start."""
        position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        if position < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._position = position
        return position

    def tell(self) -> int:
        """Return the position, in bytes."""
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with the bytes that follow, and return how many these are."""
        stop = min(self._position + len(buffer), self._size)
        data = self._file.read(min(self._position, stop), stop)
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


class MappedFile(Opened):
    """A file that is mapped into memory, which saves the call of the system for each sample.

    Who shortens the file takes memory away from this process, which the system then ends: only for those who ask for
    it.
    """

    def __init__(self, path: str):
        with open_binary(path, 0) as file:
            size = os.fstat(file.fileno()).st_size
            self._data = memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b"")

    def size(self) -> int:
        """Return the bytes of the file."""
        return len(self._data)

    def fetcher(self, offsets: Any) -> Callable[[int], bytes | None]:
        """Return no short cut: a view of the map is the shortest."""
        return _nothing

    def read(self, start: int, stop: int) -> Any:
        """Return a view of the bytes from `start` up to before `stop`, which are within the file."""
        return self._data[start:stop]
