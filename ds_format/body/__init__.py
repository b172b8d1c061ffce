"""Access to the bytes of files. Every format reads and writes through this package.

body         random access to the bytes of a file, of memory, or of a part of either; a body with a position
mapped       a file that is mapped into memory
stamp        what tells a file from another one that took its name, or from what it was
target       a file that appears under its name when it is whole
temporary    files and folders next to a target while it is written
lock         who writes to a target

Nothing in here knows a format. A pipe would keep the process waiting, and a device may never end, so what was opened is
looked at, and not what the name stood for before. `kernels.files.opening` does so in one call with reading.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Any, BinaryIO, NoReturn

from ..errors import explained
from ..kernels.files.names import BINARY

_FLAGS = os.O_RDONLY | BINARY | getattr(os, "O_NONBLOCK", 0)
path_text = os.fsdecode
"""Returns a path (str, bytes or PathLike) as text."""
NO_FILE = (errno.EISDIR, errno.ESPIPE, errno.ENXIO)
"""Error numbers for paths that are not files; the last one is for sockets."""


def open_file(path: Any, flags: int = 0) -> tuple[int, os.stat_result]:
    """Open a file for reading, and return its descriptor and status.

    Parameters
    ----------
    path : str, bytes or PathLike
    flags : int
        More flags for `os.open`, such as `os.O_NOFOLLOW`.

    Raises
    ------
    OSError
        From the operating system. IsADirectoryError for a folder, ESPIPE for anything else that is not a file.
    """
    try:
        fd = os.open(path, _FLAGS | flags)
    except FileNotFoundError as error:
        raise explained(error) from None
    status = os.fstat(fd)
    if stat.S_ISREG(status.st_mode):
        return fd, status
    os.close(fd)
    number = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.ESPIPE
    raise OSError(number, os.strerror(number), path)


def open_binary(path: Any, buffering: int = -1) -> BinaryIO:
    """Open a file to read as Python's `open` does, with the errors of `open_file`."""
    return os.fdopen(open_file(path)[0], "rb", buffering)


def check_file(path: Any) -> None:
    """Raise the errors of `open_file` for a library that opens files by their names."""
    os.close(open_file(path)[0])


def sync_file(path: str) -> None:
    """Flush a file that is closed to the disk."""
    fd = os.open(path, os.O_RDONLY | BINARY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


class Opened:
    """Something that holds an open file.

    A copy would have the bare number of a descriptor: it would close, read or write whatever file has that number then.
    """

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled, which both ask for this.

        Raises
        ------
        TypeError
            Always; it says what to do instead.
        """
        path = getattr(self, "path", None)
        where = f" of {path!r}" if isinstance(path, str) else ""
        raise TypeError(
            f"{type(self).__name__}{where} cannot be copied or pickled, for it holds a file that is open here: "
            "hand on the path, and open the file again there"
        )
