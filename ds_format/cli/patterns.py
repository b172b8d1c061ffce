"""Patterns of names: which names a command line means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from .. import modes
from .arguments import ArgumentError

ONE_VARIABLE = (
    ("VAR", "Name of a variable, or a pattern that matches one."),
    ("INPUT", "The file."),
)
"""The arguments of commands for one variable, as their help explains them."""


def find(patterns: Sequence[str], names: Sequence[str], what: str, path: str, *, fixed: bool = False) -> list[str]:
    """Return the names that each pattern matches, in their order; one that two patterns match comes twice.

    Parameters
    ----------
    patterns : sequence of str
        With `*`, `?` and `[...]`. One that matches nothing stands for itself.
    names : sequence of str
        What there is.
    what : str
        What it is: `variable`, `dimension` or `attribute`.
    path : str
        Where it is.
    fixed : bool
        Whether patterns are plain names.

    Raises
    ------
    MissingError
        For a name that does not exist, in strict mode. In moderate mode it is a warning.
    """
    found: list[str] = []
    for pattern in patterns:
        matching = match(pattern, names, fixed=fixed)
        if not matching:
            modes.missing(f'{path}: {what} "{pattern}" not found')
        found += matching
    return found


def match(pattern: str, names: Sequence[str], *, fixed: bool = False) -> list[str]:
    """Return the names that one pattern matches, or itself if it is one of them."""
    matching = [] if fixed else [name for name in names if fnmatchcase(name, pattern)]
    return matching or [name for name in names if name == pattern]


def find_one(pattern: str, names: Sequence[str], what: str, path: str, *, fixed: bool = False) -> str | None:
    """Return the one name that a pattern matches, or None if there is none; parameters as `find`.

    Raises
    ------
    ArgumentError
        If it matches several.
    MissingError
        If it matches none, in strict mode. In moderate mode it is a warning.
    """
    found = find([pattern], names, what, path, fixed=fixed)
    if len(found) > 1:
        raise ArgumentError(f'{path}: more than one {what} is matching the pattern "{pattern}"')
    return found[0] if found else None


def renaming(
    pairs: Mapping[str, str | None], names: Sequence[str], what: str, path: str, *, fixed: bool = False
) -> dict[str, Any]:
    """Return `OLD: NEW` pairs with the name that each pattern matches; those without one are left out.

    Raises
    ------
    ArgumentError, MissingError
        As `find_one`.
    """
    found = ((find_one(old, names, what, path, fixed=fixed), new) for old, new in pairs.items())
    return {old: new for old, new in found if old is not None}
