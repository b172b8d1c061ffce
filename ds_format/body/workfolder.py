"""A folder of what is needed only while a file or folder is written, beside it."""

from __future__ import annotations

import contextlib
import os
import shutil

from . import Opened
from .temporary import HOLDS, Temporary


class WorkFolder(Opened):
    """A folder beside a path, under a temporary name; see `temporary`. What is in it goes when it is closed.

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

    _is_closed = False

    def __init__(self, path: str, use: str, mode: int = 0o700):
        self._temporary = Temporary(path, lambda name: _make(name, mode), shutil.rmtree, use=use)
        self.path = self._temporary.path

    def close(self) -> None:
        """Remove the folder, unless it got another name; what has its name by then is somebody else's."""
        if not self._is_closed:
            self._is_closed = True
            with contextlib.suppress(OSError):  # of closing what it has opened
                if self._temporary.is_own():
                    shutil.rmtree(self.path, ignore_errors=True)
            self._temporary.let_go()

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *error: object) -> None:
        self.close()


def _make(name: str, mode: int) -> int:
    os.mkdir(name, mode)
    return os.open(name, os.O_RDONLY) if HOLDS else -1
