"""Calls of h5py: opening and creating files, types, attributes, and storage settings."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np

from ...body import Address, check_file, path_text
from ...body.body import Stream, open_body
from ...body.remote.blocks import BlockBody
from ...body.stamp import Stamp
from ...errors import FormatError, UnsupportedError
from ...hdf5 import HDF5Filter, HDF5Type
from ..library import guard
from ..library.kept import close_former
from .attributes import CODES, Native, Unreadable, decoded
from .format import BOOLEAN, CACHE

Node = Any
"""An h5py.Group (the root one is not the file) or h5py.Dataset; h5py has no types for static checks."""


def address_of(identifier: Any) -> int:
    """Return a number that identifies an open object: its address, after the number of its file."""
    info = h5py.h5o.get_info(identifier)
    return int(info.fileno << 64 | info.addr)


def open_file(path: Any) -> Node:
    """Open a file to read.

    Parameters
    ----------
    path : str, bytes, PathLike or Address

    Raises
    ------
    OSError
        As `open` would, or if it is not a regular file, since the library would wait for a pipe.
    FormatError
        If it is not an HDF5 file, or a damaged one.
    """
    name = path_text(path)
    if isinstance(path, Address):
        with guard.Guard(FormatError, name):
            return h5py.File(Stream(BlockBody(open_body(path))), "r", **CACHE)
    check_file(name)
    close_former(Stamp.of_path(name))
    with guard.opening(name, "HDF5"), guard.Guard(FormatError, name):
        return h5py.File(name, "r", **CACHE)


KINDS = {
    h5py.h5t.TIME: "time",
    h5py.h5t.BITFIELD: "bitfield",
    h5py.h5t.OPAQUE: "opaque",
    h5py.h5t.COMPOUND: "compound",
    h5py.h5t.REFERENCE: "reference",
    h5py.h5t.VLEN: "sequence",
    h5py.h5t.ARRAY: "array",
    h5py.h5t.STRING: "text",
}
"""Kinds of classes of types other than numbers."""


def describe_type(dataset: Any) -> HDF5Type:
    """Return the type of a dataset, given as h5py.h5d.DatasetID.

    The kind of sequences of bytes, as this package writes strings, is `octets`. That of a type that h5py does not have
    is the reason.
    """
    type_id = dataset.get_type()
    kind, size = KINDS.get(type_id.get_class(), "number"), type_id.get_size()
    if kind == "sequence" and type_id.get_super().equal(h5py.h5t.NATIVE_UINT8):
        return HDF5Type("octets", None, size)
    if kind == "text" and type_id.is_variable_str():
        return HDF5Type("string", None, size)
    if kind not in ("number", "text"):
        return HDF5Type(kind, None, size)
    try:
        dtype = dataset.dtype
    except TypeError as error:
        return HDF5Type(str(error), None, size)
    if kind == "text":
        return HDF5Type(kind, dtype.str, size, is_utf8=type_id.get_cset() == h5py.h5t.CSET_UTF8)
    members = BOOLEAN if dtype.kind == "b" else h5py.check_enum_dtype(dtype)
    if members is None:
        return HDF5Type(kind, dtype.str, size)
    return HDF5Type("enum", dtype.str, size, tuple([(str(name), int(value)) for name, value in members.items()]))


def describe_filters(dataset: Any) -> tuple[HDF5Filter, ...]:
    """Return the filters of a dataset, given as h5py.h5d.DatasetID."""
    properties = dataset.get_create_plist()
    found = map(properties.get_filter, range(properties.get_nfilters()))
    return tuple([HDF5Filter(number, bool(flags), values) for number, flags, values, _ in found])


def read_value(owner: Node, name: bytes) -> Native:
    """Return the value of one attribute.

    Parameters
    ----------
    owner : h5py.Group or h5py.Dataset
    name : bytes

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
        return "" if is_empty else _read_text(attribute)
    if kind not in (h5py.h5t.INTEGER, h5py.h5t.FLOAT, h5py.h5t.ENUM) or attribute.dtype.str[1:] not in CODES:
        raise UnsupportedError("its type is not supported by ds")
    if is_empty:
        return None
    # a new dtype is one without the names of an enumeration
    dtype = np.dtype(attribute.dtype.str).newbyteorder("=")
    values = np.zeros(attribute.shape, dtype=attribute.dtype)
    attribute.read(values)
    values = values.astype(dtype)
    return values if values.ndim else values[()]


def _read_text(attribute: Any) -> Any:
    values = np.zeros(attribute.shape, dtype=attribute.dtype)
    attribute.read(values, mtype=h5py.h5t.py_create(attribute.dtype))
    return decoded(values.tolist())


def read_attributes(owner: Node) -> dict[str, Any]:
    """Return all attributes of a dataset or a group; see `attributes.shown_attributes`."""
    found: dict[str, Any] = {}
    for raw in owner_names(owner):
        try:
            value = read_value(owner, raw)
        except (UnsupportedError, TypeError) as error:
            value = Unreadable(error.message if isinstance(error, UnsupportedError) else str(error))
        found[raw.decode("utf-8", "surrogateescape")] = value
    return found


def owner_names(owner: Node) -> list[bytes]:
    """Return the names of all attributes, in the order in which they were made if the file knows it."""
    names: list[bytes] = []
    is_ordered = bool(owner.id.get_create_plist().get_attr_creation_order())
    order = h5py.h5.INDEX_CRT_ORDER if is_ordered else h5py.h5.INDEX_NAME
    h5py.h5a.iterate(owner.id, names.append, index_type=order)
    return names
