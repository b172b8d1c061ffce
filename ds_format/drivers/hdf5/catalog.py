"""The metadata of a dataset, from the objects of an HDF5 file as `ds_format.hdf5` describes them, and h5py as well.

Files of the netCDF library are read by the rules of netCDF-4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...base.dtypes import PACKED, TYPES
from ...base.text import escape
from ...errors import UnsupportedError
from ...hdf5 import HDF5Dataset, HDF5File
from ...model import missing, packing
from ...model.settings import LABELS, NON_COORDINATE, PURE_DIMENSION
from ..base import OBJECT_SIZE, Metadata
from ..library.catalog import Catalog, FileVariable, joinable, split, take_bool
from .attributes import Marker, is_scale, shown_attributes, text_at
from .format import PROPERTY, dtype_of, storage_of, type_of, warn

NETCDF_ID = "_Netcdf4Dimid"
NETCDF_COORDINATES = "_Netcdf4Coordinates"
NETCDF_FILE = "_NCProperties"
"""Attribute of files written by the netCDF library from version 4.4.1 on, or by a program that follows it."""


def number_dtype(dataset: HDF5Dataset) -> np.dtype[Any] | None:
    """Return the dtype of the numbers of a dataset in memory; None: it has none."""
    dtype: np.dtype[Any] | None = dtype_of(dataset.type)
    return dtype if dtype is not None and dtype.kind in "fiu" else None


class Dimensions:
    """The dimensions of all datasets of a file.

    Parameters
    ----------
    datasets : list of HDF5Dataset
    """

    def __init__(self, datasets: list[HDF5Dataset]):
        self._names: dict[int, str] = {}
        """Names of dimension scales, by address."""
        self._ids: dict[int, str] = {}
        self.pure: dict[str, int] = {}
        """Dimensions that are no variables, and their sizes."""
        for dataset in datasets:
            if not is_scale(dataset.attributes) or not dataset.shape:
                continue
            name = dataset.name
            self._names.setdefault(dataset.address, name)
            number = dataset.attributes.get(NETCDF_ID)
            if isinstance(number, np.integer):
                self._ids[int(number)] = name
            title = text_at(dataset.attributes, "NAME") or ""
            if title.startswith(PURE_DIMENSION) and len(dataset.shape) == 1:
                self.pure[name] = dataset.shape[0]

    @property
    def are_numbered(self) -> bool:
        """Whether a dimension has a number, as the netCDF library gives them."""
        return bool(self._ids)

    def of(self, dataset: HDF5Dataset) -> list[str] | None:
        """Return the dimension names of a dataset with dimensions; None if it has none.

        A label takes precedence over a scale. An axis with neither is named `NAME_1`, `NAME_2`, ... after the dataset.
        """
        rank = len(dataset.shape or ())
        if is_scale(dataset.attributes):
            return self._of_scale(dataset, rank)
        lists = dataset.hidden.get("DIMENSION_LIST", ())
        if len(lists) != rank:
            lists = [()] * rank
        scales = [self._names.get(each[0], "") if each else "" for each in lists]
        labels = dataset.attributes.get(LABELS)
        if not isinstance(labels, list) or len(labels) != rank:
            labels = [""] * rank
        if not any(labels) and not any(scales):
            return None
        return [
            label or scale or f"{dataset.name}_{axis + 1}"
            for axis, (label, scale) in enumerate(zip(labels, scales, strict=True))
        ]

    def _of_scale(self, dataset: HDF5Dataset, rank: int) -> list[str] | None:
        if rank == 1:
            return [dataset.name]
        numbers = dataset.attributes.get(NETCDF_COORDINATES)
        if not isinstance(numbers, np.ndarray) or numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            return None
        found = [self._ids.get(number) for number in numbers.tolist()]
        names = [name for name in found if name is not None]
        return names if len(names) == len(found) == rank else None


def read_catalog(file: HDF5File, places: Mapping[str, Any], path: str, skip_unsupported: bool) -> Catalog:
    """Return the metadata of a file, a `FileVariable` for each variable, and the errors of unreadable ones.

    Parameters
    ----------
    file : HDF5File
        Its attributes are as `attributes.shown_attributes` takes them.
    places : mapping
        Name of a dataset → the object by which its values are read. Those without values may be left out.
    path : str
        For warnings.
    skip_unsupported : bool
        Whether to leave out variables that ds cannot hold, with a warning.
    """
    reader = _FileReader(path, file)
    catalog: Catalog = Catalog(path, skip_unsupported, warn)
    attributes: dict[str, Any] = {}
    for group in file.groups:
        prefix = f"{group.name}/" if group.name else ""
        for name, found in reader.attributes(group.attributes, prefix, None)[0].items():
            if escape(prefix + name) in attributes:
                warn(f'left out: attribute "{prefix + name}", which exists twice', path)
            else:
                attributes[escape(prefix + name)] = found
    for dataset in file.datasets:
        name = dataset.name
        if name in reader.dimensions.pure:
            continue
        try:
            variable, properties = reader.variable(dataset, places.get(name))
        except UnsupportedError as error:
            catalog.refuse(name, error)
            continue
        if escape(variable.name) in catalog.meta:
            warn(f'left out: "{name}", another variable has the name "{variable.name}"', path)
            continue
        catalog.add(variable, properties)
    record = _dataset_record(reader.dimensions, file, catalog.meta, reader.characters)
    catalog.meta["."] = {**({PROPERTY: record} if record else {}), **attributes}
    return catalog


class _FileReader:
    """Facts about a whole file that reading its parts needs."""

    def __init__(self, path: str, file: HDF5File):
        self.path = path
        self.dimensions = Dimensions(file.datasets)
        self.is_netcdf = NETCDF_FILE in file.groups[0].attributes or self.dimensions.are_numbered
        self.lengths = self._lengths(file.datasets)
        self._joins = self._joinable(file.datasets)
        self.characters: set[str] = set()
        """Dimensions of the characters of strings."""

    def _lengths(self, datasets: list[HDF5Dataset]) -> dict[str, int]:
        """Return the sizes of unlimited dimensions of netCDF-4, each that of the longest variable."""
        lengths: dict[str, int] = {}
        if not self.is_netcdf:
            return lengths
        for dataset in datasets:
            if dataset.shape and -1 in dataset.max_shape:
                dims = self.dimensions.of(dataset) or []
                for dim, size, limit in zip(dims, dataset.shape, dataset.max_shape, strict=False):
                    if limit == -1:
                        lengths[dim] = max(lengths.get(dim, 0), size)
        return lengths

    def _joinable(self, datasets: list[HDF5Dataset]) -> frozenset[str]:
        """Return the dimensions of netCDF-4 along which characters are joined."""
        known = [dataset for dataset in datasets if dataset.name not in self.dimensions.pure]
        codes = ["S1" if self.is_netcdf and dataset.type[:2] == CHARACTER else "" for dataset in known]
        if "S1" not in codes:
            return frozenset()
        dims = (self.dimensions.of(dataset) or [] if dataset.shape else [] for dataset in known)
        return joinable((dataset.name for dataset in known), zip(dims, codes, strict=True))

    def attributes(self, raw: dict[str, Any], prefix: str, dataset: HDF5Dataset | None) -> tuple[Any, Marker]:
        """Return attributes by name, and the marker; warn of attributes that are left out."""
        variable = None if dataset is None else dataset.name
        found, marker, skipped = shown_attributes(
            raw,
            None if dataset is None else number_dtype(dataset),
            is_scale=dataset is not None and is_scale(raw),
            is_netcdf=self.is_netcdf,
        )
        for name, reason in skipped:
            warn(f'left out: attribute "{prefix}{name}", {reason}', self.path, variable)
        return found, marker

    def variable(self, dataset: HDF5Dataset, place: Any) -> tuple[FileVariable, dict[str, Any]]:
        """Return what is needed to read a dataset, whose values are at a place, and its properties and attributes."""
        dtype = number_dtype(dataset)
        attributes, marker = self.attributes(dataset.attributes, "", dataset)
        name = _variable_name(dataset.name, marker)
        type_name, kind = type_of(dataset.type, marker.get("type"))
        if self.is_netcdf and type_name == "int8" and take_bool(attributes):
            type_name = "bool"
        shape = None if dataset.shape is None or marker.get("empty") is True else dataset.shape
        dims = self._dims(dataset, marker)
        extent = None
        if shape is not None and dims is not None and self.lengths:
            axes = zip(dims, shape, dataset.max_shape, strict=True)
            extent = shape
            shape = tuple([max(n, self.lengths.get(dim, 0)) if limit == -1 else n for dim, n, limit in axes])
        full, length = shape, None
        is_own = not marker.keys().isdisjoint(("type", "missing"))  # text of this package is always joined
        is_joined = dims is None or is_own or bool(dims and dims[-1] in self._joins)
        item_size = OBJECT_SIZE if dataset.type.code is None else dtype_of(dataset.type).itemsize
        if kind == "fixed" and self.is_netcdf and shape and item_size == 1 and is_joined:
            shape, length = shape[:-1], shape[-1]
            if dims is not None:
                self.characters.add(dims.pop())
            if marker.get("type") == "unicode":
                type_name = "unicode"
        mark = marker.get("missing")
        sentinels = [] if dtype is None else self._sentinels(dataset, attributes, marker, dtype)
        variable = FileVariable(
            name=name,
            place=place,
            type=type_name,
            kind=kind,
            shape=shape,
            length=length,
            size=item_size * max(length or 1, 1),
            chunk=None if dataset.layout.chunk is None or shape is None else dataset.layout.chunk[: len(shape)],
            sentinels=sentinels,
            mark=mark if isinstance(mark, str) and TYPES[type_name].is_string else None,
            extent=None if extent == full else extent,
            sought=np.array(sentinels, dtype) if sentinels else None,
        )
        properties = _properties(variable, dims, dataset, marker)
        if packing.are_packing(attributes, type_name):
            properties[PROPERTY] = {**properties.get(PROPERTY, {}), PACKED: True}
        return variable, {**properties, **{escape(k): v for k, v in attributes.items()}}

    def _dims(self, dataset: HDF5Dataset, marker: Marker) -> list[str] | None:
        if not dataset.shape:
            return []
        marked = _marked_dims(marker)
        if marked is not None and len(marked) == len(dataset.shape):
            return marked
        return self.dimensions.of(dataset)

    def _sentinels(
        self, dataset: HDF5Dataset, attributes: dict[str, Any], marker: Marker, dtype: np.dtype[Any]
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
        has_default = self.is_netcdf and dataset.fill is not None and dtype.str[1:] in missing.DEFAULT_FILLS
        return missing.sentinels(attributes, dtype, has_default)


CHARACTER = ("text", "|S1")
"""Kind and code of characters."""


def _properties(variable: FileVariable, dims: list[str] | None, dataset: HDF5Dataset, marker: Marker) -> dict[str, Any]:
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
    if variable.shape is not None and variable.length is None and (storage := storage_of(dataset)):
        properties[PROPERTY] = storage
    return properties


def _variable_name(path: str, marker: Marker) -> str:
    group, base = split(path)
    if isinstance(marker.get("name"), str):
        return str(marker["name"])
    return f"{group}/{base.removeprefix(NON_COORDINATE)}".removeprefix("/")


def _marked_dims(marker: Marker) -> list[str] | None:
    dims = marker.get("dims")
    return list(dims) if isinstance(dims, list) and all(isinstance(dim, str) for dim in dims) else None


def _dataset_record(dimensions: Dimensions, file: HDF5File, meta: Metadata, characters: set[str]) -> dict[str, Any]:
    """Return the settings of a file that its variables do not have."""
    told = {dim for properties in meta.values() for dim in properties.get(".dims", [])} | characters
    unused = {name: size for name, size in dimensions.pure.items() if name not in told}
    names = [group.name for group in file.groups]
    used = {split(dataset.name)[0] for dataset in file.datasets}
    used |= {split(name)[0] for name in names}  # all groups are listed, so parents are enough
    empty = [name for name in names if name and name not in used]
    return {**({"dimensions": unused} if unused else {}), **({"groups": empty} if empty else {})}
