"""The metadata of a dataset → a plan of a NetCDF file, and the records of what it defines.

First a plan is made: groups, dimensions, variables, the format. If the metadata are not enough to define a variable,
all of its values are searched for the type, the length of the longest string, and a string or number that no present
value has, to mark missing ones. Nothing here needs a library.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...base.dtypes import TYPES
from ...errors import UnsupportedError
from ...model import missing
from ...model.missing import default_fill, sentinels
from ...model.settings import names, setting
from ..base import Metadata
from ..library.catalog import BOOL_ATTRIBUTE, groups_of, split
from ..library.plan import (
    SMALL,
    Facts,
    FilePlan,
    VariablePlan,
    attributes_of,
    by_group,
    dimension_sizes,
    plan_variables,
)
from .attributes import EncodedAttribute, encode
from .catalog import character_fill
from .format import (
    CODES,
    DEFAULT_FORMAT,
    ENCODING_ATTRIBUTE,
    MARKER,
    PROPERTY,
    Kind,
    check_attribute,
    check_path,
    chunk_of,
    creation_options,
    file_dtype,
    file_kind,
    warn,
)
from .records import DimensionRecord, EnumRecord, FileRecords, VariableRecord


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
    order = dict.fromkeys((*names(record, "order"), *dimensions))
    dimensions = {name: dimensions[name] for name in order if name in dimensions}
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
                    raise UnsupportedError(f'the name "{name}" is also that of a group')
        except UnsupportedError as error:
            raise error.at(variable=plan.name)
    for name in others:
        check_path(name)


def _group_attributes(properties: dict[str, Any], groups: list[str]) -> dict[str, dict[str, Any]]:
    for path in attributes_of(properties):
        group, _ = split(path)
        if (group and group not in groups) or path.startswith("/"):
            raise UnsupportedError(f'attribute "{path}": there is no group "{group}", and names have no "/"')
    return {group: attributes_of(entry) for group, entry in by_group(properties, groups).items()}


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
    """Find a variable whose offset or size does not fit into the header of a file.

    In the classic format, offsets and sizes have 32 bits. The size is that of one record if the first dimension is
    unlimited. In the 64-bit offset format, only sizes have 32 bits. The last variable may have any size.
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


COMPRESSED_FORMATS = {
    "NETCDF3_CLASSIC": "NETCDF4_CLASSIC",
    "NETCDF3_64BIT_OFFSET": "NETCDF4_CLASSIC",
    "NETCDF3_64BIT_DATA": "NETCDF4",
}
"""Recorded format → the one that holds the same, and compresses it."""


def choose_format(
    file: NetCDFPlan, requested: str | None, *, is_compressed: bool = False
) -> tuple[str, tuple[str | None, str] | None]:
    """Return the format to write, and why it is not the recorded one (None: it is).

    Parameters
    ----------
    file : NetCDFPlan
    requested : str, optional
    is_compressed : bool
        Whether variables have to be compressed, which classic formats cannot.

    Raises
    ------
    UnsupportedError
        If a format is demanded that does not exist, or cannot hold the dataset.
    """
    if requested is not None:
        if requested not in CODES:
            raise UnsupportedError(f'found the format "{requested}", expected one of {", ".join(CODES)}')
        reason = misfit(file, requested)
        if reason is None and is_compressed and requested in COMPRESSED_FORMATS:
            reason = None, "compressed variables"
        if reason is not None:
            raise UnsupportedError(f"the format {requested} cannot hold {reason[1]}", variable=reason[0])
        return requested, None
    format = file.recorded_format or DEFAULT_FORMAT
    if is_compressed:
        format = COMPRESSED_FORMATS.get(format, format)
    reason = misfit(file, format)
    return (format, None) if reason is None else (DEFAULT_FORMAT, reason)


def known_numbers(plan: VariablePlan, type_name: str) -> Facts | None:
    """Return the facts that the metadata of a variable of numbers or booleans have; see `LibrarySink._known`."""
    dtype = file_dtype(type_name)
    if sentinels(plan.attributes, dtype, setting(plan.record, "fill", str) == "default"):
        return Facts(type_name, has_missing=bool(plan.missing))
    if plan.missing is False:
        return Facts(type_name)
    if plan.missing and dtype.itemsize > SMALL:
        return Facts(type_name, has_missing=True, free=np.array([default_fill(dtype)]))
    return None


def known_strings(plan: VariablePlan, type_name: str, format: str) -> Facts | None:
    """Return the facts that the metadata of a variable of strings have, for a file format; see `LibrarySink._known`."""
    record = setting(plan.record, "char", dict)
    if record is None:
        return Facts(type_name) if plan.missing is False and file_kind(type_name, format) == "string" else None
    char = char_dimension(plan)
    fill = _own_mark(plan)
    if (plan.missing is False or fill is not None) and (char is not None or (not record and type_name == "str")):
        length = 1 if char is None else char[1]
        return Facts(type_name, plan.missing is not False, length=length, mark=fill or b"")
    return None


def _own_mark(plan: VariablePlan) -> bytes | None:
    """Return the `_FillValue` of characters that are from a NetCDF file; None: there is none."""
    if plan.type != "str" or setting(plan.record, "char", dict) is None:
        return None
    char, fill = char_dimension(plan), character_fill(plan.attributes)
    return fill if fill is not None and len(fill) <= (1 if char is None else char[1]) else None


@dataclass(slots=True)
class DefinedVariable:
    """A variable of the file being written."""

    plan: VariablePlan
    record: VariableRecord
    type: str
    kind: Kind
    length: int | None
    """Size of the dimension of characters; None without one."""
    sentinels: missing.Sentinels
    is_own_fill: bool
    """Whether the first of them was chosen here, and must not occur."""
    mark: bytes | None
    """The bytes written for a missing string."""


class Definer:
    """Decides how a file is defined.

    Parameters
    ----------
    plan : NetCDFPlan
    format : str
    path : str
        The final name, for messages.

    Attributes
    ----------
    records : FileRecords
        The definitions so far.
    taken : set of str
        Names of variables and of their dimensions. Characters along one of them would not be joined.

    Raises
    ------
    UnsupportedError
        If there is no way to write an attribute of a group; the message names it.
    """

    def __init__(self, plan: NetCDFPlan, format: str, path: str):
        self.path = path
        self.format = format
        self.taken = {name for each in plan.variables.values() for name in (each.name, *each.dims)}
        dimensions = {name: DimensionRecord(name, n, name in plan.unlimited) for name, n in plan.dimensions.items()}
        self.records = FileRecords(format, plan.groups, dimensions)
        for record in plan.enums:
            self._enum_type(record)
        for group, values in plan.attributes.items():
            prefix = f"{group}/" if group else ""
            strings = [name.removeprefix(prefix) for name in plan.strings if split(name)[0] == group]
            self.records.attributes[group] = self.attributes(values, strings, {}, None, prefix)

    def attributes(
        self, values: dict[str, Any], strings: list[str], marker: dict[str, Any], variable: str | None, prefix: str = ""
    ) -> dict[str, EncodedAttribute]:
        """Return attributes in the form to write, with the marker; warn of changes.

        Raises
        ------
        UnsupportedError
            If there is no way to write one; the message names it.
        """
        encoded: dict[str, EncodedAttribute] = {}
        for name, value in values.items():
            try:
                check_attribute(name, self.format)
            except UnsupportedError as error:
                raise error.at(variable=variable)
            try:
                encoded[name] = encode(value, self.format, name in strings)
            except UnsupportedError as error:
                raise UnsupportedError(f'attribute "{prefix}{name}": {error.message}', variable=variable) from None
            if encoded[name].note:
                warn(f'attribute "{prefix}{name}" {encoded[name].note}', self.path, variable)
        as_json = [name for name, value in encoded.items() if value.form == "json"]
        marker = {**({"json": as_json} if as_json else {}), **marker}
        if marker and MARKER in encoded:
            raise UnsupportedError(f'attribute "{MARKER}" is reserved for what NetCDF cannot store', variable=variable)
        if marker:
            encoded[MARKER] = EncodedAttribute("text", json.dumps(marker).encode())
        return encoded

    def define(self, plan: VariablePlan, facts: Facts, is_available: Callable[[str], bool]) -> DefinedVariable:
        """Define a variable of which all is known.

        Parameters
        ----------
        plan : VariablePlan
        facts : Facts
        is_available : callable
            Name of a compression → whether the writer knows it.
        """
        char = setting(plan.record, "char", dict)
        kind: Kind = file_kind(facts.type, self.format)
        if char is not None and kind == "string":
            kind = "char"
        if plan.shape is None:
            return self._define_empty(plan, facts)
        if kind in ("char", "string"):
            return self._define_strings(plan, facts, kind, is_available)
        return self._define_numbers(plan, facts, kind, is_available)

    def _define_empty(self, plan: VariablePlan, facts: Facts) -> DefinedVariable:
        marker: dict[str, Any] = {"empty": True}
        if plan.dims:
            marker["dims"] = list(plan.dims)
        if plan.type is None:
            marker["type"] = "none"
        kind = file_kind(facts.type, self.format)
        datatype = kind if kind in ("char", "string") else file_dtype(facts.type)
        if facts.type == "unicode" and kind == "char":
            marker["type"] = "unicode"
        values = self._values(plan, kind)
        if kind in ("number", "bool"):
            values = self._fitted(plan, values, file_dtype(facts.type))
        record = self._record(plan, datatype, (), values, marker, {})
        return DefinedVariable(plan, record, facts.type, kind, None, [], False, None)

    def _define_strings(
        self, plan: VariablePlan, facts: Facts, kind: Kind, is_available: Callable[[str], bool]
    ) -> DefinedVariable:
        dims: tuple[str, ...] = plan.dims
        length: int | None = None
        marker: dict[str, Any] = {}
        values = self._values(plan, kind)
        is_single = facts.length <= 1 and setting(plan.record, "char", dict) == {}
        if kind == "char" and not is_single:
            name, length = self._char_dimension(plan, facts)
            dims = (*dims, name)
        if kind == "char" and facts.type == "unicode":
            marker["type"] = "unicode"
            values[ENCODING_ATTRIBUTE] = "utf-8"
        fill = _own_mark(plan)
        if facts.has_missing and fill is None:
            marker["missing"] = facts.mark.decode()
        elif kind == "char" and facts.type == "str":
            fill = character_fill(values)
        options = self._options(plan, dims, 1 if kind == "char" else 0, is_available)
        record = self._record(plan, "char" if kind == "char" else "string", dims, values, marker, options)
        marks: missing.Sentinels = [] if fill is None else [np.bytes_(fill)]
        mark = (facts.mark if fill is None else fill) if facts.has_missing else None
        return DefinedVariable(plan, record, facts.type, kind, length, marks, False, mark)

    def _define_numbers(
        self, plan: VariablePlan, facts: Facts, kind: Kind, is_available: Callable[[str], bool]
    ) -> DefinedVariable:
        dtype = file_dtype(facts.type)
        values = self._fitted(plan, self._values(plan, kind), dtype)
        enum = self._enum(plan, dtype)
        recorded = setting(plan.record, "fill", str)
        # without missing values it marks nothing
        is_filled = recorded == "default" and plan.missing is not False and bool(missing.sentinels(values, dtype, True))
        is_unused = recorded in ("default", "unused") and not is_filled and not facts.has_missing
        is_own_fill = False
        if facts.has_missing and not is_filled and not missing.sentinels(values, dtype, False):
            if facts.free is None or not facts.free.size:
                raise UnsupportedError("every value of its type is present: none is left to mark missing values")
            values = {missing.FILL_ATTRIBUTE: facts.free[0], **values}
            is_own_fill = True
        options = self._options(plan, plan.dims, dtype.itemsize, is_available)
        # the library needs the byte order in both places
        stored = dtype.newbyteorder(">") if "endian" in options and enum is None else dtype
        has_fill = missing.FILL_ATTRIBUTE in values
        if enum is None and (recorded == "none" if has_fill else not (is_filled or is_unused)):
            options["fill_value"] = False
        record = self._record(plan, stored, plan.dims, values, {}, options, enum)
        # classic files do not say that they are not pre-filled
        is_filled = enum is None and (is_filled or is_unused or self.format.startswith("NETCDF3"))
        sentinels = missing.sentinels(values, dtype, is_filled)
        if "mark" in plan.record:
            mark = missing.fitting(plan.record["mark"], dtype)
            sentinels.sort(key=lambda sentinel: not any(missing.is_value(np.asarray(sentinel), one) for one in mark))
        return DefinedVariable(plan, record, facts.type, kind, None, sentinels, is_own_fill, None)

    def _values(self, plan: VariablePlan, kind: Kind) -> dict[str, Any]:
        values = dict(plan.attributes)
        name, value = BOOL_ATTRIBUTE
        if kind == "bool":
            if name in values:
                warn(
                    f'left out: attribute "{name}", which marks boolean variables in NetCDF',
                    self.path,
                    plan.name,
                )
            values[name] = value
        elif kind == "number" and plan.type == "int8" and values.get(name) == value:
            warn(f'attribute "{name}" will make it boolean for readers', self.path, plan.name)
        return values

    def _fitted(self, plan: VariablePlan, values: dict[str, Any], dtype: np.dtype[Any]) -> dict[str, Any]:
        """Return attributes with those in the type of the variable that have to be."""
        fitted: dict[str, Any] = {}
        for name, value in values.items():
            is_typed = isinstance(value, (np.generic, np.ndarray))
            if name == missing.FILL_ATTRIBUTE:
                fits = missing.fitting(value, dtype)
                if not fits:
                    warn(f'left out: attribute "{name}", {value!r} does not fit {dtype}', self.path, plan.name)
                    continue
                if np.size(value) != 1 or (is_typed and np.asarray(value).dtype != dtype):
                    warn(f'attribute "{name}", {value!r}, is written as {fits[0]!r}', self.path, plan.name)
                fitted[name] = fits[0]
            elif name in missing.VALUE_ATTRIBUTES and not is_typed:
                fitted[name] = missing.in_type_of_variable(value, dtype)
            else:
                fitted[name] = value
        return fitted

    def _record(
        self,
        plan: VariablePlan,
        datatype: Any,
        dims: tuple[str, ...],
        values: dict[str, Any],
        marker: dict[str, Any],
        options: dict[str, Any],
        enum: EnumRecord | None = None,
    ) -> VariableRecord:
        """Add the record of a variable."""
        strings = names(plan.record, "strings")
        encoded = self.attributes(values, strings, marker, plan.name)
        if (
            options.get("compression") == "szip"
            and options.get("fletcher32")
            and isinstance(datatype, np.dtype)
            and datatype.itemsize == UNREADABLE_SIZE
        ):
            warn(
                "Fletcher-32 is left out: with szip, the library cannot read its values of 8 bytes",
                self.path,
                plan.name,
            )
            options = {name: value for name, value in options.items() if name != "fletcher32"}
        fill = encoded.get(missing.FILL_ATTRIBUTE)
        # elsewhere it keeps its place among the attributes
        if fill is not None and enum is not None:
            del encoded[missing.FILL_ATTRIBUTE]
            options = {**options, "fill_value": fill.value}
        return self.add(VariableRecord(plan.name, datatype, dims, encoded, enum, options))

    def add(self, record: VariableRecord) -> VariableRecord:
        """Add the record of a variable."""
        self.records.variables[record.path] = record
        return record

    def _options(
        self, plan: VariablePlan, dims: tuple[str, ...], item_size: int, is_available: Callable[[str], bool]
    ) -> dict[str, Any]:
        """Return the options of a variable without a compression that would fail.

        Parameters
        ----------
        plan : VariablePlan
        dims : tuple of str
            Its dimensions in the file.
        item_size : int
            Bytes of a value; 0 for strings of any length.
        is_available : callable
            As of `define`.
        """
        found = [self.records.dimensions[dim] for dim in dims]
        shape = tuple(dimension.size for dimension in found)
        unlimited = tuple(dimension.is_unlimited for dimension in found)
        options = creation_options(plan.record, shape, unlimited, self.format)
        if not item_size:
            # the library compresses references to strings at most, and not everywhere
            return {name: value for name, value in options.items() if name == "chunksizes"}
        compression = options.get("compression", "")
        size = math.prod(chunk_of(options.get("chunksizes"), shape, unlimited, item_size, True) or ()) * item_size
        reason = None
        if compression and not is_available(compression):
            reason = "is not available in this netCDF library"
        elif compression.startswith("blosc") and size < BLOSC_MIN_SIZE:
            reason = f"needs chunks of at least {BLOSC_MIN_SIZE} bytes, found {size}"
        if reason is not None:
            warn(f"compression {compression} {reason}: written without it", self.path, plan.name)
            options = {name: value for name, value in options.items() if name in ("endian", "chunksizes", "fletcher32")}
        return options

    def _char_dimension(self, plan: VariablePlan, facts: Facts) -> tuple[str, int]:
        """Return name and size of a dimension of characters, which is added if need be."""
        dimensions = self.records.dimensions
        recorded = char_dimension(plan)
        if recorded is not None and recorded[1] >= facts.length:
            known = dimensions.get(recorded[0])
            if known is not None and (known.size == recorded[1] or known.is_unlimited):
                return recorded
        size = max(facts.length, 1)
        name = base = f"string{size}"
        attempt = 1
        while name in self.taken or (
            name in dimensions and (dimensions[name].is_unlimited or dimensions[name].size != size)
        ):
            name = f"{base}_{attempt}"
            attempt += 1
        dimensions.setdefault(name, DimensionRecord(name, size))
        return name, size

    def _enum(self, plan: VariablePlan, dtype: np.dtype[Any]) -> EnumRecord | None:
        """Return the enum type of a variable, or None."""
        record = setting(plan.record, "enum", dict)
        if record is None:
            return None
        enum = self._enum_type(record)
        if enum is None or enum.dtype != dtype:
            warn("left out: its enum type, which does not match the type of its values", self.path, plan.name)
            return None
        return enum

    def _enum_type(self, record: Any) -> EnumRecord | None:
        """Return the enum type of a setting, which is added if need be; None if it is damaged."""
        name = setting(record, "name", str)
        members = setting(record, "members", dict)
        base = setting(record, "type", str)
        if not name or not members or base is None or not all(isinstance(value, int) for value in members.values()):
            return None
        known = self.records.enums.get(name)
        if known is not None:
            return known if known.members == members else None
        added = self.records.enums[name] = EnumRecord(name, np.dtype(base), dict(members))
        return added


BLOSC_MIN_SIZE = 128
"""Bytes from which on blosc compresses (c-blosc 1.21, MIN_BUFFERSIZE). The library cannot write what stays as is."""

UNREADABLE_SIZE = 8
"""Bytes of values whose checksums szip loses: it encodes whole values, and the checksum is half of one (libaec 1.1)."""
