"""What a ZIP archive says of its members.

The standard library's `zipfile` reads the directory. It does not look whether members lie where they can: this is done
here, as the bytes of stored members are read, or mapped, without it.

Source: PKWARE's APPNOTE.TXT 6.3, sections 4.3 and 4.4.
"""

from __future__ import annotations

import struct
import threading
import zipfile
from itertools import pairwise
from typing import NamedTuple

from ...base import signatures
from ...base.forks import renew_lock
from ...body.body import FileBody, Stream
from ...errors import FormatError, UnsupportedError

ENCRYPTED = 0x2041
"""Flags: encrypted, strongly encrypted, local header masked."""
UTF8 = 0x800
"""Flag: the name is UTF-8."""

_LOCAL = struct.Struct("<4s2x2H16x2H")
_LOCAL_MAGIC = b"PK\x03\x04"


class Member(NamedTuple):
    """A member of an archive.

    Attributes
    ----------
    name : str
        UTF-8 whether the flag says so or not, else the characters of the first PCs.
    info : ZipInfo
        What the directory tells of it.
    end : int
        Offset in the file at which something else starts: the next member, or the directory.
    """

    name: str
    info: zipfile.ZipInfo
    end: int


def open_zip(file: FileBody) -> zipfile.ZipFile:
    """Read the directory of an archive.

    Raises
    ------
    FormatError
        If it is no archive, or is damaged.
    UnsupportedError
        If it needs what `zipfile` has not.
    """
    try:
        archive = zipfile.ZipFile(Stream(file))
        renew_lock(archive, threading.RLock)
        return archive
    except (zipfile.BadZipFile, UnicodeDecodeError, OverflowError) as error:
        first = file.read(0, min(file.size, signatures.N))
        if not first:
            raise FormatError("the file is empty") from None
        if not first.startswith(b"PK"):
            raise FormatError(f"not a ZIP archive, but {signatures.describe(first)}") from None
        raise FormatError(f"not a ZIP archive, or its end is missing or damaged: {error}") from None
    except NotImplementedError as error:
        raise UnsupportedError(str(error)) from None


def members_of(archive: zipfile.ZipFile) -> list[Member]:
    """Return all members of an archive.

    Raises
    ------
    FormatError
        If one starts before another can be over.
    UnsupportedError
        If there are more parts of the archive.
    """
    infos = archive.infolist()
    order = sorted(range(len(infos)), key=lambda i: infos[i].header_offset)
    ends = [archive.start_dir] * len(infos)
    for i, following in pairwise(order):
        ends[i] = infos[following].header_offset
    members = [Member(_name(info), info, end) for info, end in zip(infos, ends, strict=True)]
    for name, info, end in members:
        if info.volume:
            raise UnsupportedError("this is one part of an archive of several; join them first")
        if info.header_offset < 0 or info.header_offset + _LOCAL.size + info.compress_size > end:
            raise FormatError(f"member {name!r} from byte {info.header_offset} does not end before byte {end}")
    return members


def _raw_name(info: zipfile.ZipInfo) -> bytes:
    return info.orig_filename.encode("utf-8" if info.flag_bits & UTF8 else "cp437")


def _name(info: zipfile.ZipInfo) -> str:
    try:
        return _raw_name(info).decode()
    except UnicodeDecodeError:
        return info.orig_filename


def data_start(file: FileBody, member: Member) -> int:
    """Return the offset of the first byte of a member behind its local header.

    Raises
    ------
    FormatError
        If the header is not that of the member, or the bytes do not end before something else starts.
    """
    info = member.info
    end = info.header_offset + _LOCAL.size
    magic, flags, method, name_size, extra_size = _LOCAL.unpack(file.read(info.header_offset, _LOCAL.size))
    if magic != _LOCAL_MAGIC:
        raise FormatError(f"no local header at byte {info.header_offset}")
    name = file.read(end, name_size)
    if name != _raw_name(info) or method != info.compress_type or (flags ^ info.flag_bits) & ENCRYPTED:
        raise FormatError(f"the local header at byte {info.header_offset} contradicts the directory")
    start = end + int(name_size) + int(extra_size)
    if start + info.compress_size > member.end:
        raise FormatError(f"its {info.compress_size} bytes from byte {start} do not end before {member.end}")
    return start
