"""Random access to bytes: of a file, of memory, or of a part of either.

A reader of any format takes a `Body`. It need not know where the bytes are.
"""

from __future__ import annotations

import errno
import io
import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

from ..errors import DsError, TruncatedError, explained
from ..kernels.files import files, ranges
from ..kernels.files.names import BINARY, creation_mode
from . import Address, Opened, open_file, path_text
from .stamp import Stamp, Watch

FIRST_SIZE = 64 * 1024
"""Bytes that opening reads. A file that has no more is in memory, and is closed."""
GAP_SIZE = 16 * 1024
"""Bytes that a local disk reads in the time that one more read takes."""
PIECE_SIZE = 1 << 20
"""Bytes that are read, or worked on, at once where there are more."""


class Body:
    """Bytes at positions from 0 up to `size`.

    Any number of threads may read at a time. A file is closed when its body and all sections are
    released, so a thread that closes a source does not close the file for other threads.
    """

    __slots__ = ()
    name: str
    """The file, for messages."""
    size: int
    """In bytes, when it was opened."""
    fd: int | None = None
    """Descriptor of an open file that holds these bytes as they are, for kernels; None if none does."""
    memory: Any = None
    """Buffer of exactly these bytes, for kernels; None if a file holds them (`fd`)."""
    is_in_memory: bool = False
    """Whether `memory` is a buffer. Then nothing is open but perhaps a map."""
    start: int = 0
    """Where position 0 lies in that file."""
    batch: int = PIECE_SIZE
    """How many bytes a reader should ask for in one call, at most, where it decodes them to something else."""
    gap: int = 0
    """How many bytes apart two ranges may lie and still be read as one."""
    is_far: bool = False
    """Whether each read is a request that takes long. Then readers announce all bytes of a read before its first."""
    is_elsewhere: bool = False
    """Whether its name is not a path, so that a library cannot open it."""
    lends: bool = False
    """Whether what is read may be handed to users: it keeps the bytes alive, and changing it changes nothing else."""
    watch = Watch()
    """Tells whether the file was modified since it was opened."""

    @property
    def at_hand(self) -> list[tuple[int, Any]]:
        """Buffers of bytes that are in memory, or came with the first request, and where they begin, in order."""
        return [] if self.memory is None else [(0, self.memory)]

    def head(self, size: int) -> bytes | bytearray:
        """Return the first bytes, or all if there are fewer, not to be changed. No byte is read twice."""
        return bytes(self.read(0, min(size, self.size)))

    @abstractmethod
    def read(self, offset: int, size: int) -> Any:
        """Return a buffer of bytes in the form that costs least: bytes from a file, a memoryview of memory.

        Raises
        ------
        TruncatedError
            If the body ends before; so do all that follow.
        """

    def read_into(self, offset: int, out: Any) -> None:
        """Fill a writable, C-contiguous buffer. Other threads run meanwhile."""
        target = memoryview(out)
        if target.nbytes:
            target.cast("B")[:] = self.read(offset, target.nbytes)

    def ranges(self, offsets: NDArray[np.int64], sizes: NDArray[np.int64], outs: list[Any]) -> None:
        """Fill buffers with ranges, one after another.

        A reader that knows what it will read asks for all of it in one call. A body that is elsewhere can then merge
        ranges that are close, and fetch them side by side.

        Parameters
        ----------
        offsets, sizes : (N,) int64
            In bytes.
        outs : list of writable, C-contiguous buffers
            Out. The first ranges fill the first buffer, the following ones the next. No range crosses from one buffer
            to the next.
        """
        for offset, part in parts_of(offsets, sizes, outs):
            part[:] = self.read(offset, len(part))

    def announce(self, offsets: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
        """Receive the ranges that will be read next, in any order, perhaps in parts and by several threads.

        A body that is far fetches them side by side, and merges those that are closer than `gap`. The reads that follow
        find them there. Other bodies do nothing, so readers need not compute the ranges unless `is_far`.

        Parameters
        ----------
        offsets, sizes : (N,) int64
            In bytes. Ranges may overlap. Their bytes may never be read.
        """

    def announce_spans(self, spans: Iterable[tuple[int, int]]) -> None:
        """Announce ranges given as pairs of offset and size; see `announce`."""
        if self.is_far:
            import numpy as np  # readers of documents and samples do without it otherwise

            ranges = np.array([span for span in spans if span[1] > 0], np.int64).reshape(-1, 2)
            self.announce(ranges[:, 0].copy(), ranges[:, 1].copy())

    @abstractmethod
    def section(self, offset: int, size: int | None = None) -> Body:
        """Return a part as a body of its own, by default up to the end."""

    def blocks(self, offset: int = 0, size: int | None = None) -> Iterator[bytes]:
        """Iterate over the bytes from `offset` to the end in blocks of `size` bytes; the last one may be shorter.

        The default size is `batch`.
        """
        size = size or self.batch
        for start in range(offset, self.size, size):
            yield bytes(self.read(start, min(size, self.size - start)))

    def in_file(self) -> tuple[int, int] | None:
        """Return the open file that holds these bytes as they are, and where they begin in it, for kernels.

        The first number is a descriptor, open for as long as the body is held. None: no file holds the bytes.
        """
        return None if self.fd is None else (self.fd, self.start)

    def current_size(self) -> int:
        """Return how many bytes there are now from position 0 to the end of the file, which may have been cut."""
        return self.size


def parts_of(offsets: NDArray[np.int64], sizes: NDArray[np.int64], outs: list[Any]) -> Iterator[tuple[int, memoryview]]:
    """Yield the position of each range, and the part of a buffer that it fills; parameters as of `Body.ranges`."""
    ranges_left = zip(offsets.tolist(), sizes.tolist(), strict=True)
    for out in outs:
        target = memoryview(out)
        target = target.cast("B") if target.nbytes else memoryview(bytearray())
        at = 0
        while at < len(target):
            offset, size = next(ranges_left)
            yield offset, target[at : at + size]
            at += size


def _pread(fd: int, size: int, offset: int) -> bytes:
    """Replace `os.pread` on operating systems without it."""
    buffer = bytearray(size)
    return bytes(memoryview(buffer)[: ranges.read_at(fd, offset, buffer)])


pread: Callable[[int, int, int], bytes] = getattr(os, "pread", _pread)


def ended(name: str, offset: int, size: int, end: int) -> TruncatedError:
    """Return the error for a read of `size` bytes from `offset` on, of a file with `end` bytes."""
    return TruncatedError(f"the file ends at byte {end}, expected bytes {offset} to {offset + size}", path=name)


class Descriptor:
    """The descriptor of an open file. The file is closed when this object is released."""

    __slots__ = ("fd",)

    def __init__(self, fd: int):
        self.fd = fd

    def close(self, close: Callable[[int], None] = os.close) -> None:
        """Close the file, unless it is closed."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            close(fd)

    __del__ = close


class FileBody(Opened, Body):
    """A file that is open for reading, or a part of one.

    There is no position that several threads, or processes after a fork, would have to share.

    Parameters
    ----------
    file : Descriptor
    name : str
    start, size : int
        Which bytes of the file.
    watch : Watch
    head : bytes or bytearray
        The first ones, if they were read.
    """

    __slots__ = ("_file", "_head", "fd", "name", "size", "start", "watch")
    gap = GAP_SIZE
    lends = False

    def __init__(self, file: Descriptor, name: str, start: int, size: int, watch: Watch, head: bytes | bytearray = b""):
        self._file = file
        self._head = head
        self.fd: int = file.fd
        self.name = name
        self.start = start
        self.size = size
        self.watch = watch

    @classmethod
    def open(cls, path: Any, flags: int = 0) -> Self:
        """Open a file without reading from it.

        Parameters
        ----------
        path : str, bytes or PathLike
        flags : int
            More flags for `os.open`, such as `os.O_NOFOLLOW`.

        Raises
        ------
        OSError
            As `open_file`.
        """
        return cls.of(path_text(path), *open_file(path, flags))

    @classmethod
    def of(cls, name: str, fd: int, status: os.stat_result | None = None, head: bytes | bytearray = b"") -> Self:
        """Take over an open descriptor; `status` is the result of `os.fstat`."""
        file = Descriptor(fd)
        stamp = Stamp.of(os.fstat(fd) if status is None else status)
        return cls(file, name, 0, stamp.size, Watch(name, stamp, fd, file), head)

    def section(self, offset: int, size: int | None = None) -> FileBody:
        """Return a part, which keeps the file open."""
        if size is None:
            size = max(self.size - offset, 0)
        return FileBody(self._file, self.name, self.start + offset, size, self.watch)

    def head(self, size: int) -> bytes | bytearray:
        """Return the first bytes."""
        known, size = self._head, min(size, self.size)
        if size <= len(known):
            return known if size == len(known) else known[:size]
        found = bytearray(size)
        found[: len(known)] = known
        n = ranges.read_at(self.fd, self.start + len(known), memoryview(found)[len(known) :])
        del found[len(known) + n :]
        self._head = found
        return found

    def read(self, offset: int, size: int) -> bytes:
        """Return bytes."""
        data = pread(self.fd, size, self.start + offset)
        return data if len(data) == size else self._pieces(data, offset, size)

    def _pieces(self, piece: bytes, offset: int, size: int) -> bytes:
        """Go on reading where one call does not return all: Linux moves 2 GiB at once."""
        pieces, n = [piece], len(piece)
        while n < size:
            piece = pread(self.fd, size - n, self.start + offset + n)
            if not piece:
                raise self._ended(offset, n, size)
            pieces.append(piece)
            n += len(piece)
        return b"".join(pieces)

    def read_into(self, offset: int, out: Any) -> None:
        """Fill a buffer."""
        n, size = ranges.read_at(self.fd, self.start + offset, out), memoryview(out).nbytes
        if n != size:
            raise self._ended(offset, n, size)

    def ranges(self, offsets: NDArray[np.int64], sizes: NDArray[np.int64], outs: list[Any]) -> None:
        """Fill buffers with ranges in one call of the kernel."""
        n = ranges.read_ranges(self.fd, offsets + self.start if self.start else offsets, sizes, outs)
        if n != sum(memoryview(out).nbytes for out in outs):
            ends = sizes.cumsum()
            i = int(ends.searchsorted(n, side="right"))
            size = int(sizes[i])
            raise self._ended(int(offsets[i]), n - int(ends[i]) + size, size)

    def _ended(self, offset: int, n: int, size: int) -> TruncatedError:
        """Return the error for a read of `size` bytes from `offset` on, which found `n`; the file may end before."""
        start = self.start + offset
        return ended(self.name, start, size, min(start + n, os.fstat(self.fd).st_size))

    def current_size(self) -> int:
        """Ask the operating system."""
        return os.fstat(self.fd).st_size - self.start

    def current_stamp(self) -> Stamp:
        """Return what tells the file from others now; `watch` has the stamp from when it was opened."""
        return Stamp.of_fd(self.fd)


class OutputBody(FileBody):
    """A file that is open for reading and writing. Its `size` is the one that it had when it was opened."""

    __slots__ = ()

    @classmethod
    def open(cls, path: Any, flags: int = 0) -> Self:
        """Open a file that exists; as `FileBody.open`."""
        return super().open(path, flags | os.O_RDWR)

    @classmethod
    def create(cls, path: str, mode: int | None = None) -> Self:
        """Create a file, which must not exist.

        Parameters
        ----------
        path : str
        mode : int, optional
            Permission bits of the file that it will replace: users who cannot read that one cannot read this one.

        Raises
        ------
        OSError
            If the file cannot be created; FileExistsError if it exists.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | BINARY | getattr(os, "O_NOFOLLOW", 0)
        return cls.of(path, os.open(path, flags, creation_mode(mode)))

    @classmethod
    def open_write_only(cls, path: str) -> Self:
        """Open a file that exists, for writing alone.

        A network file system may read a page first of which a part is written if it can, and then write back all of it,
        with old bytes where another host has written meanwhile.
        """
        return cls.of(path, os.open(path, os.O_WRONLY | BINARY))

    def write(self, offset: int, data: Any) -> int:
        """Write all bytes of a buffer at a position, and return how many these are."""
        return int(ranges.write_at(self.fd, self.start + offset, data))

    def write_ranges(self, offsets: NDArray[np.int64], size: int, data: Any) -> None:
        """Write the bytes of a buffer, one after another, to ranges of `size` bytes."""
        ranges.write_ranges(self.fd, offsets + self.start if self.start else offsets, size, data)

    def copy(self, source: Body, start: int, size: int, offset: int) -> None:
        """Write `size` bytes of another file, from its position `start` on, at a position.

        Raises
        ------
        DsError
            If no file holds these bytes as they are.
        TruncatedError
            If the other file ends before.
        """
        where = source.in_file()
        if where is None:
            raise DsError("its bytes are not in a file on this machine", path=source.name)
        begin = where[1] + start
        n = ranges.copy_range(where[0], begin, self.fd, self.start + offset, size)
        if n < size:
            raise ended(source.name, begin, size, min(begin + n, os.fstat(where[0]).st_size))

    def extend(self, size: int) -> None:
        """Grow the file to at least `size` bytes, and reserve disk space where the operating system can."""
        ranges.extend(self.fd, size)

    def truncate(self, size: int) -> None:
        """Cut the file off behind its first `size` bytes."""
        os.ftruncate(self.fd, size)

    def sync(self) -> None:
        """Flush the file to the disk."""
        os.fsync(self.fd)

    def close(self) -> None:
        """Close the file now, and report errors of closing; the number of the file may be that of another one then."""
        self.fd = -1
        self._file.close()


class MemoryBody(Body):
    """Bytes in memory: of a whole small file, or of a map of a large one, or a part of these.

    Parameters
    ----------
    name : str
        For messages.
    data : C-contiguous buffer
        All bytes of the file.
    start : int
        Where the body begins.
    lends : bool
        See `Body`.
    size : int, optional
        Size of the body in bytes; by default up to the end of the data.
    """

    __slots__ = ("lends", "memory", "name", "size", "start")
    is_in_memory = True

    def __init__(self, name: str, data: Any, start: int = 0, lends: bool = False, size: int | None = None):
        self.name = name
        self.lends = lends
        self.memory = data
        self.start = start
        self.size = len(data)
        if start or size is not None:
            self.start = min(start, self.size)  # a header line without LF ends with the file
            self.size = self.size - self.start if size is None else size
            self.memory = memoryview(data)[self.start : self.start + self.size]

    def section(self, offset: int, size: int | None = None) -> Self:
        """Return a part of the same memory."""
        if size is None:
            size = max(self.size - offset, 0)
        part = type(self)(self.name, self.memory, offset, self.lends, size)
        part.start += self.start
        return part

    def head(self, size: int) -> bytes | bytearray:
        """Return the first bytes."""
        data = self.memory
        if self.size <= size and isinstance(data, (bytes, bytearray)):
            return data
        return super().head(size)

    def read(self, offset: int, size: int) -> memoryview:
        """Return a view."""
        if offset + size > self.size:
            raise ended(self.name, self.start + offset, size, self.start + self.size)
        return memoryview(self.memory)[offset : offset + size]


def open_body(path: Any, first: int = FIRST_SIZE, last: int = 0, whole: int = 0) -> Body:
    """Open a file, and read its first bytes: in one call of the kernel, which closes a file that is read whole.

    Parameters
    ----------
    path : str, bytes, PathLike or Address
    first : int
        Bytes that are read. A file that has no more is in memory.
    last : int
        Bytes from the end that come with the first ones if the file is elsewhere.
    whole : int
        Bytes up to which a local file is read whole, if it has more than `first`.

    Raises
    ------
    OSError
        From the operating system; see `kernels.files.files.open_first`.
    ReplacedError
        If a small file was modified each time it was read.
    """
    if type(path) is not str and isinstance(path, Address):
        body: Body = path.open(first, last)
        return body
    try:
        opened = files.open_first(path, max(first, whole), first)
    except FileNotFoundError as error:
        raise explained(error) from None
    return opened_body(path_text(path), opened)


def open_unread(path: Any, last: int = 0) -> Body:
    """Open a file, and read nothing of a local one; an address is opened as by `open_body`."""
    if isinstance(path, Address):
        body: Body = path.open(FIRST_SIZE, last)
        return body
    return FileBody.open(path)


def open_whole(path: Any) -> Body:
    """Open a file of which all bytes will be read, perhaps several times: those of a remote one are in memory then."""
    body = open_unread(path)
    return MemoryBody(body.name, body.read(0, body.size)) if body.is_far else body


def opened_body(name: str, opened: tuple[int, int, bytearray, int]) -> Body:
    """Return the body of a file that a kernel opened.

    Parameters
    ----------
    name : str
        For messages.
    opened : (fd, size, data, changed)
        As returned by `kernels.files.files.open_first`. The body closes the descriptor.
    """
    fd, size, data, changed = opened
    if fd < 0:
        return MemoryBody(name, data)
    file = Descriptor(fd)
    stamp = Stamp.of_fd(fd)._replace(size=size, mtime=changed)  # these two are from before the bytes were read
    return FileBody(file, name, 0, size, Watch(name, stamp, fd, file), data)


class Stream(Opened, io.RawIOBase):
    """A body for libraries that want a file with a position, which processes do not share after a fork.

    Parameters
    ----------
    body : Body
    """

    def __init__(self, body: Body):
        self._body = body
        self._position = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position, in bytes from the start, the position or the end, and return it from the start."""
        position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._body.size}[whence]
        if position < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._position = position
        return position

    def tell(self) -> int:
        """Return the position, in bytes."""
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with the bytes that follow, and return how many these are."""
        n = max(min(len(buffer), self._body.size - self._position), 0)
        buffer[:n] = self._body.read(self._position, n)
        self._position += n
        return n
