"""Words → files: paths, folders, and patterns with `*`, `?`, `[...]` and `**`. Then: which file becomes which output.

Files keep their place below the part of the path before the first wildcard. From folders and patterns come stores, and
files of a known suffix or with recognised content; other files are counted. Links to folders are not followed there.
Names that begin with a dot are left out unless the pattern does, and so is the folder of the outputs. A link or folder
that cannot be read is an input that fails, and the others are converted.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import translate
from typing import NamedTuple

from ... import drivers
from ...base.error_text import NOT_RECOGNISED, cause_of, similar_file_hint
from ...base.text import counted, hint
from ...errors import DriverError, MissingError, UnsupportedError, is_address
from ...kernels.files.names import is_folder


class InputFile(NamedTuple):
    """A file to be converted, or a file, link or folder that cannot be read."""

    path: str
    place: str
    """Where it is mirrored: its path below the folder of the outputs."""
    cause: str | None = None
    """Why it cannot be converted, as far as that is known already."""


class InputFiles(NamedTuple):
    """What words stand for."""

    inputs: list[InputFile]
    """Each once."""
    left_out: list[str | None]
    """A line about links to folders, which are not followed, and one about files whose content is not recognised."""

    def warn(self) -> None:
        """Warn of what is left out."""
        for line in filter(None, self.left_out):
            warnings.warn(line, stacklevel=4)


def find(words: Iterable[str], outdir: str | None) -> InputFiles:
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
    found: dict[tuple[str, str], InputFile] = {}
    for word in words:
        for one in _named(word, walk):
            found.setdefault((os.path.normpath(one.path), one.place), one)
    links = counted(sorted(walk.links), "a link to a folder is not followed")
    unknown = counted(sorted(walk.unknown), NOT_RECOGNISED)
    return InputFiles([*walk.unreadable.values(), *found.values()], [links, unknown])


def has_wildcard(word: str) -> bool:
    """Whether a word is a pattern, if nothing of its name exists."""
    return any(char in word for char in "*?[") and not os.path.lexists(word)


def _named(word: str, walk: _Walk) -> list[InputFile]:
    """Return what one word stands for, sorted."""
    is_pattern = has_wildcard(word)
    n_before = len(walk.unknown), len(walk.unreadable)
    if not is_pattern:
        is_file = None
        with walk.noting(word, os.path.basename(os.path.normpath(word))):
            is_file = not os.path.isdir(word) or drivers.is_store(word)
        if is_file is not False:
            return [InputFile(word, os.path.basename(os.path.normpath(word)))] if is_file else []
    found = walk.matching(*_split(word)) if is_pattern else walk.all_of(word, "")
    some = sorted({one.path: one for one in found}.values())
    if not some and len(walk.unreadable) == n_before[1]:
        if is_pattern and len(walk.unknown) == n_before[0]:
            reason = "addresses are not read yet" if is_address(word) else "no file matches this pattern"
            raise MissingError(reason, path=word)
        what = "that this pattern matches" if is_pattern else "in this folder"
        suffixes = " ".join(sorted(drivers.all_suffixes()))
        raise DriverError(
            f"no file {what} has a known suffix or recognised content: expected one of {suffixes}", path=word
        )
    return some


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
        self.unreadable: dict[str, InputFile] = {}
        """Files, links and folders."""
        self._outdir: os.stat_result | None = None
        if outdir is not None and is_folder(outdir):
            self._outdir = os.stat(outdir)

    def matching(self, folder: str, place: str, parts: Sequence[str]) -> Iterator[InputFile]:
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
            if fits(entry.found.name):
                if not rest:
                    yield from self._taken(entry)
                elif self._is_entered(entry):
                    yield from self.matching(entry.path, entry.place, rest)

    def all_of(self, folder: str, place: str) -> Iterator[InputFile]:
        """Yield the files of a folder and of those in it."""
        for entry in self._entries(folder, place):
            yield from self._taken(entry)

    def noting(self, path: str, place: str) -> _Noting:
        """Note a file, link or folder that the operating system does not let a `with` block read, and go on."""
        return _Noting(self.unreadable, path, place)

    def _taken(self, entry: _Entry) -> Iterator[InputFile]:
        is_input = is_entered = False
        with self.noting(entry.path, entry.place):
            if entry.found.is_dir():
                may_enter = self._is_entered(entry)
                is_input = may_enter and drivers.is_store(entry.path)
                is_entered = may_enter and not is_input
            else:
                is_input = drivers.is_known(entry.found.name) or self._is_recognised(entry.path)
        if is_input:
            yield InputFile(entry.path, entry.place)
        if is_entered:
            yield from self.all_of(entry.path, entry.place)

    def _is_recognised(self, path: str) -> bool:
        """Whether the content of a file is recognised. If not, it is counted, unless it accompanies another file."""
        if drivers.is_sidecar(path):
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
            return [_Entry(_join(folder, one.name), _join(place, one.name), one) for one in found]
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

    unreadable: dict[str, InputFile]
    path: str
    place: str

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, OSError):
            return False
        self.unreadable[self.path] = InputFile(self.path, self.place, cause_of(error, str(error.filename or self.path)))
        return True


class _Entry(NamedTuple):
    """An entry of a folder."""

    path: str
    place: str
    found: os.DirEntry[str]


def _join(folder: str, name: str) -> str:
    return f"{folder}{name}" if not folder or folder.endswith("/") else f"{folder}/{name}"


class PlannedFile(NamedTuple):
    """A file to be converted."""

    input: str
    """As the user knows it."""
    output: str | None
    """Likewise; None for what cannot be read and is of no known format."""
    place: str = ""
    """The output below the folder of the outputs."""
    size: int = 0
    """Of the input, in bytes."""
    mtime: int = 0
    """When it was changed, in ns since 1970."""
    cause: str | None = None
    """Why it cannot be converted, as far as that is known already."""
    exists: bool = False
    """Whether the output is there."""


def suffix_of(to: str) -> str:
    """Return the suffix of a format, which may be given with or without its dot.

    Raises
    ------
    DriverError
        If there is no such format.
    """
    suffix = to if to.startswith(".") else f".{to}"
    if drivers.of_suffix(suffix.lower()) is None:
        known = sorted(name[1:] for name in drivers.all_suffixes())
        message = f'unknown file format "{to}": expected one of {" ".join(known)}{hint(suffix[1:], known)}'
        raise DriverError(message)
    return suffix


def planned(inputs: Iterable[InputFile], outdir: str, suffix: str) -> list[PlannedFile]:
    """Return which input becomes which output.

    Raises
    ------
    UnsupportedError
        If two inputs would become one output, or an output would replace an input.
    """
    there = _There()
    items = [_item(one, outdir, _renamed(one.place, suffix), there) for one in inputs]
    _check_apart(items)
    return items


def planned_one(path: str, output: str) -> list[PlannedFile]:
    """Return what one file becomes; errors as `planned`."""
    items = [_item(InputFile(path, ""), "", output, _There())]
    _check_apart(items)
    return items


class _There:
    """What is in the folders of the outputs: each is listed once."""

    def __init__(self) -> None:
        self._names: dict[str, frozenset[str]] = {}

    def __contains__(self, path: str) -> bool:
        folder, name = os.path.split(path)
        if folder not in self._names:
            try:
                self._names[folder] = frozenset(os.listdir(folder or "."))
            except (FileNotFoundError, NotADirectoryError):
                self._names[folder] = frozenset()
            except PermissionError:
                return os.path.lexists(path)
        return name in self._names[folder]


def _item(one: InputFile, outdir: str, place: str, there: _There) -> PlannedFile:
    cause, output = one.cause, _join(outdir, place)
    try:
        if cause is None:
            status = os.stat(one.path)
            return PlannedFile(one.path, output, place, status.st_size, status.st_mtime_ns, exists=output in there)
    except OSError as error:
        hint = similar_file_hint(one.path) if isinstance(error, FileNotFoundError) else ""
        cause = cause_of(error, one.path) + hint
    if os.path.isdir(one.path) or not drivers.is_known(one.path):
        return PlannedFile(one.path, None, place, cause=cause)
    return PlannedFile(one.path, output, place, cause=cause, exists=output in there)


def _renamed(place: str, suffix: str) -> str:
    stem, old = os.path.splitext(place)
    return (stem if drivers.of_suffix(old.lower()) is not None else place) + suffix


def _check_apart(items: Sequence[PlannedFile]) -> None:
    """Check that no two inputs become one output, and no output is an input. Those that cannot be read become none."""
    folders: dict[str, str] = {}
    taken: dict[str, PlannedFile] = {}
    for item in items:
        if item.output is not None and item.cause is None:
            other = taken.setdefault(_real(item, folders), item)
            if other is not item:
                how = "give a folder, or a pattern in quotes, and files keep their folders below it"
                if os.path.dirname(item.input) == os.path.dirname(other.input):
                    how = "leave one out by a pattern"
                message = f"two inputs would become this file: {other.input} and {item.input}; {how}"
                raise UnsupportedError(message, path=item.output)
    if any(item.exists for item in items):
        inputs = {os.path.realpath(item.input): item for item in items}
        for real, item in taken.items():
            if item.exists and real in inputs:
                raise UnsupportedError(f"it would be replaced by what {item.input} becomes", path=inputs[real].input)


def _real(item: PlannedFile, folders: dict[str, str]) -> str:
    """Return where an output is behind all links; what is found of folders is kept."""
    output = item.output or ""
    if item.exists and os.path.islink(output):
        return os.path.realpath(output)
    folder, name = os.path.split(output)
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    return f"{folders[folder]}/{name}"


def check_absent(items: Iterable[PlannedFile], *, resumes: bool) -> None:
    """Check that no output exists.

    Parameters
    ----------
    items : iterable of PlannedFile
    resumes : bool
        Whether going on with what was begun is a way out.

    Raises
    ------
    FileExistsError
        If one does.
    """
    there = [item.output for item in items if item.exists]
    if there:
        many = f"{len(there)} outputs exist, the first is {there[0]}" if len(there) > 1 else f"{there[0]} exists"
        how = "`--resume` goes on with what is left, `--overwrite` converts all (in Python `resume`, `overwrite`)"
        if not resumes:
            how = "`--overwrite` replaces it"
        raise FileExistsError(f"{many}: {how}")


def check_case(items: Iterable[PlannedFile]) -> None:
    """Check that no two outputs have names that differ in case alone.

    Raises
    ------
    UnsupportedError
        If some do.
    """
    taken: dict[str, PlannedFile] = {}
    for item in items:
        other = taken.setdefault(item.place.casefold(), item)
        if other.place != item.place:
            message = f"on this disk it is the same file as what {other.input} becomes, {other.output}"
            raise UnsupportedError(message, path=item.output)


def check_folder(outdir: str) -> None:
    """Check that outputs can be put into a folder, which may not exist yet.

    Raises
    ------
    OSError
        If something else has its name.
    """
    if os.path.lexists(outdir) and not os.path.isdir(outdir):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), outdir)
