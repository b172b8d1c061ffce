"""One writer at a time: a lock that falls with the process that holds it."""

from __future__ import annotations

import contextlib
import os
import sys
import time

from ..errors import BusyError
from ..kernels.files.names import BINARY
from . import Opened

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

OWNER_SIZE = 1000
"""Bytes that are read of what an owner wrote."""


def try_lock(fd: int, *, shared: bool = False) -> bool:
    """Lock an open file, and return whether that succeeded: it fails if another process holds a lock.

    The lock falls when the last descriptor of this opening of the file is closed, also by the end of the process. A
    `shared` one is in the way of those only that want it for themselves; a lock that is held becomes one.
    """
    try:
        if sys.platform == "win32":
            os.lseek(fd, 1 << 30, os.SEEK_SET)  # what is locked there cannot be read by others
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def unlock(fd: int) -> None:
    """Give a lock up: closing is not enough, if a fork has the file open, too."""
    if sys.platform == "win32":
        os.lseek(fd, 1 << 30, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(fd, fcntl.LOCK_UN)


class Lock(Opened):
    """A lock, held from its making to `release`.

    The file may exist without being locked. It names the process that holds the lock, or held it last. A lock is valid
    only if its file still has its name when it is locked, so two processes cannot hold locks on different files.

    Parameters
    ----------
    path : str
        The lock file. Its folder is made.
    what : str
        The locked file or folder, for the message.
    in_own_folder : bool
        Whether the folder exists only for locks: it is removed together with the last lock file in it.
    stays : bool
        Whether the file stays, in a folder that must exist, and is empty: then a lock takes less time.

    Raises
    ------
    BusyError
        If another owner holds it; the message names the process, unless the file is empty.
    OSError
        If the file cannot be written.
    """

    def __init__(self, path: str, what: str, *, in_own_folder: bool = False, stays: bool = False):
        self.path = path
        self._fd = -1
        self._pid = os.getpid()
        self._in_own_folder = in_own_folder
        self._stays = stays
        try:
            while not self._is_current():
                self._close()
                if stays:
                    self._open(what)
                    continue
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with contextlib.suppress(FileNotFoundError):  # the folder was removed by the last owner
                    self._open(what)
            if stays:
                return
            told = f"pid={self._pid}\nhostname={host()}\ntimestamp={now()}\n".encode()
            os.lseek(self._fd, 0, os.SEEK_SET)
            os.ftruncate(self._fd, 0)
            os.write(self._fd, told)
        except BaseException:
            self.release(remove=True)
            raise

    def _open(self, what: str) -> None:
        """Open the lock file and lock it."""
        self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | BINARY | getattr(os, "O_NOFOLLOW", 0), 0o666)
        if not try_lock(self._fd):
            told = "" if self._stays else f": {owner_of(self._fd)}"
            self._close()
            raise BusyError(f"another process is writing to it{told}", path=what)

    def _is_current(self) -> bool:
        """Return whether the open file is still the one of the name."""
        if self._fd < 0:
            return False
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            return os.path.samestat(os.fstat(self._fd), os.stat(self.path))
        return False

    def _close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def release(self, remove: bool = False) -> None:
        """Let others write, and `remove` the lock file. In a process that was forked from the owner, only forget it.

        The file goes while it is locked, so that who opened it before gets a lock on it no earlier than its name is
        gone, and sees that. A file that has taken its name meanwhile is the lock of another process, and stays.
        """
        if self._fd >= 0 and os.getpid() == self._pid:
            if remove and not self._stays and self._is_current():
                with contextlib.suppress(OSError):
                    os.unlink(self.path)
            unlock(self._fd)
        self._close()
        if remove and self._in_own_folder:
            with contextlib.suppress(OSError):  # other locks are in it
                os.rmdir(os.path.dirname(self.path))

    def __del__(self) -> None:
        with contextlib.suppress(OSError, AttributeError, TypeError):  # the last two while Python shuts down
            self.release()


def owner_of(fd: int) -> str:
    """Return what the owner of a lock wrote into its file, on one line."""
    os.lseek(fd, 0, os.SEEK_SET)
    told = os.read(fd, OWNER_SIZE).decode("utf-8", "replace")
    return ", ".join(told.split("\n")[:3]) or "an unknown process"


def now() -> str:
    """Return the time as manifests and locks have it: RFC 3339, in UTC, to the second.

    Examples
    --------
    >>> from ds_format.body.lock import now
    >>> len(now()), now()[-1]
    (20, 'Z')
    """
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def host() -> str:
    """Return the name of this computer."""
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")
