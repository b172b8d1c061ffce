"""Metadata of several datasets → a plan for each merged variable: its shape, its parts, and their conversions.

Parts of a variable are converted to a common type, common units and common packing. The plan is followed to fill memory
(`merged_arrays`) or a file (`many/merging.py`).
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .. import timeaxis
from ..base import modes
from ..base.dtypes import NETCDF, RECORDS, TYPES
from ..base.text import escape, on_one_line, unescape
from ..datasets import META, dims
from ..errors import UnsupportedError
from .conventions import BOUNDS, PACKING, TIME, parents_bounds, with_parents
from .packing import ATTRIBUTES, OF_PACKED, is_packed, unpack, unpacked_type

Convert = Callable[[Any], Any]
"""Stored values → merged values. It is picklable."""
Meta = Mapping[str, Any]
DECIDING = (".dims", ".size", ".type", "units", "calendar", *BOUNDS, *ATTRIBUTES, *RECORDS)
"""Metadata of a variable, besides `.missing`, that affect how its values are merged. Others are only copied."""


def merged_type(key: str, names: Sequence[str | None]) -> str:
    """Return the common ds type of all parts, by the promotion rules of NumPy.

    Raises
    ------
    UnsupportedError
        If text, byte strings and numbers are mixed.
    """
    kinds = dict.fromkeys("float64" if name is None else name for name in names)
    if len(kinds) == 1:
        return next(iter(kinds))
    types = [TYPES[name] for name in kinds]
    if any(ds_type.is_string for ds_type in types):
        raise UnsupportedError(
            f"found values of types {', '.join(kinds)}, which have no common type", variable=unescape(key)
        )
    return str(np.result_type(*(np.dtype(ds_type.code) for ds_type in types)).name)


def reconcile(
    key: str, metas: Sequence[Meta], jd: bool | None, names: Sequence[str]
) -> tuple[list[Convert | None], dict[str, Any], str | None]:
    """Return the conversions of the parts of a variable to common units and packing.

    Parameters
    ----------
    key : str
        Key of the variable.
    metas : sequence of dict
        Its metadata in each part.
    jd : bool or None
        Whether times become Julian dates if their units or calendars differ; None: only if their calendars differ.
        Otherwise they get the units of the first part. This is also the case if all have the same model calendar whose
        dates other calendars do not have.
    names : sequence of str
        Name of each part in messages.

    Returns
    -------
    converts : list
        The conversion of each part; None if its values are not changed.
    changed : dict
        Metadata that change: name → value, or None if the attribute is removed.
    type : str or None
        The ds type of converted values; None if no values are converted.

    Raises
    ------
    UnsupportedError
        If times with different units cannot be converted.
    """
    packed = [is_packed(meta, meta.get(".type")) for meta in metas]
    counted = _common_units(key, metas, jd, names)
    given: dict[str, Any] = dict.fromkeys(ATTRIBUTES + OF_PACKED) if any(packed) else {}
    if counted is not None:
        units, calendar = counted["units"], counted["calendar"]
        counters = [_counter(meta, units, calendar, one) for meta, one in zip(metas, packed, strict=True)]
        return [*counters], {**given, **counted}, "float64"
    if not any(packed) or (all(packed) and not _differ(metas, ATTRIBUTES)):
        return [None] * len(metas), {}, None
    converts = [partial(unpack, attrs=meta) if one else None for meta, one in zip(metas, packed, strict=True)]
    types = [unpacked_type(meta) if one else meta.get(".type") for meta, one in zip(metas, packed, strict=True)]
    return [*converts], given, merged_type(key, types)


def _common_units(key: str, metas: Sequence[Meta], jd: bool | None, names: Sequence[str]) -> dict[str, Any] | None:
    """Return the common units and calendar of times whose units or calendars differ; None if nothing is converted."""
    if not _differ(metas, ("units", "calendar")):
        return None
    if not all(map(timeaxis.is_time, metas)):
        if _differ(metas, ("units",)):
            units: dict[Any, str] = {}
            for meta, name in zip(metas, names, strict=True):
                one = meta.get("units")
                units.setdefault(one if one is None else str(one), f"none in {name}" if one is None else repr(str(one)))
            found = ", ".join([*units.values()][:3])
            message = f'variable "{unescape(key)}": merged although units differ: {found}'
            warnings.warn(on_one_line(message), stacklevel=2)
        return None
    if jd is None:
        jd = len(set(map(timeaxis.calendar_of, metas))) > 1
    # some dates of these calendars do not exist in the calendar of Julian dates
    calendars = {timeaxis.calendar_of_its_own(meta) for meta in metas}
    if jd and (len(calendars) > 1 or None in calendars):
        return {"units": timeaxis.JD_UNITS, "calendar": timeaxis.JD_CALENDAR, ".time": True}
    return {"units": metas[0]["units"], "calendar": metas[0].get("calendar")}


def _differ(metas: Sequence[Meta], names: Sequence[str]) -> bool:
    first = [metas[0].get(name) for name in names]
    return any(
        not _equal(meta.get(name), value) for meta in metas[1:] for name, value in zip(names, first, strict=True)
    )


def _equal(left: Any, right: Any) -> bool:
    if left is right or (type(left) is str and type(right) is str):
        return bool(left == right)
    return bool(np.array_equal(left, right))


def _counter(meta: Meta, units: str, calendar: str | None, packed: bool) -> Convert:
    return partial(_count, meta=meta, units=units, calendar=calendar, packed=packed)


def _count(values: Any, meta: Meta, units: str, calendar: str | None, packed: bool) -> Any:
    plain = unpack(values, meta) if packed else values
    return timeaxis.convert(plain, meta["units"], meta.get("calendar"), units, calendar)


Metadata = Mapping[str, Mapping[str, Any]]
UNWRITTEN = ("fill", "mark")
"""Settings of `.netcdf` for values that were never written: that they are missing, and their number in the file."""
INTERNAL = frozenset({".size", ".type", ".missing"})
"""Properties of the parts that do not apply to the merged variable."""


class MergeInput(NamedTuple):
    """One dataset, or several successive ones that are merged in the same way."""

    meta: Metadata
    """Metadata of a Source: each variable has `.size`, `.type`, and maybe `.dims` and `.missing`. For several datasets,
    attributes of later ones override those of former ones."""
    repeat: int = 1
    """Number of datasets."""
    first: Metadata | None = None
    """Metadata of the first of several datasets; None: the same as `meta`."""
    name: str = ""
    """Name of the file, or of the first of several; empty for datasets in memory."""
    names: Sequence[str | os.PathLike[str]] = ()
    """Names of all files."""
    unlike: Mapping[str, tuple[str | os.PathLike[str], Any]] = {}
    """For several datasets, variables of which only the first value is read, although a later one differs: key → name
    and (1, *shape) value of the first such dataset."""


class Way(Enum):
    """The way in which a variable is merged."""

    JOIN = "along a dimension that it has"
    STACK = "along a new first dimension"
    REPEAT = "along a dimension that it does not have: the values of each dataset are repeated"
    FIRST = "not merged: it is taken from the first dataset that has it"


class MergePart(NamedTuple):
    """The contribution of one input to a variable."""

    input: int
    """Position of the input among all inputs."""
    start: int
    """Position of its first value along the axis."""
    n: int
    """Number of its positions along the axis."""
    convert: Convert | None
    """The conversion of its values; None if they are not changed."""


class MergePlan(NamedTuple):
    """The plan for one merged variable."""

    key: str
    way: Way
    axis: int
    """The axis along which the parts are joined, stacked or repeated."""
    shape: tuple[int, ...] | None
    """None: no data."""
    type: str | None
    """Name of the ds type; None only if the variable does not have data."""
    parts: list[MergePart]
    """In the order of the axis. Values that no part has are missing."""
    missing: bool
    """Whether values may be missing."""


def converted(plan: MergePlan, part: MergePart, values: Any) -> Any:
    """Return the values of a part, converted for the merged variable.

    Raises
    ------
    UnsupportedError
        If a value cannot be converted. The message names the variable.
    """
    if part.convert is None:
        return values
    try:
        return part.convert(values)
    except UnsupportedError as error:
        raise error.at(variable=unescape(plan.key))


def plan_merge(
    inputs: Sequence[MergeInput],
    dim: str,
    new: str | None = None,
    variables: Collection[str] | None = None,
    jd: bool | None = True,
    stack: Collection[str] = (),
) -> tuple[list[MergePlan], dict[str, dict[str, Any]]]:
    """Plan the merge of datasets.

    Variables that have `dim` are joined along it. If no dataset has this dimension, it is a new one. Variables are
    stacked along a new dimension. All other variables are taken from the first dataset that has them.

    Parameters
    ----------
    inputs : sequence of MergeInput
    dim : str
        Dimension to merge along.
    new : str, optional
        Dimension along which variables without `dim` are stacked, if `dim` exists.
    variables : collection of str, optional
        Names of the variables to stack. Default: all.
    jd : bool or None
        Whether times whose units differ become Julian dates; see `reconcile`. None: only if their calendars differ.
    stack : collection of str
        Names of variables that get `dim`. If no dataset has this dimension, it is a new one for these and `variables`
        only. Otherwise the values of each dataset are repeated along it.

    Returns
    -------
    plans : list of MergePlan
        One per variable, in order of appearance.
    meta : dict
        The metadata of the merged dataset. Attributes of later datasets override those of former ones.

    Raises
    ------
    UnsupportedError
        If dimensions, sizes or kinds of values of a variable differ between datasets.
    """
    stored, inputs = inputs, [given._replace(meta=with_parents(given.meta)) for given in inputs]
    keys = dict.fromkeys(key for given in inputs for key in given.meta if key != META)
    sizes = [size_along(given.meta, dim) for given in inputs]
    exists = any(size is not None for size in sizes)
    stacked = new if exists else dim
    repeated = {escape(name): name for name in stack}
    chosen = None if variables is None else {escape(name): name for name in variables}
    for key, name in {**(chosen or {}), **repeated}.items():
        if key not in keys:
            modes.missing(f'variable "{name}" not found', meant=(name, map(unescape, keys)))
    if repeated and not exists:
        chosen = {**(chosen or {}), **repeated}
    joined_ends = list(itertools.accumulate((s or 0) * i.repeat for s, i in zip(sizes, inputs, strict=True)))
    stacked_ends = list(itertools.accumulate(given.repeat for given in inputs))
    plans = []
    meta: dict[str, dict[str, Any]] = {}
    for key in keys:
        having = [i for i, given in enumerate(inputs) if given.meta.get(key, {}).get(".size") is not None]
        entry = _merged_entry(key, inputs)
        if not having:
            plan = MergePlan(key, Way.FIRST, 0, None, entry.get(".type"), [], False)
        elif exists and any(dim in _dims(key, inputs[i]) for i in having):
            plan = _join(key, inputs, having, dim, sizes, joined_ends, jd, entry)
        elif exists and key in repeated:
            plan = _repeat(key, inputs, having, dim, sizes, joined_ends, jd, entry)
        elif stacked is not None and (chosen is None or key in chosen):
            plan = _stack(key, inputs, having, stacked, stacked_ends, jd, entry)
        else:
            plan = _first(key, inputs, having[0], entry)
        plans.append(plan)
        size = None if plan.shape is None else list(plan.shape)
        meta[key] = {**entry, ".size": size, ".type": plan.type, ".missing": plan.missing}
    _leave_to_parents(meta, stored)
    meta[META] = {name: value for given in inputs for name, value in given.meta.get(META, {}).items()}
    return plans, meta


def _leave_to_parents(meta: Mapping[str, dict[str, Any]], stored: Sequence[MergeInput]) -> None:
    """Remove attributes from bounds that they inherited, and that their coordinate still has after the merge."""
    for parent in meta.values():
        for key in parents_bounds(parent):
            entry = meta.get(key)
            if entry is None or entry is parent:
                continue
            own = {name for given in stored for name in given.meta.get(key, ())}
            for names in ((*TIME, ".time"), PACKING):
                if all(name in own or entry.get(name) == parent.get(name) for name in names):
                    for name in set(names) - own:
                        entry.pop(name, None)


def size_along(meta: Metadata, dim: str) -> int | None:
    """Return the size of a dimension of one dataset, or None if the dataset does not have this dimension."""
    for key, entry in meta.items():
        size = entry.get(".size")
        if key != META and size and dim in (names := dims(key, entry, len(size))):
            return int(size[names.index(dim)])
    return None


def lengths_along(inputs: Sequence[MergeInput], dim: str) -> list[int]:
    """Return the number of positions of each dataset along the merged dimension; 1 if the dimension is new."""
    sizes = [size_along(given.meta, dim) for given in inputs]
    one = 1 if all(size is None for size in sizes) else 0
    return [
        one if size is None else size for given, size in zip(inputs, sizes, strict=True) for _ in range(given.repeat)
    ]


def _dims(key: str, given: MergeInput) -> list[str]:
    entry = given.meta[key]
    return dims(key, entry, len(entry[".size"]))


def _merged_entry(key: str, inputs: Sequence[MergeInput]) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    previous: Mapping[str, Any] = {}
    for given in inputs:
        one = given.meta.get(key)
        if one is not None and one is not previous:
            entry.update(one)
            previous = one
    return {name: value for name, value in entry.items() if name not in INTERNAL}


def _common_dims(key: str, inputs: Sequence[MergeInput], having: Sequence[int]) -> list[str]:
    """Return the dimensions of a variable, which must be the same in all datasets that have it."""
    names = _dims(key, inputs[having[0]])
    for i in having:
        if _dims(key, inputs[i]) != names:
            raise UnsupportedError(
                f"incompatible dimensions: found {_dims(key, inputs[i])}, expected {names}", variable=unescape(key)
            )
    return names


def _join(
    key: str,
    inputs: Sequence[MergeInput],
    having: Sequence[int],
    dim: str,
    sizes: Sequence[int | None],
    ends: Sequence[int],
    jd: bool | None,
    entry: dict[str, Any],
) -> MergePlan:
    names = _common_dims(key, inputs, having)
    axis = names.index(dim)
    lengths = [inputs[i].meta[key][".size"][axis] for i in having]
    if any(length != sizes[i] for i, length in zip(having, lengths, strict=True)):
        raise UnsupportedError(f'incompatible size of dimension "{dim}" within one dataset', variable=unescape(key))
    spans = [(ends[i] - n * inputs[i].repeat, n * inputs[i].repeat) for i, n in zip(having, lengths, strict=True)]
    entry[".dims"] = names
    return _merge(key, Way.JOIN, inputs, having, (axis, ends[-1]), spans, jd, entry)


def _stack(
    key: str,
    inputs: Sequence[MergeInput],
    having: Sequence[int],
    dim: str,
    ends: Sequence[int],
    jd: bool | None,
    entry: dict[str, Any],
) -> MergePlan:
    spans = [(ends[i] - inputs[i].repeat, inputs[i].repeat) for i in having]
    names = _common_dims(key, inputs, having)
    entry[".dims"] = [dim, *names]
    return _merge(key, Way.STACK, inputs, having, (0, ends[-1]), spans, jd, entry)


def _repeat(
    key: str,
    inputs: Sequence[MergeInput],
    having: Sequence[int],
    dim: str,
    sizes: Sequence[int | None],
    ends: Sequence[int],
    jd: bool | None,
    entry: dict[str, Any],
) -> MergePlan:
    names = _common_dims(key, inputs, having)
    lengths = [(sizes[i] or 0) * inputs[i].repeat for i in having]
    entry[".dims"] = [dim, *names]
    spans = [(ends[i] - n, n) for i, n in zip(having, lengths, strict=True)]
    return _merge(key, Way.REPEAT, inputs, having, (0, ends[-1]), spans, jd, entry)


def _merge(
    key: str,
    way: Way,
    inputs: Sequence[MergeInput],
    having: Sequence[int],
    along: tuple[int, int],
    spans: Sequence[tuple[int, int]],
    jd: bool | None,
    entry: dict[str, Any],
) -> MergePlan:
    axis, total = along
    metas = [inputs[i].meta[key] for i in having]
    shapes = {tuple(_without(meta[".size"], axis) if way is Way.JOIN else meta[".size"]) for meta in metas}
    if len(shapes) > 1:
        found = " and ".join(str(list(shape)) for shape in sorted(shapes)[:2])
        raise UnsupportedError(f"incompatible sizes: found {found}", variable=unescape(key))
    shape = [*next(iter(shapes))]
    shape.insert(axis, total)
    converts, changed, converted_type = reconcile(
        key, metas, jd, [inputs[i].name or f"dataset {i + 1}" for i in having]
    )
    for name, value in changed.items():
        entry[name] = value
        if value is None:
            del entry[name]
    parts = [MergePart(i, *span, convert) for i, span, convert in zip(having, spans, converts, strict=True)]
    type_name = converted_type or merged_type(key, [meta.get(".type") for meta in metas])
    covered = sum(part.n for part in parts)
    missing = covered < total or any(meta.get(".missing", True) for meta in metas)
    if isinstance(entry.get(NETCDF), dict):
        entry[NETCDF] = _merged_record(entry[NETCDF], metas, is_whole=covered == total)
        if not entry[NETCDF]:
            del entry[NETCDF]
    return MergePlan(key, way, axis, tuple(shape), type_name, parts, missing)


def _merged_record(
    record: Mapping[str, Any], metas: Sequence[Mapping[str, Any]], *, is_whole: bool
) -> Mapping[str, Any]:
    """Return a record, which keeps `UNWRITTEN` settings only if they apply to all values that may be missing."""
    parts = [part if isinstance(part := meta.get(NETCDF), dict) else {} for meta in metas if meta.get(".missing", True)]
    fills = [part.get("fill") for part in parts]
    merged = {name: value for name, value in record.items() if name not in UNWRITTEN}
    if "default" not in (*fills, record.get("fill")):
        merged |= {"fill": record["fill"]} if "fill" in record else {}
    elif is_whole and all(fill in ("default", "unused") for fill in fills):
        merged["fill"] = "default"
    else:
        return merged
    if "mark" in record and is_whole and all(part.get("mark") == record["mark"] for part in parts):
        merged["mark"] = record["mark"]
    return merged


def _first(key: str, inputs: Sequence[MergeInput], i: int, entry: dict[str, Any]) -> MergePlan:
    given, first = inputs[i].meta[key], (inputs[i].first or inputs[i].meta)[key]
    # attributes that define how values are read must come from the same dataset as the values
    entry.update({name: value for name, value in first.items() if name not in INTERNAL})
    shape = tuple(given[".size"])
    type_name = given.get(".type") or "float64"
    return MergePlan(key, Way.FIRST, 0, shape, type_name, [MergePart(i, 0, 1, None)], bool(given.get(".missing", True)))


def _without(size: Sequence[int], axis: int) -> list[int]:
    return [*size[:axis], *size[axis + 1 :]]
