"""Stamps of files: they detect that a file was replaced or modified."""

import contextlib
import errno
import functools
import os
import stat
import zlib
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, Protocol

from ..base.text import unescape
from ..errors import ReplacedError
from . import NO_FILE

REPLACED = "the file was replaced or changed after it was opened"
"""The beginning of messages."""
HOST = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")
"""Where numbers of inodes are compared: each host may give other ones to the files of a network file system."""


class Stamp(NamedTuple):
    """Size, time and identity of a file when it was opened.

    Examples
    --------
    >>> from ds_format import open, write
    >>> write("stamp.ds", {"x": [1, 2, 3]})
    >>> with open("stamp.ds") as file:
    ...     stamp = file["x"].handle().stamp
    >>> stamp.size == os.stat("stamp.ds").st_size
    True
    """

    size: int
    """In bytes."""
    mtime: int
    """When it was changed, in ns since 1970."""
    digest: bytes
    """Digest of the header; empty for formats without one."""
    host: str
    """Where the file was opened."""
    inode: int
    """Its number there."""
    device: int = 0
    """The device that has the inode; not compared by `compare`, for it changes when a file system is mounted again."""

    @classmethod
    def of(cls, status: os.stat_result, digest: bytes = b"") -> "Stamp":
        """Return the stamp of a file from its status."""
        return cls(status.st_size, status.st_mtime_ns, digest, HOST, status.st_ino, status.st_dev)

    @classmethod
    def of_fd(cls, fd: int) -> "Stamp":
        """Return the stamp of an open file."""
        return cls.of(os.fstat(fd))

    @classmethod
    def of_path(cls, path: str) -> "Stamp":
        """Return the stamp of a file, or of a folder with all files in it.

        Raises
        ------
        OSError
            If there is nothing of this name.
        """
        status = os.stat(path)
        return cls.of(status, _digest_of_folder(path) if stat.S_ISDIR(status.st_mode) else b"")

    def compare(self, found: "Stamp", path: str) -> None:
        """Check that a file is still the same.

        Raises
        ------
        ReplacedError
            If not; it says what differs.
        """
        if found[:3] == self[:3] and (found.inode == self.inode or found.host != self.host):
            return
        if found.size != self.size:
            what = f"found {found.size} bytes, expected {self.size}"
        elif found.mtime != self.mtime:
            what = "it was written since"
        elif found.digest != self.digest:
            what = "its header differs"
        else:
            what = "it is another file of the same size and time"
        raise ReplacedError(f"{REPLACED}: {what}; open it again", path=path)

    def gone(self, error: OSError, path: str, key: str | None = None) -> OSError:
        """Return the exception to raise for an OSError: a ReplacedError if the file does not exist any more.

        Parameters
        ----------
        error : OSError
        path : str
        key : str, optional
            The variable to read.
        """
        variable = None if key is None else unescape(key)
        if error.errno in NO_FILE:
            message = f"the file was opened, and is none any more: {os.strerror(error.errno)}"
            return ReplacedError(message, path=path, variable=variable)
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            return error
        where = "" if self.host == HOST else f" on {self.host}; there is none of this name on {HOST}"
        message = f"the file was opened{where}, and is not there any more"
        return ReplacedError(message, path=path, variable=variable)


def _digest_of_folder(path: str) -> bytes:
    """Return the digest of names, sizes and times of the files in a folder, except hidden ones: they are temporary."""
    digest = 0
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            if not name.startswith("."):
                with contextlib.suppress(FileNotFoundError):
                    status = os.stat(os.path.join(folder, name))
                    line = f"{os.path.relpath(folder, path)}\0{name}\0{status.st_size}\0{status.st_mtime_ns}\0"
                    digest = zlib.crc32(os.fsencode(line), digest)
    return digest.to_bytes(4, "big")


class Watch:
    """A file that is open, as it was when it was opened.

    A `with` block around reading raises a ReplacedError if the file was modified since, also in place of the error that
    such a change led to. A file that only lost its name to another one is not modified.

    Parameters
    ----------
    path : str
    stamp : Stamp, optional
        Its size and time when it was opened; None: there is nothing to watch.
    fd : int
        Its descriptor; -1: it is found by its path.
    keeper : object, optional
        The object that keeps the descriptor open.
    """

    __slots__ = ("fd", "keeper", "path", "stamp")

    def __init__(self, path: str = "", stamp: Stamp | None = None, fd: int = -1, keeper: Any = None):
        self.path = path
        self.fd = fd
        self.stamp = stamp
        self.keeper = keeper

    def check(self) -> None:
        """Compare the file with what it was when it was opened.

        Raises
        ------
        ReplacedError
            If it was modified since.
        """
        if self.stamp is None:
            return
        try:
            found = Stamp.of(os.fstat(self.fd)) if self.fd >= 0 else Stamp.of_path(self.path)
        except OSError:
            return  # the name is gone, not the file
        if found.inode == self.stamp.inode:
            self.stamp.compare(found, self.path)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or issubclass(kind, Exception):
            self.check()


class Watched(Protocol):
    """A source that knows what its file was when it was opened."""

    watch: Watch


def watched(read: Callable[..., Any]) -> Callable[..., Any]:
    """Make a method of a source raise a ReplacedError if the file was modified before the method returns."""

    @functools.wraps(read)
    def method(self: Watched, *args: Any, **options: Any) -> Any:
        with self.watch:
            return read(self, *args, **options)

    return method
