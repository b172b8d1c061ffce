"""The metadata of a dataset → what a NetCDF file needs: groups, dimensions, variables, format.

Where the metadata do not tell enough to define a variable, all of its values are searched first: for the length of the
longest string, the type, and a text or number for missing values that no present one has.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.dtypes import TYPES
from ...errors import UnsupportedError
from ..base import Metadata
from ..library.catalog import groups_of, split
from ..library.missing import default_fill, sentinels
from ..library.plan import Facts, FilePlan, VariablePlan, attributes_of, dimension_sizes, plan_variables
from ..settings import names, setting
from ..strings import as_bytes, max_length
from .format import CODES, DEFAULT_FORMAT, PROPERTY, check_path, file_dtype, file_kind

ENCODING_ATTRIBUTE = "_Encoding"
"""Of a variable: encoding of its strings; UTF-8 without it."""


def characters(strings: NDArray[Any], length: int) -> NDArray[Any]:
    """Cut byte strings into characters, padded with NULs.

    Parameters
    ----------
    strings : (...) object array of bytes

    Returns
    -------
    (..., length) array of S1

    Raises
    ------
    UnsupportedError
        If a string is too long.
    """
    longest = max_length(strings)
    if longest > length:
        raise UnsupportedError(
            f"found a string of {longest} bytes, expected at most the {length} of its dimension in the file "
            '(property ".netcdf", which may be removed)'
        )
    if not length:
        return np.zeros((*strings.shape, 0), dtype="S1")
    fixed = np.ascontiguousarray(strings.astype(f"S{length}"))
    return fixed.view("S1").reshape(*strings.shape, length)


def storable(item: Any, encoding: str = "utf-8", *, inner_nul: bool = True) -> bytes:
    """Return a string as bytes that a file can hold; `inner_nul` says whether they may contain NULs.

    Raises
    ------
    UnsupportedError
        If it is not a string, or not one that a file can hold.
    """
    raw = as_bytes(item, encoding)
    if raw.endswith(b"\0") or (not inner_nul and b"\0" in raw):
        raise UnsupportedError(f"the string {item!r} has a NUL where NetCDF takes it for the end")
    return raw


@dataclass(slots=True)
class NetCDFPlan(FilePlan[VariablePlan]):
    """A whole file."""

    unlimited: set[str]
    """Dimensions."""
    enums: list[Any] = field(default_factory=list)
    """Records of enum types that no variable has."""
    strings: list[str] = field(default_factory=list)
    """Attributes that are text of the type string."""
    recorded_format: str | None = None


def plan_file(meta: Metadata) -> NetCDFPlan:
    """Return what a file needs to hold a dataset.

    Raises
    ------
    UnsupportedError
        If the metadata contradict themselves, or name something that NetCDF has no place for.
    """
    record = setting(meta.get(".", {}), PROPERTY, dict) or {}
    variables = plan_variables(VariablePlan, meta, "NetCDF", PROPERTY)
    for plan in variables.values():
        if not plan.dims:
            plan.dims = tuple(f"{plan.name}_{i + 1}" for i in range(len(plan.shape or ())))
    dimensions = dimension_sizes(variables.values())
    for plan in variables.values():
        char = char_dimension(plan)
        if char is not None:
            dimensions.setdefault(*char)
    for name, size in (setting(record, "dimensions", dict) or {}).items():
        if isinstance(size, int) and size >= 0:
            dimensions.setdefault(name, size)
    # NetCDF has no fixed dimension of size 0
    unlimited = {name for name in names(record, "unlimited") if name in dimensions}
    unlimited |= {name for name, size in dimensions.items() if size == 0}
    groups = groups_of((*(plan.name for plan in variables.values()), *dimensions), names(record, "groups"))
    _check_names(variables.values(), (*dimensions, *groups), groups)
    format = setting(record, "format", str)
    return NetCDFPlan(
        variables=variables,
        dimensions=dimensions,
        unlimited=unlimited,
        groups=groups,
        attributes=_group_attributes(meta.get(".", {}), groups),
        enums=setting(record, "enums", list) or [],
        strings=names(record, "strings"),
        recorded_format=format if format in CODES else None,
    )


def char_dimension(plan: VariablePlan) -> tuple[str, int] | None:
    """Return name and size of the recorded dimension of characters of a variable."""
    record = setting(plan.record, "char", dict)
    name, size = setting(record, "dim", str), setting(record, "size", int)
    return (name, size) if name and size is not None and size >= 0 else None


def _check_names(variables: Iterable[VariablePlan], others: Iterable[str], groups: Collection[str]) -> None:
    """Refuse the names that the library would refuse, take for a path, or store as others."""
    for plan in variables:
        try:
            for name in (plan.name, *plan.dims):
                check_path(name)
                if name in groups:
                    raise UnsupportedError(f'the name "{name}" is that of a group, too')
        except UnsupportedError as error:
            raise error.at(variable=plan.name)
    for name in others:
        check_path(name)


def _group_attributes(properties: dict[str, Any], groups: list[str]) -> dict[str, dict[str, Any]]:
    attributes: dict[str, dict[str, Any]] = {group: {} for group in ("", *groups)}
    for path, value in attributes_of(properties).items():
        group, name = split(path)
        if group not in attributes or path.startswith("/"):
            raise UnsupportedError(f'attribute "{path}": there is no group "{group}", and names have no "/"')
        attributes[group][name] = value
    return attributes


def misfit(file: NetCDFPlan, format: str) -> tuple[str | None, str] | None:
    """Return the variable (None: no single one) and what of it a format cannot hold; None if it can hold the file."""
    if format == "NETCDF4":
        return None
    if file.groups:
        return None, f'group "{file.groups[0]}"'
    if len(file.unlimited) > 1:
        return None, f"unlimited dimensions {sorted(file.unlimited)}"
    for plan in file.variables.values():
        if plan.type is not None and not TYPES[plan.type].is_string:
            if file_dtype(plan.type).str[1:] not in CODES[format]:
                return plan.name, f"type {plan.type}"
            if setting(plan.record, "enum", dict):
                return plan.name, "an enum type"
        if plan.shape is not None and any(dim in file.unlimited for dim in plan.dims[1:]):
            return plan.name, "an unlimited dimension that is not the first"
    return _too_large(file, format)


def _too_large(file: NetCDFPlan, format: str) -> tuple[str, str] | None:
    """Find a variable whose place in a file or whose size its header has no room for.

    Sizes (of one record, where the first dimension is unlimited) and offsets are 32 bits wide in the classic format,
    and sizes in the 64-bit offset format. The last variable may have any size.
    """
    if format not in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET"):
        return None
    limit = 2**31 - 4 if format == "NETCDF3_CLASSIC" else 2**32 - 4
    offset = 2**20
    stored = [(plan, _record_size(plan, file.unlimited)) for plan in file.variables.values() if plan.shape is not None]
    fixed = [(plan, size) for plan, (size, is_record) in stored if not is_record]
    records = [(plan, size) for plan, (size, is_record) in stored if is_record]
    for position, (plan, size) in enumerate([*fixed, *records], 1):
        if format == "NETCDF3_CLASSIC" and offset > limit:
            return plan.name, f"a place beyond {limit} bytes"
        if size > limit and position < len(stored):
            return plan.name, f"a size of {size} bytes"
        offset += size
    return None


def _record_size(plan: VariablePlan, unlimited: set[str]) -> tuple[int, bool]:
    shape = plan.shape or ()
    is_record = bool(plan.dims) and plan.dims[0] in unlimited
    item = TYPES[plan.type].size if plan.type is not None else 8
    char = char_dimension(plan)
    if char is not None:
        item = char[1]
    return max(item, 1) * math.prod(shape[1:] if is_record else shape), is_record


def choose_format(file: NetCDFPlan, requested: str | None) -> tuple[str, tuple[str | None, str] | None]:
    """Return the format to write, and why it is not the recorded one (None: it is).

    Raises
    ------
    UnsupportedError
        If a format is demanded that does not exist, or cannot hold the dataset.
    """
    if requested is not None:
        if requested not in CODES:
            raise UnsupportedError(f'found the format "{requested}", expected one of {", ".join(CODES)}')
        reason = misfit(file, requested)
        if reason is not None:
            raise UnsupportedError(f"the format {requested} cannot hold {reason[1]}", variable=reason[0])
        return requested, None
    format = file.recorded_format or DEFAULT_FORMAT
    reason = misfit(file, format)
    return (format, None) if reason is None else (DEFAULT_FORMAT, reason)


def known_facts(plan: VariablePlan, format: str) -> Facts | None:
    """Return what is to be known of a variable before it can be defined, if the metadata tell it; else None."""
    if plan.shape is None:
        return Facts(plan.type or "int8")
    if plan.type is None or plan.total == 0:
        return None if plan.total else Facts(plan.type or "float64")
    if TYPES[plan.type].is_string:
        return _known_strings(plan, plan.type, format) if plan.missing is False else None
    dtype = file_dtype(plan.type)
    if sentinels(plan.attributes, dtype, setting(plan.record, "fill", str) == "default"):
        return Facts(plan.type, has_missing=bool(plan.missing))
    if plan.missing is False:
        return Facts(plan.type)
    # of the small types any value may well be present
    if plan.missing and dtype.itemsize > 2:
        return Facts(plan.type, has_missing=True, free=np.array([default_fill(dtype)]))
    return None


def _known_strings(plan: VariablePlan, type_name: str, format: str) -> Facts | None:
    record = setting(plan.record, "char", dict)
    if record is None:
        return Facts(type_name) if file_kind(type_name, format) == "string" else None
    char = char_dimension(plan)
    if char is not None:
        return Facts(type_name, length=char[1])
    return Facts(type_name, length=1) if not record and not plan.shape else None
