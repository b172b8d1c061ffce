"""Patterns of names: which names a command line means."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from ..base import modes
from ..base.wording import hint
from ..errors import MissingError
from .arguments import ArgumentError, Request

ONE_VARIABLE = (
    ("VAR", "Name of a variable, or a pattern that matches one."),
    ("INPUT", "The file."),
)
"""The arguments of commands for one variable, as their help explains them."""


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
        self._fixed = bool(request.options.get("F"))

    def match(self, pattern: str, names: Sequence[str]) -> list[str]:
        """Return the names that one pattern matches; it is no mistake if there are none."""
        return match(pattern, names, fixed=self._fixed)

    def find(self, patterns: Sequence[str], names: Sequence[str], what: str) -> list[str]:
        """Return the names that each pattern matches, in their order; one that two patterns match comes twice.

        Parameters
        ----------
        patterns : sequence of str
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
        return self._only(found, pattern, what) if found else None

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

    def require_one(self, pattern: str, names: Sequence[str], what: str) -> str:
        """Return the one name that a pattern matches; parameters as `find`.

        Raises
        ------
        ArgumentError
            If it matches several.
        MissingError
            If it matches none, in every mode.
        """
        return self._only(self.require(pattern, names, what), pattern, what)

    def _only(self, found: Sequence[str], pattern: str, what: str) -> str:
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
        return {self._only(matching, old, what): new for matching, old, new in found if matching}

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
            told = dict.fromkeys(error.message for error in self._missing)
            raise MissingError("; ".join(told), path=self.path)
        for error in self._missing:
            super().miss(error)
