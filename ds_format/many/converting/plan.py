"""Which file becomes which, and what forbids it before anything is written."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ... import drivers
from ...base.messages import cause_of
from ...base.wording import hint
from ...errors import DriverError, UnsupportedError
from .inputs import Input


class Item(NamedTuple):
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


def planned(inputs: Iterable[Input], outdir: str, suffix: str) -> list[Item]:
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


def planned_one(path: str, output: str) -> list[Item]:
    """Return what one file becomes; errors as `planned`."""
    items = [_item(Input(path, ""), "", output, _There())]
    _check_apart(items)
    return items


class _There:
    """What stands in the folders of the outputs: each is listed once."""

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


def _item(one: Input, outdir: str, place: str, there: _There) -> Item:
    cause, output = one.cause, f"{outdir}/{place}" if outdir and not outdir.endswith("/") else outdir + place
    try:
        if cause is None:
            status = os.stat(one.path)
            return Item(one.path, output, place, status.st_size, status.st_mtime_ns, exists=output in there)
    except OSError as error:
        cause = cause_of(error, one.path)
    if os.path.isdir(one.path) or not drivers.is_known(one.path):
        return Item(one.path, None, place, cause=cause)
    return Item(one.path, output, place, cause=cause, exists=output in there)


def _renamed(place: str, suffix: str) -> str:
    stem, old = os.path.splitext(place)
    return (stem if drivers.of_suffix(old.lower()) is not None else place) + suffix


def _check_apart(items: Sequence[Item]) -> None:
    """Check that no two inputs become one output, and no output is an input. Inputs that cannot be read become none."""
    folders: dict[str, str] = {}
    taken: dict[str, Item] = {}
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


def _real(item: Item, folders: dict[str, str]) -> str:
    """Return where an output is behind all links; what is found of folders is kept."""
    output = item.output or ""
    if item.exists and os.path.islink(output):
        return os.path.realpath(output)
    folder, name = os.path.split(output)
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    return f"{folders[folder]}/{name}"


def check_absent(items: Iterable[Item], *, resumes: bool) -> None:
    """Check that no output exists.

    Parameters
    ----------
    items : iterable of Item
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


def check_case(items: Iterable[Item]) -> None:
    """Check that no two outputs have names that differ in case alone.

    Raises
    ------
    UnsupportedError
        If some do.
    """
    taken: dict[str, Item] = {}
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
