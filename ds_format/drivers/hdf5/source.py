"""Reading: the objects of an HDF5 file and the names of its dimensions as metadata, and its Source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ...base.dtypes import PACKED, TYPES
from ...body import path_text
from ...codec.slab_reading import SlabReader
from ...dataset import escape
from ...errors import DsError, FormatError, UnsupportedError
from ...model import missing, packing
from ...model.settings import LABELS, NON_COORDINATE
from ..base import OBJECT_SIZE, Metadata
from ..chunked import Chunks
from ..library.catalog import Catalog, FileVariable, joinable, split, take_bool
from ..library.guard import ERRORS, Guard
from ..library.source import LibrarySource
from ..slabs import Slices, read_filled
from .attributes import Marker, is_scale, read_attribute, read_attributes
from .format import (
    PROPERTY,
    PURE_DIMENSION,
    WIDENED,
    HDF5Warning,
    Kind,
    Node,
    address_of,
    open_file,
    plain_dtype,
    read_storage,
    type_of,
    warn,
)

Report = Callable[[str, str], None]
"""Takes the path of an object that is left out, and the reason."""


def walk(file: Node, report: Report) -> Iterator[tuple[str, Node, list[tuple[str, bytes, Node]]]]:
    """Yield each group once, outer ones first, with its datasets in their order.

    Parameters
    ----------
    file : h5py.File
    report : callable

    Yields
    ------
    prefix : str
        Prefix of the names in the group: `""`, `"g/"`, `"g/h/"`, ...
    group : h5py.Group
    datasets : list of (name, path, h5py.Dataset)
    """
    root = file["/"]
    seen = {address_of(root.id): "/"}
    waiting = [("", b"/", root)]
    while waiting:
        prefix, path, group = waiting.pop()
        datasets: list[tuple[str, bytes, Node]] = []
        groups: list[tuple[str, bytes, Node]] = []
        for raw in _links(group):
            name = prefix + raw.decode("utf-8", "surrogateescape")
            try:
                identifier = h5py.h5o.open(group.id, raw)
            except ERRORS as error:
                report(name, f"a link that leads nowhere ({error.args[0] if error.args else error})")
                continue
            if isinstance(identifier, h5py.h5d.DatasetID):
                datasets.append((name, path + raw, h5py.Dataset(identifier)))
            elif isinstance(identifier, h5py.h5g.GroupID):
                address = address_of(identifier)
                if address in seen:
                    report(name, f'a link to the group "{seen[address]}", which is listed under that name')
                    continue
                seen[address] = name
                groups.append((name + "/", path + raw + b"/", h5py.Group(identifier)))
        yield prefix, group, datasets
        waiting += reversed(groups)


def _links(group: Node) -> list[bytes]:
    """Return the names of a group's links: hard ones first, so that objects appear where they are."""
    names: list[bytes] = []
    others: list[bytes] = []

    def sort(name: bytes, info: Any) -> None:
        (names if info.type == h5py.h5l.TYPE_HARD else others).append(name)

    is_ordered = bool(group.id.get_create_plist().get_link_creation_order())
    order = h5py.h5.INDEX_CRT_ORDER if is_ordered else h5py.h5.INDEX_NAME
    group.id.links.iterate(sort, info=True, idx_type=order)
    return names + others


DIMENSION_LIST = "DIMENSION_LIST"
NETCDF_ID = "_Netcdf4Dimid"
NETCDF_COORDINATES = "_Netcdf4Coordinates"


class Dimensions:
    """The dimensions of all datasets of a file.

    Parameters
    ----------
    file : h5py.File
    datasets : list of (name, h5py.Dataset)
    """

    def __init__(self, file: Node, datasets: list[tuple[str, Node]]):
        self._file = file
        self._names: dict[tuple[int, int], str] = {}
        """Names of dimension scales, by address; the library would search the whole file for a name."""
        self._ids: dict[int, str] = {}
        self.pure: dict[str, int] = {}
        """Dimensions that are no variables, and their sizes."""
        for name, dataset in datasets:
            if not is_scale(dataset) or not dataset.shape:
                continue
            self._names.setdefault(address_of(dataset.id), name)
            number = read_attribute(dataset, NETCDF_ID)
            if isinstance(number, np.integer):
                self._ids[int(number)] = name
            if str(read_attribute(dataset, "NAME")).startswith(PURE_DIMENSION) and dataset.ndim == 1:
                self.pure[name] = int(dataset.shape[0])

    @property
    def are_numbered(self) -> bool:
        """Whether a dimension has a number, as the netCDF library gives them."""
        return bool(self._ids)

    def of(self, name: str, dataset: Node) -> list[str] | None:
        """Return the dimension names of a dataset; None if it has none.

        A label takes precedence over a scale. An axis with neither is named `NAME_1`, `NAME_2`, ... after the dataset.
        """
        if is_scale(dataset):
            return self._of_scale(name, dataset)
        scales = self._scales(dataset)
        labels = read_attribute(dataset, LABELS)
        if not isinstance(labels, list) or len(labels) != dataset.ndim:
            labels = [""] * int(dataset.ndim)
        if not any(labels) and not any(scales):
            return None
        return [
            label or scale or f"{name}_{axis + 1}"
            for axis, (label, scale) in enumerate(zip(labels, scales, strict=True))
        ]

    def _of_scale(self, name: str, dataset: Node) -> list[str] | None:
        if dataset.ndim == 1:
            return [name]
        numbers = read_attribute(dataset, NETCDF_COORDINATES)
        is_list = isinstance(numbers, np.ndarray) and numbers.ndim == 1 and numbers.dtype.kind in "iu"
        found = [self._ids.get(number) for number in numbers.tolist()] if is_list else []
        names = [name for name in found if name is not None]
        return names if len(names) == len(found) == dataset.ndim else None

    def _scales(self, dataset: Node) -> list[str]:
        """Return the path of the first scale of each axis, `""` without one."""
        if DIMENSION_LIST not in dataset.attrs:
            return [""] * int(dataset.ndim)
        lists = dataset.attrs[DIMENSION_LIST]
        if np.shape(lists) != (dataset.ndim,):
            return [""] * int(dataset.ndim)
        return [self._scale(references) for references in lists]

    def _scale(self, references: Any) -> str:
        if not len(references) or not isinstance(references[0], h5py.Reference) or not references[0]:
            return ""
        try:
            return self._names.get(address_of(h5py.h5r.dereference(references[0], self._file.id)), "")
        except ERRORS:
            # the scale was deleted
            return ""


NETCDF_FILE = "_NCProperties"
"""Attribute of files written by the netCDF library from version 4.4.1 on, or by a program that follows it."""

USER_DEFINED = 2
"""H5D_FILL_VALUE_USER_DEFINED: the writer chose the fill value."""


def read_catalog(file: Node, path: str, skip_unsupported: bool) -> Catalog:
    """Return the metadata of a file, a `FileVariable` for each variable, and the errors of unreadable ones.

    Parameters
    ----------
    file : h5py.File
    path : str
        For warnings.
    skip_unsupported : bool
        Whether to leave out variables that ds cannot hold, with a warning.
    """
    groups = list(walk(file, lambda name, reason: warn(f'left out: "{name}", {reason}', path)))
    reader = _FileReader(file, path, groups)
    catalog: Catalog = Catalog(path, skip_unsupported, warn)
    attributes: dict[str, Any] = {}
    for prefix, group, datasets in groups:
        for name, found in reader.attributes(group, None, None)[0].items():
            if escape(prefix + name) in attributes:
                warn(f'left out: attribute "{prefix + name}", which exists twice', path)
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


class _FileReader:
    """Facts about a whole file that reading its parts needs."""

    def __init__(self, file: Node, path: str, groups: list[Any]):
        self.path = path
        datasets = [(name, node) for _, _, nodes in groups for name, _, node in nodes]
        self.dimensions = Dimensions(file, datasets)
        self.is_netcdf = NETCDF_FILE in file.attrs or self.dimensions.are_numbered
        self.lengths = self._lengths(datasets)
        self._joins = self._joinable(datasets)
        self.characters: set[str] = set()
        """Dimensions of the characters of strings."""

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
        """Return attributes by name, and the marker; warn of attributes that are left out."""
        found, marker, skipped = read_attributes(owner, dtype, self.is_netcdf)
        for name, reason in skipped:
            prefix = owner.name.strip("/") + "/" if variable is None and owner.name != "/" else ""
            warn(f'left out: attribute "{prefix}{name}", {reason}', self.path, variable)
        return found, marker

    def variable(self, path_name: str, place: bytes, dataset: Node) -> tuple[FileVariable, dict[str, Any]]:
        """Return what is needed to read a dataset, and its properties and attributes."""
        dtype = plain_dtype(dataset.id) if _is_number(dataset) else None
        attributes, marker = self.attributes(dataset, path_name, dtype)
        name = _variable_name(path_name, marker)
        type_name, kind = type_of(dataset.id, marker.get("type"))
        if self.is_netcdf and type_name == "int8" and take_bool(attributes):
            type_name = "bool"
        if dtype is not None and dtype.str[1:] in WIDENED:
            warn(f"is {dtype} in the file, and read as {type_name}, which holds the same values", self.path, name)
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
        variable = FileVariable(
            name=name,
            place=place,
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


def _properties(variable: FileVariable, dims: list[str] | None, dataset: Node, marker: Marker) -> dict[str, Any]:
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
    """Return the settings of a file that its variables do not have."""
    told = {dim for properties in meta.values() for dim in properties.get(".dims", [])} | characters
    unused = {name: size for name, size in dimensions.pure.items() if name not in told}
    names = [prefix.rstrip("/") for prefix, _, _ in groups]
    used = {split(name)[0] for _, _, datasets in groups for name, _, _ in datasets}
    used |= {split(name)[0] for name in names}  # all groups are listed, so parents are enough
    empty = [name for name in names if name and name not in used]
    return {**({"dimensions": unused} if unused else {}), **({"groups": empty} if empty else {})}


class HDF5Source(LibrarySource):
    """An open HDF5 file; see `ds_format.drivers.base.Source`.

    Values are returned as stored. A value is missing if it equals `_FillValue` or a `missing_value`, or if this package
    marked it. In files of the netCDF library, its default fill values count as well. The array below the mask keeps the
    stored values.

    Parameters
    ----------
    path : str, bytes or PathLike
    skip_unsupported : bool
        Leave out variables of types that ds does not have, with an `HDF5Warning`. Attributes of such types are always
        left out.

    Raises
    ------
    OSError
        As `open` would.
    FormatError
        If it is not an HDF5 file, or a damaged one.
    """

    category = HDF5Warning

    def __init__(self, path: Any, *, skip_unsupported: bool = False):
        self._path = path_text(path)
        self._file = open_file(self._path)
        self._opened: tuple[FileVariable, Node] | None = None
        self._chunks: Chunks | None = None
        try:
            with Guard(FormatError, self._path):
                self._take(read_catalog(self._file, self._path, skip_unsupported))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file; closing twice is no error."""
        self._opened = self._chunks = None
        with Guard(DsError, self._path):
            self._file.close()

    def _dataset(self, variable: FileVariable) -> Node:
        """Return an open dataset; one at a time, so that the library keeps chunks of one alone."""
        opened = self._opened
        if opened is not None and opened[0] is variable:
            return opened[1]
        dataset = h5py.Dataset(h5py.h5d.open(self._file.id, variable.place))
        _check_filters(dataset)
        self._opened = (variable, dataset)
        return dataset

    def _prepare(self, variable: FileVariable, slices: Slices) -> SlabReader | None:
        """Return what reads a slab without the library; see `LibrarySource`."""
        if variable.kind != "number" or not slices:
            return None

        def find() -> Any:
            return h5py.h5d.open(self._file.id, variable.place)

        with Guard(FormatError, self._path, variable.name):
            if self._chunks is None:
                self._chunks = Chunks(self._file, self._path)
            return self._chunks.prepare(variable.place, find, slices, lambda: _fill(h5py.Dataset(find())))

    def _fetch(self, variable: FileVariable, slices: Slices) -> NDArray[Any]:
        """Return a slab; see `LibrarySource`."""
        with Guard(FormatError, self._path, variable.name):
            found = _raw(self._dataset(variable), slices, variable.extent)
        shape = [s.stop - s.start for s in slices]
        if variable.kind == "octets":
            # before something takes a sequence for an array of the variable
            return _joined_octets(found if slices else [found], shape)
        array = np.asarray(found).reshape(shape)
        # the dtypes of the library carry names and encodings
        return array.astype(np.dtype(array.dtype.str).newbyteorder("="), copy=False)


def _raw(dataset: Node, slices: Slices, extent: tuple[int, ...] | None) -> Any:
    """Return a slab as the library does."""
    if any(s.start >= s.stop for s in slices):
        # the library refuses empty slabs
        return np.empty(0, dataset.dtype)
    if extent is not None:
        return read_filled(lambda part: dataset[part], slices, extent, lambda: _fill(dataset))
    return dataset[slices if slices else ()]


def _fill(dataset: Node) -> NDArray[Any]:
    """Return what netCDF-4 has where a variable is shorter than its dimensions."""
    dtype = dataset.dtype
    fill = dataset.fillvalue if dataset.id.get_create_plist().fill_value_defined() == USER_DEFINED else None
    if dtype.kind == "O":
        return np.array([fill if isinstance(fill, bytes) else b""], dtype=object)
    if fill is None:
        fill = missing.DEFAULT_FILLS.get(dtype.str[1:], 0) if dtype.kind in "fiu" else b""
    return np.array([fill], dtype=dtype)


def _joined_octets(sequences: Any, shape: list[int]) -> NDArray[Any]:
    flat = sequences if isinstance(sequences, list) else sequences.reshape(-1).tolist()
    values = np.empty(len(flat), dtype=object)
    values[:] = [np.asarray(item, "u1").tobytes() for item in flat]
    return values.reshape(shape)


def _check_filters(dataset: Node) -> None:
    plist = dataset.id.get_create_plist()
    for i in range(plist.get_nfilters()):
        number, _, _, name = plist.get_filter(i)
        if not h5py.h5z.filter_avail(number):
            label = f' "{name.decode(errors="replace")}"' if name else ""
            raise UnsupportedError(
                f"its values are encoded with the filter {number}{label}, which is not installed (see hdf5plugin)"
            )
