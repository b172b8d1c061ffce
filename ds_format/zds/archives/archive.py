"""A store in a ZIP archive, read where it lies."""

from __future__ import annotations

import bisect
import os
import zipfile
from collections.abc import Iterator

from ...errors import DsError, FormatError, UnsafeError, UnsupportedError
from .. import format
from ..faults import Faults
from ..places import Unused, name_parts
from .directory import ENCRYPTED, Member, members_of
from .members import ArchiveFile, DeflatedRegion, StoredRegion
from .names import find_root, judge

MAX_SIZE = 1 << 36
"""Bytes of the largest member that is inflated, and of all that is unpacked, unless more is allowed."""
MAX_RATIO = 200
"""How many times its compressed size a large member may have, unless more is allowed."""
FREE_SIZE = 1 << 24
"""Bytes up to which a member may be compressed as well as it likes."""


class Archive:
    """A store in a ZIP archive; see `places.Place`.

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
    >>> from ds_format.zds.archives.archive import Archive
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
        self._file: ArchiveFile | None = ArchiveFile(self.path)
        self._members: dict[str, Member] = {}
        self._twice: set[str] = set()
        self.folders: list[str] = []
        try:
            members, self._unused = judge(members_of(self._file.zip))
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

    def open(self, name: str) -> StoredRegion | DeflatedRegion | None:
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
        region = StoredRegion if member.info.compress_type == zipfile.ZIP_STORED else DeflatedRegion
        return region(self._file, member, path)

    def _refusal(self, name: str, info: zipfile.ZipInfo) -> DsError | None:
        """Return why a member cannot be read, as far as the directory knows."""
        if name in self._twice:
            return FormatError("there are two members of this name")
        if info.flag_bits & ENCRYPTED:
            return UnsupportedError("the member is encrypted")
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
        """Let go of the archive; regions that are open stay valid."""
        self._file = None
