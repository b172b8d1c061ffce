"""Attributes of datasets and groups, and the marker with what HDF5 cannot store.

A file holds numbers and booleans with their NumPy type (scalars and arrays of any shape), text, lists of text, and
"nothing". Other values are written in the closest of these forms, or as JSON text.

The marker is an attribute `ds_format` of JSON text. The marker of a variable has

=========== ===========================================================================================================
`attributes` those whose value in the file is not the one of the dataset, as ds-1.0 writes them; used as long as
            the value in the file is the one that was written with it
`names`     name in the file → name of an attribute
`name`      of the variable, if it is not its path
`dims`      its dimensions, if it has no dimension scales
`type`      ds type, if it is not the one that is stored
`empty`     true: it has no data, and the dataset is a number of no meaning
`missing`   the number or text that means "missing"; null: no value does, whatever the attributes say
`fill`      true: this package added the attribute `_FillValue`
`time`      true: the values are Julian dates
=========== ===========================================================================================================

and of a group or a file the first two.
"""

from __future__ import annotations

import json
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ...base.text import escape, unescape
from ...codec.attributes import from_json, to_json
from ...errors import UnsupportedError
from ...model import missing
from ..library.catalog import decode_json, parse_marker
from .format import HIDDEN, IMPOSSIBLE, MARKER, SCALE_ATTRIBUTES, SCALE_CLASS, Node, is_attribute, substitute

CODES = frozenset({"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"})
"""Numbers and booleans that attributes of a dataset may be, as NumPy kind and item size."""

Native = Any
"""None, `str`, list of `str`, NumPy scalar or array in native byte order."""


def native(name: str, value: Any, dtype: np.dtype[Any] | None) -> Native:
    """Return a value in the form in which a file stores it.

    Parameters
    ----------
    name : str
        Name of the attribute.
    value
        Any value that the metadata of a dataset may hold.
    dtype : dtype, optional
        Dtype of the variable, if it has numbers.

    Raises
    ------
    UnsupportedError
        If neither HDF5 nor JSON can represent it.
    """
    if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):
        found = _array(value)
    elif isinstance(value, (bool, int, float)):
        found = _number(value)
    elif isinstance(value, (list, tuple)):
        found = _list(list(value))
    else:
        found = _scalar(value)
    if found is NotImplemented:
        return json.dumps(to_json({escape(name): value})[escape(name)])
    is_plain = not isinstance(value, (np.generic, np.ndarray)) and isinstance(found, (np.generic, np.ndarray))
    if is_plain and name in missing.VALUE_ATTRIBUTES and dtype is not None:
        return _in_type_of_variable(found, dtype)
    return found


def _scalar(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if isinstance(value, str):
        return NotImplemented if IMPOSSIBLE.search(value) else str(value)
    if isinstance(value, np.generic) and value.dtype.str[1:] in CODES:
        return value
    return NotImplemented


def _number(value: float) -> Any:
    """Return a Python number as NumPy's of the usual type, if that holds it."""
    for kind, dtype in ((bool, np.bool_), (float, np.float64)):
        if isinstance(value, kind):
            return dtype(value)
    for integers in (np.int64, np.uint64):
        if np.iinfo(integers).min <= value <= np.iinfo(integers).max:
            return integers(value)
    return NotImplemented


def _array(value: NDArray[Any]) -> Any:
    if value.dtype.str[1:] in CODES:
        array = value.astype(value.dtype.newbyteorder("="))
        return array if array.ndim else array[()]
    if value.dtype.kind in "USTO" and value.ndim == 1:
        return _list(value.tolist())
    return NotImplemented


def _list(value: list[Any]) -> Any:
    if not value:
        return np.zeros(0)
    if all(isinstance(item, (str, bytes)) for item in value):
        texts = [_scalar(item) for item in value]
        return NotImplemented if NotImplemented in texts else texts
    kinds = {type(item) for item in value}
    if len(kinds) != 1 or not kinds <= {bool, int, float}:
        return NotImplemented
    numbers = [_number(item) for item in value]
    if NotImplemented in numbers or len({type(number) for number in numbers}) != 1:
        return NotImplemented
    return np.array(numbers)


def _in_type_of_variable(found: Any, dtype: np.dtype[Any]) -> Any:
    fits = missing.fitting(found, dtype)
    if not fits or len(fits) != np.size(found):
        return found
    return np.array(fits) if isinstance(found, np.ndarray) else fits[0]


def same(left: Native, right: Any) -> bool:
    """Return whether two values are of one type, and equal; all NaN are, since JSON knows one."""
    if type(left) is not type(right):
        return False
    if isinstance(left, (np.generic, np.ndarray)):
        is_alike = left.dtype == right.dtype and np.shape(left) == np.shape(right)
        return bool(is_alike and np.array_equal(left, right, equal_nan=left.dtype.kind == "f"))
    return bool(left == right)


def write_value(owner: Node, name: str, value: Native) -> None:
    """Write one attribute."""
    if value is None:
        owner.attrs.create(name, h5py.Empty(np.dtype("f4")))
    elif isinstance(value, (str, list)):
        text = value if isinstance(value, str) else np.array(value, dtype=object)
        owner.attrs.create(name, text, dtype=h5py.string_dtype())
    else:
        owner.attrs.create(name, value)


def read_value(owner: Node, name: bytes, is_netcdf: bool) -> Native:
    """Return the value of one attribute.

    Parameters
    ----------
    owner : h5py.Group or h5py.Dataset
    name : bytes
    is_netcdf : bool
        Whether the netCDF library wrote the file, which holds one number or text as an array of one.

    Returns
    -------
    None, str, list of str, NumPy scalar or (...) ndarray
        None for a null dataspace; numbers of enumerations for their names. Bytes of text that are not UTF-8 are kept as
        `surrogateescape` does; NULs at its end are padding and left out.

    Raises
    ------
    UnsupportedError
        If its type is not supported by ds.
    """
    attribute = h5py.h5a.open(owner.id, name)
    kind = attribute.get_type().get_class()
    is_empty = attribute.get_space().get_simple_extent_type() == h5py.h5s.NULL
    if kind == h5py.h5t.STRING:
        return "" if is_empty else _read_text(attribute, is_netcdf)
    if kind not in (h5py.h5t.INTEGER, h5py.h5t.FLOAT, h5py.h5t.ENUM) or attribute.dtype.str[1:] not in CODES:
        raise UnsupportedError("its type is not supported by ds")
    if is_empty:
        return None
    # a new dtype is one without the names of an enumeration
    dtype = np.dtype(attribute.dtype.str).newbyteorder("=")
    values = np.zeros(attribute.shape, dtype=attribute.dtype)
    attribute.read(values)
    values = values.astype(dtype)
    if is_netcdf and values.shape == (1,):
        return values[0]
    return values if values.ndim else values[()]


def _read_text(attribute: Any, is_netcdf: bool) -> Any:
    values = np.zeros(attribute.shape, dtype=attribute.dtype)
    attribute.read(values, mtype=h5py.h5t.py_create(attribute.dtype))
    texts = _decoded(values.tolist())
    return texts[0] if is_netcdf and attribute.shape == (1,) else texts


def _decoded(raw: Any) -> Any:
    if isinstance(raw, list):
        return [_decoded(item) for item in raw]
    return raw.decode("utf-8", "surrogateescape") if isinstance(raw, bytes) else ""


Marker = dict[str, Any]


def write_attributes(owner: Node, given: dict[str, Any], dtype: np.dtype[Any] | None, is_scale: bool) -> Marker:
    """Write attributes in their order, and return their part of the marker.

    Parameters
    ----------
    owner : h5py.Group or h5py.Dataset
    given : dict
        By unescaped name.
    dtype : dtype, optional
        Dtype of the variable, if it has numbers.
    is_scale : bool
        Whether it will be a dimension scale, which has attributes of its own.

    Raises
    ------
    UnsupportedError
        If there is no way to write one; the message names it.
    """
    names: dict[str, str] = {}
    inexact: dict[str, Any] = {}
    for name, raw in given.items():
        value = _as_read(escape(name), raw)
        form = native(name, value, dtype)
        if not same(form, value):
            inexact[escape(name)] = value
        shown = name
        if not is_attribute(name) or (name in SCALE_ATTRIBUTES and (is_scale or value == SCALE_CLASS)):
            shown = substitute(name, {*given, *names})
            names[shown] = name
        write_value(owner, shown, form)
    marker: Marker = {}
    if inexact:
        marker["attributes"] = to_json(inexact)
    if names:
        marker["names"] = names
    return marker


def _as_read(key: str, value: Any) -> Any:
    """Return an attribute as reading a header returns it: lists of Python's values, arrays with dimensions."""
    if isinstance(value, (list, tuple, dict)) or (isinstance(value, np.ndarray) and not value.ndim):
        return from_json(to_json({key: value}))[key]
    return value


def write_marker(owner: Node, marker: Marker) -> None:
    """Write the marker, if it is not empty; an existing one is replaced."""
    if marker:
        write_value(owner, MARKER, json.dumps(marker))


def read_attributes(
    owner: Node, dtype: np.dtype[Any] | None, is_netcdf: bool
) -> tuple[dict[str, Any], Marker, list[tuple[str, str]]]:
    """Return the attributes of a dataset or a group.

    Parameters
    ----------
    owner : h5py.Group or h5py.Dataset
    dtype : dtype, optional
        Dtype of the variable, if it has numbers.
    is_netcdf : bool
        Whether the netCDF library wrote the file.

    Returns
    -------
    attributes : dict
        By unescaped name.
    marker : dict
        The rest of the marker, which describes the variable.
    skipped : list of (name, reason)
    """
    hidden = {*HIDDEN, *SCALE_ATTRIBUTES} if is_scale(owner) else HIDDEN
    found: dict[str, Any] = {}
    skipped: list[tuple[str, str]] = []
    for raw in owner_names(owner):
        name = raw.decode("utf-8", "surrogateescape")
        if name in hidden:
            continue
        try:
            found[name] = read_value(owner, raw, is_netcdf)
        except (UnsupportedError, TypeError) as error:
            skipped.append((name, error.message if isinstance(error, UnsupportedError) else str(error)))
    marker = parse_marker(read_attribute(owner, MARKER)) or {}
    names = marker.pop("names", None)
    if isinstance(names, dict):
        found = {names.get(name, name): value for name, value in found.items()}
    decode_json(found, marker.pop("json", []))  # of a NetCDF file that this package wrote
    recorded = marker.pop("attributes", None)
    if isinstance(recorded, dict):
        for key, value in from_json(recorded).items():
            name = unescape(key)
            # a program that changed the attribute did not change the marker
            if name in found and same(native(name, value, dtype), found[name]):
                found[name] = value
    return found, marker, skipped


def owner_names(owner: Node) -> list[bytes]:
    """Return the names of all attributes, in the order in which they were made if the file knows it."""
    names: list[bytes] = []
    is_ordered = bool(owner.id.get_create_plist().get_attr_creation_order())
    order = h5py.h5.INDEX_CRT_ORDER if is_ordered else h5py.h5.INDEX_NAME
    h5py.h5a.iterate(owner.id, names.append, index_type=order)
    return names


def read_attribute(owner: Node, name: str) -> Any:
    """Return the value of one attribute; None if it does not exist, or cannot be read."""
    if name not in owner.attrs:
        return None
    try:
        return read_value(owner, name.encode(), False)
    except (UnsupportedError, TypeError):
        return None


def is_scale(owner: Node) -> bool:
    """Return whether a dataset is a dimension scale.

    The library's own functions for scales and labels are left alone: they crash in damaged files.
    """
    return isinstance(owner, h5py.Dataset) and bool(read_attribute(owner, "CLASS") == SCALE_CLASS)
