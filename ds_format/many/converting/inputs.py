"""Arguments → files: paths, folders, and patterns with `*`, `?`, `[...]` and `**`. Then the output of each file.

Files keep their path below the part of a pattern before the first wildcard. Folders and patterns give files with a
known suffix or recognised content; other files are counted. A folder that is a dataset, such as a ZDS store, counts
as a file. Links to folders are not followed there. Names that begin with a dot are left out unless the pattern begins
with one, and so is the folder of the outputs. A link or folder that cannot be read is an input that fails, and the
others are converted.
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
from ...body import MEMBER_MARK, Address, Location, path_text
from ...body.locating import arriving, first_bytes, pack_members, version_number
from ...body.stamp import Stamp
from ...errors import DriverError, DsError, MissingError, UnsupportedError, links_of
from ...kernels.files.names import is_folder
from ..patterns import members_matching


class InputFile(NamedTuple):
    """A file to convert, or a file, link or folder that cannot be read."""

    path: str
    relative_path: str
    """Its path below the folder of the outputs."""
    cause: str | None = None
    """Reason why it cannot be converted, if already known."""
    address: Address | None = None
    """Where it is, if it is not local. Then `path` is its name."""
    stamp: Stamp | None = None
    """Its size and version in the list of its folder."""

    @property
    def location(self) -> Location:
        """The address, or the path."""
        return self.path if self.address is None else self.address


class InputFiles(NamedTuple):
    """The files that arguments select."""

    inputs: list[InputFile]
    """Each once."""
    left_out: list[str | None]
    """A line about links to folders, which are not followed, and one about files whose content is not recognised."""

    def warn(self) -> None:
        """Warn of inputs that are left out."""
        for line in filter(None, self.left_out):
            warnings.warn(line, stacklevel=4)


def find_inputs(words: Iterable[Location], outdir: str | None) -> InputFiles:
    """Return the files that arguments select.

    Parameters
    ----------
    words : iterable of str or Address
        Paths of files and folders, and patterns. A word that is an existing path is not a pattern. Addresses, too; a
        folder has a slash at its end.
    outdir : str, optional
        The folder of the outputs. It may not exist yet.

    Raises
    ------
    MissingError
        If a pattern matches nothing.
    DriverError
        If a folder has no file of a known format, or a pattern matches none.
    """
    walk = _Walk(outdir)
    found: dict[tuple[Location, str], InputFile] = {}
    for word in words:
        if pack_members(word) is not None:
            word = drivers.located(f"{word}/")
        for one in _named(word, walk) if isinstance(word, str) else _elsewhere(word, walk):
            where = one.address or os.path.normpath(one.path)
            found.setdefault((where, one.relative_path), one)
    links = counted(sorted(walk.links), "a link to a folder is not followed")
    unknown = counted(sorted(walk.unknown), NOT_RECOGNISED)
    return InputFiles([*walk.unreadable.values(), *found.values()], [links, unknown])


def selects_many(word: Location) -> bool:
    """Return whether a word is a pattern that is not the name of a file, or a folder that is not a dataset."""
    if isinstance(word, Address):
        from ...body.remote.listing import has_wildcard

        return _is_folder(word) or has_wildcard(word)
    return (
        _has_wildcard(word)
        or (os.path.isdir(word) and drivers.of_folder(word) is None)
        or pack_members(word) is not None
    )


def _has_wildcard(word: str) -> bool:
    return any(char in word for char in "*?[") and not os.path.lexists(word)


def _is_folder(address: Address) -> bool:
    return links_of(address.name)[0].endswith("/")


def _elsewhere(address: Address, walk: _Walk) -> list[InputFile]:
    """Return the files that an address selects, sorted: itself, or those in a folder, or the matches of a pattern."""
    from ...body.remote.listing import divided, files_matching, has_wildcard

    if has_wildcard(address):
        found = files_matching(address)
    elif _is_folder(address):
        found = files_matching(address.sibling("**"))
    else:
        return [InputFile(address.name, _base_name(address), address=address)]
    stores, files = divided(found, drivers.folder_files())
    known = {one.path: one for one in stores}
    known |= {one.path: one for one in files if drivers.is_known(one.address)}
    paths = {one.path for one in files}
    others = {one.address: one for one in files if one.path not in known and not drivers.is_sidecar(one.path, paths)}
    for unknown in arriving([*others]):
        if drivers.recognise(unknown) is None:
            walk.unknown.add(path_text(unknown))
        else:
            known[others[unknown].path] = others[unknown]
    if not found:
        raise MissingError("no file matches this address", path=address.name)
    if not known:
        raise _without_format("at this address", address.name)
    some = [known[path] for path in sorted(known)]
    return [InputFile(one.address.name, one.path, address=one.address, stamp=one.stamp) for one in some]


def _base_name(address: Address) -> str:
    """Return the last name in an address, in the first part of a chain that names a file."""
    first = next((part for part in links_of(address.name) if "/" in part), address.name)
    return first.rstrip("/").rpartition("/")[2]


def _without_format(where: str, path: str) -> DriverError:
    suffixes = " ".join(sorted(drivers.all_suffixes()))
    message = f"no file {where} has a known suffix or recognised content: expected one of {suffixes}"
    return DriverError(message, path=path)


def _named(word: str, walk: _Walk) -> list[InputFile]:
    """Return the files that one argument selects, sorted."""
    has_wildcard = _has_wildcard(word)
    n_before = len(walk.unknown), len(walk.unreadable)
    if not has_wildcard:
        is_file = None
        with walk.recording(word, os.path.basename(os.path.normpath(word))):
            is_file = not os.path.isdir(word) or drivers.of_folder(word) is not None
        if is_file is not False:
            return [InputFile(word, os.path.basename(os.path.normpath(word)))] if is_file else []
    found = walk.matching(*_split(word)) if has_wildcard else walk.all_of(word, "")
    some = sorted({one.path: one for one in found}.values())
    if not some and len(walk.unreadable) == n_before[1]:
        if has_wildcard and len(walk.unknown) == n_before[0]:
            raise MissingError("no file matches this pattern", path=word)
        raise _without_format("that this pattern matches" if has_wildcard else "in this folder", word)
    return some


def _split(pattern: str) -> tuple[str, str, list[str]]:
    """Return the part before the first wildcard, an empty relative path, and the components from there on."""
    parts = pattern.split("/")
    first = next(i for i, part in enumerate(parts) if any(char in part for char in "*?["))
    base = "/".join(parts[:first])
    return base or ("/" if pattern.startswith("/") else ""), "", [part for part in parts[first:] if part]


class _Walk:
    """Collects files while walking through folders."""

    def __init__(self, outdir: str | None):
        self.links: set[str] = set()
        """Links to folders, which are not followed."""
        self.unknown: set[str] = set()
        """Files of unknown suffixes whose content is not recognised."""
        self.unreadable: dict[str, InputFile] = {}
        """Files, links and folders that cannot be read, by path."""
        self._outdir: os.stat_result | None = None
        if outdir is not None and is_folder(outdir):
            self._outdir = os.stat(outdir)

    def matching(self, folder: str, relative_path: str, parts: Sequence[str]) -> Iterator[InputFile]:
        """Iterate over everything in a folder that matches the components of a pattern."""
        first, rest = parts[0], parts[1:]
        if first == "**":
            if not rest:
                yield from self.all_of(folder, relative_path)
                return
            yield from self.matching(folder, relative_path, rest)
            for entry in self._entries(folder, relative_path):
                if self._is_entered(entry):
                    yield from self.matching(entry.path, entry.relative_path, parts)
            return
        fits = re.compile(translate(first)).match
        for entry in self._entries(folder, relative_path, hidden=first.startswith(".")):
            if fits(entry.found.name):
                if not rest:
                    yield from self._taken(entry)
                elif f"{first}/".endswith(MEMBER_MARK) and entry.found.is_file():
                    yield from self._members(entry, "/".join(rest))
                elif self._is_entered(entry):
                    yield from self.matching(entry.path, entry.relative_path, rest)

    def _members(self, entry: _Entry, pattern: str) -> Iterator[InputFile]:
        """Iterate over the members of a pack that match a pattern. A damaged pack is recorded."""
        try:
            found = members_matching(drivers.located(f"{entry.path}/{pattern}"))
        except DsError as error:
            self.unreadable[entry.path] = InputFile(entry.path, entry.relative_path, error.message)
            return
        for one in found:
            name = path_text(one)
            if not drivers.is_known(one) and drivers.recognise(one) is None:
                self.unknown.add(name)
            elif isinstance(one, Address):
                yield InputFile(name, _join(entry.relative_path, name[len(entry.path) + 1 :]), address=one)

    def all_of(self, folder: str, relative_path: str) -> Iterator[InputFile]:
        """Iterate over the files of a folder and its subfolders."""
        for entry in self._entries(folder, relative_path):
            yield from self._taken(entry)

    def recording(self, path: str, relative_path: str) -> _ErrorRecorder:
        """Return a context that records and suppresses an error of the operating system for a file, link or folder."""
        return _ErrorRecorder(self.unreadable, path, relative_path)

    def _taken(self, entry: _Entry) -> Iterator[InputFile]:
        is_input = is_entered = False
        with self.recording(entry.path, entry.relative_path):
            if entry.found.is_dir():
                may_enter = self._is_entered(entry)
                is_input = may_enter and drivers.of_folder(entry.path) is not None
                is_entered = may_enter and not is_input
            else:
                is_input = drivers.is_known(entry.found.name) or self._is_recognised(entry.path)
        if is_input:
            yield InputFile(entry.path, entry.relative_path)
        if is_entered:
            yield from self.all_of(entry.path, entry.relative_path)

    def _is_recognised(self, path: str) -> bool:
        """Return whether the content of a file is recognised. Others are counted, except sidecar files."""
        if drivers.is_sidecar(path):
            return False
        if drivers.recognise(path) is None:
            self.unknown.add(path)
            return False
        return True

    def _entries(self, folder: str, relative_path: str, *, hidden: bool = False) -> list[_Entry]:
        """Return the entries of a folder, sorted by name; none if it cannot be read, which is recorded."""
        path = folder or "."
        with self.recording(path, relative_path):
            try:
                with os.scandir(path) as entries:
                    found = [entry for entry in entries if hidden or not entry.name.startswith(".")]
            except (FileNotFoundError, NotADirectoryError):
                return []  # a pattern that matches nothing
            found.sort(key=lambda entry: entry.name)
            return [_Entry(_join(folder, one.name), _join(relative_path, one.name), one) for one in found]
        return []

    def _is_entered(self, entry: _Entry) -> bool:
        if entry.found.is_symlink():
            with contextlib.suppress(OSError):
                if entry.found.is_dir():
                    self.links.add(entry.path)
            return False
        if not entry.found.is_dir():
            return False
        with self.recording(entry.path, entry.relative_path):
            return self._outdir is None or not os.path.samestat(os.stat(entry.path), self._outdir)
        return False


class _ErrorRecorder(NamedTuple):
    """Records an error of the operating system in a `with` block; see `_Walk.recording`."""

    unreadable: dict[str, InputFile]
    path: str
    relative_path: str

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, OSError):
            return False
        self.unreadable[self.path] = InputFile(
            self.path, self.relative_path, cause_of(error, str(error.filename or self.path))
        )
        return True


class _Entry(NamedTuple):
    """An entry of a folder."""

    path: str
    relative_path: str
    found: os.DirEntry[str]


def _join(folder: str, name: str) -> str:
    return f"{folder}{name}" if not folder or folder.endswith("/") else f"{folder}/{name}"


class PlannedFile(NamedTuple):
    """A file to convert, and its output."""

    input: str
    """Path of the input, as the user gave it."""
    output: str | None
    """Path of the output, likewise; None if the input cannot be read and its format is unknown."""
    relative_path: str = ""
    """Path of the output below the folder of the outputs."""
    size: int = 0
    """Size of the input, in bytes."""
    mtime: int = 0
    """Modification time of the input, in ns since 1970."""
    cause: str | None = None
    """Reason why it cannot be converted, if already known."""
    exists: bool = False
    """Whether the output exists."""
    address: Address | None = None
    """Where the input is, if it is not local. Then `input` is its name, and `mtime` a number for its version; both size
    and version are 0 as long as they are not known."""


def suffix_of(to: str) -> str:
    """Return the suffix of a format, which is given with or without its dot.

    Raises
    ------
    DriverError
        If the format is unknown.
    """
    suffix = to if to.startswith(".") else f".{to}"
    if drivers.of_suffix(suffix.lower()) is None:
        known = sorted(name[1:] for name in drivers.all_suffixes())
        message = f'unknown file format "{to}": expected one of {" ".join(known)}{hint(suffix[1:], known)}'
        raise DriverError(message)
    return suffix


def planned(inputs: Iterable[InputFile], outdir: str, suffix: str) -> list[PlannedFile]:
    """Return each input with its output.

    Raises
    ------
    UnsupportedError
        If two inputs have the same output, or an output would replace an input.
    """
    there = _ExistingFiles()
    items = [_item(one, outdir, _renamed(one.relative_path, suffix), there) for one in inputs]
    _check_apart(items)
    return items


def planned_one(path: Location, output: str) -> list[PlannedFile]:
    """Return one file with its output; errors as for `planned`."""
    one = InputFile(path_text(path), "", address=None if isinstance(path, str) else path)
    items = [_item(one, "", output, _ExistingFiles())]
    _check_apart(items)
    return items


class _ExistingFiles:
    """The existing files in the folders of the outputs. Each folder is listed once."""

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


def _item(one: InputFile, outdir: str, relative_path: str, there: _ExistingFiles) -> PlannedFile:
    cause, output = one.cause, _join(outdir, relative_path)
    if one.address is not None:
        size = 0 if one.stamp is None else one.stamp.size
        number = version_number(one.stamp)
        return PlannedFile(one.path, output, relative_path, size, number, None, output in there, one.address)
    try:
        if cause is None:
            status = os.stat(one.path)
            return PlannedFile(
                one.path, output, relative_path, status.st_size, status.st_mtime_ns, exists=output in there
            )
    except OSError as error:
        hint = similar_file_hint(one.path) if isinstance(error, FileNotFoundError) else ""
        cause = cause_of(error, one.path) + hint
    if os.path.isdir(one.path) or not drivers.is_known(one.path):
        return PlannedFile(one.path, None, relative_path, cause=cause)
    return PlannedFile(one.path, output, relative_path, cause=cause, exists=output in there)


def with_versions(items: Sequence[PlannedFile]) -> list[PlannedFile]:
    """Return the files with size and version of inputs that are elsewhere, which takes a request for each."""
    bodies = first_bytes(item.address for item in items if item.address is not None and not item.mtime)
    found = []
    for item in items:
        body = next(bodies) if item.address is not None and not item.mtime else None
        if body is not None and not isinstance(body, Exception):
            item = item._replace(size=body.size, mtime=version_number(body.watch.stamp))
        found.append(item)
    return found


def _renamed(relative_path: str, suffix: str) -> str:
    stem, old = os.path.splitext(relative_path)
    return (stem if drivers.of_suffix(old.lower()) is not None else relative_path) + suffix


def _check_apart(items: Sequence[PlannedFile]) -> None:
    """Check that no two inputs have the same output, and no output is an input. Unreadable inputs have no output."""
    folders: dict[str, str] = {}
    taken: dict[str, PlannedFile] = {}
    for item in items:
        if item.output is not None and item.cause is None:
            other = taken.setdefault(_real(item, folders), item)
            if other is not item:
                advice = "give a folder, or a pattern in quotes, and files keep their folders below it"
                if os.path.dirname(item.input) == os.path.dirname(other.input):
                    advice = "leave one out by a pattern"
                message = f"two inputs would become this file: {other.input} and {item.input}; {advice}"
                raise UnsupportedError(message, path=item.output)
    elsewhere = {item.input for item in items if item.address is not None}
    for item in items:
        if item.output in elsewhere:
            raise UnsupportedError(f"converting {item.input} would replace this input", path=item.output)
    if any(item.exists for item in items):
        inputs = {os.path.realpath(item.input): item for item in items if item.address is None}
        for real, item in taken.items():
            if item.exists and real in inputs:
                raise UnsupportedError(f"converting {item.input} would replace this input", path=inputs[real].input)


def _real(item: PlannedFile, folders: dict[str, str]) -> str:
    """Return the real path of an output. Real paths of folders are cached."""
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
        Whether the message suggests resuming.

    Raises
    ------
    FileExistsError
        If one exists.
    """
    there = [item.output for item in items if item.exists]
    if there:
        many = f"{len(there)} outputs exist, the first is {there[0]}" if len(there) > 1 else f"{there[0]} exists"
        advice = "`--resume` converts the remaining files, `--overwrite` all (in Python `resume`, `overwrite`)"
        if not resumes:
            advice = "`--overwrite` replaces it"
        raise FileExistsError(f"{many}: {advice}")


def check_case(items: Iterable[PlannedFile]) -> None:
    """Check that no two outputs have names that differ only in case.

    Raises
    ------
    UnsupportedError
        If two do.
    """
    taken: dict[str, PlannedFile] = {}
    for item in items:
        other = taken.setdefault(item.relative_path.casefold(), item)
        if other.relative_path != item.relative_path:
            message = f"on this disk it is the same file as {other.output}, the output of {other.input}"
            raise UnsupportedError(message, path=item.output)


def check_folder(outdir: str) -> None:
    """Check that outputs can be written into a folder, which may not exist yet.

    Raises
    ------
    OSError
        If something other than a folder has its name.
    """
    if os.path.lexists(outdir) and not os.path.isdir(outdir):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), outdir)
