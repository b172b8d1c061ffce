"""Patterns of names: which names a command line means."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from .. import mode


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
        matching = [] if fixed else [name for name in names if fnmatchcase(name, pattern)]
        if matching or pattern in names:
            found += matching or [pattern]
        else:
            mode.missing(f'{path}: {what} "{pattern}" not found')
    return found
