"""The metadata of a dataset → what a file needs to hold it, as far as that is the same for all formats.

Groups: a variable `x` of the group `g` is `g/x` in a dataset.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ...base.dtypes import TYPES
from ...base.names import unescape
from ...errors import UnsupportedError
from ..base import Metadata
from ..settings import setting


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


@dataclass(slots=True)
class VariablePlan:
    """One variable of the metadata."""

    name: str
    type: str | None
    """ds type; None: its values will tell."""
    dims: tuple[str, ...]
    """Empty, too, if it names none."""
    shape: tuple[int, ...] | None
    """None: it has no data."""
    missing: bool | None
    """Whether values may be missing; None: they will tell."""
    attributes: dict[str, Any]
    """By unescaped name."""
    record: dict[str, Any]
    """The property of the format, as `.netcdf`."""

    @property
    def total(self) -> int:
        """The number of values."""
        return math.prod(self.shape) if self.shape is not None else 0


Plan = TypeVar("Plan", bound=VariablePlan)


@dataclass(slots=True)
class FilePlan(Generic[Plan]):
    """A whole file."""

    variables: dict[str, Plan]
    """By key."""
    dimensions: dict[str, int]
    """Sizes of those to define."""
    groups: list[str]
    """Without the root; outer ones first."""
    attributes: dict[str, dict[str, Any]]
    """By group, `""` for the root, then by unescaped name."""


def plan_variables(kind: type[Plan], meta: Metadata, format: str, record: str) -> dict[str, Plan]:
    """Return all variables, by key.

    Parameters
    ----------
    kind : type
        Of the plan of a variable.
    meta : Metadata
    format : str
        For messages.
    record : str
        The property of the format.

    Raises
    ------
    UnsupportedError
        If there is no such type, or there are not as many dimensions as sizes.
    """
    variables: dict[str, Plan] = {}
    for key, properties in meta.items():
        if key == ".":
            continue
        name, type_name, dims = unescape(key), properties.get(".type"), properties.get(".dims")
        size, missing = properties.get(".size"), properties.get(".missing")
        if type_name is not None and type_name not in TYPES:
            raise UnsupportedError(f'the type "{type_name}" is not possible in {format}', variable=name)
        if dims is not None and size is not None and len(dims) != len(size):
            raise UnsupportedError(f"found {len(dims)} dimensions ({dims}), expected {len(size)}", variable=name)
        variables[key] = kind(
            name=name,
            type=type_name,
            dims=tuple(dims or ()),
            shape=None if size is None else tuple(int(n) for n in size),
            missing=None if missing is None else bool(missing),
            attributes=attributes_of(properties),
            record=setting(properties, record, dict) or {},
        )
    return variables


def attributes_of(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes among the metadata of a variable or a dataset, by unescaped name."""
    return {unescape(key): value for key, value in properties.items() if not key.startswith(".")}


def dimension_sizes(plans: Iterable[VariablePlan]) -> dict[str, int]:
    """Return the sizes of all dimensions that variables have.

    Raises
    ------
    UnsupportedError
        If one has several.
    """
    sizes: dict[str, int] = {}
    owner: dict[str, str] = {}
    for plan in plans:
        for dim, size in zip(plan.dims, plan.shape or (), strict=False):
            if sizes.setdefault(dim, size) != size:
                raise UnsupportedError(
                    f'dimension "{dim}": found the size {size}, expected {sizes[dim]} as in variable "{owner[dim]}"',
                    variable=plan.name,
                )
            owner.setdefault(dim, plan.name)
    return sizes
