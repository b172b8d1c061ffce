"""The root of a store: a folder, or an archive of one, also at an address. All open files by name.

A name is the path of a file below the root, with forward slashes: `collections/train/meta/data.jsonl`. Nothing here
writes. Modules for ZIP are imported only for archives.
"""

from __future__ import annotations

import bisect
import functools
import os
import stat
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from ..body import NO_FILE, Address
from ..body.body import FIRST_SIZE, Body, FileBody, open_unread
from ..body.named import BytesBody
from ..errors import DsError, FormatError, UnsafeError, UnsupportedError
from ..kernels.files.names import exists, is_link
from . import format
from .documents import decoder
from .faults import Faults

if TYPE_CHECKING:
    from .members import Member

NO_LINK = "a link; links in a store are not followed"

# A link must not lead out of the store.
_OPEN_FLAGS = getattr(os, "O_NOFOLLOW", 0)


class Unused(NamedTuple):
    """A file that is not used, and the reason.

    Attributes
    ----------
    name : str
        Name of the file or member.
    error : DsError
        The reason, without a path.
    harmless : bool
        Whether an archive can be unpacked although it contains the file.
    """

    name: str
    error: DsError
    harmless: bool = False

    def __str__(self) -> str:
        return f"{self.name!r}: {self.error.message}"


def lines_of(file: Body | None) -> list[str]:
    """Return the lines of a text file, such as `order.ids`; none if there is no file."""
    text = "" if file is None else file.read(0, file.size).decode("utf-8", "replace").removesuffix("\n")
    return [line.removesuffix("\r") for line in text.split("\n")] if text else []


class StoreRoot:
    """A place from which a store is read."""

    kind: Literal["folder", "archive", "address"]
    path: str

    @abstractmethod
    def is_store(self) -> bool:
        """Return whether there is a store."""

    @abstractmethod
    def names(self, prefix: str = "") -> list[str]:
        """Return the names of all files that begin with a prefix, sorted by their bytes."""

    @abstractmethod
    def collections(self) -> list[str]:
        """Return the names of the folders in `collections`, sorted by their bytes. The names are not checked."""

    @abstractmethod
    def open(self, name: str) -> Body | None:
        """Open a file, or return None if it does not exist.

        Raises
        ------
        UnsafeError
            If the name leads outside of the root.
        DsError, OSError
            If it cannot be read.
        """

    def open_together(self, names: Iterable[str]) -> None:
        """Open files of metadata that are at an address side by side, for the next calls of `open`."""

    def locate(self, name: str) -> str:
        """Return the path of a file for writing. The file may not exist yet.

        Raises
        ------
        UnsupportedError
            If files cannot be written here.
        """
        raise UnsupportedError("nothing can be written in place", path=self.path_of(name))

    def unused(self, prefix: str = "") -> list[Unused]:
        """Return all files that are not used and are known, with names that begin with a prefix."""
        return []

    def path_of(self, name: str) -> str:
        """Return the path of a file, for messages."""
        return f"{self.path}/{name}"

    def close(self) -> None:
        """Release what is open. Open bodies stay valid."""


class Folder(StoreRoot):
    r"""A store in a folder.

    Links below the root are not followed. The root itself may be a link.

    Parameters
    ----------
    root : str or PathLike
        The folder. If it does not exist, it has no files.

    Examples
    --------
    >>> import os
    >>> from ds_format.zds.roots import Folder
    >>> os.makedirs("store/collections/train/meta")
    >>> with open("store/collections/train/meta/data.jsonl", "wb") as file:
    ...     size = file.write(b'{"_id":"a"}\n')
    >>> place = Folder("store")
    >>> place.collections()
    ['train']
    >>> place.names()
    ['collections/train/meta/data.jsonl']
    >>> place.open("collections/train/meta/data.jsonl").read(0, 12)
    b'{"_id":"a"}\n'
    """

    kind: Literal["folder"] = "folder"

    def __init__(self, root: str | os.PathLike[str]):
        self.path = os.fspath(root)
        self._trusted: set[str] = set()

    def is_store(self) -> bool:
        """Return whether there is a folder `collections` or a file `zds.json`."""
        return any(
            exists(os.path.join(self.path, name), follow=False) for name in (format.COLLECTIONS, format.STORE_FILE)
        )

    def names(self, prefix: str = "") -> list[str]:
        """Return the names of all files that begin with a prefix, sorted by their bytes, without links."""
        names = (name for name, entry in self._walk(prefix) if entry.is_file(follow_symlinks=False))
        return sorted(names, key=os.fsencode)

    def collections(self) -> list[str]:
        """Return the names of the folders in `collections`, sorted by their bytes. The names are not checked."""
        path = self._locate([format.COLLECTIONS, ""])
        found = (entry.name for entry in _entries(path) if entry.is_dir(follow_symlinks=False))
        return sorted(found, key=os.fsencode)

    def open(self, name: str) -> FileBody | None:
        """Open a file, or return None if it does not exist.

        Raises
        ------
        UnsafeError
            If the name leads outside of the root, or is a link.
        FormatError
            If it is not a file.
        """
        path = self._locate(format.name_parts(name)) if hasattr(os, "O_NOFOLLOW") else self.locate(name)
        try:
            return FileBody.open(path, _OPEN_FLAGS)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno in NO_FILE:
                raise FormatError("not a file", path=path) from None
            self.locate(name)
            raise

    def locate(self, name: str) -> str:
        """Return the path of a file for writing. The file may not exist yet.

        Raises
        ------
        UnsafeError
            If the name leads outside of the root, or a part of the path is a link.
        FormatError
            If a file has the name of a folder of the path, or something else has the name of the file.
        """
        path = self._locate(format.name_parts(name))
        try:
            mode = os.lstat(path).st_mode
        except FileNotFoundError:
            return path
        except NotADirectoryError:
            raise FormatError("a file is in its path, expected folders", path=path) from None
        if stat.S_ISLNK(mode):
            raise UnsafeError(NO_LINK, path=path)
        if not stat.S_ISREG(mode):
            raise FormatError(_kind_of(mode), path=path)
        return path

    def unused(self, prefix: str = "") -> list[Unused]:
        """Return everything that is neither a file nor a folder, with names that begin with a prefix."""
        found = []
        for name, entry in self._walk(prefix):
            if entry.is_symlink():
                found.append(Unused(name, UnsafeError(NO_LINK)))
            elif not entry.is_file(follow_symlinks=False):
                found.append(Unused(name, FormatError("neither a file nor a folder")))
        return sorted(found, key=lambda one: os.fsencode(one.name))

    def _locate(self, parts: list[str]) -> str:
        """Return the path of a file or folder; UnsafeError if one of its folders is a link."""
        path = self.path
        for part in parts[:-1]:
            path = os.path.join(path, part)
            if path not in self._trusted:
                if is_link(path):
                    raise UnsafeError(NO_LINK, path=path)
                self._trusted.add(path)
        return os.path.join(path, parts[-1])

    def _walk(self, prefix: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
        """Iterate over name and entry of everything with a prefix except folders, which are entered."""
        start = prefix[: prefix.rfind("/") + 1]
        waiting = [(start, self._locate([*format.name_parts(start[:-1]), ""]) if start else self.path)]
        while waiting:
            folder, path = waiting.pop()
            for entry in _entries(path):
                name = folder + entry.name
                if not name.startswith(prefix):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((name + "/", entry.path))
                else:
                    yield name, entry


def _kind_of(mode: int) -> str:
    """Describe something that is not a file, for a message."""
    return "a folder, expected a file" if stat.S_ISDIR(mode) else "not a file"


def _entries(path: str) -> list[os.DirEntry[str]]:
    """Return the entries of a folder; none if it does not exist."""
    try:
        with os.scandir(path) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []


class FolderElsewhere(StoreRoot):
    """A store in a folder at an address.

    Files are opened by their names, since web servers do not list them. Collections are those in zds.json, and
    documents in separate files those in `order.ids`.

    Parameters
    ----------
    address : Address
        The folder.
    """

    kind: Literal["address"] = "address"

    def __init__(self, address: Address):
        self.path = address.name
        self._address = address
        self._opened: dict[str, Body | None] = {}

    def is_store(self) -> bool:
        """Return whether there is a file zds.json."""
        return self.open(format.STORE_FILE) is not None

    def names(self, prefix: str = "") -> list[str]:
        """Return the names of documents in separate files that begin with a prefix, sorted."""
        found = []
        for collection in self.collections():
            folder = format.docs_name(collection) + "/"
            if not (folder.startswith(prefix) or prefix.startswith(folder)):
                continue
            ids = set(filter(format.is_document_name, lines_of(self.open(format.order_name(collection)))))
            found += [format.document_name(collection, id) for id in ids]
        return sorted(name for name in found if name.startswith(prefix))

    def collections(self) -> list[str]:
        """Return the names of the collections in zds.json, sorted.

        Raises
        ------
        FormatError
            If this file is damaged.
        """
        file = self.open(format.STORE_FILE)
        try:
            facts = {} if file is None else decoder.one(file.read(0, file.size).removeprefix(format.BOM))
        except FormatError as error:
            raise error.at(path=self.path_of(format.STORE_FILE))
        listed = facts.get("collections")
        return sorted(listed) if isinstance(listed, dict) else []

    def open(self, name: str) -> Body | None:
        """Open a file, or return None if it does not exist. Files of metadata are opened once.

        Raises
        ------
        UnsafeError
            If the name leads outside of the root.
        OSError
            If it cannot be read.
        """
        format.name_parts(name)
        if name in self._opened:
            return self._opened[name]
        file: Body | None
        try:
            file = BytesBody(self._address.sibling("/" + name).open(FIRST_SIZE), self.path_of(name))
        except FileNotFoundError:
            file = None
        if f"/{format.DOCS}/" not in name:
            self._opened[name] = file
        return file

    def open_together(self, names: Iterable[str]) -> None:
        """Open files of metadata side by side."""
        from ..body.remote.fetching import side_by_side

        tasks = [functools.partial(self.open, name) for name in names]
        side_by_side(tasks, len(tasks))


def open_elsewhere(address: Address) -> FolderElsewhere | Address:
    """Return the folder at an address, or the address if it is a file, which is open for the next reader then.

    Raises
    ------
    OSError
        If there is neither.
    """
    folder = FolderElsewhere(address)
    try:
        file = address.open(FIRST_SIZE, FIRST_SIZE)
    except OSError as error:
        if not folder.is_store():
            raise error from None
        return folder
    if file.head(2) != b"PK" and folder.is_store():  # a server may show the contents of a folder as a page
        return folder
    address.keep(file)
    return address


class Archive(StoreRoot):
    """A store in a ZIP archive.

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
    >>> from ds_format.zds.roots import Archive
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
        max_size: int = format.MAX_INFLATED_SIZE,
        max_ratio: int = format.MAX_RATIO,
    ):
        from . import members as zipped

        self.path = os.fspath(path)
        self._limits = max_size, max_ratio
        self._file: Body | None = open_unread(path, FIRST_SIZE)
        self._members: dict[str, Member] = {}
        self._twice: set[str] = set()
        self.folders: list[str] = []
        try:
            self._zip = zipped.open_zip(self._file)
            members, unsafe = zipped.split_usable(zipped.members_of(self._zip))
            self.root = find_root(members)
        except DsError as error:
            raise error.at(path=self.path)
        self._unused = [Unused(member.name, error) for member, error in unsafe]
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
                raise type(error)(error.message, path=self.path_of(name))

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

    def open(self, name: str) -> Body | None:
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
        format.name_parts(name)
        member = self._members.get(name)
        if member is None:
            return None
        if self._file is None:
            raise ValueError(f"{self.path} is closed")
        path = self.path_of(member.name)
        refusal = self._refusal(name, member)
        if refusal is not None:
            raise refusal.at(path=path)
        return member.open(self._zip, self._file, path)

    def _refusal(self, name: str, member: Member) -> DsError | None:
        """Return the reason why a member cannot be read, if it follows from the directory."""
        if name in self._twice:
            return FormatError("there are two members of this name")
        return member.refusal(*self._limits)

    def unused(self, prefix: str = "") -> list[Unused]:
        """Return all unusable members whose names begin with a prefix.

        Their names are those in the archive. Damaged bytes of a member are only detected when they are read.
        """
        found = list(self._unused)
        for name, member in self._members.items():
            refusal = self._refusal(name, member)
            if refusal is not None:
                found.append(Unused(member.name, refusal))
        return [one for one in found if one.name.startswith(self.root + prefix)] if prefix else found

    def path_of(self, name: str) -> str:
        """Return the path of a member, for messages."""
        return f"{self.path}!{name}"

    def total_size(self) -> int:
        """Return the bytes of all files together, according to the directory."""
        return sum(member.info.file_size for member in self._members.values())

    def close(self) -> None:
        """Release the archive. Open bodies stay valid."""
        self._file = None


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
