"""The metadata of a dataset → what a file needs: groups, datasets with their paths, dimension scales, attributes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ...dtypes import TYPES
from ...errors import UnsupportedError
from ...names import unescape
from ..base import Metadata
from ..settings import setting
from .attributes import Marker
from .names import NON_COORDINATE, is_path, lineage, split, substitute
from .storage import PROPERTY


@dataclass(slots=True)
class VariablePlan:
    """One variable of the metadata."""

    name: str
    type: str | None
    """ds type; None: its values will tell."""
    dims: tuple[str, ...] | None
    """None: it names none."""
    shape: tuple[int, ...] | None
    """None: it has no data."""
    missing: bool | None
    """Whether values may be missing; None: they will tell."""
    is_time: bool
    """Whether its values are Julian dates."""
    attributes: dict[str, Any]
    """By unescaped name."""
    record: dict[str, Any]
    """The property `.hdf5`."""
    path: str = ""
    """Of its dataset."""
    scales: tuple[str, ...] = ()
    """Dimension scales to attach, one per axis; empty: none."""
    is_scale: bool = False
    """Whether it is itself the scale of its dimension."""
    marker: Marker = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The number of values."""
        return math.prod(self.shape) if self.shape is not None else 0


@dataclass(slots=True)
class FilePlan:
    """A whole file."""

    variables: dict[str, VariablePlan]
    """By key."""
    groups: list[str]
    """Without the root; outer ones first."""
    dimensions: dict[str, int]
    """Scales without values, and their sizes."""
    attributes: dict[str, dict[str, Any]]
    """By group, `""` for the root, then by unescaped name."""


def plan_file(meta: Metadata) -> FilePlan:
    """Return what a file needs to hold a dataset.

    Raises
    ------
    UnsupportedError
        If the metadata contradict themselves.
    """
    record = setting(meta.get(".", {}), PROPERTY, dict) or {}
    variables = {key: _plan_variable(unescape(key), properties) for key, properties in meta.items() if key != "."}
    sizes = _dimension_sizes(variables.values())
    recorded = {
        name: size
        for name, size in (setting(record, "dimensions", dict) or {}).items()
        if is_path(name) and isinstance(size, int) and size >= 0 and name not in sizes
    }
    groups = [name for name in setting(record, "groups", list) or [] if isinstance(name, str) and is_path(name)]
    paths = [*(plan.name for plan in variables.values() if is_path(plan.name)), *recorded, *(f"{g}/" for g in groups)]
    groups = list(dict.fromkeys(group for path in paths for group in lineage(path)))
    usable = {name for name in (*sizes, *recorded) if is_path(name) and name not in groups}
    _place(variables, usable, groups)
    attached = {name for plan in variables.values() for name in plan.scales}
    coordinates = {plan.name for plan in variables.values() if plan.is_scale}
    pure = {name: n for name, n in {**sizes, **recorded}.items() if name in usable and name not in coordinates}
    return FilePlan(
        variables=variables,
        groups=groups,
        dimensions={name: n for name, n in pure.items() if name in attached or name in recorded},
        attributes=_group_attributes(meta.get(".", {}), groups),
    )


def _plan_variable(name: str, properties: dict[str, Any]) -> VariablePlan:
    size = properties.get(".size")
    shape = None if size is None else tuple(int(n) for n in size)
    type_name = properties.get(".type")
    if type_name is not None and type_name not in TYPES:
        raise UnsupportedError(f'the type "{type_name}" is not possible in HDF5', variable=name)
    dims = properties.get(".dims")
    if dims is not None and shape is not None and len(dims) != len(shape):
        raise UnsupportedError(f"found {len(dims)} dimensions ({dims}), expected {len(shape)}", variable=name)
    missing = properties.get(".missing")
    return VariablePlan(
        name=name,
        type=type_name,
        dims=None if dims is None else tuple(dims),
        shape=shape,
        missing=None if missing is None else bool(missing),
        is_time=properties.get(".time") is True,
        attributes={unescape(key): value for key, value in properties.items() if not key.startswith(".")},
        record=setting(properties, PROPERTY, dict) or {},
    )


def _dimension_sizes(variables: Iterable[VariablePlan]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    owner: dict[str, str] = {}
    for plan in variables:
        for dim, size in zip(plan.dims or (), plan.shape or (), strict=False):
            if sizes.setdefault(dim, size) != size:
                raise UnsupportedError(
                    f'dimension "{dim}": found the size {size}, expected {sizes[dim]} as in variable "{owner[dim]}"',
                    variable=plan.name,
                )
            owner.setdefault(dim, plan.name)
    return sizes


def _place(variables: dict[str, VariablePlan], usable: set[str], groups: list[str]) -> None:
    """Decide where variables go, and which scales their dimensions have; what no scale tells, the marker does."""
    taken = {*groups, *usable, *(plan.name for plan in variables.values())}
    for plan in variables.values():
        name = plan.name
        plan.is_scale = name in usable and plan.dims == (name,) and plan.shape is not None
        plan.path = name
        if not is_path(name) or name in groups:
            plan.path = substitute(name, taken)
            taken.add(plan.path)
            plan.marker["name"] = name
        elif name in usable and not plan.is_scale:
            group, base = split(name)
            plan.path = f"{group}/{NON_COORDINATE}{base}".removeprefix("/")
    for plan in variables.values():
        if not plan.dims or plan.is_scale:
            continue
        around = {"", split(plan.path)[0], *lineage(plan.path)}
        # netCDF does not look for a dimension elsewhere
        if plan.shape is not None and all(dim in usable and split(dim)[0] in around for dim in plan.dims):
            plan.scales = plan.dims
        else:
            plan.marker["dims"] = list(plan.dims)


def _group_attributes(properties: dict[str, Any], groups: list[str]) -> dict[str, dict[str, Any]]:
    """Return attributes by the innermost group that their names begin with."""
    attributes: dict[str, dict[str, Any]] = {group: {} for group in ("", *groups)}
    for key, value in properties.items():
        if key.startswith("."):
            continue
        name = unescape(key)
        around = [group for group in lineage(name) if group in attributes and len(group) + 1 < len(name)]
        group = around[-1] if around else ""
        attributes[group][name[len(group) + 1 :] if group else name] = value
    return attributes
