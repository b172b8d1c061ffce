"""What the doors to the netCDF4 library and to h5py share: one lock, and which errors to believe."""

from __future__ import annotations

import errno
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from ...base import signatures
from ...body.target import Target, naming
from ...errors import DsError, FormatError, TruncatedError, UnsupportedError
from ..base import LossWarning
from .lock import LOCK

ERRORS = (RuntimeError, AttributeError, OSError, IndexError, KeyError, TypeError, ValueError, LookupError)
"""What the libraries raise for files and data that they do not like."""

SYSTEM_ERRORS = {
    getattr(errno, name)
    for name in ("EACCES", "EDQUOT", "EFBIG", "EIO", "EMFILE", "ENFILE", "ENOENT", "ENOSPC", "EPERM", "EROFS", "ESTALE")
    if hasattr(errno, name)
}
"""Numbers of errors that are the system's: for damaged files the libraries make up others."""


PROBE = 4 * 1024 * 1024
"""Bytes that a disk which is not full has room for."""


class Guard:
    """A block that holds the lock, and turns a library's errors into `error` with file and variable.

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

    # no generator: each call of a library goes through here
    __slots__ = ("error", "path", "told", "variable")

    def __init__(
        self, error: type[DsError], path: str, variable: str | None, told: Callable[[Exception], str | None]
    ) -> None:
        self.error = error
        self.path = path
        self.variable = variable
        self.told = told

    def __enter__(self) -> None:
        LOCK.acquire()

    def __exit__(self, kind: object, caught: BaseException | None, traceback: object) -> None:
        LOCK.release()
        if isinstance(caught, DsError):
            raise caught.at(path=self.path, variable=self.variable) from caught.__cause__
        if isinstance(caught, ERRORS):
            self._raise(caught)

    def _raise(self, caught: Exception) -> NoReturn:
        if isinstance(caught, OSError) and caught.errno is not None and caught.errno in SYSTEM_ERRORS:
            # their own text has several lines, and the temporary name
            raise OSError(caught.errno, os.strerror(caught.errno), self.path) from caught
        text = self.told(caught) or type(caught).__name__
        kind = TruncatedError if self.error is FormatError and "truncated file" in text else self.error
        raise kind(text, path=self.path, variable=self.variable) from caught


@contextmanager
def telling_of_a_full_disk(target: Target, path: str) -> Iterator[None]:
    """Let the system say why a file cannot be written, where a library only says that it cannot.

    Parameters
    ----------
    target : Target
        The file being written, which is of no more use after an error.
    path : str
        Its name for people.
    """
    try:
        yield
    except DsError as error:
        if not isinstance(error, OSError | UnsupportedError) and hasattr(os, "posix_fallocate"):
            with naming(path):
                _ask_for_more(target.written)
        raise


def _ask_for_more(written: str) -> None:
    fd = os.open(written, os.O_WRONLY)
    try:
        os.posix_fallocate(fd, os.fstat(fd).st_size, PROBE)
    finally:
        os.close(fd)


@contextmanager
def opening(path: str, kind: str) -> Iterator[None]:
    """Tell of a file that a library cannot open what it is, if it is of another kind.

    Parameters
    ----------
    path : str
    kind : str
        What is expected, as part of its name in `signatures`.
    """
    try:
        yield
    except FormatError as error:
        found = signatures.of_file(path)
        if kind in found:
            promised, size = _promised_end(path), os.path.getsize(path)
            if promised is not None and promised > size:  # netCDF4 only says "HDF error"
                cut = f"superblock: found {size} bytes in the file, expected {promised}: perhaps a copy was interrupted"
                raise TruncatedError(cut, path=path) from error
            raise
        message = "the file is empty" if found == "an empty file" else f"no {kind} file, but {found}"
        raise FormatError(message, path=path) from error


def _promised_end(path: str) -> int | None:
    """Return where an HDF5 file ends by its superblock, or None if that does not say so in eight bytes."""
    with open(path, "rb", buffering=0) as file:
        first = file.read(64)
    version, sizes = (first[8], first[9:]) if len(first) == 64 and first.startswith(signatures.HDF5) else (None, b"")
    if version in (2, 3) and sizes[0] == 8:
        return int.from_bytes(first[28:36], "little")
    if version in (0, 1) and first[13] == 8:
        return int.from_bytes(first[40 + 4 * version :][:8], "little")
    return None


def warn(category: type[LossWarning], message: str, path: str | None, variable: str | None) -> None:
    """Issue a warning that says where, in the words of the package's errors."""
    warnings.warn(str(DsError(message, path=path, variable=variable)), category, stacklevel=4)
