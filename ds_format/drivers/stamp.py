"""What tells a file from another one that took its name, or from what it was before somebody changed it."""

import errno
import os
from typing import NamedTuple

from ..errors import ReplacedError
from ..names import unescape
from ..regular import NO_FILE

HOST = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")
"""Where numbers of inodes are compared: each host may give other ones to the files of a network file system."""


class Stamp(NamedTuple):
    """What was known of a file when it was opened.

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
    """Of its header; empty for formats that have none of their own."""
    host: str
    """Where the file was opened."""
    inode: int
    """Its number there."""

    @classmethod
    def of(cls, status: os.stat_result, digest: bytes = b"") -> "Stamp":
        """Return the stamp of a file from what the system knows of it."""
        return cls(status.st_size, status.st_mtime_ns, digest, HOST, status.st_ino)

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
        raise ReplacedError(f"the file was replaced or changed after it was opened: {what}; open it again", path=path)

    def gone(self, error: OSError, path: str, key: str | None = None) -> OSError:
        """Return what to raise for an error of the system: a ReplacedError, if it says that no file is there any more.

        Parameters
        ----------
        error : OSError
        path : str
        key : str, optional
            Of the variable that was to be read.
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
