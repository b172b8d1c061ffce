"""File objects and buffers that are handed over in place of a path."""

from __future__ import annotations

import io
import os
import stat
import threading
from typing import Any

from ..body import Body, FileBody, MemoryBody, ended


class HandedBody(MemoryBody):
    """The bytes of a buffer."""

    __slots__ = ()
    is_elsewhere = True


class ObjectBody(Body):
    """A file object with a position, or a part of it. One thread reads at a time.

    Parameters
    ----------
    file : file object
        Open for reading bytes, with `seek`.
    name : str
    start, size : int
        Which bytes of the file.
    lock : Lock
        Held while the position is used.
    """

    __slots__ = ("_file", "_lock", "name", "size", "start")
    is_elsewhere = True

    def __init__(self, file: Any, name: str, start: int, size: int, lock: Any):
        self._file = file
        self._lock = lock
        self.name = name
        self.start = start
        self.size = size

    def section(self, offset: int, size: int | None = None) -> ObjectBody:
        """Return a part of the same file."""
        if size is None:
            size = max(self.size - offset, 0)
        return ObjectBody(self._file, self.name, self.start + offset, size, self._lock)

    def read(self, offset: int, size: int) -> bytes:
        """Return bytes."""
        pieces: list[bytes] = []
        left = size
        with self._lock:
            self._file.seek(self.start + offset)
            while left:
                piece = self._file.read(left)
                if not piece:
                    start = self.start + offset
                    raise ended(self.name, start, size, start + size - left)
                pieces.append(piece)
                left -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def is_handed(thing: Any) -> bool:
    """Return whether something is a file object, or a buffer of the bytes of a file; `bytes` are a path."""
    methods = (getattr(thing, name, None) for name in ("read", "write"))
    return isinstance(thing, (memoryview, bytearray)) or any(map(callable, methods))


def body_of(thing: Any, name: str) -> Body:
    """Return the bytes of a file object or buffer, from its first one on, whatever its position is.

    Raises
    ------
    TypeError
        If the file was opened for text.
    OSError
        If it cannot be read.
    """
    if isinstance(thing, memoryview):
        return HandedBody(name, thing.cast("B") if thing.nbytes else b"")
    if isinstance(thing, bytearray):
        return HandedBody(name, thing)
    if isinstance(thing, io.BytesIO):
        return HandedBody(name, thing.getvalue())
    if not callable(getattr(thing, "read", None)):
        raise TypeError(f"{name}: found {type(thing).__name__}, expected a file object that is open for reading")
    if isinstance(thing, io.TextIOBase):
        raise TypeError(f'{name}: the file is open for text, expected bytes: open it with the mode "rb"')
    raw = getattr(thing, "raw", thing)
    if isinstance(raw, io.FileIO) and isinstance(thing, (io.FileIO, io.BufferedReader, io.BufferedRandom)):
        if isinstance(thing, io.BufferedRandom):
            thing.flush()
        if stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
            return FileBody.of(name, os.dup(raw.fileno()))
    try:
        if not thing.seekable():
            return HandedBody(name, _all(thing, name))
        size = thing.seek(0, io.SEEK_END)
        return ObjectBody(thing, name, 0, thing.tell() if size is None else size, threading.Lock())
    except (AttributeError, io.UnsupportedOperation):
        return HandedBody(name, _all(thing, name))


def _all(thing: Any, name: str) -> bytes:
    """Return everything that a file object without a position has left."""
    data = thing.read()
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"{name}: read() returned {type(data).__name__}, expected bytes")
    return bytes(data)
