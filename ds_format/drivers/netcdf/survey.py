"""A look at all values of a variable, for what must be known before it can be defined in a file.

That is the length of its longest string, its type where the metadata do not say, and a text or number for missing
values that none of the present ones has.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.dtypes import TYPE_OF_CODE, TYPES
from ...errors import UnsupportedError
from .. import strings
from ..library.encoding import encoded
from ..library.missing import candidates, default_fill, sentinels
from ..library.plan import VariablePlan
from ..settings import setting
from . import text
from .kinds import file_dtype, file_kind
from .plan import char_dimension


@dataclass(slots=True)
class Facts:
    """What the values of a variable tell."""

    type: str
    has_missing: bool
    length: int = 0
    """Bytes of the longest string."""
    mark: bytes = b""
    """A text that no present string has."""
    fill: np.generic | None = None
    """A number that no present value has."""


def known_facts(plan: VariablePlan, format: str) -> Facts | None:
    """Return what is to be known of a variable before it can be defined, if the metadata tell it; else None."""
    if plan.shape is None:
        return Facts(plan.type or "int8", has_missing=False)
    if plan.type is None or plan.total == 0:
        return None if plan.total else Facts(plan.type or "float64", has_missing=False)
    if TYPES[plan.type].is_string:
        return _known_strings(plan, plan.type, format) if plan.missing is False else None
    dtype = file_dtype(plan.type)
    if sentinels(plan.attributes, dtype, setting(plan.record, "fill", str) == "default"):
        return Facts(plan.type, has_missing=bool(plan.missing))
    if plan.missing is False:
        return Facts(plan.type, has_missing=False)
    # of the small types any value may well be present
    if plan.missing and dtype.itemsize > 2:
        return Facts(plan.type, has_missing=True, fill=default_fill(dtype))
    return None


def _known_strings(plan: VariablePlan, type_name: str, format: str) -> Facts | None:
    record = setting(plan.record, "char", dict)
    if record is None:
        return Facts(type_name, has_missing=False) if file_kind(type_name, format) == "string" else None
    char = char_dimension(plan)
    if char is not None:
        return Facts(type_name, has_missing=False, length=char[1])
    return Facts(type_name, has_missing=False, length=1) if not record and not plan.shape else None


def survey(blocks: Iterable[Any], type_name: str | None) -> Facts:
    """Go through blocks, and return what they tell.

    Raises
    ------
    UnsupportedError
        If NetCDF has no such type, or there is no number left for missing values.
    """
    facts: Facts | None = None
    mark_lengths: set[int] = set()
    free: NDArray[Any] | None = None
    for block in blocks:
        if facts is None:
            facts = Facts(type_name or type_of_block(block), has_missing=False)
        if TYPES[facts.type].is_string:
            values, mask = strings.as_objects(block)
            raw = encoded(values, mask, b"", text.storable)
            facts.length = max(facts.length, text.max_length(raw))
            mark_lengths |= strings.mark_lengths(raw, mask)
        else:
            mask = np.ma.getmask(block)
            mask = mask if mask is not np.ma.nomask and mask.any() else None
            free = candidates(file_dtype(facts.type)) if free is None else free
            present = np.ma.getdata(block) if mask is None else np.ma.getdata(block)[~mask]
            free = free[~np.isin(free, present)]
        facts.has_missing |= mask is not None
    if facts is None:
        return Facts(type_name or "float64", has_missing=False)
    facts.mark = strings.free_mark(mark_lengths)
    if facts.has_missing and not TYPES[facts.type].is_string:
        if free is None or not len(free):
            raise UnsupportedError("every value of its type is present, so that none is left to mark missing ones")
        facts.fill = free[0]
    if facts.has_missing:
        facts.length = max(facts.length, len(facts.mark))
    return facts


def type_of_block(block: Any) -> str:
    """Return the ds type of values.

    Raises
    ------
    UnsupportedError
        If there is none.
    """
    dtype = np.asarray(np.ma.getdata(block)).dtype
    if dtype.kind in "UT":
        return "unicode"
    if dtype.kind == "S":
        return "str"
    if dtype.kind == "O":
        values, mask = strings.as_objects(block)
        present = values.ravel() if mask is None else values[~mask]
        return "str" if present.size and isinstance(present[0], bytes) else "unicode"
    code = "?" if dtype.kind == "b" else dtype.str[1:]
    if code not in TYPE_OF_CODE:
        raise UnsupportedError(f"values of type {dtype} are not possible in NetCDF")
    return TYPE_OF_CODE[code].name
