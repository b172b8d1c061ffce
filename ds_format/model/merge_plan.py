"""From the metadata of several datasets: what each variable of the merged one is made of.

Parts of a variable get a common type, common units and common packing. By the plan memory (`merged_arrays`) or a file
is filled.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .. import timeaxis
from ..base import modes
from ..base.dtypes import TYPE_OF_CODE, TYPES
from ..base.text import escape, on_one_line, unescape
from ..dataset import META, dims
from ..errors import UnsupportedError
from .conventions import BOUNDS, PACKING, TIME, parents_bounds, with_parents
from .packing import ATTRIBUTES, OF_PACKED, RECORDS, is_packed, unpack, unpacked_type

Convert = Callable[[Any], Any]
"""Values as they are stored → values as they are merged. It can be pickled."""
Meta = Mapping[str, Any]
DECIDING = (".dims", ".size", ".type", "units", "calendar", *BOUNDS, *ATTRIBUTES, *RECORDS)
"""What of the metadata of a variable decides how its values are merged. The rest, but for `.missing`, is only kept."""


def merged_type(key: str, names: Sequence[str | None]) -> str:
    """Return the ds type that holds the values of all parts, by the promotion rules of NumPy.

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
            f"found values of types {', '.join(kinds)}, which no one type holds", variable=unescape(key)
        )
    dtype = np.result_type(*(np.dtype(ds_type.code) for ds_type in types))
    return TYPE_OF_CODE["?" if dtype.kind == "b" else dtype.str[1:]].name


def reconcile(
    key: str, metas: Sequence[Meta], jd: bool, names: Sequence[str]
) -> tuple[list[Convert | None], dict[str, Any], str | None]:
    """Find out how to bring the parts of a variable to the same units and packing.

    Parameters
    ----------
    key : str
        Of the variable.
    metas : sequence of dict
        Its metadata in each part.
    jd : bool
        Whether times counted differently become Julian dates, instead of being counted as in the first part. They do
        not if all are of the same calendar of models that has dates of its own.
    names : sequence of str
        What each part is called in messages.

    Returns
    -------
    (list, dict, str or None)
        For each part how to convert its values, None if they stay; the metadata that then hold, None for an attribute
        that goes; the ds type of converted values, None if none are converted.

    Raises
    ------
    UnsupportedError
        If times are counted differently, and cannot be converted.
    """
    packed = [is_packed(meta, meta.get(".type")) for meta in metas]
    counted = _common_units(key, metas, jd, names)
    given: dict[str, Any] = dict.fromkeys(ATTRIBUTES + OF_PACKED) if any(packed) else {}
    if counted is not None:
        units, calendar = counted["units"], counted["calendar"]
        counters = [_counter(meta, units, calendar, one) for meta, one in zip(metas, packed, strict=True)]
        return [*counters], {**given, **counted}, "float64"
    if not (any(packed) and _differ(metas, ATTRIBUTES)):
        return [None] * len(metas), {}, None
    converts = [partial(unpack, attrs=meta) if one else None for meta, one in zip(metas, packed, strict=True)]
    types = [unpacked_type(meta) if one else meta.get(".type") for meta, one in zip(metas, packed, strict=True)]
    return [*converts], given, merged_type(key, types)


def _common_units(key: str, metas: Sequence[Meta], jd: bool, names: Sequence[str]) -> dict[str, Any] | None:
    """Return the metadata of times that are counted differently once they are counted alike; None if they need not."""
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
    # dates of these calendars need not exist in the one of Julian dates
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
NETCDF = RECORDS[0]
UNWRITTEN = ("fill", "mark")
"""What of `.netcdf` says that missing values are those that the library left unwritten, and which number they are."""
INTERNAL = frozenset({".size", ".type", ".missing"})
"""Properties of the parts that say nothing of the merged variable."""


class MergeInput(NamedTuple):
    """One dataset, or several in a row that are alike in all that decides how they are merged."""

    meta: Metadata
    """As a Source has it: each variable with `.size`, `.type`, and perhaps `.dims` and `.missing`. Of several: where
    later ones override former ones."""
    repeat: int = 1
    """How many."""
    first: Metadata | None = None
    """Of the first of several; None: the same."""
    name: str = ""
    """Of the file, or of the first of several; empty for datasets in memory."""


class Way(Enum):
    """How a variable is merged."""

    JOIN = "along a dimension that it has"
    STACK = "along a new first dimension"
    FIRST = "not: the first dataset that has it gives it"


class MergePart(NamedTuple):
    """What one input adds to a variable."""

    input: int
    """Its position among the inputs."""
    start: int
    """Where along the axis its values begin."""
    n: int
    """How many positions they take."""
    convert: Convert | None
    """What makes its values those of the merged variable."""


class MergePlan(NamedTuple):
    """One merged variable."""

    key: str
    way: Way
    axis: int
    """Along which the parts lie."""
    shape: tuple[int, ...] | None
    """None: no data."""
    type: str | None
    """Name of the ds type; None only without data."""
    parts: list[MergePart]
    """In the order of the axis. What they leave out is missing."""
    missing: bool
    """Whether values may be missing."""


def converted(plan: MergePlan, part: MergePart, values: Any) -> Any:
    """Return values of a part as those of the merged variable.

    Raises
    ------
    UnsupportedError
        If a value cannot be converted; the message names the variable.
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
    jd: bool = True,
) -> tuple[list[MergePlan], dict[str, dict[str, Any]]]:
    """Plan the merge of datasets.

    Variables along `dim` are joined. If no dataset has this dimension, it is the new one. Along a new dimension
    variables are stacked; those which are not are taken from the first dataset that has them.

    Parameters
    ----------
    inputs : sequence of Input
    dim : str
        Dimension to merge along.
    new : str, optional
        Dimension along which variables without `dim` are stacked, where `dim` exists.
    variables : collection of str, optional
        Names of the variables to be stacked; all by default.
    jd : bool
        Whether times whose units differ become Julian dates.

    Returns
    -------
    (list of MergePlan, dict)
        One plan per variable, in order of appearance; the metadata of the merged dataset. Later datasets override
        attributes of former ones.

    Raises
    ------
    UnsupportedError
        If a variable has not the same dimensions, sizes and kind of values everywhere.
    """
    stored, inputs = inputs, [given._replace(meta=with_parents(given.meta)) for given in inputs]
    keys = dict.fromkeys(key for given in inputs for key in given.meta if key != META)
    sizes = [size_along(given.meta, dim) for given in inputs]
    exists = any(size is not None for size in sizes)
    stacked = new if exists else dim
    chosen = None if variables is None else {escape(name): name for name in variables}
    for key, name in (chosen or {}).items():
        if key not in keys:
            modes.missing(f'variable "{name}" not found', meant=(name, map(unescape, keys)))
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
    """Remove from bounds the inherited attributes that their coordinate has after the merge."""
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
    """Return the size of a dimension of one dataset; None if it has none of that name."""
    for key, entry in meta.items():
        size = entry.get(".size")
        if key != META and size and dim in (names := dims(key, entry, len(size))):
            return int(size[names.index(dim)])
    return None


def _dims(key: str, given: MergeInput) -> list[str]:
    entry = given.meta[key]
    return dims(key, entry, len(entry[".size"]))


def _merged_entry(key: str, inputs: Sequence[MergeInput]) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    previous: Mapping[str, Any] = {}
    for given in inputs:
        found = given.meta.get(key)
        if found is not None and found is not previous:
            entry.update(found)
            previous = found
    return {name: value for name, value in entry.items() if name not in INTERNAL}


def _join(
    key: str,
    inputs: Sequence[MergeInput],
    having: Sequence[int],
    dim: str,
    sizes: Sequence[int | None],
    ends: Sequence[int],
    jd: bool,
    entry: dict[str, Any],
) -> MergePlan:
    names = _dims(key, inputs[having[0]])
    for i in having:
        if _dims(key, inputs[i]) != names:
            raise UnsupportedError(
                f"incompatible dimensions: found {_dims(key, inputs[i])}, expected {names}", variable=unescape(key)
            )
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
    jd: bool,
    entry: dict[str, Any],
) -> MergePlan:
    spans = [(ends[i] - inputs[i].repeat, inputs[i].repeat) for i in having]
    names = _dims(key, inputs[having[0]])
    if any(_dims(key, inputs[i]) != names for i in having):
        raise UnsupportedError("incompatible dimensions", variable=unescape(key))
    entry[".dims"] = [dim, *names]
    return _merge(key, Way.STACK, inputs, having, (0, ends[-1]), spans, jd, entry)


def _merge(
    key: str,
    way: Way,
    inputs: Sequence[MergeInput],
    having: Sequence[int],
    along: tuple[int, int],
    spans: Sequence[tuple[int, int]],
    jd: bool,
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
    """Return a record, whose marks of unwritten values stay only if they hold for all values that may be missing."""
    parts = [meta.get(NETCDF) for meta in metas if meta.get(".missing", True)]
    names = [name for name in UNWRITTEN if record.get(name, "none") not in ("none", "unused")]
    if is_whole and all(isinstance(part, dict) and part.get(name) == record[name] for part in parts for name in names):
        return record
    return {name: value for name, value in record.items() if name not in names}


def _first(key: str, inputs: Sequence[MergeInput], i: int, entry: dict[str, Any]) -> MergePlan:
    given, first = inputs[i].meta[key], (inputs[i].first or inputs[i].meta)[key]
    # What says how to read the values must be of the dataset that the values are of.
    entry.update({name: value for name, value in first.items() if name not in INTERNAL})
    shape = tuple(given[".size"])
    type_name = given.get(".type") or "float64"
    return MergePlan(key, Way.FIRST, 0, shape, type_name, [MergePart(i, 0, 1, None)], bool(given.get(".missing", True)))


def _without(size: Sequence[int], axis: int) -> list[int]:
    return [*size[:axis], *size[axis + 1 :]]
