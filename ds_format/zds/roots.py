"""The root of a store: a folder, or an archive of one, also at an address. All open files by name.

A name is the path of a file below the root, with forward slashes: `collections/train/meta/data.jsonl`. Nothing here
writes.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from ..body import NO_FILE
from ..body.body import FileBody
from ..errors import DsError, FormatError, UnsafeError
from ..kernels.files.names import exists, is_link
from . import format

if TYPE_CHECKING:
    from .archive import Archive
    from .elsewhere import FolderElsewhere

StoreRoot: TypeAlias = "Folder | Archive | FolderElsewhere"
"""A place from which a store is read. These classes have the same attributes and methods."""
NO_LINK = "a link; links in a store are not followed"

_LITTER = re.compile(r"(?:^|/)(?:\._|(?:\.DS_Store|__MACOSX)(?:/|$))")
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


def name_parts(name: str) -> list[str]:
    """Return the parts of a name.

    Raises
    ------
    UnsafeError
        If the name leads outside of the root, or is invalid.

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
    """Return whether a name is that of a leftover of a file manager.

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
        """Return the path of a file for writing. The file may not exist yet.

        Raises
        ------
        UnsafeError
            If the name leads outside of the root, or a part of the path is a link.
        FormatError
            If a file has the name of a folder of the path, or something else has the name of the file.
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
        """Return everything that is neither a file nor a folder, with names that begin with a prefix."""
        found = []
        for name, entry in self._walk(prefix):
            if entry.is_symlink():
                found.append(Unused(name, UnsafeError(NO_LINK)))
            elif not entry.is_file(follow_symlinks=False):
                found.append(Unused(name, FormatError("neither a file nor a folder")))
        return sorted(found, key=lambda one: os.fsencode(one.name))

    def close(self) -> None:
        """Do nothing: a folder is not open. Open bodies stay valid, as for an `Archive`."""

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
    """Describe something that is not a file, for a message."""
    return "a folder, expected a file" if stat.S_ISDIR(mode) else "not a file"


def _entries(path: str) -> list[os.DirEntry[str]]:
    """Return the entries of a folder; none if it does not exist."""
    try:
        with os.scandir(path) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
