"""Reading: an HDF5 file as a Source without h5py, and its variables by their positions.

A file is `Unusual` if h5py would read it in another way, or not at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import hdf5
from ...base.dtypes import TYPES
from ...body.body import Body
from ...errors import FormatError
from ...hdf5 import DatasetPlace, HDF5Attribute, HDF5Dataset, HDF5File, HDF5Type, Unusual, place_of
from ..library.catalog import FileVariable, dtype_of, parse_marker
from ..native import HDF5FileSource, HDF5Values, open_native
from ..slabs import Slices
from .attributes import Unreadable, decoded, text_at
from .by_library import LIBRARY, open_by_library
from .catalog import read_catalog
from .format import MARKER, UNSUPPORTED, HDF5Warning, is_bool, warn


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


class PlainValues(HDF5Values):
    """Reads values of an HDF5 file.

    Parameters
    ----------
    body : Body
        The bytes of the file, a user block included.
    """

    category = HDF5Warning
    library = LIBRARY
    as_text = False

    def __init__(self, body: Body):
        super().__init__(hdf5.content(body) or body)

    def _open_by_library(self, path: str) -> Any:
        return open_by_library(path)

    def _whole(self, variable: FileVariable, place: Any) -> tuple[NDArray[Any], bool] | None:
        # numbers may have another type in the dataset
        return super()._whole(variable, place) if dtype_of(TYPES[variable.type].code) == place.dtype else None

    def _fetch_looked(self, variable: FileVariable, slices: Slices) -> tuple[NDArray[Any], bool]:
        """Return a slab; see `Reading`."""
        values, may_miss = super()._fetch_looked(variable, slices)
        if variable.kind == "bool":
            return values.view(np.bool_), may_miss
        return without_padding(values, variable.place.padding) if variable.kind == "fixed" else values, may_miss

    def _padding(self, place: DatasetPlace) -> NDArray[Any]:
        if place.dtype.kind == "V" and place.fill is not None:
            raise Unusual("strings with a fill value, which is needed beyond their number")
        return super()._padding(place)


class PlainSource(HDF5FileSource):
    """An open HDF5 file; see `NativeSource`.

    Parameters
    ----------
    body : Body
        The bytes of the file.
    content : Body
        The same without the user block.
    skip_unsupported : bool
        See `source.HDF5Source`.
    """

    def __init__(self, body: Body, content: Body, skip_unsupported: bool):
        file, left_out = hdf5.with_links(hdf5.read_file(content))
        file, places = describe(file)
        for link in left_out:
            warn(f'left out: "{link.name}", {link.reason}', content.name)
        super().__init__(PlainValues(body), body, read_catalog(file, places, body.name, skip_unsupported))


def opened(body: Body, skip_unsupported: bool) -> PlainSource | None:
    """Open an HDF5 file; see `native.open_native`. `skip_unsupported` is as of `source.HDF5Source`."""
    content = hdf5.content(body)
    if content is None:
        return None
    return open_native(content, (hdf5.SIGNATURE,), lambda content: PlainSource(body, content, skip_unsupported))
