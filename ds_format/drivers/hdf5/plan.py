"""The metadata of a dataset → what an HDF5 file needs: groups, datasets and their paths, dimension scales, attributes.

Where the metadata do not tell enough to make a dataset, all of its values are searched first: for the type, NULs in
strings, and a number or text for missing values that no present one has, where there are few to choose from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.dtypes import TYPES
from ..base import Metadata
from ..library import missing
from ..library.catalog import groups_of, lineage, split
from ..library.missing import candidates
from ..library.plan import FilePlan, VariablePlan, attributes_of, dimension_sizes, plan_variables, survey
from ..settings import setting
from .attributes import Marker
from .format import NON_COORDINATE, PROPERTY, Kind, is_path, substitute


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


WIDER = {"bool": "int8", "int8": "int16", "uint8": "int16", "int16": "int32", "uint16": "int32"}
"""What holds all values of a type and one more."""

SMALL = 2
"""Bytes of numbers all of whose values may well occur."""


@dataclass(slots=True)
class Form:
    """How the values of a variable lie in the file."""

    type: str
    """ds type."""
    stored: str
    """ds type of the file; wider than `type` if no number of that one is left to mark missing values."""
    kind: Kind
    free: NDArray[Any] = field(default_factory=lambda: np.zeros(0))
    """Numbers that may stand for missing ones, the best first."""
    mark: bytes | None = None
    """What stands for a missing string."""


def known_form(plan: DatasetPlan) -> Form | None:
    """Return how values will lie in the file, if the metadata tell it; else None."""
    type_name = plan.type or ("int8" if plan.shape is None else None)
    if type_name is None:
        return None if plan.total else Form("float64", "float64", "number")
    form = _form(plan, type_name)
    if plan.total == 0:
        return form
    if form.kind == "string":
        return None
    is_small = TYPES[type_name].size <= SMALL
    return form if plan.missing is False or not is_small else None


def _form(plan: DatasetPlan, type_name: str) -> Form:
    if TYPES[type_name].is_string:
        return Form(type_name, type_name, "string")
    if type_name == "bool":
        return Form(type_name, type_name, "bool")
    dtype = np.dtype(TYPES[type_name].code)
    own = missing.sentinels(plan.attributes, dtype, False)[:1]
    free = np.concatenate([np.array(own, dtype), candidates(dtype)])
    return Form(type_name, type_name, "number", free)


def survey_form(plan: DatasetPlan, blocks: Iterable[Any]) -> Form:
    """Go through blocks, and return how they will lie in the file; see `survey`."""

    def numbers(type_name: str) -> NDArray[Any] | None:
        # of a large type, one for missing values is chosen while blocks are written
        return _form(plan, type_name).free if TYPES[type_name].size <= SMALL else None

    facts = survey(blocks, plan.type, numbers)
    form = _form(plan, facts.type)
    if form.kind == "string":
        form.kind = "octets" if facts.has_nul else "string"
        form.mark = facts.mark if facts.has_missing else None
    elif facts.has_missing and facts.free is not None:
        form.free = facts.free
        if not form.free.size:
            form.stored, form.kind = WIDER[form.type], "number"
            form.free = candidates(np.dtype(TYPES[form.stored].code))
        form.free = form.free[:1]
    return form
