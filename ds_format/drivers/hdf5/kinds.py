"""The types: HDF5 ↔ ds."""

from __future__ import annotations

from typing import Any, Literal

import h5py
import numpy as np

from ...base.dtypes import TYPE_OF_CODE, TYPES
from ...errors import UnsupportedError

Kind = Literal["number", "bool", "fixed", "string", "octets"]
"""How values lie in a file: as numbers; as booleans of h5py, which are an enumeration; as strings of fixed or of
variable length; as sequences of bytes, which is how this package writes strings with a NUL."""

WIDENED = {"f2": "float32"}
"""Types that ds does not have, and those that hold their values exactly."""

OCTETS = h5py.vlen_dtype(np.dtype("u1"))

UNSUPPORTED = {
    h5py.h5t.TIME: "a time type",
    h5py.h5t.BITFIELD: "a type of bits",
    h5py.h5t.OPAQUE: "an opaque type",
    h5py.h5t.COMPOUND: "a compound type",
    h5py.h5t.REFERENCE: "a type of references",
    h5py.h5t.VLEN: "a ragged type",
    h5py.h5t.ARRAY: "an array type",
}


def type_of(dataset: Any, marked: Any) -> tuple[str, Kind]:
    """Return the ds type of a dataset, and how its values lie in the file.

    Parameters
    ----------
    dataset : h5py.h5d.DatasetID
    marked : object
        The type that the marker tells, if any.

    Raises
    ------
    UnsupportedError
        If ds has no such type.
    """
    type_id = dataset.get_type()
    kind = type_id.get_class()
    marked = marked if marked in TYPES else None
    if kind == h5py.h5t.VLEN and marked in ("str", "unicode") and dataset.dtype.metadata == OCTETS.metadata:
        return marked, "octets"
    if kind in UNSUPPORTED:
        raise UnsupportedError(f"{UNSUPPORTED[kind]} is not possible in ds")
    try:
        dtype = dataset.dtype
    except TypeError as error:
        raise UnsupportedError(f"its type is not possible in ds: {error}") from None
    if kind == h5py.h5t.STRING:
        if type_id.is_variable_str():
            return ("str" if marked == "str" else "unicode"), "string"
        return ("unicode" if type_id.get_cset() == h5py.h5t.CSET_UTF8 else "str"), "fixed"
    if dtype.kind == "b":
        return "bool", "bool"
    code = dtype.str[1:]
    if code in WIDENED:
        return WIDENED[code], "number"
    if code not in TYPE_OF_CODE:
        raise UnsupportedError(f"the type {dtype} is not possible in ds")
    if marked is not None and not TYPES[marked].is_string:
        return marked, "number"
    return TYPE_OF_CODE[code].name, "number"


def plain_dtype(dataset: Any) -> np.dtype[Any]:
    """Return the dtype of numbers of a dataset in memory: in native order, without what h5py hangs on it."""
    dtype: np.dtype[Any] = np.dtype(dataset.dtype.str).newbyteorder("=")
    return dtype


def file_dtype(type_name: str, kind: Kind) -> Any:
    """Return the dtype of a dataset to be made."""
    if kind == "octets":
        return OCTETS
    if kind == "string":
        return h5py.string_dtype("utf-8" if type_name == "unicode" else "ascii")
    return np.dtype(TYPES[type_name].code)
