"""Which files are samples: patterns of paths, and lists of files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from ..errors import FormatError

LABEL = "{LABEL}"
"""The component of a pattern that stands for the label."""


def as_list(patterns: Any) -> list[str]:
    """Return one pattern or several as a list."""
    return [os.fspath(pattern) for pattern in ([patterns] if isinstance(patterns, str | os.PathLike) else patterns)]


def find_files(
    patterns: Sequence[str],
    match: Callable[[str], Iterable[str]],
    *,
    prefix: str = "",
    slash: str = "/",
    separator: str = "\t",
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> Iterator[dict[str, Any]]:
    r"""Iterate over the entries key, label, path and _additional_info of each file.

    Parameters
    ----------
    patterns : sequence of str
        Patterns, in which one component may be `{LABEL}`; or names of lists: files in UTF-8 that have a path, a label
        and any more columns in each line.
    match : callable
        Iterates over the files that match a pattern, which has `*` for the label.
    prefix : str
        What is cut off from the front of a path to get its key. If empty: what a pattern has in front of the label.
    slash : str
        Between the components of a path.
    separator : str
        Between the columns of a list.
    include, exclude : sequence of str
        Only files that match one of the first, if there are any, and none of the second.

    Raises
    ------
    ValueError
        If `{LABEL}` is only a part of a component.
    """
    for pattern in patterns:
        for path, label, more, front in _named(pattern, match, slash, separator):
            if (not include or _matches(path, include)) and not _matches(path, exclude):
                yield {
                    "key": path.removeprefix(prefix or front),
                    "label": label,
                    "path": path,
                    "_additional_info": more,
                }


def _named(
    pattern: str, match: Callable[[str], Iterable[str]], slash: str, separator: str
) -> Iterator[tuple[str, str | None, list[str], str]]:
    """Iterate over path, label, additional columns of each file, and what stands in front of the label."""
    if os.path.isfile(pattern):
        for line in read_lines(pattern):
            path, *columns = line.split(separator)
            if path:
                yield path, columns[0] if columns else None, columns[1:], ""
        return
    front, found, _ = pattern.partition(LABEL)
    parts = pattern.split(slash)
    if found and LABEL not in parts:
        raise ValueError(f"pattern {pattern!r}: {LABEL} must stand alone between two {slash!r}")
    for path in match(pattern.replace(LABEL, "*", 1)):
        yield path, path.split(slash)[parts.index(LABEL)] if found else None, [], front


def _matches(path: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def read_lines(path: Any) -> Iterator[str]:
    """Iterate over the lines of a text file.

    Raises
    ------
    FormatError
        If it is not in UTF-8.
    """
    with open(path, encoding="utf-8") as file:
        try:
            for line in file:
                yield line.rstrip("\n")
        except UnicodeDecodeError as error:
            raise FormatError(f"text that is not UTF-8: {error.reason}", path=os.fspath(path)) from None
