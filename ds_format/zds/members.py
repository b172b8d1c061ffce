"""The members of a ZIP archive as bodies, stored or inflated.

The standard library's `zipfile` reads the directory. It does not check the positions of members, or whether their names
are those of files in a store. This module checks both, because it reads or maps the bytes of stored members without
`zipfile`.

Source: PKWARE's APPNOTE.TXT 6.3, sections 4.3 and 4.4.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from ..base import signatures
from ..base.threads import renew_lock
from ..body.body import PIECE_SIZE, Body, FileBody, MemoryBody, Stream
from ..body.named import BytesBody
from ..codec.filters import DEFLATE
from ..errors import DsError, FormatError, IntegrityError, TruncatedError, UnsafeError, UnsupportedError
from . import format

MEMORY_SIZE = 1 << 24
"""Inflated members up to this size, in bytes, are kept in memory; larger ones in a temporary file."""
FREE_SIZE = 1 << 24
"""Members of at most this size, in bytes, may have any ratio."""
HEADER_SPARE = 64
"""Bytes that a local header may have more than the directory says and is still read with one request."""
ENCRYPTED = 0x2041
"""Flags: encrypted, strongly encrypted, local header masked."""
PATCHED = 0x20
"""Flag: the data are a patch of other data."""
UTF8 = 0x800
"""Flag: the name is UTF-8."""

_LOCAL = struct.Struct("<4s2x2H16x2H")
_LOCAL_MAGIC = b"PK\x03\x04"
_DRIVE = re.compile(r"[A-Za-z]:")


class Member(NamedTuple):
    """A member of an archive.

    Attributes
    ----------
    name : str
        Decoded from UTF-8 if possible, even if the flag is not set; otherwise from code page 437.
    info : ZipInfo
        Its entry in the directory.
    end : int
        Offset in the file of the next member, or of the directory.
    """

    name: str
    info: zipfile.ZipInfo
    end: int

    def refusal(self, max_size: int, max_ratio: int) -> DsError | None:
        """Return the reason why the member cannot be read, if it follows from the directory; limits as of `Archive`."""
        info = self.info
        size, compressed_size = info.file_size, info.compress_size
        if info.flag_bits & ENCRYPTED:
            return UnsupportedError("the member is encrypted")
        if info.flag_bits & PATCHED:
            return UnsupportedError("the member has patched data")
        if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            return UnsupportedError(f"compression method {info.compress_type}; STORE (0) and DEFLATE (8) are read")
        if info.compress_type == zipfile.ZIP_STORED:
            return None if size == compressed_size else FormatError(f"{size} bytes are stored as {compressed_size}")
        if size > max_size:
            return UnsafeError(f"{size} bytes when inflated, allowed are {max_size} (max_size)")
        if size > max(FREE_SIZE, max_ratio * compressed_size):
            allowed = f"allowed are {max_ratio} times as many (max_ratio)"
            return UnsafeError(f"{size} bytes in {compressed_size} compressed ones, {allowed}")
        return None

    def open(self, archive: zipfile.ZipFile, file: Body, path: str) -> BytesBody | DeflatedMember:
        """Return the bytes of a member that is not refused.

        Parameters
        ----------
        archive : ZipFile
        file : Body
            The bytes of the archive.
        path : str
            For messages.

        Raises
        ------
        FormatError
            If the local header contradicts the directory.
        """
        if file.is_far:
            self._announce(file)
        try:
            data = file.section(self._start(file), self.info.compress_size)
        except FormatError as error:
            raise error.at(path=path)
        if self.info.compress_type == zipfile.ZIP_STORED:
            return BytesBody(data, path, self.info.CRC)
        return DeflatedMember(archive, self.info, data, path)

    def _announce(self, file: Body) -> None:
        """Announce the local header, which may be larger than the directory says, and a small member with it."""
        info = self.info
        size = _LOCAL.size + len(_raw_name(info)) + len(info.extra) + HEADER_SPARE
        if info.compress_size <= file.gap:
            size += info.compress_size
        end = min(info.header_offset + size, self.end)
        file.announce_spans([(info.header_offset, end - info.header_offset)])

    def _start(self, file: Body) -> int:
        """Return the offset of the first byte, after the local header.

        Raises
        ------
        FormatError
            If the header is not that of the member, or the member overlaps the next one.
        """
        info = self.info
        end = info.header_offset + _LOCAL.size
        magic, flags, method, name_size, extra_size = _LOCAL.unpack(file.read(info.header_offset, _LOCAL.size))
        if magic != _LOCAL_MAGIC:
            raise FormatError(f"no local header at byte {info.header_offset}")
        name = bytes(file.read(end, name_size))
        if name != _raw_name(info) or method != info.compress_type or (flags ^ info.flag_bits) & ENCRYPTED:
            raise FormatError(f"the local header at byte {info.header_offset} contradicts the directory")
        start = end + int(name_size) + int(extra_size)
        if start + info.compress_size > self.end:
            raise FormatError(f"its {info.compress_size} bytes from byte {start} do not end before {self.end}")
        return start


def _raw_name(info: zipfile.ZipInfo) -> bytes:
    return info.orig_filename.encode("utf-8" if info.flag_bits & UTF8 else "cp437")


def _name(info: zipfile.ZipInfo) -> str:
    try:
        return _raw_name(info).decode()
    except UnicodeDecodeError:
        return info.orig_filename


def open_zip(file: Body) -> zipfile.ZipFile:
    """Read the directory of an archive.

    Raises
    ------
    FormatError
        If it is not an archive, or is damaged.
    UnsupportedError
        If it needs a feature that `zipfile` does not have.
    """
    try:
        archive = zipfile.ZipFile(Stream(file))
        renew_lock(archive, threading.RLock)
        return archive
    except (zipfile.BadZipFile, UnicodeDecodeError, OverflowError) as error:
        first = bytes(file.read(0, min(file.size, signatures.N)))
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
        If a member starts before the end of another one.
    UnsupportedError
        If this file is one part of an archive.
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


def split_usable(members: list[Member]) -> tuple[list[Member], list[tuple[Member, UnsafeError]]]:
    """Separate usable members from unusable ones, each with the reason. Leftovers of file managers are in neither list.

    Usable names stay inside the folder into which the archive is unpacked. They have forward slashes, and those of
    folders have one at the end.
    """
    used, unused = [], []
    for member in members:
        try:
            name = _clean_name(member)
        except UnsafeError as error:
            unused.append((member, error))
            continue
        if name and not format.is_litter(name):
            used.append(member._replace(name=name))
    return used, unused


def _clean_name(member: Member) -> str:
    """Return the name of a member with forward slashes and without a leading `./`."""
    name = member.name.replace("\\", "/")
    if name.startswith("/") or _DRIVE.match(name):
        raise UnsafeError("an absolute name")
    while name.startswith("./"):
        name = name[2:]
    if not name:
        return name
    format.name_parts(name.removesuffix("/"))
    kind = stat.S_IFMT(member.info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        raise UnsafeError("a link")
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
        raise UnsafeError("neither a file nor a folder")
    if kind == stat.S_IFDIR and not name.endswith("/"):
        name += "/"
    if name.endswith("/") and member.info.file_size:
        raise UnsafeError("a folder with data of its own")
    return name


class DeflatedMember(BytesBody):
    """A compressed member. `blocks` inflates it in sequence; all other ways of reading inflate all of it, once.

    Parameters
    ----------
    archive : ZipFile
    info : ZipInfo
    file : Body
        Its compressed bytes.
    name : str
        For messages.
    """

    is_far = False
    batch = PIECE_SIZE
    _crc = None  # inflating compares it

    def __init__(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, file: Body, name: str):
        self._archive = archive
        self._info = info
        self._compressed = file
        self._lock = threading.Lock()
        renew_lock(self, threading.Lock)
        self._whole: Body | None = None
        self.name = name
        self.size = info.file_size

    @property
    def _file(self) -> Body:  # type: ignore[override]
        """The inflated bytes."""
        return self._whole or self._inflated()

    def _inflated(self) -> Body:
        with self._lock:
            whole = self._whole
            if whole is None:
                whole = self._whole = self._inflate()
        return whole

    def _inflate(self) -> Body:
        if self.size <= MEMORY_SIZE:
            return MemoryBody(self.name, self._inflate_at_once() or b"".join(self.blocks()))
        with tempfile.TemporaryFile() as file:
            file.writelines(self.blocks())
            file.flush()
            return FileBody.of(self.name, os.dup(file.fileno()))

    def _inflate_at_once(self) -> bytes | None:
        """Return all bytes, or None for damaged ones: `blocks` then raises the error."""
        try:
            whole = bytes(DEFLATE.decode(self._compressed.read(0, self._compressed.size), self.size))
        except FormatError:
            return None
        return whole if len(whole) == self.size and zlib.crc32(whole) == self._info.CRC else None

    def blocks(self, offset: int = 0, size: int | None = None) -> Iterator[bytes]:
        """Iterate over bytes, inflated on demand. zipfile compares the checksum of the whole member."""
        self._compressed.announce_spans([(0, self._compressed.size)])
        try:
            with self._archive.open(self._info) as stream:
                done = stream.seek(offset)
                while block := stream.read(size or PIECE_SIZE):
                    done += len(block)
                    yield block
        except zipfile.BadZipFile as error:
            raise IntegrityError(f"these are not the {self.size} bytes announced: {error}", path=self.name) from None
        except (zlib.error, EOFError, UnicodeDecodeError) as error:
            raise FormatError(f"damaged: {error}", path=self.name) from None
        except RuntimeError as error:
            raise UnsupportedError(str(error), path=self.name) from None
        if done != self.size:
            raise TruncatedError(f"the compressed data have {done} bytes, announced are {self.size}", path=self.name)
