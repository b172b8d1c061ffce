"""Names with slashes → groups: `a/b/x` is the variable x of the group b in the group a."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..base.names import escape, unescape
from ..base.wording import hint
from ..body import Opened
from ..dataset import META, dims
from ..drivers.base import BLOCK_SIZE, Entries, Handle, Metadata, Source
from ..drivers.settings import names
from ..errors import DsError, MissingGroupError, UnsupportedError
from ..model.packing import RECORDS
from ..model.selection import ALL
from .subset import Path, Subset, open_subset

SEPARATOR = "/"
NO_NAMES = frozenset({"", ".", ".."})
"""What no group can be called."""


class Group(NamedTuple):
    """What of a file belongs to one group."""

    prefix: str
    """What the names of the file begin with: empty for the root, else `a/b/`."""
    meta: Metadata
    """As of a file of its own, by names without the prefix."""
    keys: dict[str, str]
    """Key in `meta` → key in the file."""


def paths(meta: Entries) -> list[str]:
    """Return the paths of all groups, the root first, each before those in it: `/`, `/a`, `/a/b`.

    Raises
    ------
    UnsupportedError
        If the name of a group is empty, or stands for another group.
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


def group(meta: Entries, path: str | None, file: str) -> Group:
    """Return one group of a file.

    Parameters
    ----------
    meta : Entries
        Of the file.
    path : str or None
        Of the group, with or without a slash before; None: the root.
    file : str
        Path of the file, for messages.

    Raises
    ------
    MissingGroupError
        If there is no such group.
    UnsupportedError
        If the name of a group is empty, or stands for another group, or two dimensions of a variable have one name in
        this group and the groups around it.
    """
    if not (path is None or isinstance(path, str)):
        raise ValueError(f"group: found {path!r}, which must be a string")
    wanted = (path or "").strip(SEPARATOR)
    try:
        known = paths(meta)
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
    own[META] = _attributes(meta.get(META, {}), prefix, {name[1:] for name in known[1:]})
    return Group(prefix, own, keys)


def _with_short_dims(key: str, entry: dict[str, Any], prefix: str, file: str) -> dict[str, Any]:
    """Return the metadata of a variable, its dimensions called as in the group."""
    if entry.get(".size") is None:
        return entry
    given = dims(key, entry, len(entry[".size"]))
    short = [_short(name, prefix) for name in given]
    twice = next((name for i, name in enumerate(short) if name in short[:i] and given[i] not in given[:i]), None)
    if twice is not None:
        message = f'its dimensions {given} have the name "{twice}" twice in this group, which xarray cannot hold'
        raise UnsupportedError(message, path=file, variable=unescape(key))
    return {**entry, ".dims": short}


def _short(name: str, prefix: str) -> str:
    """Return the name of a dimension of the group, or of one around it."""
    around, _, last = name.rpartition(SEPARATOR)
    return last if around and prefix.startswith(around + SEPARATOR) else name


def _attributes(entry: Mapping[str, Any], prefix: str, groups: set[str]) -> dict[str, Any]:
    """Return the attributes of a group; properties are those of the file."""
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
    """One group of a file as a file of its own; see `drivers.base.Source`.

    Parameters
    ----------
    source : Source
        The whole file, which is closed with this one.
    path : str
        Of the group.
    file : str
        Path of the file, for messages.

    Raises
    ------
    MissingGroupError, UnsupportedError
        As `group`.
    """

    def __init__(self, source: Source, path: str, file: str):
        self._source = source
        found = group(source.meta, path, file)
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
        """Return what reads one variable elsewhere."""
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
        As `group`.
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
