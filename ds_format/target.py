"""The file that a sink writes: under a temporary name until it is whole.

The temporary name is always the same for one target, and its file is locked while it is written. So what a killed
writer left is found, without listing a folder, by the next one of this target, which removes it. Where the name is
taken by a living writer, or there are no locks, a name is made that nobody else uses; no writer touches such a file.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from typing import Any

from .errors import DsError
from .kernels import files
from .kernels.portable import BINARY, creation_mode, temporary_name, usual_temporary_name
from .kernels.presence import is_folder, is_link, real_path
from .lock import try_lock
from .opened import Opened

ABANDONED_AFTER = 60.0
"""Seconds since the last change of a file that nobody locks, until it is taken to be abandoned. A writer that is about
to lock it, or has just closed it, needs far less."""


def resolve(path: Any) -> tuple[str, int | None]:
    """Follow links, and return the path of the file behind them with its permission bits (None: it does not exist).

    Raises
    ------
    OSError
        If something stands there that is not a file.
    """
    real = os.fsdecode(path)
    if is_link(real):
        real = real_path(real)
    try:
        mode = os.stat(real).st_mode
    except FileNotFoundError:
        return real, None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fsdecode(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", os.fsdecode(path))
    return real, stat.S_IMODE(mode)


@contextlib.contextmanager
def naming(path: Any) -> Iterator[None]:
    """Give errors of the system the name that the user knows, instead of a temporary one or none."""
    try:
        yield
    except OSError as error:
        if isinstance(error, DsError):
            raise
        if error.errno is None:
            error.filename = os.fsdecode(path)
            raise
        # the second name of an error cannot be taken back once it was set, not even to None
        raise OSError(error.errno, error.strerror, os.fsdecode(path)) from error.__cause__


def claim(path: str, make: Callable[[str], int], remove: Callable[[str], object]) -> tuple[str, int]:
    """Make what is to be written in place of `path` under a temporary name, and lock it.

    Parameters
    ----------
    path : str
    make : callable
        Makes it under a name, and returns its open descriptor; FileExistsError if the name is taken.
    remove : callable
        Removes what a killed writer left.

    Returns
    -------
    (str, int)
        The name, and the descriptor, whose closing gives up the lock.
    """
    usual = usual_temporary_name(path)
    name = usual
    try:
        fd = make(usual)
    except FileExistsError:
        _remove_abandoned(usual, remove)
        try:
            fd = make(usual)
        except FileExistsError:
            name = temporary_name(path)
            fd = make(name)
    with contextlib.suppress(OSError):  # not all file systems have locks: then nothing is ever taken to be abandoned
        try_lock(fd)
    return name, fd


def _remove_abandoned(name: str, remove: Callable[[str], object]) -> None:
    with contextlib.suppress(OSError):
        fd = os.open(name, (os.O_RDONLY if is_folder(name) else os.O_RDWR) | getattr(os, "O_NOFOLLOW", 0))
        try:
            status = os.fstat(fd)
            is_old = time.time() - status.st_mtime > ABANDONED_AFTER
            if is_old and try_lock(fd) and os.path.samestat(status, os.lstat(name)):
                remove(name)
        finally:
            os.close(fd)


class Claimed(Opened):
    """What holds the lock of something temporary."""

    _lock = -1

    def unlock(self) -> None:
        """Give up the lock."""
        fd, self._lock = self._lock, -1
        if fd >= 0:
            with contextlib.suppress(OSError):  # nothing was written to it
                os.close(fd)

    def __del__(self) -> None:
        self.unlock()


class Target(Claimed):
    """A file to be written.

    Parameters
    ----------
    path : str, bytes or PathLike
    atomic : bool
        Write under a temporary name in the same folder; `commit` renames. Else the file must not exist yet, and is
        written under its own name.
    durable : bool
        Flush file and folder to the disk on `commit`.

    Attributes
    ----------
    final : str
        The path behind all links.
    written : str
        The path of the created file; empty before.
    """

    def __init__(self, path: Any, *, atomic: bool = True, durable: bool = False):
        self.final, self.mode = resolve(path)
        self.durable = durable
        self.atomic = atomic
        self.written = ""
        if not atomic and self.mode is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fsdecode(path))

    def create(self) -> int:
        """Create the file, and return its descriptor, for reading and writing. It is locked until that is closed.

        The file never has permissions that the one which it replaces has not.

        Raises
        ------
        OSError
            If it cannot be created.
        """
        if self.atomic:
            self.written, fd = claim(self.final, self._make, os.unlink)
        else:
            self.written, fd = self.final, self._make(self.final)
        return fd

    def create_for_library(self, *, locks: bool) -> None:
        """Create the file for a library that opens it by its name, and empties it.

        Parameters
        ----------
        locks : bool
            Whether the library locks the file itself, which it could not if it were locked already.
        """
        fd = self.create()
        if locks:
            os.close(fd)
        else:
            self._lock = fd

    def _make(self, name: str) -> int:
        return os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | BINARY, creation_mode(self.mode))

    def commit(self) -> None:
        """Move the written file, which is closed, to its name."""
        if self.durable:
            fd = os.open(self.written, os.O_RDONLY)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
        if self.written != self.final:
            if self.mode is not None:
                os.chmod(self.written, self.mode)
            os.replace(self.written, self.final)
        if self.durable:
            files.sync_folder(self.final)
        self.unlock()

    def abort(self) -> None:
        """Remove what was written."""
        if self.written:
            with contextlib.suppress(OSError):
                os.unlink(self.written)
        self.unlock()
