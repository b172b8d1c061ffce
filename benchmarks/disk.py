"""A real disk, and files that no cache holds."""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from .machine import file_system
from .runner import SkippedError
from .timing import C_LIBRARY

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
    """Whether the system holds the first bytes of a file.

    Raises
    ------
    SkippedError
        If the system does not tell.
    """
    if not hasattr(C_LIBRARY, "mincore"):
        raise SkippedError("the system does not tell whether it holds the bytes of a file")
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        start = np.frombuffer(mapped, np.uint8, 1)
        pages = ctypes.create_string_buffer(1)
        failed = C_LIBRARY.mincore(ctypes.c_void_p(start.ctypes.data), ctypes.c_size_t(1), pages)
        del start  # or the map could not be closed
    if failed:
        raise SkippedError("the system does not tell whether it holds the bytes of a file")
    return bool(pages.raw[0] & 1)
