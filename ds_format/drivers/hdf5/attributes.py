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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.text import escape, unescape
from ...codec.attributes import from_json, to_json
from ...model import missing
from ...model.settings import SCALE_CLASS
from ..library.catalog import decode_json, parse_marker
from .format import HIDDEN, IMPOSSIBLE, MARKER, SCALE_ATTRIBUTES, is_attribute, substitute

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
        return missing.in_type_of_variable(found, dtype)
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


def same(left: Native, right: Any) -> bool:
    """Return whether two values are of one type, and equal; all NaN are, since JSON knows one."""
    if type(left) is not type(right):
        return False
    if isinstance(left, (np.generic, np.ndarray)):
        is_alike = left.dtype == right.dtype and np.shape(left) == np.shape(right)
        return bool(is_alike and np.array_equal(left, right, equal_nan=left.dtype.kind == "f"))
    return bool(left == right)


Marker = dict[str, Any]


def stored_attributes(
    given: dict[str, Any], dtype: np.dtype[Any] | None, is_scale: bool
) -> tuple[dict[str, Native], Marker]:
    """Return attributes in the form in which a file stores them, in their order, and their part of the marker.

    Parameters
    ----------
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
    stored: dict[str, Native] = {}
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
        stored[shown] = form
    marker: Marker = {}
    if inexact:
        marker["attributes"] = to_json(inexact)
    if names:
        marker["names"] = names
    return stored, marker


def _as_read(key: str, value: Any) -> Any:
    """Return an attribute as reading a header returns it: lists of Python's values, arrays with dimensions."""
    if isinstance(value, (list, tuple, dict)) or (isinstance(value, np.ndarray) and not value.ndim):
        return from_json(to_json({key: value}))[key]
    return value


class Unreadable(NamedTuple):
    """In place of the value of an attribute that ds cannot hold."""

    reason: str


def text_at(raw: dict[str, Any], name: str) -> str | None:
    """Return the text of an attribute; None if there is none, or it is not one text."""
    value = raw.get(name)
    return value if isinstance(value, str) else None


def is_scale(raw: dict[str, Any]) -> bool:
    """Return whether a dataset with these attributes is a dimension scale."""
    return text_at(raw, "CLASS") == SCALE_CLASS


def shown_attributes(
    raw: dict[str, Any], dtype: np.dtype[Any] | None, *, is_scale: bool, is_netcdf: bool
) -> tuple[dict[str, Any], Marker, list[tuple[str, str]]]:
    """Return those attributes of a dataset or a group that a ds dataset has.

    Parameters
    ----------
    raw : dict
        All attributes of the file by name: None for a null dataspace, `str`, (nested) lists of `str`, NumPy scalars or
        (...) ndarrays in native byte order, or `Unreadable`.
    dtype : dtype, optional
        Dtype of the variable, if it has numbers.
    is_scale : bool
        Whether they are those of a dimension scale.
    is_netcdf : bool
        Whether the netCDF library wrote the file, which holds one number or text as an array of one.

    Returns
    -------
    attributes : dict
        By unescaped name.
    marker : dict
        The rest of the marker, which describes the variable.
    skipped : list of (name, reason)
    """
    hidden = {*HIDDEN, *SCALE_ATTRIBUTES} if is_scale else HIDDEN
    found: dict[str, Any] = {}
    skipped: list[tuple[str, str]] = []
    for name, value in raw.items():
        if name in hidden:
            continue
        if isinstance(value, Unreadable):
            skipped.append((name, value.reason))
        else:
            found[name] = _only(value) if is_netcdf else value
    marker = parse_marker(text_at(raw, MARKER)) or {}
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


def _only(value: Native) -> Native:
    """Return the item of an array or list of one."""
    if isinstance(value, np.ndarray):
        return value[0] if value.shape == (1,) else value
    return value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str) else value


def decoded(raw: Any) -> Any:
    """Return text of bytes, or of nested lists of them; bytes that are not UTF-8 as `surrogateescape` does."""
    if isinstance(raw, list):
        return [decoded(item) for item in raw]
    return raw.decode("utf-8", "surrogateescape") if isinstance(raw, bytes) else ""
