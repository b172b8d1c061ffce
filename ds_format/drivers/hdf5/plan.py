"""The metadata of a dataset → what a file needs: groups, datasets with their paths, dimension scales, attributes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..base import Metadata
from ..library.groups import groups_of, lineage, split
from ..library.plan import FilePlan, VariablePlan, attributes_of, dimension_sizes, plan_variables
from ..settings import setting
from .attributes import Marker
from .names import NON_COORDINATE, is_path, substitute
from .storage import PROPERTY


@dataclass(slots=True)
class DatasetPlan(VariablePlan):
    """One variable of the metadata."""

    path: str = ""
    """Of its dataset."""
    scales: tuple[str, ...] = ()
    """Dimension scales to attach, one per axis; empty: none."""
    is_scale: bool = False
    """Whether it is itself the scale of its dimension."""
    marker: Marker = field(default_factory=dict)


def plan_file(meta: Metadata) -> FilePlan[DatasetPlan]:
    """Return what a file needs to hold a dataset.

    Raises
    ------
    UnsupportedError
        If the metadata contradict themselves.
    """
    record = setting(meta.get(".", {}), PROPERTY, dict) or {}
    variables = plan_variables(DatasetPlan, meta, "HDF5", PROPERTY)
    sizes = dimension_sizes(variables.values())
    recorded = {
        name: size
        for name, size in (setting(record, "dimensions", dict) or {}).items()
        if is_path(name) and isinstance(size, int) and size >= 0 and name not in sizes
    }
    groups = [name for name in setting(record, "groups", list) or [] if isinstance(name, str) and is_path(name)]
    groups = groups_of((*(plan.name for plan in variables.values() if is_path(plan.name)), *recorded), groups)
    usable = {name for name in (*sizes, *recorded) if is_path(name) and name not in groups}
    _place(variables, usable, groups)
    for key, plan in variables.items():
        if meta[key].get(".time") is True:
            plan.marker["time"] = True
    attached = {name for plan in variables.values() for name in plan.scales}
    coordinates = {plan.name for plan in variables.values() if plan.is_scale}
    pure = {name: n for name, n in {**sizes, **recorded}.items() if name in usable and name not in coordinates}
    return FilePlan(
        variables=variables,
        groups=groups,
        dimensions={name: n for name, n in pure.items() if name in attached or name in recorded},
        attributes=_group_attributes(meta.get(".", {}), groups),
    )


def _place(variables: dict[str, DatasetPlan], usable: set[str], groups: list[str]) -> None:
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
    for name, value in attributes_of(properties).items():
        around = [group for group in lineage(name) if group in attributes and len(group) + 1 < len(name)]
        group = around[-1] if around else ""
        attributes[group][name[len(group) + 1 :] if group else name] = value
    return attributes
