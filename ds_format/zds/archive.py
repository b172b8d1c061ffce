"""A store in a ZIP archive, read where it lies.

The standard library's `zipfile` reads the directory. It does not check whether members are where they can be, or
whether their names are those of files in a store: both are done here, because the bytes of stored members are read, or
mapped, without it.

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
from typing import NamedTuple

from ..base import signatures
from ..base.threads import renew_lock
from ..body.body import FileBody, Stream
from ..errors import DsError, FormatError, UnsafeError, UnsupportedError
from . import format
from .faults import Faults
from .members import DeflatedMember, StoredMember
from .roots import Unused, is_litter, name_parts

MAX_SIZE = 1 << 36
"""Bytes of the largest member that is inflated, and of all that is unpacked, unless more is allowed."""
MAX_RATIO = 200
"""How many times its compressed size a large member may have, unless more is allowed."""
FREE_SIZE = 1 << 24
"""Bytes up to which a member may be compressed as well as it likes."""
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
    """A store in a ZIP archive; the same as a `roots.Folder`.

    Members that are stored uncompressed are read, or mapped, where they lie. Those that are deflated are inflated as
    they are read in sequence; for reading anywhere in them they are inflated once, in memory or into a temporary file.

    Parameters
    ----------
    path : str or PathLike
    strict : bool or None
        Refuse an archive in which there is anything that cannot be used. If false there is one warning, and an error
        when something of it is opened; if None there is no warning.
    max_size : int
        Bytes of the largest member that is inflated.
    max_ratio : int
        How many times its compressed size a member of more than 16 MiB may have.

    Attributes
    ----------
    path : str
    root : str
        The folder in the archive that is the root of the store, with a slash at its end; mostly it is empty.
    folders : list of str
        Names of all folders that are members, from the root, with a slash at their end.

    Raises
    ------
    FormatError
        If it is no ZIP archive, its records contradict one another, or it does not hold exactly one store.
    UnsupportedError
        If it is only a part of an archive.
    UnsafeError
        If `strict`, for members that could do harm when they are unpacked.

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

    kind = "archive"

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
        self._file: FileBody | None = FileBody.open(self.path)
        self._members: dict[str, Member] = {}
        self._twice: set[str] = set()
        self.folders: list[str] = []
        try:
            self._zip = open_zip(self._file)
            members, self._unused = judge(members_of(self._zip))
            self.root = find_root(members)
        except DsError as error:
            raise error.at(path=self.path)
        for member in members:
            self._add(member)
        self._names = sorted(self._members)
        self._tell(strict)

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

    def _tell(self, strict: bool | None) -> None:
        if strict:
            self.refuse(harmless=False)
        elif strict is not None and self._unused:
            more = f"; so are {len(self._unused) - 1} more" if len(self._unused) > 1 else ""
            Faults().tell(self.path, f"left out {self._unused[0]}{more}")

    def refuse(self, harmless: bool) -> None:
        """Raise an error about the first member that cannot be used, unless it is harmless and such are allowed."""
        for name, error, is_harmless in self.unused():
            if not (harmless and is_harmless):
                raise type(error)(error.message, path=f"{self.path}!{name}")

    def is_store(self) -> bool:
        """Return True: an archive without a store is refused when it is opened."""
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
        """Return the names of the folders in `collections`, with members of their own or as members."""
        found = set()
        for names in (self._between(format.COLLECTIONS + "/"), self.folders):
            for name in names:
                top, _, rest = name.partition("/")
                collection, slash, _ = rest.partition("/")
                if top == format.COLLECTIONS and slash:
                    found.add(collection)
        return sorted(found)

    def open(self, name: str) -> StoredMember | DeflatedMember | None:
        """Open a member; None if there is none of this name.

        Raises
        ------
        UnsafeError
            If the name leaves the store, or the member is compressed beyond the limits.
        UnsupportedError
            If it is encrypted or compressed in another way.
        FormatError
            If there are two of this name, or what the archive says about it is contradictory.
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
        try:
            start = data_start(self._file, member)
        except FormatError as error:
            raise error.at(path=path)
        file = self._file.section(start, member.info.compress_size)
        if member.info.compress_type == zipfile.ZIP_STORED:
            return StoredMember(file, member.info, path)
        return DeflatedMember(self._zip, member.info, file, path)

    def _refusal(self, name: str, info: zipfile.ZipInfo) -> DsError | None:
        """Return why a member cannot be read, as far as the directory knows."""
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
        """Return what is in the archive but cannot be used, of all names that begin with a prefix.

        Names are those in the archive. Whether the bytes of a member are what they should be is not known before they
        are read.
        """
        found = list(self._unused)
        for name, member in self._members.items():
            refusal = self._refusal(name, member.info)
            if refusal is not None:
                found.append(Unused(member.name, refusal))
        return [one for one in found if one.name.startswith(self.root + prefix)] if prefix else found

    def total_size(self) -> int:
        """Return the bytes of all files, as the archive announces them."""
        return sum(member.info.file_size for member in self._members.values())

    def close(self) -> None:
        """Let go of the archive; bodies that are open stay valid."""
        self._file = None


class Member(NamedTuple):
    """A member of an archive.

    Attributes
    ----------
    name : str
        UTF-8 whether the flag says so or not, else the characters of the first PCs.
    info : ZipInfo
        What the directory says of it.
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


def judge(members: list[Member]) -> tuple[list[Member], list[Unused]]:
    """Tell members that can be used from those that cannot; what file managers leave behind is neither.

    The names of the first stay in the folder into which the archive is unpacked. They have forward slashes, those of
    folders one at their end.
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
    """Return the name of a member with forward slashes and without `./` before it."""
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
    """Check that names stay apart where file systems do not tell upper case from lower case.

    Raises
    ------
    UnsafeError
        If two of them would fall together, or a file would have to be a folder, too.
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
    """Return the folder that is the root of the store, with a slash at its end; empty if that is the whole archive.

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
    raise FormatError(f"neither {format.COLLECTIONS}/ nor {format.STORE_FILE}: no ZDS store")
