"""The objects of an HDF5 file as `ds_format.hdf5` reads them, with attributes as h5py would read them.

A file is `Unusual` if h5py would read it in another way, or not at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import FormatError
from ...hdf5 import DatasetPlace, HDF5Attribute, HDF5Dataset, HDF5File, HDF5Type, Unusual, place_of
from ..library.catalog import parse_marker
from .attributes import Unreadable, decoded, text_at
from .format import MARKER, UNSUPPORTED, is_bool


def describe(file: HDF5File) -> tuple[HDF5File, dict[str, DatasetPlace]]:
    """Return a file with the values of attributes as `attributes.shown_attributes` takes them, and where values are.

    Parameters
    ----------
    file : HDF5File
        Read without `netcdf`.

    Returns
    -------
    file : HDF5File
    places : dict
        Name of a dataset → place of its values, if ds has its type.

    Raises
    ------
    Unusual
        If h5py must describe or read something.
    FormatError
        If the values of a dataset cannot be where the file says.
    """
    groups = [group._replace(attributes=_attributes(group.attributes, group.name)) for group in file.groups]
    datasets = [each._replace(attributes=_attributes(each.attributes, each.name)) for each in file.datasets]
    places = {each.name: place for each in datasets if (place := _checked(each)) is not None}
    return file._replace(groups=groups, datasets=datasets), places


def _checked(dataset: HDF5Dataset) -> DatasetPlace | None:
    """Return where the values of a dataset are; None if it has none, or ds does not have its type."""
    name, type_ = dataset.name, dataset.type
    if not isinstance(dataset.hidden.get("DIMENSION_LIST", ()), tuple):
        raise Unusual(f'the variable "{name}" has dimension scales in another form')
    if is_bool(type_):
        _check_bool(type_, name)
    if type_.code is None and type_.kind != "string":
        marker = parse_marker(text_at(dataset.attributes, MARKER)) or {}
        if type_.kind == "sequence" and marker.get("type") in ("str", "unicode"):
            raise Unusual(f'the variable "{name}" has strings with a NUL')
        if type_.kind not in UNSUPPORTED:
            raise Unusual(f'the variable "{name}" is of the kind "{type_.kind}" of {type_.size} bytes')
        return None
    if dataset.shape is None:
        return None
    if dataset.fill is not None and not dataset.is_fill_written:
        raise Unusual(f'the variable "{name}" has a fill value that is never written')
    try:
        return place_of(dataset)
    except Unusual as error:
        raise Unusual(f'the variable "{name}" has {error}') from None
    except FormatError as error:
        raise error.at(variable=name)


def _check_bool(type_: HDF5Type, owner: str) -> None:
    if type_.size != 1:
        raise Unusual(f'"{owner}" has booleans of {type_.size} bytes')


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
    if is_bool(type_):
        _check_bool(type_, name)
    if shape is None:
        return None
    dtype = np.dtype(type_.code)
    values = np.frombuffer(data, dtype).reshape(shape)
    if kind == "text":
        return decoded(without_padding(values, type_.padding).tolist())
    values = values.astype(bool if is_bool(type_) else dtype.newbyteorder("="))
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
