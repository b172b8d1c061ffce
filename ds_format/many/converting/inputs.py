"""Words → files: paths as they stand, folders, and patterns with `*`, `?`, `[...]` and `**`.

Files keep their place below the part of the path before the first wildcard. In folders and among what a pattern matches
are files of known suffixes, and stores. Links to folders are not followed there, what begins with a dot is left out
unless the pattern does, and so is the folder of the outputs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import translate
from typing import NamedTuple

from ... import drivers
from ...errors import DriverError, MissingError, is_address
from ...kernels.files.presence import is_folder
from ...messages import describe, meant


class Input(NamedTuple):
    """A file to be converted, or a folder that cannot be read."""

    path: str
    place: str
    """Where it is mirrored: its path below the folder of the outputs."""
    cause: str | None = None
    """Why it cannot be converted, as far as that is known already."""


def find(words: Iterable[str], outdir: str | None) -> tuple[list[Input], list[str]]:
    """Return the files that words stand for, each once, and the links to folders that were not followed.

    Parameters
    ----------
    words : iterable of str
        Paths of files and folders, and patterns. What exists under its name is no pattern.
    outdir : str, optional
        The folder of the outputs, which may not exist yet.

    Raises
    ------
    MissingError
        If a pattern matches nothing.
    DriverError
        If there is no file of a known suffix in a folder, or among what a pattern matches.
    """
    walk = _Walk(outdir)
    found: dict[tuple[str, str], Input] = {}
    for word in words:
        for one in _named(word, walk):
            found.setdefault((os.path.normpath(one.path), one.place), one)
    return [*walk.unreadable.values(), *found.values()], sorted(walk.links)


def has_wildcard(word: str) -> bool:
    """Whether a word is a pattern, if nothing of its name exists."""
    return any(char in word for char in "*?[") and not os.path.lexists(word)


def _named(word: str, walk: _Walk) -> list[Input]:
    """Return what one word stands for, sorted."""
    is_pattern = has_wildcard(word)
    if not is_pattern and (not os.path.isdir(word) or drivers.is_store(word)):
        return [_as_it_stands(word)]
    n_before = len(walk.passed), len(walk.unreadable)
    found = walk.matching(*_split(word)) if is_pattern else walk.all_of(word, "")
    some = sorted({one.path: one for one in found}.values())
    if not some and len(walk.unreadable) == n_before[1]:
        if is_pattern and len(walk.passed) == n_before[0]:
            reason = "addresses are not read yet" if is_address(word) else "no file matches this pattern"
            raise MissingError(reason, path=word)
        what = "that this pattern matches" if is_pattern else "in this folder"
        raise DriverError(f"no file {what} has a known suffix: expected one of {_suffixes()}", path=word)
    return some


def _as_it_stands(word: str) -> Input:
    name = os.path.basename(os.path.normpath(word))
    try:
        os.stat(word)
    except OSError as error:
        return Input(word, name, cause_of(error, word) + meant(word))
    return Input(word, name)


def _suffixes() -> str:
    return " ".join(sorted(drivers.BY_SUFFIX))


def cause_of(error: Exception, path: str) -> str:
    """Return what is said about an error, without the path in front of it."""
    return describe(error).removeprefix(f"{path}: ")


def _split(pattern: str) -> tuple[str, str, list[str]]:
    """Return the part before the first wildcard, no place, and the parts from there on."""
    parts = pattern.split("/")
    first = next(i for i, part in enumerate(parts) if any(char in part for char in "*?["))
    base = "/".join(parts[:first])
    return base or ("/" if pattern.startswith("/") else ""), "", [part for part in parts[first:] if part]


class _Walk:
    """The way through folders."""

    def __init__(self, outdir: str | None):
        self.links: set[str] = set()
        """To folders; they were not followed."""
        self.passed: set[str] = set()
        """Files of other suffixes."""
        self.unreadable: dict[str, Input] = {}
        """Folders."""
        self._outdir: os.stat_result | None = None
        if outdir is not None and is_folder(outdir):
            self._outdir = os.stat(outdir)

    def matching(self, folder: str, place: str, parts: Sequence[str]) -> Iterator[Input]:
        """Yield what in a folder matches the parts of a pattern."""
        first, rest = parts[0], parts[1:]
        if first == "**":
            if not rest:
                yield from self.all_of(folder, place)
                return
            yield from self.matching(folder, place, rest)
            for entry in self._entries(folder, place):
                if self._is_entered(entry):
                    yield from self.matching(entry.path, entry.place, parts)
            return
        fits = re.compile(translate(first)).match
        for entry in self._entries(folder, place, hidden=first.startswith(".")):
            if fits(entry.name):
                if not rest:
                    yield from self._taken(entry)
                elif self._is_entered(entry):
                    yield from self.matching(entry.path, entry.place, rest)

    def all_of(self, folder: str, place: str) -> Iterator[Input]:
        """Yield the files of a folder and of those in it."""
        for entry in self._entries(folder, place):
            yield from self._taken(entry)

    def _taken(self, entry: _Entry) -> Iterator[Input]:
        if entry.is_folder:
            if self._is_entered(entry):
                if drivers.is_store(entry.path):
                    yield Input(entry.path, entry.place)
                else:
                    yield from self.all_of(entry.path, entry.place)
        elif drivers.is_known(entry.name):
            yield Input(entry.path, entry.place)
        else:
            self.passed.add(entry.path)

    def _entries(self, folder: str, place: str, *, hidden: bool = False) -> list[_Entry]:
        """Return what is in a folder, sorted; nothing if it cannot be read, which is noted."""
        try:
            with os.scandir(folder or ".") as entries:
                return sorted(
                    _Entry(
                        entry.name,
                        _join(folder, entry.name),
                        _join(place, entry.name),
                        entry.is_dir(),
                        entry.is_symlink(),
                    )
                    for entry in entries
                    if hidden or not entry.name.startswith(".")
                )
        except (FileNotFoundError, NotADirectoryError):
            return []  # of a pattern that matches nothing
        except OSError as error:
            told = folder or "."
            self.unreadable[told] = Input(told, place, cause_of(error, told))
            return []

    def _is_entered(self, entry: _Entry) -> bool:
        if not entry.is_folder:
            return False
        if entry.is_link:
            self.links.add(entry.path)
            return False
        return self._outdir is None or not os.path.samestat(os.stat(entry.path), self._outdir)


class _Entry(NamedTuple):
    """What is in a folder."""

    name: str
    path: str
    place: str
    is_folder: bool
    is_link: bool


def _join(folder: str, name: str) -> str:
    return f"{folder}{name}" if not folder or folder.endswith("/") else f"{folder}/{name}"
