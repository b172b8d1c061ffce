"""Names of variables ↔ places in documents: groups are objects in one another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ....zds.format import ID

SEPARATOR = "/"
"""Between the names of groups and of what is in them."""
MAX_DEPTH = 64
"""Names of more groups are not taken apart."""
Path = tuple[str, ...]


def paths_of(names: Iterable[str]) -> dict[str, Path]:
    """Return where in a document the values of variables stand.

    Parameters
    ----------
    names : iterable of str
        Of variables, unescaped.

    Returns
    -------
    dict
        Name → keys of objects in one another. Where these would be ambiguous each name is a key itself.
    """
    whole: dict[str, Path] = {name: (name,) for name in names}
    nested = {name: tuple(name.split(SEPARATOR)) for name in whole}
    leaves = {*nested.values()}
    for path in leaves:
        if "" in path or len(path) > MAX_DEPTH or any(path[:i] in leaves for i in range(1, len(path))):
            return whole
    if any(path[0] == ID and len(path) > 1 for path in leaves):
        return whole
    return nested


def put(document: dict[str, Any], path: Path, value: Any) -> None:
    """Put a value into a document."""
    for key in path[:-1]:
        document = document.setdefault(key, {})
    document[path[-1]] = value


def find(document: Any, path: Path) -> Any:
    """Return what a document has at a path, None if it has nothing there."""
    for key in path:
        document = document.get(key) if type(document) is dict else None
    return document


def leaves_of(document: dict[str, Any], start: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield all that is in a document but objects with members: paths and values."""
    for key, value in document.items():
        path = (*start, key)
        if type(value) is dict and value and len(path) < MAX_DEPTH:
            yield from leaves_of(value, path)
        else:
            yield path, value
