"""Groups: a variable `x` of the group `g` is `g/x` in a dataset, and so are its dimensions and attributes."""

from __future__ import annotations

from collections.abc import Iterator

from .calls import Group, Variable


def walk(group: Group, prefix: str = "") -> Iterator[tuple[str, Group]]:
    """Yield all groups with the prefix of their names (`""`, `"g/"`, `"g/h/"`, ...), outer ones first."""
    yield prefix, group
    for name, child in group.groups.items():
        yield from walk(child, f"{prefix}{name}/")


def dimension_names(variable: Variable) -> list[str]:
    """Return the names of a variable's dimensions, each with the group that defines it."""
    names = []
    for dimension in variable.get_dims():
        path = dimension.group().path.strip("/")
        names.append(f"{path}/{dimension.name}" if path else dimension.name)
    return names


def find_type(group: Group, name: str, kind: str) -> str:
    """Return the name of a user-defined type with the group that defines it: this one, or one around it."""
    while group.parent is not None and name not in getattr(group, kind):
        group = group.parent
    path = group.path.strip("/")
    return f"{path}/{name}" if path else name
