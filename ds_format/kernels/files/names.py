"""Names of files: what is there under a name, before it is written or removed; temporary names.

`os.path.exists` and its like take every error of the system for an absent file. But what could not be looked at must
not be written over: here only what is not there is absent, and all other errors are raised.
"""

from __future__ import annotations

import os
import stat
import time
from typing import Any

BINARY = getattr(os, "O_BINARY", 0)
"""Flag of `os.open` for bytes, where the operating system has another mode."""
NAME_SIZE = 255
"""Bytes of the longest file name of common file systems."""


def status(path: Any, *, follow: bool = True) -> os.stat_result | None:
    """Return what the system says of what stands under a name, or, unless `follow`, of a link there; None: nothing.

    Raises
    ------
    OSError
        If it cannot say so.
    """
    try:
        return os.stat(path) if follow else os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def exists(path: Any, *, follow: bool = True) -> bool:
    """Return whether anything stands under a name, or, unless `follow`, a link to nothing; errors as `status`.

    Examples
    --------
    >>> from ds_format.kernels.files import names
    >>> names.exists("."), names.is_folder("."), names.is_file("."), names.is_link(".")
    (True, True, False, False)
    """
    return status(path, follow=follow) is not None


def is_folder(path: Any) -> bool:
    """Return whether a folder stands under a name; errors as `status`."""
    found = status(path)
    return found is not None and stat.S_ISDIR(found.st_mode)


def is_file(path: Any) -> bool:
    """Return whether a file stands under a name; errors as `status`."""
    found = status(path)
    return found is not None and stat.S_ISREG(found.st_mode)


def is_link(path: Any) -> bool:
    """Return whether a link stands under a name; errors as `status`."""
    found = status(path, follow=False)
    return found is not None and stat.S_ISLNK(found.st_mode)


def real_path(path: str) -> str:
    """Return the path behind all links, of what need not exist; errors as `status`."""
    try:
        return os.path.realpath(path, strict=True)
    except (FileNotFoundError, NotADirectoryError):
        return os.path.realpath(path)


def temporary_name(path: str) -> str:
    """Return a name in the same folder that no other process uses."""
    return _beside(path, f".{os.getpid():x}-{time.monotonic_ns():x}.tmp")


def usual_temporary_name(path: str, use: str = "") -> str:
    """Return the name in the same folder under which what is of `use` for a file is written, and is found later."""
    return _beside(path, f"{use and '.'}{use}.ds_format.tmp")


def _beside(path: str, end: str) -> str:
    name = os.path.basename(path)
    short = os.fsdecode(os.fsencode(name)[: NAME_SIZE - 40])
    return f"{path[: len(path) - len(name)]}.{short}{end}"


def creation_mode(replaced: int | None) -> int:
    """Return the mode to create a temporary file with: no more than that of the file that it replaces allows."""
    return 0o666 if replaced is None else replaced & 0o777 | 0o600


def signed(inode: int) -> int:
    """Return the number of an inode as an int64 holds it."""
    return (inode + (1 << 63)) % (1 << 64) - (1 << 63)
