"""Words → files: paths as they are, folders, and patterns with `*`, `?`, `[...]` and `**`.

Files keep their place below the part of the path before the first wildcard. From folders and patterns come stores, and
files of a known suffix or with recognised content; other files are counted. Links to folders are not followed there.
Names that begin with a dot are left out unless the pattern does, and so is the folder of the outputs. A link or folder
that cannot be read is an input that fails, and the others are converted.
"""

from __future__ import annotations

import contextlib
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import translate
from typing import NamedTuple

from ... import drivers
from ...base.messages import NOT_RECOGNISED, cause_of, meant
from ...base.wording import counted
from ...errors import DriverError, MissingError, is_address
from ...kernels.files.presence import is_folder


class Input(NamedTuple):
    """A file to be converted, or a file, link or folder that cannot be read."""

    path: str
    place: str
    """Where it is mirrored: its path below the folder of the outputs."""
    cause: str | None = None
    """Why it cannot be converted, as far as that is known already."""


class Inputs(NamedTuple):
    """What words stand for."""

    inputs: list[Input]
    """Each once."""
    links: list[str]
    """To folders; they are not followed."""
    unknown: list[str]
    """Files of unknown suffixes whose content is not recognised."""

    def warn(self) -> None:
        """Warn of what is left out: one line of links, and one of files."""
        for paths, message in (
            (self.links, "a link to a folder is not followed"),
            (self.unknown, NOT_RECOGNISED),
        ):
            if line := counted(paths, message):
                warnings.warn(line, stacklevel=4)


def find(words: Iterable[str], outdir: str | None) -> Inputs:
    """Return the files that words stand for.

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
        If a folder has no file of a known format, or a pattern matches none.
    """
    walk = _Walk(outdir)
    found: dict[tuple[str, str], Input] = {}
    for word in words:
        for one in _named(word, walk):
            found.setdefault((os.path.normpath(one.path), one.place), one)
    return Inputs([*walk.unreadable.values(), *found.values()], sorted(walk.links), sorted(walk.unknown))


def has_wildcard(word: str) -> bool:
    """Whether a word is a pattern, if nothing of its name exists."""
    return any(char in word for char in "*?[") and not os.path.lexists(word)


def _named(word: str, walk: _Walk) -> list[Input]:
    """Return what one word stands for, sorted."""
    is_pattern = has_wildcard(word)
    n_before = len(walk.unknown), len(walk.unreadable)
    if not is_pattern:
        is_file = None
        with walk.noting(word, os.path.basename(os.path.normpath(word))):
            is_file = not os.path.isdir(word) or drivers.is_store(word)
        if is_file is not False:
            return [_as_it_stands(word)] if is_file else []
    found = walk.matching(*_split(word)) if is_pattern else walk.all_of(word, "")
    some = sorted({one.path: one for one in found}.values())
    if not some and len(walk.unreadable) == n_before[1]:
        if is_pattern and len(walk.unknown) == n_before[0]:
            reason = "addresses are not read yet" if is_address(word) else "no file matches this pattern"
            raise MissingError(reason, path=word)
        what = "that this pattern matches" if is_pattern else "in this folder"
        raise DriverError(
            f"no file {what} has a known suffix or recognised content: expected one of {_suffixes()}", path=word
        )
    return some


def _as_it_stands(word: str) -> Input:
    name = os.path.basename(os.path.normpath(word))
    try:
        os.stat(word)
    except OSError as error:
        return Input(word, name, cause_of(error, word) + (meant(word) if isinstance(error, FileNotFoundError) else ""))
    return Input(word, name)


def _suffixes() -> str:
    return " ".join(sorted(drivers.all_suffixes()))


def _split(pattern: str) -> tuple[str, str, list[str]]:
    """Return the part before the first wildcard, no place, and the parts from there on."""
    parts = pattern.split("/")
    first = next(i for i, part in enumerate(parts) if any(char in part for char in "*?["))
    base = "/".join(parts[:first])
    return base or ("/" if pattern.startswith("/") else ""), "", [part for part in parts[first:] if part]


class _Walk:
    """What was found on the way through folders."""

    def __init__(self, outdir: str | None):
        self.links: set[str] = set()
        """To folders; they were not followed."""
        self.unknown: set[str] = set()
        """Files of unknown suffixes whose content is not recognised."""
        self.unreadable: dict[str, Input] = {}
        """Files, links and folders."""
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

    def noting(self, path: str, place: str) -> _Noting:
        """Note a file, link or folder that the operating system does not let a `with` block read, and go on."""
        return _Noting(self.unreadable, path, place)

    def _taken(self, entry: _Entry) -> Iterator[Input]:
        is_input = is_entered = False
        with self.noting(entry.path, entry.place):
            if entry.found.is_dir():
                may_enter = self._is_entered(entry)
                is_input = may_enter and drivers.is_store(entry.path)
                is_entered = may_enter and not is_input
            else:
                is_input = drivers.is_known(entry.name) or self._is_recognised(entry.path)
        if is_input:
            yield Input(entry.path, entry.place)
        if is_entered:
            yield from self.all_of(entry.path, entry.place)

    def _is_recognised(self, path: str) -> bool:
        """Whether the content of a file is recognised. If not, it is counted, unless it accompanies another file."""
        if drivers.is_part(path):
            return False
        if drivers.recognise(path) is None:
            self.unknown.add(path)
            return False
        return True

    def _entries(self, folder: str, place: str, *, hidden: bool = False) -> list[_Entry]:
        """Return the entries of a folder, sorted by name; none if it cannot be read, which is noted."""
        path = folder or "."
        with self.noting(path, place):
            try:
                with os.scandir(path) as entries:
                    found = [entry for entry in entries if hidden or not entry.name.startswith(".")]
            except (FileNotFoundError, NotADirectoryError):
                return []  # of a pattern that matches nothing
            found.sort(key=lambda entry: entry.name)
            return [_Entry(one.name, _join(folder, one.name), _join(place, one.name), one) for one in found]
        return []

    def _is_entered(self, entry: _Entry) -> bool:
        if entry.found.is_symlink():
            with contextlib.suppress(OSError):
                if entry.found.is_dir():
                    self.links.add(entry.path)
            return False
        if not entry.found.is_dir():
            return False
        with self.noting(entry.path, entry.place):
            return self._outdir is None or not os.path.samestat(os.stat(entry.path), self._outdir)
        return False


class _Noting(NamedTuple):
    """Notes an error of the operating system in a `with` block; see `_Walk.noting`."""

    unreadable: dict[str, Input]
    path: str
    place: str

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, OSError):
            return False
        self.unreadable[self.path] = Input(self.path, self.place, cause_of(error, str(error.filename or self.path)))
        return True


class _Entry(NamedTuple):
    """An entry of a folder."""

    name: str
    path: str
    place: str
    found: os.DirEntry[str]


def _join(folder: str, name: str) -> str:
    return f"{folder}{name}" if not folder or folder.endswith("/") else f"{folder}/{name}"
