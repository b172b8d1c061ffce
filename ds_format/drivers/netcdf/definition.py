"""Defining variables in a file: their place, their attributes, what stands for missing values."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import netCDF4
import numpy as np

from ...errors import UnsupportedError
from ..library import missing
from ..library.catalog import split
from ..library.plan import Facts, VariablePlan
from ..settings import names, setting
from .attributes import EncodedAttribute, encode, write_attributes
from .calls import Group, Variable
from .format import (
    BOOL_ATTRIBUTE,
    MARKER,
    Kind,
    check_attribute,
    creation_options,
    file_dtype,
    file_kind,
    is_available,
    warn,
)
from .plan import ENCODING_ATTRIBUTE, char_dimension


@dataclass(slots=True)
class DefinedVariable:
    """A variable of the file being written."""

    plan: VariablePlan
    variable: Variable
    type: str
    kind: Kind
    length: int | None
    """Size of the dimension of characters; None: there is none."""
    sentinels: missing.Sentinels
    is_own_fill: bool
    """Whether the first of them was chosen here, and must not occur."""
    mark: bytes | None
    """What is written for a missing string."""


class Definer:
    """Defines the variables of one file.

    Parameters
    ----------
    file : netCDF4.Dataset
    path : str
        The final name, for messages.
    format : str
    taken : iterable of str
        Names of variables and of their dimensions. Characters along one of them would not be joined.
    """

    def __init__(self, file: Group, path: str, format: str, taken: Iterable[str] = ()):
        self.file = file
        self.path = path
        self.format = format
        self._taken = {*taken}

    def group(self, name: str) -> Group:
        """Return a group that exists."""
        return self.file[name] if name else self.file

    def attributes(
        self, values: dict[str, Any], strings: list[str], marker: dict[str, Any], variable: str | None, prefix: str = ""
    ) -> dict[str, EncodedAttribute]:
        """Return attributes in the form to write, with the marker; warn of what changes.

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
            raise UnsupportedError(
                f'attribute "{MARKER}" is needed for what NetCDF has no place for', variable=variable
            )
        if marker:
            encoded[MARKER] = EncodedAttribute("text", json.dumps(marker).encode())
        return encoded

    def define(self, plan: VariablePlan, facts: Facts) -> DefinedVariable:
        """Define a variable of which all is known."""
        char = setting(plan.record, "char", dict)
        kind: Kind = file_kind(facts.type, self.format)
        if char is not None and kind == "string":
            kind = "char"
        if plan.shape is None:
            return self._define_empty(plan, facts)
        if kind in ("char", "string"):
            return self._define_strings(plan, facts, kind)
        return self._define_numbers(plan, facts, kind)

    def _define_empty(self, plan: VariablePlan, facts: Facts) -> DefinedVariable:
        marker: dict[str, Any] = {"empty": True}
        if plan.dims:
            marker["dims"] = list(plan.dims)
        if plan.type is None:
            marker["type"] = "none"
        kind = file_kind(facts.type, self.format)
        datatype: Any = {"char": "S1", "string": str}.get(kind) or file_dtype(facts.type)
        if facts.type == "unicode" and kind == "char":
            marker["type"] = "unicode"
        values = self._values(plan, kind)
        if kind in ("number", "bool"):
            values = self._fitted(plan, values, file_dtype(facts.type))
        variable = self._create(plan, datatype, (), values, marker, {})
        return DefinedVariable(plan, variable, facts.type, kind, None, [], False, None)

    def _define_strings(self, plan: VariablePlan, facts: Facts, kind: Kind) -> DefinedVariable:
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
        if facts.has_missing:
            marker["missing"] = facts.mark.decode()
        options = self._options(plan, dims)
        if kind == "string":
            # the library compresses references to strings at most, and not everywhere
            options = {name: value for name, value in options.items() if name == "chunksizes"}
        variable = self._create(plan, "S1" if kind == "char" else str, dims, values, marker, options)
        mark = facts.mark if facts.has_missing else None
        return DefinedVariable(plan, variable, facts.type, kind, length, [], False, mark)

    def _define_numbers(self, plan: VariablePlan, facts: Facts, kind: Kind) -> DefinedVariable:
        dtype = file_dtype(facts.type)
        values = self._fitted(plan, self._values(plan, kind), dtype)
        enum = self._enum(plan, dtype)
        recorded = setting(plan.record, "fill", str)
        is_filled = recorded == "default" and plan.missing is not False  # without missing values it marks nothing
        is_unused = recorded in ("default", "unused") and not is_filled and not facts.has_missing
        is_own_fill = False
        if facts.has_missing and not is_filled and not missing.sentinels(values, dtype, False):
            if facts.free is None or not facts.free.size:
                raise UnsupportedError("every value of its type is present, so that none is left to mark missing ones")
            values = {missing.FILL_ATTRIBUTE: facts.free[0], **values}
            is_own_fill = True
        options = self._options(plan, plan.dims)
        # the library wants to be told twice
        stored = dtype.newbyteorder(">") if "endian" in options and enum is None else dtype
        has_fill = missing.FILL_ATTRIBUTE in values
        if enum is None and (recorded == "none" if has_fill else not (is_filled or is_unused)):
            options["fill_value"] = False
        variable = self._create(plan, enum or stored, plan.dims, values, {}, options)
        # classic files do not say that they are not pre-filled
        is_filled = enum is None and (is_filled or is_unused or self.format.startswith("NETCDF3"))
        sentinels = missing.sentinels(values, dtype, is_filled)
        if "mark" in plan.record:
            mark = missing.fitting(plan.record["mark"], dtype)
            sentinels.sort(key=lambda sentinel: not any(missing.is_value(np.asarray(sentinel), one) for one in mark))
        return DefinedVariable(plan, variable, facts.type, kind, None, sentinels, is_own_fill, None)

    def _values(self, plan: VariablePlan, kind: Kind) -> dict[str, Any]:
        values = dict(plan.attributes)
        name, value = BOOL_ATTRIBUTE
        if kind == "bool":
            if name in values:
                warn(
                    f'left out: attribute "{name}", which says in NetCDF that a variable is boolean',
                    self.path,
                    plan.name,
                )
            values[name] = value
        elif kind == "number" and plan.type == "int8" and values.get(name) == value:
            warn(f'attribute "{name}" will make it boolean to those who read it', self.path, plan.name)
        return values

    def _fitted(self, plan: VariablePlan, values: dict[str, Any], dtype: np.dtype[Any]) -> dict[str, Any]:
        """Return attributes with those in the type of the variable that have to be."""
        fitted: dict[str, Any] = {}
        for name, value in values.items():
            is_typed = isinstance(value, (np.generic, np.ndarray))
            if name == missing.FILL_ATTRIBUTE:
                fits = missing.fitting(value, dtype)
                if not fits:
                    warn(f'left out: attribute "{name}", {value!r} is no value of type {dtype}', self.path, plan.name)
                    continue
                if np.size(value) != 1 or (is_typed and np.asarray(value).dtype != dtype):
                    warn(f'attribute "{name}", {value!r}, is written as {fits[0]!r}', self.path, plan.name)
                fitted[name] = fits[0]
            elif name in missing.VALUE_ATTRIBUTES and not is_typed and np.size(value):
                fits = missing.fitting(value, dtype)
                is_fit = len(fits) == np.size(value)
                fitted[name] = value if not is_fit else np.array(fits) if isinstance(value, list) else fits[0]
            else:
                fitted[name] = value
        return fitted

    def _create(
        self,
        plan: VariablePlan,
        datatype: Any,
        dims: tuple[str, ...],
        values: dict[str, Any],
        marker: dict[str, Any],
        options: dict[str, Any],
    ) -> Variable:
        strings = names(plan.record, "strings")
        encoded = self.attributes(values, strings, marker, plan.name)
        fill = encoded.get(missing.FILL_ATTRIBUTE)
        # elsewhere it keeps its place among the attributes
        if fill is not None and (self.format == "NETCDF4_CLASSIC" or isinstance(datatype, netCDF4.EnumType)):
            del encoded[missing.FILL_ATTRIBUTE]
            options = {**options, "fill_value": fill.value}
        group, name = split(plan.name)
        variable = self.group(group).createVariable(name, datatype, [self._dimension(dim) for dim in dims], **options)
        variable.set_auto_maskandscale(False)
        variable.set_auto_chartostring(False)
        write_attributes(variable, encoded)
        return variable

    def _dimension(self, name: str) -> Any:
        group, base = split(name)
        return self.group(group).dimensions[base]

    def _options(self, plan: VariablePlan, dims: tuple[str, ...]) -> dict[str, Any]:
        found = [self._dimension(dim) for dim in dims]
        shape = tuple(int(dimension.size) for dimension in found)
        # an unlimited dimension has no size before it is written
        options = creation_options(plan.record, shape, tuple(d.isunlimited() for d in found), self.format)
        compression = options.get("compression")
        if compression is not None and not is_available(self.file, compression):
            warn(f"the library here has no compression {compression}: written without", self.path, plan.name)
            options = {name: value for name, value in options.items() if name in ("endian", "chunksizes", "fletcher32")}
        return options

    def _char_dimension(self, plan: VariablePlan, facts: Facts) -> tuple[str, int]:
        """Return name and size of a dimension of characters; define it if need be."""
        recorded = char_dimension(plan)
        if recorded is not None and recorded[1] >= facts.length:
            group, base = split(recorded[0])
            known = self.group(group).dimensions.get(base)
            if known is not None and (known.size == recorded[1] or known.isunlimited()):
                return recorded
        size = max(facts.length, 1)
        name = base = f"string{size}"
        attempt = 1
        while name in self._taken or (
            name in self.file.dimensions
            and (self.file.dimensions[name].isunlimited() or self.file.dimensions[name].size != size)
        ):
            name = f"{base}_{attempt}"
            attempt += 1
        if name not in self.file.dimensions:
            self.file.createDimension(name, size)
        return name, size

    def _enum(self, plan: VariablePlan, dtype: np.dtype[Any]) -> Any:
        """Return the enum type of a variable, or None."""
        record = setting(plan.record, "enum", dict)
        if record is None:
            return None
        enum = define_enum(self, record)
        if enum is None or enum.dtype != dtype:
            warn("left out: its enum type, which is not one of its values' type", self.path, plan.name)
            return None
        return enum


def define_enum(definer: Definer, record: Any) -> Any:
    """Return the enum type of a record, defined if need be; None if it is damaged."""
    name = setting(record, "name", str)
    members = setting(record, "members", dict)
    base = setting(record, "type", str)
    if not name or not members or base is None or not all(isinstance(value, int) for value in members.values()):
        return None
    group, short = split(name)
    owner = definer.group(group)
    known = owner.enumtypes.get(short)
    if known is not None:
        return known if known.enum_dict == members else None
    return owner.createEnumType(np.dtype(base), short, dict(members))
