"""The header of a file by the names that people know, and which of these names a command line means."""

import os
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from .. import drivers
from ..base import modes
from ..base.text import hint, unescape
from ..drivers.base import Metadata
from ..errors import MissingError
from .arguments import ArgumentError, Request
from .pst import in_type

ONE_VARIABLE = (
    ("VAR", "Name of a variable, or a pattern that matches one."),
    ("INPUT", "The file."),
)
"""The arguments of commands for one variable, as their help explains them."""


class HeaderFacts(NamedTuple):
    """What the header of a file says."""

    attributes: dict[str, Any]
    """Of the dataset, by unescaped names."""
    variables: dict[str, dict[str, Any]]
    """Metadata of each variable by its unescaped name, sorted."""


def read(path: str) -> HeaderFacts:
    """Return what the header of a file says.

    Each variable has `.type` (None if the file does not say), `.size` (None: no data) and `.dims`, made from the name
    if the file does not say.

    Raises
    ------
    DsError, OSError
        If the file cannot be read.
    """
    return from_metadata(drivers.meta(path))


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
    """Return the attributes in the metadata of a variable or dataset by name, floats as numbers of their type."""
    types = entry.get(".dtypes")
    types = types if isinstance(types, dict) else {}
    found = {}
    for key, value in entry.items():
        if not key.startswith("."):
            name = types.get(key)
            found[unescape(key)] = in_type(value, name[0] if isinstance(name, list) and name else name)
    return found


def sizes(entries: Iterable[dict[str, Any]]) -> dict[str, int | None]:
    """Return the size of each dimension of some variables, in order of appearance; None without data along it."""
    found: dict[str, int | None] = {}
    for entry in entries:
        size = entry[".size"]
        for i, dim in enumerate(entry[".dims"]):
            if found.get(dim) is None:
                found[dim] = None if size is None else size[i]
    return found


def sizes_in(path: str) -> dict[str, int | None]:
    """Return the size of each dimension of a file; see `sizes` and `read`."""
    return sizes(read(path).variables.values())


def match(pattern: str, names: Sequence[str], *, fixed: bool = False) -> list[str]:
    """Return the names that one pattern matches, or itself if it is one of them.

    Parameters
    ----------
    pattern : str
        With `*`, `?` and `[...]`.
    names : sequence of str
        What there is.
    fixed : bool
        Whether the pattern is a plain name.
    """
    matching = [] if fixed else [name for name in names if fnmatchcase(name, pattern)]
    return matching or [name for name in names if name == pattern]


def not_found(pattern: str, names: Sequence[str], what: str, path: str | None = None) -> MissingError:
    """Return the error that a pattern matches nothing; parameters as `Finder.find`."""
    about = (
        ": it is a file, and only one is read"
        if what != "dimension" and os.path.isfile(pattern)
        else hint(pattern, names)
    )
    return MissingError(f'{what} "{pattern}" not found{about}', path=path)


class Finder:
    """Finds the names in a file that a command line means.

    Parameters
    ----------
    path : str
        The file.
    request : Request
        Its option F says that patterns are plain names.
    """

    def __init__(self, path: str, request: Request):
        self.path = path
        self._fixed = request.flag("F")

    def match(self, pattern: str, names: Sequence[str]) -> list[str]:
        """Return the names that one pattern matches; it is no mistake if there are none."""
        return match(pattern, names, fixed=self._fixed)

    def find(self, patterns: Iterable[str], names: Sequence[str], what: str) -> list[str]:
        """Return the names that each pattern matches, in their order; one that two patterns match comes twice.

        Parameters
        ----------
        patterns : iterable of str
            With `*`, `?` and `[...]`. One that matches nothing stands for itself.
        names : sequence of str
            What there is.
        what : str
            What it is: `variable`, `dimension` or `attribute`.

        Raises
        ------
        MissingError
            For a name that does not exist, in strict mode. In moderate mode it is a warning.
        """
        found: list[str] = []
        for pattern in patterns:
            matching = self.match(pattern, names)
            if not matching:
                self.miss(not_found(pattern, names, what, self.path))
            found += matching
        return found

    def find_one(self, pattern: str, names: Sequence[str], what: str) -> str | None:
        """Return the one name that a pattern matches, or None if there is none; parameters as `find`.

        Raises
        ------
        ArgumentError
            If it matches several.
        MissingError
            If it matches none, in strict mode. In moderate mode it is a warning.
        """
        found = self.find([pattern], names, what)
        return self.only(found, pattern, what) if found else None

    def require(self, pattern: str, names: Sequence[str], what: str) -> list[str]:
        """Return the names that one pattern matches; parameters as `find`.

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
        """Return the one name that a pattern matches.

        Raises
        ------
        ArgumentError
            If there are several.
        """
        if len(found) > 1:
            raise ArgumentError(f'{self.path}: more than one {what} is matching the pattern "{pattern}"')
        return found[0]

    def renaming(self, pairs: Mapping[str, str | None], names: Sequence[str], what: str) -> dict[str, Any]:
        """Return `OLD: NEW` pairs with the name that each pattern matches; those without one are left out.

        Raises
        ------
        ArgumentError
            If a pattern matches several.
        """
        found = ((self.match(old, names), old, new) for old, new in pairs.items())
        return {self.only(matching, old, what): new for matching, old, new in found if matching}

    def miss(self, error: MissingError) -> None:
        """Say by the mode what does not exist. Only an error names the file, which the command line did."""
        if modes.get() == "strict":
            raise error
        modes.missing(error.message)


class Changer(Finder):
    """Finds what a command is to change. What does not exist is said by `settle`, before anything is written."""

    def __init__(self, path: str, request: Request):
        super().__init__(path, request)
        self._missing: list[MissingError] = []

    def miss(self, error: MissingError) -> None:
        """Remember what does not exist."""
        self._missing.append(error)

    def settle(self, *, changes: bool) -> None:
        """Say by the mode what does not exist.

        Parameters
        ----------
        changes : bool
            Whether something of all that was looked for exists. If not, it is a mistake in every mode.

        Raises
        ------
        MissingError
            If nothing changes; for a name that does not exist, in strict mode.
        """
        if self._missing and not changes:
            messages = dict.fromkeys(error.message for error in self._missing)
            raise MissingError("; ".join(messages), path=self.path)
        for error in self._missing:
            super().miss(error)
