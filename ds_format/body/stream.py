"""A body with a position, for libraries that want a file."""

from __future__ import annotations

import errno
import io
import os
from typing import Any

from . import Opened
from .body import Body


class Stream(Opened, io.RawIOBase):
    """A body for libraries that want a file with a position, which processes do not share after a fork.

    Parameters
    ----------
    body : Body
    """

    def __init__(self, body: Body):
        self._body = body
        self._position = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position, in bytes from the start, the position or the end, and return it from the start."""
        position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._body.size}[whence]
        if position < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._position = position
        return position

    def tell(self) -> int:
        """Return the position, in bytes."""
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with the bytes that follow, and return how many these are."""
        n = max(min(len(buffer), self._body.size - self._position), 0)
        buffer[:n] = self._body.read(self._position, n)
        self._position += n
        return n
