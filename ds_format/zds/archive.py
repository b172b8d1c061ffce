"""A store in a ZIP archive, read in place.

The standard library's `zipfile` reads the directory. It does not check the positions of members, or whether their names
are those of files in a store. This module checks both, because it reads or maps the bytes of stored members without
`zipfile`.

Source: PKWARE's APPNOTE.TXT 6.3, sections 4.3 and 4.4.
"""

from __future__ import annotations

import bisect
import os
import re
import stat
import struct
import threading
import zipfile
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

from ..base import signatures
from ..base.threads import renew_lock
from ..body.body import FIRST_SIZE, Body, Stream, open_unread
from ..errors import DsError, FormatError, UnsafeError, UnsupportedError
from . import format
from .faults import Faults
from .members import DeflatedMember, StoredMember
from .roots import Unused, is_litter, name_parts

MAX_SIZE = 1 << 36
"""Maximum size of a member that is inflated, and of an unpacked archive, in bytes, by default."""
MAX_RATIO = 200
"""Maximum ratio of size and compressed size of a large member, by default."""
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


class Archive:
    """A store in a ZIP archive. It has the same methods as a `roots.Folder`.

    Uncompressed members are read, or mapped, in place. Deflated members are inflated while they are read in sequence.
    For random access they are inflated once, in memory or into a temporary file.

    Parameters
    ----------
    path : str, PathLike or Address
    strict : bool or None
        If true, refuse an archive that contains anything unusable. If false, warn once, and raise an error when an
        unusable member is opened. If None, do not warn.
    max_size : int
        Maximum size of a member that is inflated, in bytes.
    max_ratio : int
        Maximum ratio of size and compressed size of a member of more than 16 MiB.

    Attributes
    ----------
    path : str
    root : str
        The folder in the archive that is the root of the store, with a slash at its end; usually empty.
    folders : list of str
        Names of all folders that are members, from the root, with a slash at the end.

    Raises
    ------
    FormatError
        If it is not a ZIP archive, its records contradict one another, or it does not contain exactly one store.
    UnsupportedError
        If it is only a part of an archive.
    UnsafeError
        If `strict`, for members that could do harm when unpacked.

    Examples
    --------
    >>> import zipfile
    >>> from ds_format.zds.archive import Archive
    >>> with zipfile.ZipFile("animals.zds", "w") as file:
    ...     file.writestr("collections/train/meta/data.jsonl", '{"_id":"a"}')
    >>> place = Archive("animals.zds")
    >>> place.collections()
    ['train']
    >>> place.open("collections/train/meta/data.jsonl").read(0, 11)
    b'{"_id":"a"}'
    """

    kind: Literal["archive"] = "archive"

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        strict: bool | None = False,
        max_size: int = MAX_SIZE,
        max_ratio: int = MAX_RATIO,
    ):
        self.path = os.fspath(path)
        self._max_size, self._max_ratio = max_size, max_ratio
        self._file: Body | None = open_unread(path, FIRST_SIZE)
        self._members: dict[str, Member] = {}
        self._twice: set[str] = set()
        self.folders: list[str] = []
        try:
            self._zip = open_zip(self._file)
            members, self._unused = split_usable(members_of(self._zip))
            self.root = find_root(members)
        except DsError as error:
            raise error.at(path=self.path)
        for member in members:
            self._add(member)
        self._names = sorted(self._members)
        self._report_unused(strict)

    def _add(self, member: Member) -> None:
        name = member.name.removeprefix(self.root)
        if not member.name.startswith(self.root):
            self._unused.append(
                Unused(member.name, FormatError(f"outside of the store, which is in {self.root}"), harmless=True)
            )
        elif name.endswith("/"):
            self.folders.append(name)
        elif name in self._members:
            self._twice.add(name)
        elif name:
            self._members[name] = member

    def _report_unused(self, strict: bool | None) -> None:
        if strict:
            self.refuse(harmless=False)
        elif strict is not None and self._unused:
            more = f"; so are {len(self._unused) - 1} more" if len(self._unused) > 1 else ""
            Faults().report(self.path, f"left out {self._unused[0]}{more}")

    def refuse(self, harmless: bool) -> None:
        """Raise an error about the first unusable member. If `harmless`, ignore those that do no harm."""
        for name, error, is_harmless in self.unused():
            if not (harmless and is_harmless):
                raise type(error)(error.message, path=f"{self.path}!{name}")

    def is_store(self) -> bool:
        """Return True: an archive without a store is refused on opening."""
        return True

    def names(self, prefix: str = "") -> list[str]:
        """Return the names of all files that begin with a prefix, sorted by their bytes."""
        return list(self._between(prefix))

    def _between(self, prefix: str) -> Iterator[str]:
        for i in range(bisect.bisect_left(self._names, prefix), len(self._names)):
            if not self._names[i].startswith(prefix):
                break
            yield self._names[i]

    def collections(self) -> list[str]:
        """Return the names of the folders in `collections`, which have members or are members."""
        found = set()
        for names in (self._between(format.COLLECTIONS + "/"), self.folders):
            for name in names:
                top, _, rest = name.partition("/")
                collection, slash, _ = rest.partition("/")
                if top == format.COLLECTIONS and slash:
                    found.add(collection)
        return sorted(found)

    def open(self, name: str) -> StoredMember | DeflatedMember | None:
        """Open a member, or return None if it does not exist.

        Raises
        ------
        UnsafeError
            If the name leaves the store, or the member is compressed beyond the limits.
        UnsupportedError
            If it is encrypted, or the method of compression is not supported.
        FormatError
            If two members have this name, or the records of the member contradict one another.
        """
        name_parts(name)
        member = self._members.get(name)
        if member is None:
            return None
        if self._file is None:
            raise ValueError(f"{self.path} is closed")
        path = f"{self.path}!{member.name}"
        refusal = self._refusal(name, member.info)
        if refusal is not None:
            raise refusal.at(path=path)
        if self._file.is_far:
            _announce(self._file, member)
        try:
            start = data_start(self._file, member)
        except FormatError as error:
            raise error.at(path=path)
        file = self._file.section(start, member.info.compress_size)
        if member.info.compress_type == zipfile.ZIP_STORED:
            return StoredMember(file, member.info, path)
        return DeflatedMember(self._zip, member.info, file, path)

    def _refusal(self, name: str, info: zipfile.ZipInfo) -> DsError | None:
        """Return the reason why a member cannot be read, if it follows from the directory."""
        if name in self._twice:
            return FormatError("there are two members of this name")
        if info.flag_bits & ENCRYPTED:
            return UnsupportedError("the member is encrypted")
        if info.flag_bits & PATCHED:
            return UnsupportedError("the member has patched data")
        if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            return UnsupportedError(f"compression method {info.compress_type}; STORE (0) and DEFLATE (8) are read")
        size, compressed_size = info.file_size, info.compress_size
        if info.compress_type == zipfile.ZIP_STORED:
            return None if size == compressed_size else FormatError(f"{size} bytes are stored as {compressed_size}")
        if size > self._max_size:
            return UnsafeError(f"{size} bytes when inflated, allowed are {self._max_size} (max_size)")
        if size > max(FREE_SIZE, self._max_ratio * compressed_size):
            allowed = f"allowed are {self._max_ratio} times as many (max_ratio)"
            return UnsafeError(f"{size} bytes in {compressed_size} compressed ones, {allowed}")
        return None

    def unused(self, prefix: str = "") -> list[Unused]:
        """Return all unusable members whose names begin with a prefix.

        Their names are those in the archive. Damaged bytes of a member are only detected when they are read.
        """
        found = list(self._unused)
        for name, member in self._members.items():
            refusal = self._refusal(name, member.info)
            if refusal is not None:
                found.append(Unused(member.name, refusal))
        return [one for one in found if one.name.startswith(self.root + prefix)] if prefix else found

    def total_size(self) -> int:
        """Return the bytes of all files together, according to the directory."""
        return sum(member.info.file_size for member in self._members.values())

    def close(self) -> None:
        """Release the archive. Open bodies stay valid."""
        self._file = None


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


def _raw_name(info: zipfile.ZipInfo) -> bytes:
    return info.orig_filename.encode("utf-8" if info.flag_bits & UTF8 else "cp437")


def _name(info: zipfile.ZipInfo) -> str:
    try:
        return _raw_name(info).decode()
    except UnicodeDecodeError:
        return info.orig_filename


def _announce(file: Body, member: Member) -> None:
    """Announce the local header of a member, which may be larger than the directory says, and a small one with it."""
    info = member.info
    size = _LOCAL.size + len(_raw_name(info)) + len(info.extra) + HEADER_SPARE
    if info.compress_size <= file.gap:
        size += info.compress_size
    end = min(info.header_offset + size, member.end)
    file.announce_spans([(info.header_offset, end - info.header_offset)])


def data_start(file: Body, member: Member) -> int:
    """Return the offset of the first byte of a member, after its local header.

    Raises
    ------
    FormatError
        If the header is not that of the member, or the member overlaps the next one.
    """
    info = member.info
    end = info.header_offset + _LOCAL.size
    magic, flags, method, name_size, extra_size = _LOCAL.unpack(file.read(info.header_offset, _LOCAL.size))
    if magic != _LOCAL_MAGIC:
        raise FormatError(f"no local header at byte {info.header_offset}")
    name = bytes(file.read(end, name_size))
    if name != _raw_name(info) or method != info.compress_type or (flags ^ info.flag_bits) & ENCRYPTED:
        raise FormatError(f"the local header at byte {info.header_offset} contradicts the directory")
    start = end + int(name_size) + int(extra_size)
    if start + info.compress_size > member.end:
        raise FormatError(f"its {info.compress_size} bytes from byte {start} do not end before {member.end}")
    return start


def split_usable(members: list[Member]) -> tuple[list[Member], list[Unused]]:
    """Separate usable members from unusable ones. Leftovers of file managers are in neither list.

    Usable names stay inside the folder into which the archive is unpacked. They have forward slashes, and those of
    folders have one at the end.
    """
    used, unused = [], []
    for member in members:
        try:
            name = _clean_name(member)
        except UnsafeError as error:
            unused.append(Unused(member.name, error))
            continue
        if name and not is_litter(name):
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
    name_parts(name.removesuffix("/"))
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


def check_spelling(names: list[str]) -> None:
    """Check that all names stay distinct on file systems that ignore case.

    Raises
    ------
    UnsafeError
        If two names would become one, or a file would also have to be a folder.
    """
    spelled: dict[str, str] = {}
    files = set(names)
    if len(files) < len(names):
        raise UnsafeError("there are two files of one name")
    for name in names:
        for end in (i for i, letter in enumerate(name + "/") if letter == "/"):
            path = name[:end]
            other = spelled.setdefault(path.casefold(), path)
            if other != path:
                raise UnsafeError(f"{other!r} and {path!r} are one file where upper and lower case are the same")
            if end < len(name) and path in files:
                raise UnsafeError(f"{path!r} is a file, and a folder with {name!r}")


def find_root(members: list[Member]) -> str:
    """Return the folder that is the root of the store, with a slash at its end; empty for the archive itself.

    Raises
    ------
    FormatError
        If there is no store, or more than one.
    """
    for marks in (f"{format.COLLECTIONS}/", format.STORE_FILE):
        roots = set()
        for name, _, _ in members:
            if name.startswith(marks):
                return ""
            top, _, rest = name.partition("/")
            if rest.startswith(marks):
                roots.add(top + "/")
        if len(roots) > 1:
            raise FormatError(f"more than one store: {', '.join(sorted(roots))}")
        if roots:
            return roots.pop()
    raise FormatError(f"neither {format.COLLECTIONS}/ nor {format.STORE_FILE}: not a ZDS store")
