"""Groups: a variable `x` of the group `g` is `g/x` in a dataset."""

from __future__ import annotations

from collections.abc import Iterable


def split(name: str) -> tuple[str, str]:
    """Return the group of a name (`""` for the root) and the name inside of it."""
    group, _, base = name.rpartition("/")
    return group, base


def lineage(name: str) -> list[str]:
    """Return the groups around a name, outermost first: `g` and `g/h` for `g/h/x`."""
    parts = name.split("/")[:-1]
    return ["/".join(parts[: i + 1]) for i in range(len(parts))]


def groups_of(names: Iterable[str], groups: Iterable[str]) -> list[str]:
    """Return groups, and those around them and around names, each once, outer ones first."""
    paths = (*names, *(f"{group}/" for group in groups))
    return list(dict.fromkeys(group for path in paths for group in lineage(path)))
