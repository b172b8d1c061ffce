"""Locks in a folder that is there for them: the hidden one of a store, and the one beside an archive.

Neither a file nor an empty folder stays behind. One who finds the folder gone while he locks makes it again.
"""

from __future__ import annotations

import contextlib
import os

from ..body.lock import Lock


def lock(path: str, what: str) -> Lock:
    """Take a lock; see `Lock`.

    Raises
    ------
    BusyError
        If somebody else holds it.
    OSError
        If its file cannot be written. Nothing is left behind.
    """
    try:
        return Lock(path, what)
    except BaseException:
        _remove_folder(path)
        raise


def unlock(held: Lock) -> None:
    """Let others write, and remove the lock file, and its folder if there is nothing else in it."""
    held.release(remove=True)
    _remove_folder(held.path)


def _remove_folder(path: str) -> None:
    with contextlib.suppress(OSError):  # there are other locks in it
        os.rmdir(os.path.dirname(path))
