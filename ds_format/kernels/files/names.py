"""Checks of paths before they are written or removed, and temporary names.

`os.path.exists` and similar functions treat each error of the operating system as a missing file. But a file that
cannot be accessed must not be overwritten. So here, only a missing file counts as missing, and other errors are raised.
"""

from __future__ import annotations

import os
import stat
import time
from typing import Any

BINARY = getattr(os, "O_BINARY", 0)
"""Flag of `os.open` for binary files, on operating systems that have a text mode."""
NAME_SIZE = 255
"""Maximum bytes of a file name on common file systems."""


def status(path: Any, *, follow: bool = True) -> os.stat_result | None:
    """Return the status of a path, or None if it does not exist. Links are followed if `follow` is true.

    Raises
    ------
    OSError
        If the operating system cannot determine it.
    """
    try:
        return os.stat(path) if follow else os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def exists(path: Any, *, follow: bool = True) -> bool:
    """Return whether a path exists. Errors are as in `status`. A link to a missing file exists if `follow` is false.

    Examples
    --------
    >>> from ds_format.kernels.files import names
    >>> names.exists("."), names.is_folder("."), names.is_file("."), names.is_link(".")
    (True, True, False, False)
    """
    return status(path, follow=follow) is not None


def is_folder(path: Any) -> bool:
    """Return whether a path is a folder, or a link to one. Errors are as in `status`."""
    result = status(path)
    return result is not None and stat.S_ISDIR(result.st_mode)


def is_file(path: Any) -> bool:
    """Return whether a path is a regular file, or a link to one. Errors are as in `status`."""
    result = status(path)
    return result is not None and stat.S_ISREG(result.st_mode)


def is_link(path: Any) -> bool:
    """Return whether a path is a link. Errors are as in `status`."""
    result = status(path, follow=False)
    return result is not None and stat.S_ISLNK(result.st_mode)


def real_path(path: str) -> str:
    """Return a path without links. The path may be missing. Errors are as in `status`."""
    try:
        return os.path.realpath(path, strict=True)
    except (FileNotFoundError, NotADirectoryError):
        return os.path.realpath(path)


def temporary_name(path: str) -> str:
    """Return a name in the same folder that no other process uses."""
    return _hidden_name(path, f".{os.getpid():x}-{time.monotonic_ns():x}.tmp")


def usual_temporary_name(path: str, use: str = "") -> str:
    """Return the name of an accompanying file in the same folder. It depends only on `use`, so later runs find it."""
    return _hidden_name(path, f"{use and '.'}{use}.ds_format.tmp")


def _hidden_name(path: str, end: str) -> str:
    name = os.path.basename(path)
    short = os.fsdecode(os.fsencode(name)[: NAME_SIZE - 40])
    return f"{path[: len(path) - len(name)]}.{short}{end}"


def creation_mode(replaced: int | None) -> int:
    """Return the mode of a new temporary file, which does not allow more than the file that it replaces."""
    return 0o666 if replaced is None else replaced & 0o777 | 0o600


def signed(inode: int) -> int:
    """Return the number of an inode, converted from uint64 to int64."""
    return (inode + (1 << 63)) % (1 << 64) - (1 << 63)
