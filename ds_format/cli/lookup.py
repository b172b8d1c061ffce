"""The header of a file by unescaped names, and the names that match the patterns of a command line."""

import os
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from .. import drivers
from ..base import modes
from ..base.text import hint, unescape
from ..body import MEMBER_MARK, Location, path_text
from ..drivers.base import Metadata
from ..errors import MissingError
from .arguments import ArgumentError, Request
from .pst import in_type

ONE_VARIABLE = (
    ("VAR", "Name of a variable, or a pattern that matches one."),
    ("INPUT", "The file."),
)
"""Arguments of commands for one variable, for their help."""


class HeaderFacts(NamedTuple):
    """Attributes and variables from the header of a file."""

    attributes: dict[str, Any]
    """Attributes of the dataset by unescaped name."""
    variables: dict[str, dict[str, Any]]
    """Metadata of each variable by its unescaped name, sorted."""


def read(path: Location) -> HeaderFacts:
    """Return attributes and variables from the header of a file.

    Each variable has `.type` (None: unknown), `.size` (None: no data) and `.dims`. Dimensions without a name in the
    file are named after the variable.

    Raises
    ------
    DsError, OSError
        If the file cannot be read.
    """
    return from_metadata(drivers.meta(path))


def members(path: Location) -> list[str] | None:
    """Return the names of the files in a pack; None for other files, which load less."""
    if not path_text(path).endswith(MEMBER_MARK[:-1]):
        return None
    from ..body.locating import pack_members

    return pack_members(path)


def from_metadata(meta: Metadata) -> HeaderFacts:
    """Return the same as `read` from the metadata of a file."""
    found = {unescape(key): dict(entry) for key, entry in meta.items() if key != "."}
    for name, entry in found.items():
        entry.setdefault(".type")
        size = entry.setdefault(".size")
        if entry.get(".dims") is None:
            entry[".dims"] = [f"{name}_{i}" for i in range(1, len(size or ()) + 1)]
    return HeaderFacts(attributes(meta.get(".", {})), dict(sorted(found.items())))


def attributes(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a variable or dataset by unescaped name, with floats in their stored type."""
    types = entry.get(".dtypes")
    types = types if isinstance(types, dict) else {}
    found = {}
    for key, value in entry.items():
        if not key.startswith("."):
            name = types.get(key)
            found[unescape(key)] = in_type(value, name[0] if isinstance(name, list) and name else name)
    return found


def sizes(entries: Iterable[dict[str, Any]]) -> dict[str, int | None]:
    """Return the size of each dimension of some variables, in order of appearance; None if no data has it."""
    found: dict[str, int | None] = {}
    for entry in entries:
        size = entry[".size"]
        for i, dim in enumerate(entry[".dims"]):
            if found.get(dim) is None:
                found[dim] = None if size is None else size[i]
    return found


def sizes_in(path: Location) -> dict[str, int | None]:
    """Return the size of each dimension of a file; see `sizes` and `read`."""
    return sizes(read(path).variables.values())


def match(pattern: str, names: Sequence[str], *, fixed: bool = False) -> list[str]:
    """Return the names that a pattern matches, or the pattern itself if it is one of the names.

    Parameters
    ----------
    pattern : str
        With `*`, `?` and `[...]`.
    names : sequence of str
        Existing names.
    fixed : bool
        Whether the pattern is a plain name.
    """
    matching = [] if fixed else [name for name in names if fnmatchcase(name, pattern)]
    return matching or [name for name in names if name == pattern]


def not_found(pattern: str, names: Sequence[str], what: str, path: str | None = None) -> MissingError:
    """Return the error for a pattern without a match; parameters as in `Finder.find`."""
    about = (
        ": it is a file, and this command reads only one file"
        if what != "dimension" and os.path.isfile(pattern)
        else hint(pattern, names)
    )
    return MissingError(f'{what} "{pattern}" not found{about}', path=path)


class Finder:
    """Finds the names in a file that match the patterns of a command line.

    Parameters
    ----------
    path : str
        The file.
    request : Request
        With its option F, patterns are plain names.
    """

    def __init__(self, path: str, request: Request):
        self.path = path
        self._fixed = request.flag("F")

    def match(self, pattern: str, names: Sequence[str]) -> list[str]:
        """Return the names that a pattern matches, possibly none."""
        return match(pattern, names, fixed=self._fixed)

    def find(self, patterns: Iterable[str], names: Sequence[str], what: str) -> list[str]:
        """Return the names that the patterns match, in order of the patterns. Names that match twice are repeated.

        Parameters
        ----------
        patterns : iterable of str
            With `*`, `?` and `[...]`. A name with these characters also matches itself.
        names : sequence of str
            Existing names.
        what : str
            The kind of name: `variable`, `dimension` or `attribute`.

        Raises
        ------
        MissingError
            For a name that does not exist, in strict mode. In moderate mode it is a warning if other names exist.
        """
        found: list[str] = []
        missing: list[MissingError] = []
        for pattern in patterns:
            matching = self.match(pattern, names)
            if not matching:
                missing.append(not_found(pattern, names, what, self.path))
            found += matching
        self.report(missing, others=bool(found))
        return found

    def find_one(self, pattern: str, names: Sequence[str], what: str) -> str | None:
        """Return the only name that a pattern matches, or in soft mode None if there is none; parameters as in `find`.

        Raises
        ------
        ArgumentError
            If it matches several names.
        MissingError
            If it matches none, in moderate and strict mode.
        """
        found = self.find([pattern], names, what)
        return self.only(found, pattern, what) if found else None

    def require(self, pattern: str, names: Sequence[str], what: str) -> list[str]:
        """Return the names that a pattern matches; parameters as in `find`.

        Raises
        ------
        MissingError
            If there are none, in every mode.
        """
        found = self.match(pattern, names)
        if not found:
            raise not_found(pattern, names, what, self.path)
        return found

    def only(self, found: Sequence[str], pattern: str, what: str) -> str:
        """Return the only name that a pattern matches.

        Raises
        ------
        ArgumentError
            If there are several.
        """
        if len(found) > 1:
            raise ArgumentError(f'{self.path}: more than one {what} is matching the pattern "{pattern}"')
        return found[0]

    def renaming(self, pairs: Mapping[str, str | None], names: Sequence[str], what: str) -> dict[str, Any]:
        """Return `OLD: NEW` pairs with each pattern replaced by its match. Pairs without a match are omitted.

        Raises
        ------
        ArgumentError
            If a pattern matches several.
        """
        found = ((self.match(old, names), old, new) for old, new in pairs.items())
        return {self.only(matching, old, what): new for matching, old, new in found if matching}

    def report(self, missing: Sequence[MissingError], *, others: bool) -> None:
        """Report names that do not exist. In moderate mode it is an error if there are no others."""
        if missing and not others and modes.get("moderate") != "soft":
            raise _joined(missing, self.path)
        for error in missing:
            self.miss(error)

    def miss(self, error: MissingError) -> None:
        """Raise an error in strict mode, and warn in moderate mode. A warning does not repeat the file."""
        if modes.get() == "strict":
            raise error
        modes.missing(error.message)


def _joined(errors: Iterable[MissingError], path: str) -> MissingError:
    return MissingError("; ".join(dict.fromkeys(error.message for error in errors)), path=path)


class Changer(Finder):
    """Finds the names that a command changes. `settle` reports missing ones before anything is written."""

    def __init__(self, path: str, request: Request):
        super().__init__(path, request)
        self._missing: list[MissingError] = []

    def report(self, missing: Sequence[MissingError], *, others: bool) -> None:
        """Remember missing names for `settle`."""
        self._missing += missing

    def miss(self, error: MissingError) -> None:
        """Remember a missing name for `settle`."""
        self._missing.append(error)

    def settle(self, *, changes: bool) -> None:
        """Report missing names according to the mode.

        Parameters
        ----------
        changes : bool
            Whether at least one name exists. If not, this is an error in every mode.

        Raises
        ------
        MissingError
            If nothing changes; for a name that does not exist, in strict mode.
        """
        if self._missing and not changes:
            raise _joined(self._missing, self.path)
        for error in self._missing:
            super().miss(error)
