"""Access to the bytes of files. Every format reads and writes through this package.

body         random access to the bytes of a file, of memory, or of a part of either; a body with a position
directory    the members of a pack, a ZIP archive of files
packs        addresses of these members, here or elsewhere
locating     the location of a file that a user names, a path or an address; requests ahead, for many of them
mapped       a file that is mapped into memory
named        bytes of another body under a name of its own, perhaps with a checksum
stamp        what tells a file from another one that took its name, or from what it was
target       a file that appears under its name when it is whole
temporary    files and folders next to a target while it is written
lock         who writes to a target
remote       files that are elsewhere: on web servers, in buckets, in other file systems, in file objects

Nothing in here knows a format. A pipe would keep the process waiting, and a device may never end, so what was opened is
looked at, and not what the name stood for before. `kernels.files.files` does so in one call with reading.
"""

from __future__ import annotations

import errno
import os
import stat
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, BinaryIO, NoReturn, Self

from ..errors import UnsupportedError, explained, plain_name
from ..kernels.files.names import BINARY

_FLAGS = os.O_RDONLY | BINARY | getattr(os, "O_NONBLOCK", 0)
path_text = os.fsdecode
"""Returns a path (str, bytes or PathLike) as text."""
NO_FILE = (errno.EISDIR, errno.ESPIPE, errno.ENXIO)
"""Error numbers for paths that are not files; the last one is for sockets."""
MEMBER_MARK = ".zip/"
"""The end of the name of a pack, in the path of one of its members."""


class Address(os.PathLike[str]):
    """A file that the operating system cannot open by a path. `ds_format.drivers.located` makes it.

    As a path it is its name, for messages and for the format. Everything that reads opens it with `open`. Addresses are
    equal if they lead to the same file with the same options.
    """

    __slots__ = ()
    name: str
    """For messages: without credentials, and without what follows `?` or `#`."""
    suffix: str
    """Suffix of the file, in lower case and with its dot; empty if there is none."""
    is_picklable: bool = True
    """Whether another process can use it."""
    is_near: bool = False
    """Whether it is on this machine, so that reading it is not a request."""

    def __fspath__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name

    def endswith(self, suffix: str | tuple[str, ...]) -> bool:
        """Return whether the file has this suffix, or one of these, as a path that is text does."""
        return self.suffix == suffix if isinstance(suffix, str) else self.suffix in suffix

    @abstractmethod
    def open(self, first: int, last: int = 0) -> Any:
        """Open the file with one request, and return its `Body`.

        Parameters
        ----------
        first : int
            Bytes from the start of the file that come with this request. A file that has no more is in memory.
        last : int
            Bytes from its end, requested side by side with the first ones.

        Raises
        ------
        FileNotFoundError, PermissionError, OSError
            If it cannot be read; the message names the address and the range of bytes.
        """

    def absolute(self) -> Address:
        """Return an address that any working directory can resolve."""
        return self

    def whole(self, limit: int) -> bytearray | None:
        """Return the bytes of a small file if that is faster than to open it: at most `limit`; otherwise None."""
        return None

    def keep(self, body: Any) -> None:
        """Let the next `open` return a body that is open already, or with None a new one."""

    @abstractmethod
    def reopened(self, stamp: Any, known: tuple[tuple[int, bytes], ...] = ()) -> Any:
        """Return the `Body` of a file that was opened before, without a request.

        Parameters
        ----------
        stamp : Stamp
            The stamp of the file then. Reading raises a ReplacedError if the file is another one by now.
        known : tuple of (int, bytes)
            Bytes that are known, and where they begin in the file.
        """

    @abstractmethod
    def sibling(self, ending: str) -> Address:
        """Return the address of an accompanying file, whose name is this one followed by `ending`."""

    def uploader(self, *, create: bool = False, durable: bool = False) -> Callable[[str], None]:
        """Return a function that makes a finished local file the file at this address.

        Parameters
        ----------
        create : bool
            Whether it must not exist.
        durable : bool
            Whether it must be on a disk afterwards.

        Raises
        ------
        UnsupportedError
            If files cannot be written there.
        DriverError
            If a library is not installed.
        """
        raise UnsupportedError(f"files of {type(self).__name__} cannot be written", path=self.name)

    def put(self, buffers: Iterable[Any], *, create: bool = False, durable: bool = False) -> None:
        """Write a file that consists of buffers; parameters and errors as for `uploader`."""
        raise UnsupportedError(f"files of {type(self).__name__} cannot be written", path=self.name)


Location = str | Address
"""A file: a local path as text, or an address."""


def absolute(path: Any) -> Any:
    """Return a path that any working directory can resolve, as text; an address is one already."""
    return path.absolute() if isinstance(path, Address) else os.path.abspath(path_text(path))


def size_of(path: str) -> int:
    """Return the bytes of a file, or of all files in a folder.

    Raises
    ------
    OSError
        If it does not exist, or cannot be read.
    """
    status = os.stat(path)
    if not stat.S_ISDIR(status.st_mode):
        return status.st_size
    return sum(os.lstat(os.path.join(folder, name)).st_size for folder, _, names in os.walk(path) for name in names)


def suffix_of(path: Any) -> str:
    """Return the suffix of a path or address, in lower case and with its dot."""
    return path.suffix if isinstance(path, Address) else os.path.splitext(path_text(path))[1].lower()


def name_of(thing: Any) -> str:
    """Return the name of a file object or buffer for messages; its type in angle brackets if it has none."""
    name = getattr(thing, "name", None)
    if isinstance(name, (str, bytes)):
        text = os.fsdecode(name)
        return plain_name(text) if "://" in text else text
    return f"<{type(thing).__name__}>"


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


class Closing:
    """Something that a `with` block closes."""

    __slots__ = ()

    @abstractmethod
    def close(self) -> None:
        """Release what is open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


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
