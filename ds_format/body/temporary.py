"""Temporary files and folders next to what is being written, and what becomes of those of killed writers.

Each target has one usual temporary name, and the file of that name is locked while it is written. This lets the next
writer of the target find and remove the file of a killed writer without listing the folder. If a living writer has the
name, or there are no locks, the writer makes a unique name. No other writer removes a file with a unique name.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import time
from collections.abc import Callable, Iterator

from ..kernels.files.names import is_folder, temporary_name, usual_temporary_name
from . import Opened
from .lock import try_lock, unlock

ABANDONED_AFTER = 60.0
"""Seconds after its last change until an unlocked file counts as abandoned. A writer that is about to lock the file, or
has just closed it, needs far less."""
HOLDS = os.name == "posix"
"""Whether the operating system can rename open files, and open folders."""


class Temporary(Opened):
    """A file or folder with a temporary name, locked until it is released.

    Parameters
    ----------
    path : str
        The target.
    make : callable
        Makes something under a name, and returns its open descriptor; FileExistsError if the name is taken.
    remove : callable
        Removes by its name what a killed writer made.
    use : str
        Its purpose, as part of its name, unless it is to write `path` itself.

    Attributes
    ----------
    path : str
        The temporary name.
    fd : int
        Descriptor of what was made.
    """

    fd = -1

    def __init__(
        self,
        path: str,
        make: Callable[[str], int],
        remove: Callable[[str], object],
        *,
        use: str = "",
    ):
        self._pid = os.getpid()
        self._is_locked = HOLDS
        self._is_lent = False
        if self._is_locked:
            self.path = usual_temporary_name(path, use)
            try:
                self.fd = make(self.path)
            except FileExistsError:
                _remove_abandoned(self.path, remove)
                with contextlib.suppress(FileExistsError):
                    self.fd = make(self.path)
        if self.fd < 0:
            self.path = temporary_name(path)
            self.fd = make(self.path)
        self._lock()

    def _lock(self) -> None:
        if self._is_locked:
            try:
                try_lock(self.fd, shared=self._is_lent)
            except OSError:
                self._is_locked = False  # not all file systems have locks: then nothing is ever removed

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """Leave the lock to a library which opens the file meanwhile, if it locks what it writes.

        Who reads a file of such a library locks it, too: from here on the lock here is in the way of no reader, who may
        come as soon as the file has its name.
        """
        if self._is_locked:
            with contextlib.suppress(OSError):
                unlock(self.fd)
        yield
        self._is_lent = True
        self._lock()

    def is_there(self) -> bool:
        """Return whether what was made still has its name. It is so for as long as this is locked."""
        if self._is_lent:
            self._lock()  # as the library does no more
        try:
            return self.fd < 0 or os.path.samestat(os.fstat(self.fd), os.lstat(self.path))
        except FileNotFoundError:
            return False

    def is_own(self) -> bool:
        """Return whether it was made by this process, not by one that this was forked from, and still has its name."""
        return os.getpid() == self._pid and self.is_there()

    def let_go(self) -> None:
        """Give up the lock. In a process that was forked from the owner, only forget it."""
        if self._is_lent and self._is_locked and os.getpid() == self._pid:
            with contextlib.suppress(OSError):
                unlock(self.fd)  # closing is not enough, if a fork has the file open, too
        self._close()

    def _close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            with contextlib.suppress(OSError):  # the writer has closed a descriptor of its own
                os.close(fd)

    def __del__(self) -> None:
        self._close()


def _remove_abandoned(name: str, remove: Callable[[str], object]) -> None:
    with contextlib.suppress(OSError):
        if not _is_old(os.lstat(name)):
            return  # and may be about to be locked by its owner
        flags = os.O_RDONLY if is_folder(name) else os.O_RDWR
        fd = os.open(name, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        try:
            if try_lock(fd):
                status = os.fstat(fd)
                if _is_old(status) and os.path.samestat(status, os.lstat(name)):
                    remove(name)
        finally:
            os.close(fd)


def _is_old(status: os.stat_result) -> bool:
    return time.time() - status.st_mtime > ABANDONED_AFTER


def remove_folder(path: str, *, ignore_errors: bool = False) -> None:
    """Remove a folder with its contents; see `shutil.rmtree`."""
    # loading it takes longer than writing a small file
    importlib.import_module("shutil").rmtree(path, ignore_errors=ignore_errors)


class WorkFolder(Opened):
    """A folder next to a path, under a temporary name. It is removed with its content when it is closed.

    Parameters
    ----------
    path : str
        The target.
    use : str
        Its purpose, as part of its name.
    mode : int
        Permissions, before the umask. By default only the owner has access, since its files may replace private ones.

    Attributes
    ----------
    path : str
        Path of the folder.
    """

    _is_closed = False

    def __init__(self, path: str, use: str, mode: int = 0o700):
        self._temporary = Temporary(path, lambda name: _make(name, mode), remove_folder, use=use)
        self.path = self._temporary.path

    def close(self) -> None:
        """Remove the folder, unless it was renamed: then its former name belongs to another process."""
        if not self._is_closed:
            self._is_closed = True
            with contextlib.suppress(OSError):  # of closing what it has opened
                if self._temporary.is_own():
                    remove_folder(self.path, ignore_errors=True)
            self._temporary.let_go()

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *error: object) -> None:
        self.close()


def _make(name: str, mode: int) -> int:
    os.mkdir(name, mode)
    return os.open(name, os.O_RDONLY) if HOLDS else -1
