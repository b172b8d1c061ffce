"""What the doors to the netCDF4 library and to h5py share: one lock, and which errors to believe."""

from __future__ import annotations

import errno
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..errors import DsError, FormatError, TruncatedError
from .library_lock import LOCK
from .loss import LossWarning

ERRORS = (RuntimeError, AttributeError, OSError, IndexError, KeyError, TypeError, ValueError, LookupError)
"""What the libraries raise for files and data that they do not like."""

SYSTEM_ERRORS = {
    getattr(errno, name)
    for name in ("EACCES", "EDQUOT", "EFBIG", "EIO", "EMFILE", "ENFILE", "ENOENT", "ENOSPC", "EPERM", "EROFS", "ESTALE")
    if hasattr(errno, name)
}
"""Numbers of errors that are the system's: for damaged files the libraries make up others."""


@contextmanager
def guarded(
    error: type[DsError], path: str, variable: str | None, told: Callable[[Exception], str | None]
) -> Iterator[None]:
    """Hold the lock, and turn a library's errors into `error` with file and variable.

    The operating system's own errors stay what they are.

    Parameters
    ----------
    error : type
    path : str
    variable : str, optional
        By its unescaped name.
    told : callable
        Returns the message of one of the library's errors.
    """
    try:
        with LOCK:
            yield
    except DsError as caught:
        raise caught.at(path=path, variable=variable) from caught.__cause__
    except ERRORS as caught:
        if isinstance(caught, OSError) and caught.errno is not None and caught.errno in SYSTEM_ERRORS:
            # their own text has several lines, and the temporary name
            raise OSError(caught.errno, os.strerror(caught.errno), path) from caught
        text = told(caught) or type(caught).__name__
        kind = TruncatedError if error is FormatError and "truncated file" in text else error
        raise kind(text, path=path, variable=variable) from caught


def warn(category: type[LossWarning], message: str, path: str | None, variable: str | None) -> None:
    """Issue a warning that says where, in the words of the package's errors."""
    warnings.warn(str(DsError(message, path=path, variable=variable)), category, stacklevel=4)
