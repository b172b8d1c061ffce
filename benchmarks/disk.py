"""A real disk, and files that are not cached."""

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
    """Return a folder on a disk: that of temporary files, or the current one; None if both are in memory."""
    places = (Path(tempfile.gettempdir()), Path.cwd())
    return next((place for place in places if file_system(place) not in IN_MEMORY), None)


def settle(paths: Iterable[str]) -> None:
    """Flush files to the disk. Only then can the operating system drop them from its cache."""
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)


def forget(paths: Iterable[str]) -> None:
    """Drop the bytes of files from the cache of the operating system. Folders and positions of files stay cached.

    Raises
    ------
    SkippedError
        If the operating system has no such call.
    """
    if not hasattr(os, "posix_fadvise"):
        raise SkippedError("the operating system cannot drop the bytes of a file from its cache")
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def is_cached(path: str) -> bool:
    """Return whether the first bytes of a file are cached.

    Raises
    ------
    SkippedError
        If the operating system does not report this.
    """
    if not hasattr(C_LIBRARY, "mincore"):
        raise SkippedError("the operating system does not report whether the bytes of a file are cached")
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        start = np.frombuffer(mapped, np.uint8, 1)
        pages = ctypes.create_string_buffer(1)
        failed = C_LIBRARY.mincore(ctypes.c_void_p(start.ctypes.data), ctypes.c_size_t(1), pages)
        del start  # otherwise the map could not be closed
    if failed:
        raise SkippedError("the operating system does not report whether the bytes of a file are cached")
    return bool(pages.raw[0] & 1)
