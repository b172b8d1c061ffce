"""A folder of what is needed only while a file or folder is written, beside it."""

from __future__ import annotations

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

    Attributes
    ----------
    path : str
        Of the folder.
    """

    _fd = -1

    def __init__(self, path: str, use: str):
        self.path, self._fd = claim(f"{path}.{use}", _make, shutil.rmtree)

    def close(self) -> None:
        """Remove the folder, unless it got another name."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._unlock()

    def _unlock(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        self._unlock()


def _make(name: str) -> int:
    os.mkdir(name)
    return os.open(name, os.O_RDONLY)
