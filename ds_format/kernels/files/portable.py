"""The functions of the kernels in this folder, in Python, for operating systems without POSIX calls."""

from __future__ import annotations

import _thread
import contextlib
import errno
import os
import stat
from array import array
from typing import Any

from ...errors import ReplacedError
from .directory import find_data
from .names import BINARY, creation_mode, signed, temporary_name

_lock = _thread.allocate_lock()
"""Held from the call that sets the position of a file to the call that reads or writes there."""

COPY_SIZE = 1 << 20
TRIES = 16  # maximum number of times that a small file is read if it is modified meanwhile


def read_file(path: Any, limit: int) -> bytearray | None:
    """Read a whole file. Return None if it is larger than `limit` bytes."""
    fd, _, data, _ = open_first(path, limit)
    if fd < 0:
        return data
    os.close(fd)
    return None


def read_or_open(path: Any, limit: int, first: int) -> bytearray | tuple[int, int, bytearray, int]:
    """Read a whole file, or open one with more than `limit` bytes and read its `first` bytes; see `open_first`."""
    opened = open_first(path, limit, first)
    return opened[2] if opened[0] < 0 else opened


def open_first(path: Any, limit: int, first: int = -1) -> tuple[int, int, bytearray, int]:
    """Open a file, and read its first bytes; see `files.open_first`.

    Return the descriptor (-1: the file is closed, since these are all bytes), the size, the bytes, and the time of the
    last change in ns.
    """
    fd, before = _open_regular(path)
    try:
        for _ in range(TRIES):
            is_larger = before.st_size > limit
            data = bytearray(min(before.st_size, first if is_larger and first >= 0 else limit))
            del data[read_at(fd, 0, data) :]
            after = os.fstat(fd)
            if is_larger or (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns):
                break
            before = after
        else:
            message = f"the file was modified while it was read, {TRIES} times"
            raise ReplacedError(message, path=os.fsdecode(path))
    except BaseException:
        os.close(fd)
        raise
    if before.st_size <= limit:
        os.close(fd)
        fd = -1
    return fd, before.st_size, data, before.st_mtime_ns


def _open_regular(path: Any) -> tuple[int, os.stat_result]:
    """Open a regular file, and return its descriptor and status. Raise an OSError for anything else."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        number = errno.EISDIR if stat.S_ISDIR(mode) else errno.ESPIPE
        raise OSError(number, os.strerror(number), path)
    fd = os.open(path, os.O_RDONLY | BINARY)
    try:
        return fd, os.fstat(fd)
    except BaseException:
        os.close(fd)
        raise


class Contents(list["bytearray | int | None"]):
    """The contents of files, and their stamps; see `batch.Contents`."""

    def __init__(self) -> None:
        self._stamps = array("q")

    def add(self, content: bytearray | int | None, status: os.stat_result | None) -> None:
        """Add a file. Its status is None if the operating system cannot read it."""
        self.append(content)
        stamp = (0, 0, 0) if status is None else (status.st_size, status.st_mtime_ns, signed(status.st_ino))
        self._stamps.extend(stamp)

    def stamps(self) -> bytes:
        """Return size, time of change and inode of each file."""
        return self._stamps.tobytes()


def read_files(paths: list[Any], limit: int) -> Contents:
    """Read whole files; see `batch.read_files`. A file that cannot be read is its errno, or None if it is too large."""
    out = Contents()
    for path in paths:
        status = None
        try:
            status = os.stat(path)  # before reading, so that the stamp differs if the file is replaced meanwhile
            out.add(read_file(path, limit), status)
        except OSError as error:
            is_other = error.errno in (errno.EISDIR, errno.ESPIPE)
            out.add(None if is_other else error.errno, status if is_other else None)
    return out


def _read_into(fd: int, buffer: Any) -> int:
    view = memoryview(buffer).cast("B")
    done = 0
    while done < len(view):
        piece = os.read(fd, min(len(view) - done, COPY_SIZE))
        if not piece:
            break
        view[done : done + len(piece)] = piece
        done += len(piece)
    return done


def read_at(fd: int, offset: int, buffer: Any) -> int:
    """Fill a buffer from a position of an open file; return the bytes read."""
    with _lock:
        os.lseek(fd, offset, os.SEEK_SET)
        return _read_into(fd, buffer)


def read_ranges(fd: int, offsets: Any, sizes: Any, outs: list[Any]) -> int:
    """Fill buffers with ranges of an open file, one after another; return the bytes read."""
    if len(offsets) != len(sizes):
        raise ValueError(f"{len(offsets)} offsets for {len(sizes)} sizes")
    message = f"{len(sizes)} ranges do not fill {len(outs)} buffers"
    remaining = [(offset, size) for offset, size in zip(offsets.tolist(), sizes.tolist(), strict=True) if size]
    remaining.reverse()
    total = 0
    for out in outs:
        view = memoryview(out)
        view = view.cast("B") if view.nbytes else memoryview(b"")
        at = 0
        while at < len(view):
            if not remaining or not 0 <= remaining[-1][1] <= len(view) - at:
                raise ValueError(message)
            offset, size = remaining.pop()
            got = read_at(fd, offset, view[at : at + size])
            if got < size:
                return total + at + got
            at += size
        total += at
    if remaining:
        raise ValueError(message)
    return total


def write_at(fd: int, offset: int, buffer: Any) -> int:
    """Write a buffer at a position of an open file; return the bytes written."""
    with _lock:
        os.lseek(fd, offset, os.SEEK_SET)
        return _write(fd, buffer)


def write_ranges(fd: int, offsets: Any, size: int, buffer: Any) -> int:
    """Write the bytes of a buffer, one after another, to ranges of the same size; return the bytes written."""
    view = memoryview(buffer)
    view = view.cast("B") if view.nbytes else memoryview(b"")
    if size < 0 or len(view) != len(offsets) * size:
        raise ValueError(f"{len(offsets)} ranges of {size} bytes do not take {len(view)} bytes")
    for i, offset in enumerate(offsets.tolist()):
        write_at(fd, offset, view[i * size : (i + 1) * size])
    return len(view)


def reserve(fd: int, offset: int, size: int) -> None:
    """Do nothing: not all operating systems can be informed about bytes that will be written."""


def extend(fd: int, size: int) -> None:
    """Extend an open file to at least `size` bytes. A full disk is an error of a later write."""
    if os.fstat(fd).st_size < size:
        os.ftruncate(fd, size)


def _write(fd: int, buffer: Any) -> int:
    view = memoryview(buffer)
    view = view.cast("B") if view.nbytes else memoryview(b"")
    done = 0
    while done < len(view):
        done += os.write(fd, view[done : done + COPY_SIZE])
    return done


def write_file(path: Any, buffers: list[Any], atomic: bool = True, durable: bool = False) -> bool:
    """Write a whole file from buffers. Return False if the path exists and is not a regular file."""
    name = os.fsdecode(path)
    written = name
    mode: int | None = None
    if atomic:
        with contextlib.suppress(FileNotFoundError):
            mode = os.lstat(name).st_mode
        if mode is not None and not stat.S_ISREG(mode):
            return False
        written = temporary_name(name)
    try:
        fd = os.open(written, os.O_RDWR | os.O_CREAT | os.O_EXCL | BINARY, creation_mode(mode))
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    try:
        try:
            for buffer in buffers:
                _write(fd, buffer)
            if durable:
                os.fsync(fd)
        finally:
            os.close(fd)
        if atomic:
            if mode is not None:
                os.chmod(written, stat.S_IMODE(mode))
            os.replace(written, name)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(written)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, path) from None
        raise
    if durable:
        sync_folder(path)
    return True


def sync_folder(path: Any) -> None:
    """Flush the folder of a file to the disk, if the operating system supports it."""
    try:
        fd = os.open(os.path.dirname(os.fsdecode(path)) or ".", os.O_RDONLY)
    except PermissionError:
        return  # Windows does not open folders, and does not need this flush
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def copy_range(source: int, source_offset: int, target: int, target_offset: int, size: int) -> int:
    """Copy bytes from one open file to another. Return their number: fewer than `size` if the source ends before."""
    done = 0
    while done < size:
        piece = bytearray(min(size - done, COPY_SIZE))
        n = read_at(source, source_offset + done, piece)
        if not n:
            break
        done += write_at(target, target_offset + done, memoryview(piece)[:n])
    return done


class OpenPack:
    """An archive whose directory is known; see `member.OpenPack`. It is opened for each call, and not in between."""

    def __init__(self, path: Any, fd: int, status: Any, directory: Any, rows: Any, numbers: dict[str, int]):
        if rows.shape[1] != 6:
            raise ValueError(f"{rows.shape[1]} columns, expected 6")
        self._path, self._status = path, status
        self._directory, self._rows, self._numbers = directory, rows, numbers

    def is_at(self, status: Any) -> bool:
        """Return whether a file with this status is the archive."""
        names = ("st_size", "st_mtime_ns", "st_ctime_ns", "st_ino", "st_dev")
        return all(getattr(status, name) == getattr(self._status, name) for name in names)

    def is_deleted(self) -> bool:
        """Return False: nothing keeps the content of a file on the disk."""
        return False

    def read(self, members: list[str], limit: int, stamps: Any = None) -> list[bytearray | None] | None:
        """Return the bytes of members; see `member.OpenPack.read`."""
        try:
            fd = os.open(self._path, os.O_RDONLY | BINARY)
        except OSError:
            return None
        try:
            if not self.is_at(os.fstat(fd)):
                return None
            found = [self._read(fd, name, i, limit, stamps) for i, name in enumerate(members)]
            return found if self.is_at(os.fstat(fd)) else None
        finally:
            os.close(fd)

    def _read(self, fd: int, name: str, i: int, limit: int, stamps: Any) -> bytearray | None:
        number = self._numbers.get(name, len(self._rows))
        if not 0 <= number < len(self._rows):
            return None
        _, offset, size, crc, end, fault = self._rows[number].tolist()
        if stamps is not None:
            stamps[i, :2] = size, crc
        if fault or not 0 <= size <= limit:
            return None
        data = bytearray(end - offset)
        del data[read_at(fd, offset, data) :]
        start = find_data(self._directory, self._rows, number, data)
        return data[start : start + size] if 0 <= start <= len(data) - size else None


def is_regular(path: Any) -> bool:
    """Return whether a path is a regular file, or a link to one."""
    return os.path.isfile(path)
