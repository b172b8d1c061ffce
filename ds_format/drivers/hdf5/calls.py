"""Calls of h5py: opening and creating files, types, attributes, and storage settings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import h5py
import numpy as np

from ...base.dtypes import TYPES
from ...body import Address, check_file, path_text
from ...body.body import Stream, open_body
from ...body.remote.blocks import BlockBody
from ...body.stamp import Stamp
from ...errors import DsError, FormatError, UnsupportedError
from ...hdf5 import HDF5Filter, HDF5Type
from ...model.settings import SCALE_CLASS, setting
from ..library import guard
from ..library.kept import close_former
from .attributes import CODES, Marker, Native, Unreadable, decoded, stored_attributes
from .format import BOOLEAN, CACHE, LIBVER, MARKER, Kind

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


def create_file(path: str, target: str) -> Node:
    """Create a file whose objects are listed in the order of their creation.

    Parameters
    ----------
    path : str
    target : str
        The name for messages.
    """
    with guard.Guard(DsError, target):
        return h5py.File(path, "w", libver=LIBVER, track_order=True, **CACHE)


OCTETS = h5py.vlen_dtype(np.dtype("u1"))

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


def file_dtype(type_name: str, kind: Kind) -> Any:
    """Return the dtype of a dataset to be made."""
    if kind == "octets":
        return OCTETS
    if kind == "string":
        return h5py.string_dtype("utf-8" if type_name == "unicode" else "ascii")
    return np.dtype(TYPES[type_name].code)


def enum_members(record: Any, dtype: Any) -> dict[str, int] | None:
    """Return the names of the numbers of a variable, if the record has any that an enumeration of its type can have."""
    members = setting(record, "enum", dict)
    if not members or dtype.kind not in "iu" or not all(isinstance(value, int) for value in members.values()):
        return None
    try:
        h5py.h5t.py_create(h5py.enum_dtype(members, dtype))
    except (TypeError, ValueError, OverflowError):
        return None
    return members


def write_value(owner: Node, name: str, value: Native) -> None:
    """Write one attribute."""
    if value is None:
        owner.attrs.create(name, h5py.Empty(np.dtype("f4")))
    elif isinstance(value, (str, list)):
        text = value if isinstance(value, str) else np.array(value, dtype=object)
        owner.attrs.create(name, text, dtype=h5py.string_dtype())
    else:
        owner.attrs.create(name, value)


def write_attributes(owner: Node, given: dict[str, Any], dtype: np.dtype[Any] | None, is_scale: bool) -> Marker:
    """Write attributes in their order, and return their part of the marker; parameters as of `stored_attributes`."""
    stored, marker = stored_attributes(given, dtype, is_scale)
    for name, value in stored.items():
        write_value(owner, name, value)
    return marker


def write_marker(owner: Node, marker: Marker) -> None:
    """Write the marker, if it is not empty; an existing one is replaced."""
    if marker:
        write_value(owner, MARKER, json.dumps(marker))


SCALE_USER = np.dtype([("dataset", h5py.ref_dtype), ("dimension", "u4")], align=True)
"""A dataset that has a scale, and the number of its dimension, in the attribute `REFERENCE_LIST` of the scale."""


def make_scale(dataset: Node, name: str) -> None:
    """Make a dataset a dimension scale (HDF5 Dimension Scale Specification 1.0, sections 3 and 4).

    HDF5's high-level library does this, too. But the wheels of h5py and netCDF4 both have this library, with the same
    file name in some versions, and a process that loads both then calls the wrong one, which fails. It also reads and
    writes the list of all datasets of a scale for each of them.

    Parameters
    ----------
    dataset : h5py.Dataset
    name : str
        netCDF has a text of its own for dimensions without a variable.
    """
    for attribute, text in (("CLASS", SCALE_CLASS.encode()), ("NAME", name.encode("utf-8", "surrogateescape"))):
        kind = h5py.h5t.C_S1.copy()
        kind.set_size(len(text) + 1)
        kind.set_strpad(h5py.h5t.STR_NULLTERM)
        made = h5py.h5a.create(dataset.id, attribute.encode(), kind, h5py.h5s.create(h5py.h5s.SCALAR))
        made.write(np.array(text, f"S{len(text) + 1}"), mtype=kind)


def attach_scales(users: Iterable[tuple[Node, Sequence[Node]]]) -> None:
    """Attach scales to the dimensions of datasets; see `make_scale`.

    Parameters
    ----------
    users : iterable of (dataset, sequence of datasets)
        Each with the scales of all of its dimensions.
    """
    found: dict[str, tuple[Node, list[tuple[Any, int]]]] = {}
    for dataset, scales in users:
        rows = np.empty(len(scales), object)
        for axis, scale in enumerate(scales):
            rows[axis] = np.array([scale.ref], h5py.ref_dtype)
            found.setdefault(scale.name, (scale, []))[1].append((dataset.ref, axis))
        dataset.attrs.create("DIMENSION_LIST", rows, dtype=h5py.vlen_dtype(h5py.ref_dtype))
    for scale, references in found.values():
        scale.attrs.create("REFERENCE_LIST", np.array(references, SCALE_USER))


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
