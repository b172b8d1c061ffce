"""The root of a store: a folder, or an archive of one. Both give bodies of bytes by name.

A name is the path of a file below the root, with forward slashes: `collections/train/meta/data.jsonl`. Nothing here
writes.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ..body import NO_FILE
from ..body.body import FileBody
from ..errors import DsError, FormatError, UnsafeError
from ..kernels.files.presence import exists, is_link
from . import format

if TYPE_CHECKING:
    from .archive import Archive

StoreRoot: TypeAlias = "Folder | Archive"
"""What a store is read from: both have the same attributes and methods."""
NO_LINK = "a link; links in a store are not followed"

_LITTER = re.compile(r"(?:^|/)(?:\._|(?:\.DS_Store|__MACOSX)(?:/|$))")
# A link must not lead out of the store.
_OPEN_FLAGS = getattr(os, "O_NOFOLLOW", 0)


class Unused(NamedTuple):
    """Something in a place that is not used, and why.

    Attributes
    ----------
    name : str
        The file or member.
    error : DsError
        Why it is not used; without a path.
    harmless : bool
        Whether an archive can be unpacked nevertheless.
    """

    name: str
    error: DsError
    harmless: bool = False

    def __str__(self) -> str:
        return f"{self.name!r}: {self.error.message}"


def name_parts(name: str) -> list[str]:
    """Return the parts of a name.

    Raises
    ------
    UnsafeError
        If it is not one that stays below the root.

    Examples
    --------
    >>> from ds_format.zds.roots import name_parts
    >>> name_parts("collections/train/meta/data.jsonl")
    ['collections', 'train', 'meta', 'data.jsonl']
    >>> name_parts("collections/../../secret")
    Traceback (most recent call last):
        ...
    ds_format.errors.UnsafeError: the name 'collections/../../secret' has a part '..'
    """
    parts = name.split("/")
    for part in parts:
        if part in {"", ".", ".."}:
            raise UnsafeError(f"the name {name!r} has a part {part!r}")
        if "\0" in part or "\\" in part or (os.name == "nt" and ":" in part):
            raise UnsafeError(f"the name {name!r} has a character that no file of a store has")
    return parts


def is_litter(name: str) -> bool:
    """Return whether a file is one that file managers leave behind.

    Examples
    --------
    >>> from ds_format.zds.roots import is_litter
    >>> [is_litter(name) for name in ("__MACOSX/a.json", "a/.DS_Store", "a/._b.json", "a/b._c")]
    [True, True, True, False]
    """
    return _LITTER.search(name) is not None


class Folder:
    r"""A store in a folder.

    Links below the root are not followed. The root itself may be a link.

    Parameters
    ----------
    root : str or PathLike
        The folder. It need not exist, and then has no files.

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

    kind = "folder"

    def __init__(self, root: str | os.PathLike[str]):
        self.path = os.fspath(root)
        self._trusted: set[str] = set()

    def is_store(self) -> bool:
        """Return whether there is a folder `collections` or a file `zds.json`."""
        return any(
            exists(os.path.join(self.path, name), follow=False) for name in (format.COLLECTIONS, format.STORE_FILE)
        )

    def names(self, prefix: str = "") -> list[str]:
        """Return the names of all files that begin with a prefix, sorted by their bytes; links are left out."""
        names = (name for name, entry in self._walk(prefix) if entry.is_file(follow_symlinks=False))
        return sorted(names, key=os.fsencode)

    def collections(self) -> list[str]:
        """Return the names of the folders in `collections`, sorted by their bytes; they are not checked further."""
        path = self._locate([format.COLLECTIONS, ""])
        found = (entry.name for entry in _entries(path) if entry.is_dir(follow_symlinks=False))
        return sorted(found, key=os.fsencode)

    def open(self, name: str) -> FileBody | None:
        """Open a file; None if there is none of this name.

        Raises
        ------
        UnsafeError
            If the name leaves the store, or is a link.
        FormatError
            If it is no file.
        """
        path = self._locate(name_parts(name)) if hasattr(os, "O_NOFOLLOW") else self.locate(name)
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
        """Return the path of a file, which need not exist, for writing.

        Raises
        ------
        UnsafeError
            If the name leaves the store, or a part of the path is a link.
        FormatError
            If there is a file in place of a folder of the path, or something else in place of the file.
        """
        path = self._locate(name_parts(name))
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
        """Return what cannot be used, of all names that begin with a prefix: neither a file nor a folder."""
        found = []
        for name, entry in self._walk(prefix):
            if entry.is_symlink():
                found.append(Unused(name, UnsafeError(NO_LINK)))
            elif not entry.is_file(follow_symlinks=False):
                found.append(Unused(name, FormatError("neither a file nor a folder")))
        return sorted(found, key=lambda one: os.fsencode(one.name))

    def close(self) -> None:
        """Do nothing: a folder is not held open. Open bodies of an `Archive` stay valid, too."""

    def _locate(self, parts: list[str]) -> str:
        """Return the path of a file or folder that lies in no link."""
        path = self.path
        for part in parts[:-1]:
            path = os.path.join(path, part)
            if path not in self._trusted:
                if is_link(path):
                    raise UnsafeError(NO_LINK, path=path)
                self._trusted.add(path)
        return os.path.join(path, parts[-1])

    def _walk(self, prefix: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
        """Yield the name and entry of all that begins with a prefix but folders, which are gone into."""
        start = prefix[: prefix.rfind("/") + 1]
        waiting = [(start, self._locate([*name_parts(start[:-1]), ""]) if start else self.path)]
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
    """Say what there is in place of a file."""
    return "a folder, expected a file" if stat.S_ISDIR(mode) else "not a file"


def _entries(path: str) -> list[os.DirEntry[str]]:
    """Return what is in a folder, nothing if there is no such folder."""
    try:
        with os.scandir(path) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
