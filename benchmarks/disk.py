"""A real disk, and files that no cache holds."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from .machine import file_system
from .runner import SkippedError

IN_MEMORY = {"tmpfs", "ramfs", "devtmpfs"}


def find() -> Path | None:
    """Return a folder on a disk: the one of temporary files, or this one; None if both are in memory."""
    places = (Path(tempfile.gettempdir()), Path.cwd())
    return next((place for place in places if file_system(place) not in IN_MEMORY), None)


def settle(paths: Iterable[str]) -> None:
    """Have the disk hold what was written: only then can a cache forget it."""
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)


def forget(paths: Iterable[str]) -> None:
    """Have the system forget the bytes of files. What it knows of folders, and of where files lie, stays.

    Raises
    ------
    SkippedError
        If the system cannot be asked to.
    """
    if not hasattr(os, "posix_fadvise"):
        raise SkippedError("the system cannot be asked to forget the bytes of a file")
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def is_cached(path: str) -> bool:
    """Whether the first byte of a file can be had without the disk. To ask may begin to read it.

    Raises
    ------
    SkippedError
        If the system does not tell.
    """
    if not hasattr(os, "RWF_NOWAIT"):
        raise SkippedError("the system does not tell whether it holds the bytes of a file")
    fd = os.open(path, os.O_RDONLY)
    try:
        os.preadv(fd, [bytearray(1)], 0, os.RWF_NOWAIT)
    except BlockingIOError:
        return False
    except OSError as error:
        raise SkippedError(f"the file system does not tell whether it holds the bytes of a file: {error}")
    finally:
        os.close(fd)
    return True
