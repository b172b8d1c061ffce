"""What an HDF5 file holds, from its metadata alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.dtypes import PACKED, TYPES
from ...dataset import escape
from ...errors import UnsupportedError
from ...model import packing
from ..base import Metadata
from ..library import missing
from ..library.catalog import Catalog, FileVariable, joinable
from ..library.groups import lineage, split
from ..strings import OBJECT_SIZE
from .attributes import Marker, read_attributes
from .calls import Node, warn
from .dimensions import Dimensions
from .kinds import WIDENED, Kind, plain_dtype, type_of
from .names import NON_COORDINATE
from .storage import PROPERTY, read_storage
from .walk import walk

NETCDF_FILE = "_NCProperties"
"""Attribute of files that the netCDF library wrote, or a program in its manner; versions before 4.4.1 did not."""

NETCDF_BOOL = ("dtype", "bool")
"""Attribute of numbers that are booleans, in such files."""

USER_DEFINED = 2
"""H5D_FILL_VALUE_USER_DEFINED: somebody chose what unwritten values are."""


@dataclass(slots=True, kw_only=True)
class HDF5Variable(FileVariable):
    """A dataset of an HDF5 file, as reading needs it."""

    path: bytes
    kind: Kind
    extent: tuple[int, ...] | None
    """In the file, if the variable is shorter there than its dimensions."""


def read_catalog(file: Node, path: str, skip_unsupported: bool) -> Catalog[HDF5Variable]:
    """Return the metadata of a file, what is needed to read each variable, and why others cannot be had.

    Parameters
    ----------
    file : h5py.File
    path : str
        For warnings.
    skip_unsupported : bool
        Whether to leave out variables that ds cannot hold, with a warning.
    """
    groups = list(walk(file, lambda name, reason: warn(f'left out: "{name}", {reason}', path)))
    reader = _Reader(file, path, groups)
    catalog: Catalog[HDF5Variable] = Catalog(path, skip_unsupported, warn)
    attributes: dict[str, Any] = {}
    for prefix, group, datasets in groups:
        for name, found in reader.attributes(group, None, None)[0].items():
            if escape(prefix + name) in attributes:
                warn(f'left out: attribute "{prefix + name}", of which there are two', path)
            else:
                attributes[escape(prefix + name)] = found
        for name, place, dataset in datasets:
            if name in reader.dimensions.pure:
                continue
            try:
                variable, properties = reader.variable(name, place, dataset)
            except UnsupportedError as error:
                catalog.refuse(name, error)
                continue
            if escape(variable.name) in catalog.meta:
                warn(f'left out: "{name}", another variable has the name "{variable.name}"', path)
                continue
            catalog.add(variable, properties)
    record = _dataset_record(reader.dimensions, groups, catalog.meta, reader.characters)
    catalog.meta["."] = {**({PROPERTY: record} if record else {}), **attributes}
    return catalog


class _Reader:
    """What is known of a whole file, for all that is read of its parts."""

    def __init__(self, file: Node, path: str, groups: list[Any]):
        self.path = path
        datasets = [(name, node) for _, _, nodes in groups for name, _, node in nodes]
        self.dimensions = Dimensions(file, datasets)
        self.is_netcdf = NETCDF_FILE in file.attrs or self.dimensions.are_numbered
        self.lengths = self._lengths(datasets)
        self._joins = self._joinable(datasets)
        self.characters: set[str] = set()
        """Dimensions along which strings lie, character by character."""

    def _lengths(self, datasets: list[tuple[str, Node]]) -> dict[str, int]:
        """Return the sizes of unlimited dimensions of netCDF-4, each that of the longest variable."""
        lengths: dict[str, int] = {}
        if not self.is_netcdf:
            return lengths
        for name, dataset in datasets:
            if dataset.shape and None in dataset.maxshape:
                dims = self.dimensions.of(name, dataset) or []
                for dim, size, limit in zip(dims, dataset.shape, dataset.maxshape, strict=False):
                    if limit is None:
                        lengths[dim] = max(lengths.get(dim, 0), int(size))
        return lengths

    def _joinable(self, datasets: list[tuple[str, Node]]) -> frozenset[str]:
        """Return the dimensions of netCDF-4 along which characters are joined."""
        known = [(name, dataset) for name, dataset in datasets if name not in self.dimensions.pure]
        codes = ["S1" if self.is_netcdf and _is_character(dataset) else "" for _, dataset in known]
        if "S1" not in codes:
            return frozenset()
        dims = (self.dimensions.of(name, dataset) or [] if dataset.shape else [] for name, dataset in known)
        return joinable((name for name, _ in known), zip(dims, codes, strict=True))

    def _grown(self, dataset: Node, dims: list[str]) -> tuple[int, ...]:
        """Return the shape that a dataset has by its dimensions."""
        axes = zip(dims, dataset.shape, dataset.maxshape, strict=True)
        return tuple(max(size, self.lengths.get(dim, 0)) if limit is None else size for dim, size, limit in axes)

    def attributes(
        self, owner: Node, variable: str | None, dtype: np.dtype[Any] | None
    ) -> tuple[dict[str, Any], Marker]:
        """Return attributes by name, and the marker; warn of what is left out."""
        found, marker, skipped = read_attributes(owner, dtype, self.is_netcdf)
        for name, reason in skipped:
            prefix = owner.name.strip("/") + "/" if variable is None and owner.name != "/" else ""
            warn(f'left out: attribute "{prefix}{name}", {reason}', self.path, variable)
        return found, marker

    def variable(self, path_name: str, place: bytes, dataset: Node) -> tuple[HDF5Variable, dict[str, Any]]:
        """Return what is needed to read a dataset, and its properties and attributes."""
        dtype = plain_dtype(dataset.id) if _is_number(dataset) else None
        attributes, marker = self.attributes(dataset, path_name, dtype)
        name = _variable_name(path_name, marker)
        type_name, kind = type_of(dataset.id, marker.get("type"))
        if self.is_netcdf and type_name == "int8" and attributes.get(NETCDF_BOOL[0]) == NETCDF_BOOL[1]:
            type_name = "bool"
            del attributes[NETCDF_BOOL[0]]
        if dtype is not None and dtype.str[1:] in WIDENED:
            warn(f"is {dtype} in the file and {type_name} here, which holds the same values", self.path, name)
        shape = None if dataset.shape is None or marker.get("empty") is True else dataset.shape
        dims = self._dims(path_name, dataset, marker)
        extent = None
        if shape is not None and dims is not None and self.lengths:
            shape, extent = self._grown(dataset, dims), shape
        full, length = shape, None
        is_own = not marker.keys().isdisjoint(("type", "missing"))  # text of this package is always joined
        is_joined = dims is None or is_own or bool(dims and dims[-1] in self._joins)
        if kind == "fixed" and self.is_netcdf and shape and dataset.dtype.itemsize == 1 and is_joined:
            *shape, length = shape
            if dims is not None:
                self.characters.add(dims.pop())
            if marker.get("type") == "unicode":
                type_name = "unicode"
        mark = marker.get("missing")
        variable = HDF5Variable(
            name=name,
            path=place,
            type=type_name,
            kind=kind,
            shape=None if shape is None else tuple(int(n) for n in shape),
            length=length,
            size=_item_size(dataset, kind) * max(length or 1, 1),
            chunk=None if dataset.chunks is None or shape is None else dataset.chunks[: len(shape)],
            sentinels=[] if dtype is None else self._sentinels(dataset, attributes, marker, dtype),
            mark=mark if isinstance(mark, str) and TYPES[type_name].is_string else None,
            extent=None if extent == full else extent,
        )
        properties = _properties(variable, dims, dataset, marker)
        if packing.is_packed(attributes, type_name):
            properties[PROPERTY] = {**properties.get(PROPERTY, {}), PACKED: True}
        return variable, {**properties, **{escape(k): v for k, v in attributes.items()}}

    def _dims(self, path_name: str, dataset: Node, marker: Marker) -> list[str] | None:
        if not dataset.shape:
            return []
        marked = _marked_dims(marker)
        if marked is not None and len(marked) == dataset.ndim:
            return marked
        return self.dimensions.of(path_name, dataset)

    def _sentinels(
        self, dataset: Node, attributes: dict[str, Any], marker: Marker, dtype: np.dtype[Any]
    ) -> missing.Sentinels:
        """Return the numbers that mean "missing"; the `_FillValue` of this package is taken from the attributes."""
        if "missing" in marker and marker.get("missing") is None:
            return []
        if isinstance(marker.get("missing"), (int, float)):
            found = missing.fitting(marker["missing"], dtype)
            fill = missing.fitting(attributes.get(missing.FILL_ATTRIBUTE), dtype)
            if marker.get("fill") is True and found and fill and fill[0] == found[0]:
                del attributes[missing.FILL_ATTRIBUTE]
            return found
        defined = dataset.id.get_create_plist().fill_value_defined() == USER_DEFINED
        has_default = self.is_netcdf and defined and dtype.str[1:] in missing.DEFAULT_FILLS
        return missing.sentinels(attributes, dtype, has_default)


def _properties(variable: HDF5Variable, dims: list[str] | None, dataset: Node, marker: Marker) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    if variable.shape is None:
        dims = _marked_dims(marker) or []
    if dims is not None:
        properties[".dims"] = dims
    properties[".size"] = None if variable.shape is None else list(variable.shape)
    properties[".type"] = None if marker.get("type") == "none" and variable.shape is None else variable.type
    properties[".missing"] = variable.may_be_missing
    if marker.get("time") is True:
        properties[".time"] = True
    record = read_storage(dataset) if variable.shape is not None and variable.length is None else {}
    if record:
        properties[PROPERTY] = record
    return properties


def _is_character(dataset: Node) -> bool:
    try:
        return bool(dataset.dtype == "S1")
    except TypeError:
        return False


def _is_number(dataset: Node) -> bool:
    try:
        return bool(dataset.dtype.kind in "fiu")
    except TypeError:
        return False


def _variable_name(path: str, marker: Marker) -> str:
    group, base = split(path)
    if isinstance(marker.get("name"), str):
        return str(marker["name"])
    return f"{group}/{base.removeprefix(NON_COORDINATE)}".removeprefix("/")


def _marked_dims(marker: Marker) -> list[str] | None:
    dims = marker.get("dims")
    return list(dims) if isinstance(dims, list) and all(isinstance(dim, str) for dim in dims) else None


def _item_size(dataset: Node, kind: Kind) -> int:
    return OBJECT_SIZE if kind in ("string", "octets") else int(dataset.dtype.itemsize)


def _dataset_record(dimensions: Dimensions, groups: list[Any], meta: Metadata, characters: set[str]) -> dict[str, Any]:
    """Return what the variables do not tell about a file."""
    told = {dim for properties in meta.values() for dim in properties.get(".dims", [])} | characters
    unused = {name: size for name, size in dimensions.pure.items() if name not in told}
    names = [prefix.rstrip("/") for prefix, _, _ in groups]
    used = {group for _, _, datasets in groups for name, _, _ in datasets for group in lineage(name)}
    used |= {group for name in names for group in lineage(name)}
    empty = [name for name in names if name and name not in used]
    return {**({"dimensions": unused} if unused else {}), **({"groups": empty} if empty else {})}
