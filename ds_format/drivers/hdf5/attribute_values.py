"""Values of attributes: what a dataset has ↔ what an HDF5 file holds.

A file holds numbers and booleans with their NumPy type (scalars and arrays of any shape), text, lists of text, and
"nothing". Anything else is written as what comes next to it, or as JSON text.
"""

from __future__ import annotations

import json
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ...base.names import escape
from ...codec.attributes import to_json
from ...errors import UnsupportedError
from ..library import missing
from .calls import Node
from .names import IMPOSSIBLE

CODES = frozenset({"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"})
"""Numbers and booleans that attributes of a dataset may be, as NumPy kind and item size."""

Native = Any
"""None, `str`, list of `str`, NumPy scalar or array in native byte order."""


def native(name: str, value: Any, dtype: np.dtype[Any] | None) -> Native:
    """Return a value in the form that a file holds.

    Parameters
    ----------
    name : str
        Of the attribute.
    value
        What the metadata of a dataset may hold.
    dtype : dtype, optional
        Of the variable, if it has numbers.

    Raises
    ------
    UnsupportedError
        If it is neither this nor anything that JSON can say.
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


def write(owner: Node, name: str, value: Native) -> None:
    """Write one attribute."""
    if value is None:
        owner.attrs.create(name, h5py.Empty(np.dtype("f4")))
    elif isinstance(value, (str, list)):
        text = value if isinstance(value, str) else np.array(value, dtype=object)
        owner.attrs.create(name, text, dtype=h5py.string_dtype())
    else:
        owner.attrs.create(name, value)


def read(owner: Node, name: bytes, is_netcdf: bool) -> Native:
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
        If its type is not possible in ds.
    """
    attribute = h5py.h5a.open(owner.id, name)
    kind = attribute.get_type().get_class()
    is_empty = attribute.get_space().get_simple_extent_type() == h5py.h5s.NULL
    if kind == h5py.h5t.STRING:
        return "" if is_empty else _read_text(attribute, is_netcdf)
    if kind not in (h5py.h5t.INTEGER, h5py.h5t.FLOAT, h5py.h5t.ENUM) or attribute.dtype.str[1:] not in CODES:
        raise UnsupportedError("its type is not possible in ds")
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
