"""What a NetCDF file holds, from its header alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import packing
from ...dataset import escape
from ...dtypes import PACKED
from ...errors import UnsupportedError
from ..base import Metadata
from ..library import missing
from ..library.catalog import Catalog, FileVariable
from ..library.guard import ERRORS
from ..settings import LABELS, names
from ..strings import OBJECT_SIZE
from .attributes import read_attribute, take_marker
from .calls import Group, Variable, warn
from .groups import dimension_names, walk
from .kinds import BOOL_ATTRIBUTE, BOOL_CODE, Kind, type_of
from .storage import DEFAULT_FORMAT, PROPERTY, enum_record, read_storage
from .text import ENCODING_ATTRIBUTE


@dataclass(frozen=True, slots=True, kw_only=True)
class NetCDFVariable(FileVariable):
    """A variable of a NetCDF file, as reading needs it."""

    handle: Variable
    kind: Kind
    growing: tuple[int, ...]
    """Axes in the file that are unlimited, if one is not the first: there the library needs help, see `extents`."""


def read_catalog(
    file: Group, path: str, skipped: list[tuple[str, str]], skip_unsupported: bool
) -> Catalog[NetCDFVariable]:
    """Return the metadata of a file, what is needed to read each variable, and why others cannot be had.

    Parameters
    ----------
    file : netCDF4.Dataset
    path : str
        For warnings.
    skipped : list of (variable, type)
        Variables that the library does not show.
    skip_unsupported : bool
        Whether to warn of what ds cannot hold, and go on.

    Raises
    ------
    UnsupportedError
        If the file has an attribute that ds cannot hold.
    """
    unlimited = _unlimited(file)
    reader = _Reader(path, skip_unsupported, unlimited)
    catalog: Catalog[NetCDFVariable] = Catalog(path, skip_unsupported, warn)
    for name, kind in skipped:
        catalog.refuse(name, UnsupportedError(f"the {kind} type is not possible in ds"))
    dataset: dict[str, Any] = {}
    strings: list[str] = []
    for prefix, group in walk(file):
        attributes, own_strings = reader.attributes(group, None)
        take_marker(attributes)
        dataset.update({escape(prefix + name): value for name, value in attributes.items()})
        strings += [prefix + name for name in own_strings]
        for base, variable in group.variables.items():
            try:
                catalog.add(*reader.variable(prefix + base, variable))
            except UnsupportedError as error:
                catalog.refuse(prefix + base, error)
    record = _dataset_record(file, catalog.meta, unlimited)
    if strings:
        record["strings"] = strings
    catalog.meta["."] = {**({PROPERTY: record} if record else {}), **dataset}
    reader.warn_of_types(file)
    return catalog


class _Reader:
    """Path and policy, for all that may meet something unsupported."""

    def __init__(self, path: str, skip_unsupported: bool, unlimited: list[str]):
        self.path = path
        self.skip_unsupported = skip_unsupported
        self.unlimited = frozenset(unlimited)

    def refuse(self, error: Any) -> None:
        """Raise an error, or warn and go on."""
        if not self.skip_unsupported:
            raise error.at(path=self.path)
        warn(f"left out: {error.message}", self.path, error.variable)

    def attributes(self, owner: Group | Variable, variable: str | None) -> tuple[dict[str, Any], list[str]]:
        """Return attributes by name, and the names of those that are one text of the type string."""
        values: dict[str, Any] = {}
        strings: list[str] = []
        for name in owner.ncattrs():
            try:
                values[name], is_string = read_attribute(owner, name)
            except UnsupportedError as error:
                self.refuse(error.at(variable=variable))
                continue
            if is_string and isinstance(values[name], str):
                strings.append(name)
        return values, strings

    def variable(self, name: str, handle: Variable) -> tuple[NetCDFVariable, dict[str, Any]]:
        """Return what is needed to read a variable, and its properties and attributes."""
        type_name, kind = type_of(handle)
        attributes, strings = self.attributes(handle, name)
        marker = take_marker(attributes)
        _hide_labels(attributes, strings, handle.ndim)
        if kind == "number" and handle.dtype.str[1:] == BOOL_CODE and _is_bool(attributes):
            type_name, kind = "bool", "bool"
            del attributes[BOOL_ATTRIBUTE[0]]
        if kind == "char" and marker.get("type") == "unicode":
            type_name = "unicode"
            attributes.pop(ENCODING_ATTRIBUTE, None)
        record = read_storage(handle, kind, attributes)
        if strings:
            record["strings"] = strings
        if packing.is_packed(attributes, type_name):
            record[PACKED] = True
        found: missing.Sentinels = []
        if kind in ("number", "bool"):
            dtype = handle.dtype.newbyteorder("=")
            found = missing.sentinels(attributes, dtype, record.get("fill") == "default")
            if not handle.ndim and len(found) > 1 and (mark_of_scalar := _mark_of_scalar(handle, found)) is not None:
                record["mark"] = mark_of_scalar
        dims = dimension_names(handle)
        growing = tuple(axis for axis, dim in enumerate(dims) if dim in self.unlimited)
        rank = handle.ndim - 1 if kind == "char" and handle.ndim else handle.ndim
        chunks = handle.chunking()
        mark = marker.get("missing")
        variable = NetCDFVariable(
            name=name,
            handle=handle,
            type=type_name,
            kind=kind,
            shape=None if marker.get("empty") is True else tuple(int(n) for n in handle.shape[:rank]),
            length=int(handle.shape[-1]) if rank < handle.ndim else None,
            size=_item_size(handle, kind),
            chunk=tuple(int(n) for n in chunks[:rank]) if isinstance(chunks, list) else None,
            sentinels=found,
            mark=mark if isinstance(mark, str) and kind in ("char", "string") else None,
            is_decoded=kind == "string",
            growing=growing if any(growing) else (),
        )
        properties: dict[str, Any] = {
            ".dims": dims[:rank],
            ".size": None if variable.shape is None else list(variable.shape),
            ".type": type_name,
        }
        if variable.shape is None:
            properties[".dims"] = names(marker, "dims")
            properties[".type"] = None if marker.get("type") == "none" else type_name
        properties[".missing"] = variable.may_be_missing
        if record:
            properties[PROPERTY] = record
        properties.update({escape(key): value for key, value in attributes.items()})
        return variable, properties

    def warn_of_types(self, file: Group) -> None:
        """Warn of types unknown to ds which no variable has: those that one has were refused with it."""
        groups = list(walk(file))
        used = {getattr(v.datatype, "name", None) for _, group in groups for v in group.variables.values()}
        for prefix, group in groups:
            for name in {*group.cmptypes, *group.vltypes} - used:
                warn(f'left out: the type "{prefix}{name}" is not possible in ds', self.path)


def _unlimited(file: Group) -> list[str]:
    """Return the names of all dimensions that are unlimited."""
    return [
        prefix + name for prefix, group in walk(file) for name, found in group.dimensions.items() if found.isunlimited()
    ]


def _mark_of_scalar(variable: Variable, found: missing.Sentinels) -> Any:
    """Return the number that marks a scalar as missing, if it is another than that which would be written."""
    try:
        value = np.asarray(variable[...]).reshape(())
    except ERRORS:
        # whoever reads it is told
        return None
    _, counts = missing.count(value, found)
    return value.item() if any(counts[1:]) else None


def _hide_labels(attributes: dict[str, Any], strings: list[str], rank: int) -> None:
    """Leave out what names the dimensions of a variable to programs that read HDF5, this package among them."""
    found = attributes.get(LABELS)
    labels = [found] if LABELS in strings else found
    if isinstance(labels, list) and len(labels) == rank:
        del attributes[LABELS]
        strings[:] = [name for name in strings if name != LABELS]


def _is_bool(attributes: dict[str, Any]) -> bool:
    name, value = BOOL_ATTRIBUTE
    return isinstance(attributes.get(name), str) and attributes[name] == value


def _item_size(variable: Variable, kind: Kind) -> int:
    if kind == "string":
        return OBJECT_SIZE
    if kind == "char":
        return max(int(variable.shape[-1]), 1) if variable.ndim else 1
    return int(np.dtype(variable.dtype).itemsize)


def _dataset_record(file: Group, meta: Metadata, unlimited: list[str]) -> dict[str, Any]:
    """Return what the variables do not tell about a file."""
    record: dict[str, Any] = {}
    if file.data_model != DEFAULT_FORMAT:
        record["format"] = file.data_model
    records = [properties.get(PROPERTY, {}) for properties in meta.values()]
    told = {dim for properties in meta.values() if properties[".size"] is not None for dim in properties[".dims"]}
    told |= {each["char"]["dim"] for each in records if each.get("char")}
    dimensions: dict[str, int] = {}
    groups: list[str] = []
    enums: list[dict[str, Any]] = []
    used = {each["enum"]["name"] for each in records if "enum" in each}
    for prefix, group in walk(file):
        for name, dimension in group.dimensions.items():
            if prefix + name not in told:
                dimensions[prefix + name] = int(dimension.size)
        enums += [enum_record(group, enum) for name, enum in group.enumtypes.items() if prefix + name not in used]
        if prefix:
            groups.append(prefix.rstrip("/"))
    found = {"unlimited": unlimited, "dimensions": dimensions, "groups": groups, "enums": enums}
    record.update({name: value for name, value in found.items() if value})
    return record
