"""The objects of an HDF5 file, described from the records of `ds_format.hdf5` as h5py would describe them.

A file is `Unusual` if h5py would read it in another way, or not at all.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import FormatError
from ...hdf5 import HDF5Attribute, HDF5Dataset, HDF5File, HDF5Type, Unusual, place_of
from ..library.catalog import parse_marker, split
from .attributes import Unreadable, decoded, text_at
from .catalog import DatasetDescription, GroupDescription
from .format import MARKER, UNSUPPORTED, StoredType, refused

BOOLEAN = {"FALSE": 0, "TRUE": 1}
"""Members of the enumeration by which h5py stores booleans."""
DEFLATE, SHUFFLE, FLETCHER32, LZF = 1, 2, 3, 32000
"""Numbers of filters."""


def describe(file: HDF5File) -> list[GroupDescription]:
    """Return the description of a file.

    Parameters
    ----------
    file : HDF5File
        Read without `netcdf`.

    Raises
    ------
    Unusual
        If h5py must describe or read something.
    FormatError
        If the values of a dataset cannot be where the file says.
    """
    datasets: dict[str, list[DatasetDescription]] = {group.name: [] for group in file.groups}
    for dataset in file.datasets:
        datasets[split(dataset.name)[0]].append(_described(dataset))
    return [
        GroupDescription(
            f"{group.name}/" if group.name else "", _attributes(group.attributes, group.name), datasets[group.name]
        )
        for group in file.groups
    ]


def _described(dataset: HDF5Dataset) -> DatasetDescription:
    name, shape, chunk = dataset.name, dataset.shape, dataset.layout.chunk
    attributes = _attributes(dataset.attributes, name)
    stored = _stored_type(dataset, attributes)
    place = None
    if stored.kind is not None and shape is not None:
        if dataset.fill is not None and not dataset.is_fill_written:
            raise Unusual(f'the variable "{name}" has a fill value that is never written')
        try:
            place = place_of(dataset)
        except Unusual as error:
            raise Unusual(f'the variable "{name}" has {error}') from None
        except FormatError as error:
            raise error.at(variable=name)
    return DatasetDescription(
        name,
        place,
        dataset.address,
        stored,
        shape,
        () if shape is None else tuple([None if n == -1 else n for n in dataset.max_shape]),
        chunk,
        attributes,
        _scales(dataset),
        dataset.fill is not None,
        {} if stored.kind is None else _storage(dataset),
    )


def _stored_type(dataset: HDF5Dataset, attributes: dict[str, Any]) -> StoredType:
    type_ = dataset.type
    kind = type_.kind
    if kind == "string":
        return StoredType("string")
    if type_.code is not None:
        native = np.dtype(type_.code).newbyteorder("=")
        if kind == "text":
            return StoredType("fixed", native, type_.is_utf8)
        if _is_bool(type_, dataset.name):
            return StoredType("bool", np.dtype(bool))
        return StoredType("number", native)
    if kind == "sequence" and text_at(attributes, MARKER) is not None:
        marker = parse_marker(attributes[MARKER]) or {}
        if marker.get("type") in ("str", "unicode"):
            raise Unusual(f'the variable "{dataset.name}" has strings with a NUL')
    if kind not in UNSUPPORTED:
        raise Unusual(f'the variable "{dataset.name}" is of the kind "{kind}" of {type_.size} bytes')
    return refused(kind)


def _is_bool(type_: HDF5Type, owner: str) -> bool:
    """Return whether a type is that of h5py's booleans."""
    if type_.kind != "enum" or dict(type_.members or ()) != BOOLEAN:
        return False
    if type_.size != 1:
        raise Unusual(f'"{owner}" has booleans of {type_.size} bytes')
    return True


def _scales(dataset: HDF5Dataset) -> list[Hashable]:
    lists = dataset.hidden.get("DIMENSION_LIST", ())
    if not isinstance(lists, tuple):
        raise Unusual(f'the variable "{dataset.name}" has dimension scales in another form')
    return [each[0] if each else None for each in lists] if len(lists) == len(dataset.shape or ()) else []


def _storage(dataset: HDF5Dataset) -> dict[str, Any]:
    """Return the record of a dataset; see `format`."""
    record: dict[str, Any] = {}
    type_, shape, chunk = dataset.type, dataset.shape, dataset.layout.chunk
    if chunk is not None:
        record["chunks"] = list(chunk)
        if dataset.max_shape != shape:
            record["maxshape"] = [None if n == -1 else n for n in dataset.max_shape]
        filters = {each.number: each.values for each in dataset.filters}
        if DEFLATE in filters:
            if not filters[DEFLATE]:
                raise Unusual(f'the variable "{dataset.name}" has zlib compression without a level')
            record |= {"compression": "gzip", "level": filters[DEFLATE][0]}
        elif LZF in filters:
            record["compression"] = "lzf"
        names = {SHUFFLE: "shuffle", FLETCHER32: "fletcher32"}
        record |= {name: True for number, name in names.items() if number in filters}
    if type_.kind in ("number", "enum") and type_.code is not None and type_.code[0] == ">":
        record["endian"] = "big"
    if type_.kind == "enum" and not _is_bool(type_, dataset.name):
        record["enum"] = dict(type_.members or ())
    return record


def _attributes(found: dict[str, Any], owner: str) -> dict[str, Any]:
    """Return attributes as `attributes.shown_attributes` takes them."""
    return {
        name: _value(value, f"{owner}: {name}") if isinstance(value, HDF5Attribute) else value
        for name, value in found.items()
    }


def _value(attribute: HDF5Attribute, name: str) -> Any:
    """Return the value of an attribute that is no number, text or list of these."""
    type_, shape, data = attribute
    kind = type_.kind
    if kind in UNSUPPORTED:
        return Unreadable("its type is not supported by ds")
    if isinstance(data, list):
        return np.array(data, object).reshape(shape or ()).tolist()
    if type_.code is None:
        raise Unusual(f'the attribute "{name}" is of the kind "{kind}" of {type_.size} bytes')
    if shape is None:
        return None
    dtype = np.dtype(type_.code)
    values = np.frombuffer(data, dtype).reshape(shape)
    if kind == "text":
        return decoded(without_padding(values, type_.padding).tolist())
    values = values.astype(bool if _is_bool(type_, name) else dtype.newbyteorder("="))
    return values if shape else values[()]


def without_padding(values: NDArray[Any], padding: str) -> NDArray[Any]:
    """Return text of fixed length with NULs in place of what pads it; see `HDF5Type.padding`.

    Parameters
    ----------
    values : (...) array of S
    padding : str
    """
    if padding not in ("NUL ends", "spaces") or not values.size:
        return values
    raw = np.array(values, order="C").reshape(-1, 1).view(np.uint8)
    if padding == "spaces":
        raw[np.logical_and.accumulate(raw[:, ::-1] == ord(" "), axis=1)[:, ::-1]] = 0
    else:
        raw[np.logical_or.accumulate(raw == 0, axis=1)] = 0
    return raw.view(values.dtype).reshape(values.shape)
