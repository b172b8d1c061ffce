"""The files below an address, or those that match a pattern: in buckets, stores and file systems.

Patterns have `*`, `?`, `[...]` and, for any number of folders, `**`. As in local folders, names that begin with a dot
are left out unless the pattern begins with one.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Collection, Sequence
from fnmatch import fnmatchcase, translate
from typing import Any, NamedTuple

from .. import Address
from ..stamp import Stamp
from .addresses import RemoteAddress
from .fetching import remote_stamp
from .stores import repeated


class ListedFile(NamedTuple):
    """A file, as its store lists it."""

    address: RemoteAddress
    path: str
    """Its path below the address that was listed, or below the part of a pattern before the first wildcard."""
    size: int
    """In bytes."""
    version: str

    @property
    def stamp(self) -> Stamp:
        """Its stamp, as it would have when it is opened."""
        return remote_stamp(self.size, self.version)


def has_wildcard(address: Address) -> bool:
    """Return whether an address is a pattern. The host of a web server is not part of it."""
    return isinstance(address, RemoteAddress) and _first_wildcard(address) is not None


def files_below(address: Address, *, recursive: bool = True) -> list[ListedFile]:
    """Return the files below an address, sorted by their paths.

    Parameters
    ----------
    address : Address
        A folder, with or without a slash at its end.
    recursive : bool
        Whether to include files in subfolders.

    Raises
    ------
    UnsupportedError
        If its store does not list files, as web servers do not.
    FileNotFoundError
        If there are no files. Buckets have no folders without files.
    OSError
        If they cannot be listed.
    """
    if not isinstance(address, RemoteAddress):
        raise NotADirectoryError(errno.ENOTDIR, "a file object, expected a folder", address.name)
    found = _listed(address, recursive=recursive)
    if not found:
        raise FileNotFoundError(errno.ENOENT, "there are no files below this address", address.name)
    return found


def divided(found: Sequence[ListedFile], names: Collection[str]) -> tuple[list[ListedFile], list[ListedFile]]:
    """Return the outermost folders with a file of some names, each with its stamp, and the files in no such folder.

    Parameters
    ----------
    found : sequence of ListedFile
    names : collection of str
    """
    folders: list[ListedFile] = []
    inside: tuple[str, ...] = ()
    for one in sorted(found, key=lambda one: one.path.count("/")):
        path, _, name = one.path.rpartition("/")
        if name in names and not one.path.startswith(inside):
            folders.append(one._replace(address=one.address.at(one.address.location.rpartition("/")[0]), path=path))
            inside = (*inside, f"{path}/" if path else "")
    return folders, [one for one in found if not one.path.startswith(inside)]


def _listed(address: RemoteAddress, *, recursive: bool, parts: Sequence[str] | None = None) -> list[ListedFile]:
    found = repeated(lambda: sorted(address.listed(recursive=recursive)), address.name, "list of files")
    top = address.location if address.location.endswith("/") else f"{address.location}/"
    if parts is not None:
        fits = _matcher(parts)
        found = [one for one in found if fits(one.path)]
    return [ListedFile(address.at(top + path), path, size, version) for path, size, version in found]


def files_matching(pattern: Address) -> list[ListedFile]:
    """Return the files that match a pattern, sorted by their paths, possibly none; errors as for `files_below`."""
    if not isinstance(pattern, RemoteAddress) or _first_wildcard(pattern) is None:
        return files_below(pattern)
    top, parts = _divided(pattern)
    return _listed(top, recursive=_is_deep(parts), parts=parts)


def addresses_matching(pattern: Address) -> Sequence[Address]:
    """Return the addresses of the files that match a pattern, as `files_matching` does."""
    if not isinstance(pattern, RemoteAddress) or not pattern.is_near:
        return [one.address for one in files_matching(pattern)]
    top, parts = _divided(pattern)
    names = top.names(recursive=_is_deep(parts))
    fits = _matcher(parts)
    return [top.at(top.location + name) for name in sorted(filter(fits, names))]


def _divided(pattern: RemoteAddress) -> tuple[RemoteAddress, list[str]]:
    """Return the folder of a pattern before its first wildcard, and its parts below this folder."""
    start = pattern.location.rfind("/", 0, _first_wildcard(pattern)) + 1
    return pattern.at(pattern.location[:start]), pattern.location[start:].split("/")


def _is_deep(parts: Sequence[str]) -> bool:
    return len(parts) > 1 or parts[0] == "**"


def _first_wildcard(address: RemoteAddress) -> int | None:
    if address.is_known():  # its name has the characters of a pattern
        return None
    host = re.match(r"https?://[^/]*", address.location, re.IGNORECASE)
    found = re.compile(r"[*?[]").search(address.location, host.end() if host else 0)
    return None if found is None else found.start()


def _matcher(parts: Sequence[str]) -> Callable[[str], Any]:
    """Return a function that returns whether a path matches the parts of a pattern."""
    if _is_deep(parts):
        return lambda path: _fits(path.split("/"), parts)
    start = "" if parts[0].startswith(".") else r"(?!\.)"  # many files have no folders
    return re.compile(f"(?!.*/){start}{translate(parts[0])}").match


def _fits(names: Sequence[str], parts: Sequence[str]) -> bool:
    """Return whether the names of a path match the parts of a pattern."""
    if not names or not parts:
        return not names and (not parts or [*parts] == ["**"])
    is_shown = not names[0].startswith(".") or parts[0].startswith(".")
    if parts[0] == "**":
        return _fits(names, parts[1:]) or (is_shown and _fits(names[1:], parts))
    return is_shown and fnmatchcase(names[0], parts[0]) and _fits(names[1:], parts[1:])
