"""The metadata of a dataset → a plan of a file, as far as it is the same for all formats.

If the metadata are not enough to define a variable, all of its values are searched first: for the type, the longest
string, NULs, and a string or number that no present value has, to mark missing ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...base.dtypes import TYPES
from ...base.text import escape, unescape
from ...codec.encode import type_of
from ...errors import UnsupportedError
from ...model.settings import setting
from .. import strings
from ..base import Metadata
from ..strings import as_bytes
from .catalog import lineage


@dataclass(slots=True)
class VariablePlan:
    """One variable of the metadata."""

    name: str
    type: str | None
    """ds type; None: to be inferred from its values."""
    dims: tuple[str, ...]
    """Empty, too, if it names none."""
    shape: tuple[int, ...] | None
    """None: it has no data."""
    missing: bool | None
    """Whether values may be missing; None: unknown until they are scanned."""
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
        Class of the plan of a variable.
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
            raise UnsupportedError(f'the type "{type_name}" is not supported by {format}', variable=name)
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


def by_group(entry: dict[str, Any], groups: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the metadata of the dataset by the innermost group that names of attributes begin with, without it.

    Properties, and names that begin with no group, are those of the root, `""`.
    """
    found: dict[str, dict[str, Any]] = {group: {} for group in ("", *groups)}
    for key, value in entry.items():
        name = unescape(key)
        around = [] if key.startswith(".") else [group for group in lineage(name) if group and group in found]
        group = next((group for group in reversed(around) if len(group) + 1 < len(name)), "")
        found[group][escape(name[len(group) + 1 :]) if group else key] = value
    return found


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


SMALL = 2
"""Bytes of numbers all of whose values may well occur."""


@dataclass(slots=True)
class Facts:
    """Facts about the values of a variable."""

    type: str
    """ds type."""
    has_missing: bool = False
    length: int = 0
    """Bytes of the longest string, the mark of missing ones included."""
    has_nul: bool = False
    """Whether a string has a NUL."""
    is_utf8: bool = True
    """Whether all byte strings are UTF-8."""
    mark: bytes = b""
    """A text that no present string has."""
    free: NDArray[Any] | None = None
    """Numbers that no present value has, the best first; None: they were not searched for."""


def survey(
    blocks: Iterable[Any],
    type_name: str | None,
    numbers: Callable[[str], NDArray[Any] | None],
    convert: Callable[[Any], bytes] = as_bytes,
) -> Facts:
    """Scan all values of a variable, and return facts about them.

    Parameters
    ----------
    blocks : iterable
    type_name : str, optional
        ds type; by default that of the first block.
    numbers : callable
        ds type of numbers or booleans → those that may mark missing ones, the best first.
    convert : callable
        Makes bytes of a string, or raises an UnsupportedError.

    Raises
    ------
    UnsupportedError
        If ds has no such type.
    """
    facts: Facts | None = None
    mark_lengths: set[int] = set()
    for block in blocks:
        if facts is None:
            facts = Facts(type_name or _type_of_block(block))
            facts.free = None if TYPES[facts.type].is_string else numbers(facts.type)
        if TYPES[facts.type].is_string:
            values, mask = strings.as_objects(block)
            raw = strings.encoded(values, mask, b"", convert)
            facts.length = max(facts.length, strings.max_length(raw))
            facts.has_nul = facts.has_nul or any(b"\0" in item for item in raw.ravel().tolist())
            facts.is_utf8 = facts.is_utf8 and (facts.type != "str" or strings.is_utf8(raw))
            mark_lengths |= strings.mark_lengths(raw, mask)
        else:
            mask = np.ma.getmask(block)
            mask = mask if mask is not np.ma.nomask and mask.any() else None
            if facts.free is not None:
                present = np.ma.getdata(block) if mask is None else np.ma.getdata(block)[~mask]
                facts.free = facts.free[~np.isin(facts.free, present)]
        facts.has_missing = facts.has_missing or mask is not None
    if facts is None:
        return Facts(type_name or "float64")
    facts.mark = strings.free_mark(mark_lengths)
    if facts.has_missing:
        facts.length = max(facts.length, len(facts.mark))
    return facts


def _type_of_block(block: Any) -> str:
    array = np.ma.asanyarray(block)
    if array.dtype == object:
        values, mask = strings.as_objects(array)
        array = np.ma.MaskedArray(values, mask=np.ma.nomask if mask is None else mask)
    return type_of(array, "unicode").name
