"""The directory of a pack: a ZIP archive of files that are not compressed. Where members are, and how they are written.

The kernel reads the entries, in a tenth of the time that `zipfile` takes. Everything that a forged archive may claim is
checked here, before a member is read: the directory and all members are inside of the file, no two members overlap or
have one name, and no name leaves the pack. A fault of one member is an error when it is read.

Source: PKWARE's APPNOTE.TXT 6.3, sections 4.3 and 4.4; the field for alignment is that of zipalign.
"""

from __future__ import annotations

import errno
import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import FormatError, UnsafeError, UnsupportedError
from ..kernels.files.directory import find_data, read_directory
from .body import Body

ALIGNMENT = 64
"""Data of members begin at multiples of this number of bytes, as the large numbers in a ds file do."""
PADDING = 0xD935
"""Type of the extra field that aligns a member; `zipalign` writes the same."""
TAIL = 64 * 1024 + 98
"""Bytes at the end of an archive that contain the record of its end: with a comment, and the records of ZIP64."""
HEADER_SPARE = 128
"""Bytes that a local header may have more than the directory says and is still read together with the data."""
DATE = 33
"""The earliest date of an archive, 1980-01-01. All members have it, so that equal files make equal packs."""

_LOCAL = struct.Struct("<4s5H3L2H")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_LARGE, _MANY = 0xFFFFFFFF, 0xFFFF
_UTF8, _UNIX_FILE = 0x800, 0o100644 << 16
_OFFSET, _SIZE, _CRC, _LIMIT, _FAULT = range(1, 6)
"""Columns of a table; see `kernels.files.directory`. `_LIMIT` is where the next member, or the directory, begins."""
_FOLDER, _NAME, _METHOD, _FLAGS, _SIZES, _LINK = range(1, 7)
_DIFFERENCES = {
    -1: "the local header at byte {} is not complete",
    -2: "there is no local header at byte {}",
    -3: "the local header at byte {} contradicts the directory: its name, method, checksum or sizes differ",
    -4: "the local header at byte {} is so long that the data do not end before the next member",
}


class MemberPlace(NamedTuple):
    """Where a member is."""

    number: int
    offset: int
    """Position of its local header, in bytes."""
    size: int
    """Bytes of its data."""
    crc: int
    """CRC-32 of its data."""
    limit: int
    """Where the next member begins, or the directory."""

    @property
    def version(self) -> str:
        """Identifies the content, together with the size."""
        return f"{self.crc:08x}"


class Directory:
    """The members of a pack.

    Attributes
    ----------
    numbers : dict
        Name of a member → its number, in the order of the directory.
    rows : (n, 6) ndarray of int64
        As filled by `kernels.files.directory.read_directory`, with limits.
    raw : bytes
        The bytes of the directory.
    start : int
        Position of the directory in the file, in bytes.
    """

    __slots__ = ("numbers", "raw", "rows", "start")

    def __init__(self, raw: bytes, start: int, rows: NDArray[np.int64], numbers: dict[str, int]):
        self.raw = raw
        self.start = start
        self.rows = rows
        self.numbers = numbers

    def find(self, member: str, path: str) -> MemberPlace:
        """Return where a member is; `path` is for messages.

        Raises
        ------
        FileNotFoundError
            If there is none of this name.
        UnsupportedError, FormatError
            If it is compressed or encrypted, or its sizes contradict each other.
        """
        i = self.numbers.get(member)
        if i is None:
            raise FileNotFoundError(errno.ENOENT, "the pack has no such member", path)
        _, offset, size, crc, limit, fault = self.rows[i].tolist()
        if fault:
            self._refuse(i, path)
        return MemberPlace(i, offset, size, crc, limit)

    def data_start(self, place: MemberPlace, data: bytes, path: str) -> int:
        """Return where the data of a member begin, in bytes that begin with its local header; `path` is for messages.

        Raises
        ------
        FormatError
            If the header contradicts the directory.
        """
        start = find_data(self.raw, self.rows, place.number, data)
        if start < 0:
            raise FormatError(_DIFFERENCES[start].format(place.offset), path=path)
        return start

    def _refuse(self, i: int, path: str) -> None:
        """Raise the error for a member that cannot be read."""
        fields = _ENTRY.unpack_from(self.raw, int(self.rows[i, 0]))
        fault = self.rows[i, _FAULT]
        if fault == _FLAGS:
            raise UnsupportedError(f"the member is encrypted: found flags {fields[3]:#x}, expected none", path=path)
        if fault == _METHOD:
            raise UnsupportedError(f"compression method {fields[4]}, expected members that are stored (0)", path=path)
        if fault == _LINK:
            raise UnsupportedError("the member is a link, expected a file", path=path)
        found = f"found {fields[8]} compressed bytes on disk {fields[13]}, expected {fields[9]} on disk 0"
        raise FormatError(f"the sizes of the member contradict each other: {found}", path=path)


def read(file: Body) -> Directory:
    """Read the directory of a pack.

    Parameters
    ----------
    file : Body
        The pack. The bytes at its end are read first.

    Raises
    ------
    FormatError
        If it is not a ZIP archive, or is damaged: the message has the value found and the value expected.
    UnsafeError
        If the name of a member is unsafe, two members have one name, or members overlap.
    """
    n, size, start = _find_end(file)
    raw = bytes(file.read(start, size))
    rows = np.zeros((n, 6), np.int64)
    numbers: dict[str, int] = {}
    used = read_directory(raw, rows, numbers)
    if used != size:
        found = "a damaged one" if used < 0 else f"{used} bytes of them"
        raise FormatError(f"{n} entries of the directory: found {found}, expected {size} bytes", path=file.name)
    _check(file.name, raw, start, rows, numbers)
    return Directory(raw, start, rows, numbers)


def _check(name: str, raw: bytes, start: int, rows: NDArray[np.int64], numbers: dict[str, int]) -> None:
    """Check names and positions of all members, and fill in their limits."""
    faults = rows[:, _FAULT]
    unsafe = np.flatnonzero(faults == _NAME)
    if len(unsafe):
        message = f"unsafe name of a member: found {_name(raw, rows[unsafe[0]])!r}, expected a path inside of the pack"
        raise UnsafeError(message, path=name)
    n = len(rows) - int((faults == _FOLDER).sum())
    if len(numbers) != n:
        known: set[bytes] = set()
        for row in rows:
            if (one := _name(raw, row)) in known:
                raise UnsafeError(f"two members have one name: {one!r}", path=name)
            known.add(one)
        raise UnsafeError(f"found {len(numbers)} names, expected {n}", path=name)
    order = np.argsort(rows[:, _OFFSET], kind="stable")
    offsets = rows[order, _OFFSET]
    limits = np.append(offsets[1:], start)
    spare = limits - offsets - _LOCAL.size
    wrong = np.flatnonzero((offsets < 0) | (offsets > start) | (spare < 0) | (rows[order, _SIZE] > spare))
    if len(wrong):
        row = rows[order[wrong[0]]]
        found = f"found {row[_SIZE]} bytes from byte {row[_OFFSET]}, expected an end before byte {limits[wrong[0]]}"
        raise UnsafeError(f"member {_name(raw, row)!r} overlaps what follows it: {found}", path=name)
    rows[order, _LIMIT] = limits


def _name(raw: bytes, row: NDArray[np.int64]) -> bytes:
    at = int(row[0])
    return raw[at + _ENTRY.size : at + _ENTRY.size + _ENTRY.unpack_from(raw, at)[10]]


def _find_end(file: Body) -> tuple[int, int, int]:
    """Return the number of entries, and size and start of the directory."""
    first = max(file.size - TAIL, 0)
    tail = bytes(file.read(first, file.size - first))
    at = len(tail)
    while (at := tail.rfind(b"PK\x05\x06", 0, max(at, 0))) >= 0:
        if at + _END.size <= len(tail) and at + _END.size + _END.unpack_from(tail, at)[7] == len(tail):
            break
    if at < 0:
        raise FormatError("not a ZIP archive, or its end is missing", path=file.name)
    _, disk, other, here, n, size, start, _ = _END.unpack_from(tail, at)
    end = first + at
    located = at - _LOCATOR.size
    if located >= 0 and tail.startswith(b"PK\x06\x07", located):
        end = _LOCATOR.unpack_from(tail, located)[2]
        where = end - first
        if not 0 <= where <= located - _END64.size or not tail.startswith(b"PK\x06\x06", where):
            raise FormatError(f"no end of a ZIP64 directory: expected at byte {end}", path=file.name)
        _, _, _, _, disk, other, here, n, size, start = _END64.unpack_from(tail, where)
    if (disk, other, here) != (0, 0, n):
        raise UnsupportedError("this is one part of an archive of several; join them first", path=file.name)
    if start + size != end:
        message = f"directory: found {size} bytes from byte {start}, expected an end at byte {end}"
        raise FormatError(message, path=file.name)
    if n * _ENTRY.size > size:
        message = f"directory: found {n} entries in {size} bytes, expected {_ENTRY.size} bytes or more for each"
        raise FormatError(message, path=file.name)
    return n, size, start


def local_header(name: str, size: int, crc: int, offset: int) -> bytes:
    """Return the header before the data of a member, with which the data begin at a multiple of `ALIGNMENT`.

    Raises
    ------
    UnsupportedError
        If the name is not Unicode, or has more than 65,535 bytes.
    """
    path, flags = _encoded(name)
    extra = b"" if size < _LARGE else struct.pack("<2H2Q", 1, 16, size, size)
    end = offset + _LOCAL.size + len(path) + len(extra)
    if end % ALIGNMENT:
        n = -(end + 6) % ALIGNMENT
        extra += struct.pack("<3H", PADDING, 2 + n, ALIGNMENT) + bytes(n)
    short = min(size, _LARGE)
    version = 45 if size >= _LARGE else 20
    fields = b"PK\x03\x04", version, flags, 0, 0, DATE, crc, short, short, len(path), len(extra)
    return _LOCAL.pack(*fields) + path + extra


def entry(name: str, size: int, crc: int, offset: int) -> bytes:
    """Return the entry of a member in the directory."""
    path, flags = _encoded(name)
    large = [size, size] if size >= _LARGE else []
    large += [offset] if offset >= _LARGE else []
    extra = struct.pack(f"<2H{len(large)}Q", 1, 8 * len(large), *large) if large else b""
    version = 45 if large else 20
    short = min(size, _LARGE)
    fields = (b"PK\x01\x02", 3 << 8 | version, version, flags, 0, 0, DATE, crc, short, short, len(path), len(extra))
    return _ENTRY.pack(*fields, 0, 0, 0, _UNIX_FILE, min(offset, _LARGE)) + path + extra


def end(n: int, size: int, start: int) -> bytes:
    """Return the end of a pack: after a directory of n entries, with its size and where it begins, in bytes."""
    large = b""
    if n >= _MANY or size >= _LARGE or start >= _LARGE:
        record = _END64.pack(b"PK\x06\x06", _END64.size - 12, 45, 45, 0, 0, n, n, size, start)
        large = record + _LOCATOR.pack(b"PK\x06\x07", 0, start + size, 1)
    short = min(n, _MANY)
    return large + _END.pack(b"PK\x05\x06", 0, 0, short, short, min(size, _LARGE), min(start, _LARGE), 0)


def _encoded(name: str) -> tuple[bytes, int]:
    try:
        path = name.encode()
    except UnicodeEncodeError:
        raise UnsupportedError(f"the name {name!r} is not Unicode") from None
    if len(path) > _MANY:
        raise UnsupportedError(f"the name has {len(path)} bytes, expected at most {_MANY}")
    return path, 0 if name.isascii() else _UTF8


def is_member_name(name: str) -> bool:
    """Return whether a name is safe for a member: relative, without backslashes, drives and parts such as `..`."""
    parts = name.split("/")
    return "\\" not in name and "\0" not in name and name[1:2] != ":" and not {"", ".", ".."} & {*parts}
