"""What stands under a name, for those who decide by it on writing or removing.

`os.path.exists` and its like take every error of the system for an absent file. But what could not be looked at must
not be written over: here only what is not there is absent, and all other errors are raised.
"""

from __future__ import annotations

import os
import stat
from typing import Any


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
    >>> from ds_format.kernels.files import presence
    >>> presence.exists("."), presence.is_folder("."), presence.is_file("."), presence.is_link(".")
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
