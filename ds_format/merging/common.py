"""What the parts of a merged variable must have in common: a type, units, packing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from .. import timeaxis
from ..base.dtypes import TYPE_OF_CODE, TYPES
from ..base.names import unescape
from ..base.wording import on_one_line
from ..errors import UnsupportedError
from ..model.conventions import BOUNDS
from ..model.packing import ATTRIBUTES, OF_PACKED, RECORDS, is_packed, unpack, unpacked_type

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
