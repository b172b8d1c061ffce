"""A folder of what is needed only while a file or folder is written, beside it."""

from __future__ import annotations

import contextlib
import os
import shutil

from .opened import Opened
from .target import claim


class WorkFolder(Opened):
    """A folder beside a path, under a temporary name; see `target`. What is in it goes when it is closed.

    Parameters
    ----------
    path : str
        What is going to be written.
    use : str
        What the folder is for, as part of its name.
    mode : int
        Permissions before those that the process denies. By default only the owner may look: what is in it may replace
        a file that is private.

    Attributes
    ----------
    path : str
        Of the folder.
    """

    _fd = -1

    def __init__(self, path: str, use: str, mode: int = 0o700):
        self.path, self._fd = claim(f"{path}.{use}", lambda name: _make(name, mode), shutil.rmtree)

    def close(self) -> None:
        """Remove the folder, unless it got another name."""
        with contextlib.suppress(OSError):  # of closing what it has opened
            shutil.rmtree(self.path, ignore_errors=True)
        self._unlock()

    def _unlock(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            with contextlib.suppress(OSError):  # nothing was written to it
                os.close(fd)

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        self._unlock()


def _make(name: str, mode: int) -> int:
    os.mkdir(name, mode)
    return os.open(name, os.O_RDONLY)
