"""A look at all values of a variable, for what must be known before its dataset can be made.

That is its type where the metadata do not say, whether a string has a NUL, and a number or text for missing values that
none of the present ones has, where there are few to choose from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.dtypes import TYPES
from ...codec.encode import type_of
from .. import strings
from ..library import missing
from ..library.encoding import encoded
from ..library.missing import candidates
from .kinds import Kind
from .plan import DatasetPlan

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


def survey(plan: DatasetPlan, blocks: Iterable[Any]) -> Form:
    """Go through blocks, and return how they will lie in the file.

    Raises
    ------
    UnsupportedError
        If ds has no such type.
    """
    form: Form | None = None
    finding: _Strings | _Numbers | None = None
    for block in blocks:
        if form is None or finding is None:
            form = _form(plan, plan.type or type_of(np.ma.asanyarray(block), plan.type).name)
            finding = _Strings() if form.kind == "string" else _Numbers(form)
        finding.look(block)
    if form is None or finding is None:
        return _form(plan, plan.type or "float64")
    finding.tell(form)
    return form


class _Strings:
    """What strings tell."""

    def __init__(self) -> None:
        self.has_missing = self.has_nul = False
        self.mark_lengths: set[int] = set()

    def look(self, block: Any) -> None:
        values, mask = strings.as_objects(block)
        raw = encoded(values, mask, b"")
        self.has_nul |= any(b"\0" in item for item in raw.reshape(-1).tolist())
        self.has_missing |= mask is not None
        self.mark_lengths |= strings.mark_lengths(raw, mask)

    def tell(self, form: Form) -> None:
        form.kind = "octets" if self.has_nul else "string"
        form.mark = strings.free_mark(self.mark_lengths) if self.has_missing else None


class _Numbers:
    """What numbers of a small type, or booleans, tell; those of a large one have nothing to tell beforehand."""

    def __init__(self, form: Form):
        self.has_missing = False
        self.dtype = np.dtype(TYPES[form.type].code)
        self.is_small = self.dtype.itemsize <= SMALL
        self.used: NDArray[Any] = np.zeros(0, self.dtype)

    def look(self, block: Any) -> None:
        mask = np.ma.getmask(block)
        self.has_missing |= bool(np.any(mask))
        if self.is_small and self.dtype.kind != "b":
            present = np.asarray(np.ma.getdata(block) if mask is np.ma.nomask else np.ma.compressed(block))
            self.used = np.union1d(self.used, present.reshape(-1))

    def tell(self, form: Form) -> None:
        if not self.has_missing or not self.is_small:
            return
        left = form.free[~np.isin(form.free, self.used)]
        if not left.size:
            form.stored, form.kind = WIDER[form.type], "number"
            left = candidates(np.dtype(TYPES[form.stored].code))
        form.free = left[:1]
