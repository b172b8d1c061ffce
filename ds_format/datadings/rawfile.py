"""A file that is read at positions, by any number of threads and processes at a time."""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Callable
from typing import Any

from ..errors import TruncatedError
from ..kernels import ranges
from ..kernels.portable import BINARY

if os.name == "posix":
    from ..kernels.fetch import Fetcher
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


class RawFile:
    """A file that is open for reading, and is closed when nobody holds it any more.

    So a thread that closes a reader takes the file from no other thread. There is no position that several threads, or
    processes after a fork, would have to share.
    """

    fd = -1

    def __init__(self, path: str):
        self.path = path
        self.fd = os.open(path, os.O_RDONLY | BINARY)

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


class MappedFile:
    """A file that is mapped into memory, which saves the call of the system for each sample.

    Who shortens the file takes memory away from this process, which the system then ends: only for those who ask for
    it.
    """

    def __init__(self, path: str):
        with open(path, "rb", buffering=0) as file:
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
