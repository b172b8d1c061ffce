"""A group of a file as a `Source` of its own.

Slashes in names separate groups: `a/b/x` is the variable x in the group b of the group a.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..base.dtypes import RECORDS
from ..base.text import escape, hint, unescape
from ..body import Opened
from ..datasets import META, dims
from ..drivers.base import BLOCK_SIZE, Entries, Handle, Metadata, Source
from ..errors import DsError, MissingGroupError, UnsupportedError
from ..model.selection import ALL
from ..model.settings import names, setting
from .subset import Path, Subset, open_subset

SEPARATOR = "/"
NO_NAMES = frozenset({"", ".", ".."})
"""Names that no group can have."""


class Group(NamedTuple):
    """The content of one group of a file."""

    prefix: str
    """Prefix of the group's names in the file: empty for the root, otherwise `a/b/`."""
    meta: Metadata
    """Metadata as in a separate file, with names without the prefix."""
    keys: dict[str, str]
    """Key in `meta` → key in the file."""


def group_paths(meta: Entries) -> list[str]:
    """Return the paths of all groups, parents first: `/`, `/a`, `/a/b`.

    Raises
    ------
    UnsupportedError
        If the name of a group is empty, `.` or `..`.
    """
    found = {"": None}
    of_variables = (unescape(key).split(SEPARATOR)[:-1] for key in meta if key != META)
    empty = (name.split(SEPARATOR) for record in RECORDS for name in names(meta.get(META, {}).get(record), "groups"))
    for parts in (*of_variables, *empty):
        if not NO_NAMES.isdisjoint(parts):
            group = SEPARATOR.join(parts)
            raise UnsupportedError(f'the group "{group}": a tree of xarray has no such group; rename what is in it')
        found.update({SEPARATOR.join(parts[: i + 1]): None for i in range(len(parts))})
    return [SEPARATOR + group for group in found]


def group_of(meta: Entries, path: str | None, file: str) -> Group:
    """Return one group of a file.

    Parameters
    ----------
    meta : Entries
        Metadata of the file.
    path : str or None
        Path of the group, with or without a leading slash. None is the root.
    file : str
        Path of the file, for messages.

    Raises
    ------
    MissingGroupError
        If the group does not exist.
    UnsupportedError
        If the name of a group is empty, `.` or `..`. If two dimensions of a variable, one of this group and one of a
        parent, have the same name.
    """
    if not (path is None or isinstance(path, str)):
        raise ValueError(f"group: found {path!r}, which must be a string")
    wanted = (path or "").strip(SEPARATOR)
    try:
        known = group_paths(meta)
    except DsError as error:
        raise error.at(path=file)
    if SEPARATOR + wanted not in known:
        given = [name[1:] for name in known[1:]]
        message = f'group "{wanted}" not found{hint(wanted, given)}'
        raise MissingGroupError(message, path=file)
    prefix = wanted + SEPARATOR if wanted else ""
    keys = {}
    own: Metadata = {}
    for key, entry in meta.items():
        name = unescape(key)
        if key == META or not name.startswith(prefix) or SEPARATOR in name[len(prefix) :]:
            continue
        short = escape(name[len(prefix) :])
        keys[short] = key
        own[short] = _with_short_dims(key, entry, prefix, file)
    own[META] = _group_attributes(meta.get(META, {}), prefix, {name[1:] for name in known[1:]})
    return Group(prefix, own, keys)


def _with_short_dims(key: str, entry: dict[str, Any], prefix: str, file: str) -> dict[str, Any]:
    """Return the metadata of a variable, with names of dimensions as in the group."""
    if entry.get(".size") is None:
        return entry
    given = dims(key, entry, len(entry[".size"]))
    short = [_short(name, prefix) for name in given]
    twice = next((name for i, name in enumerate(short) if name in short[:i] and given[i] not in given[:i]), None)
    if twice is not None:
        message = f'its dimensions {given} have the name "{twice}" twice in this group, which xarray cannot hold'
        raise UnsupportedError(message, path=file, variable=unescape(key))
    found = {**entry, ".dims": short}
    for name in RECORDS:
        char = setting(entry.get(name), "char", dict)
        if char is not None and isinstance(char.get("dim"), str):
            found[name] = {**entry[name], "char": {**char, "dim": _short(char["dim"], prefix)}}
    return found


def _short(name: str, prefix: str) -> str:
    """Return the name of a dimension of the group or of a parent, without the path."""
    around, _, last = name.rpartition(SEPARATOR)
    return last if around and prefix.startswith(around + SEPARATOR) else name


def _group_attributes(entry: Mapping[str, Any], prefix: str, groups: set[str]) -> dict[str, Any]:
    """Return the attributes of a group. Properties are those of the file."""
    found = {}
    for key, value in entry.items():
        if key.startswith("."):
            found[key] = value
            continue
        name = unescape(key)
        around = name.rpartition(SEPARATOR)[0]
        if around not in groups:
            around = ""
        own = prefix[:-1] if prefix else ""
        if around == own:
            found[escape(name[len(prefix) :])] = value
    return found


class GroupOfFile(Opened):
    """One group of a file as a `Source` of its own.

    Parameters
    ----------
    source : Source
        The whole file. It is closed together with the group.
    path : str
        Path of the group.
    file : str
        Path of the file, for messages.

    Raises
    ------
    MissingGroupError, UnsupportedError
        As `group_of`.
    """

    def __init__(self, source: Source, path: str, file: str):
        self._source = source
        found = group_of(source.meta, path, file)
        self.meta, self._keys = found.meta, found.keys
        self.faults = {short: source.faults[key] for short, key in found.keys.items() if key in source.faults}
        self.held = getattr(source, "held", 0)

    def read(self, name: str, index: tuple[Any, ...] | None = None) -> Any:
        """Return one variable, or a part of it."""
        return self._source.read(self._keys[name], index)

    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Yield one variable as consecutive blocks."""
        return self._source.blocks(self._keys[name], budget)

    def handle(self, name: str) -> Handle:
        """Return a picklable reference to one variable."""
        return self._source.handle(self._keys[name])

    def close(self) -> None:
        """Close the file."""
        self._source.close()


def open_group(path: Path, wanted: str | None, **options: Any) -> Subset:
    """Open one group of a file.

    Parameters
    ----------
    path : str, bytes or PathLike
    wanted : str or None
        Path of the group; None: the whole file.
    **options
        As `open_subset`.

    Raises
    ------
    OSError, DriverError, FormatError
        If the file cannot be read.
    MissingGroupError, UnsupportedError
        As `group_of`.
    """
    whole = open_subset(path, **options)
    if wanted is None:
        return whole
    try:
        only = GroupOfFile(whole.source, wanted, whole.path)
    except BaseException:
        whole.close()
        raise
    return Subset(only, path, ALL, unpack=False, can_skip=whole.can_skip)
