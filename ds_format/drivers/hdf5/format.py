"""Names and types that HDF5 files can hold, calls of h5py, and storage settings of variables.

Names that HDF5 or netCDF-4 cannot hold, or reserve, get a substitute. The property `.hdf5` of a dataset holds the
storage settings of a variable that differ from the default:

============= ====================================================================
`chunks`      list of int
`maxshape`    list of int, or null where there is no limit
`compression` `gzip` or `lzf`
`level`       of gzip
`shuffle`     true
`fletcher32`  true
`endian`      `"big"`
`enum`        name → number
`packed`      true: packed numbers, which reading unpacks
============= ====================================================================

The record of the whole dataset has `dimensions` (name → size) that no variable has, and `groups` without variables.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection
from typing import Any, Literal

import h5py
import numpy as np

from ...base.dtypes import TYPE_OF_CODE, TYPES
from ...body import check_file
from ...errors import DsError, FormatError, UnsupportedError
from ...model.settings import HDF5, LABELS, NON_COORDINATE, chunk_sizes, setting
from ..base import LossWarning
from ..library import guard

Node = Any
"""An h5py.Group (the root one is not the file) or h5py.Dataset; h5py has no types for static checks."""

LIBVER = ("v108", "v110")
"""Oldest and newest layout to write: that of HDF5 1.8 has attributes of more than 64 kB, and netCDF-4 reads both."""


CACHE = {"rdcc_nbytes": 32 * 1024 * 1024, "rdcc_nslots": 1009}
"""Bytes of chunks that the library may keep for one open dataset, and slots to find them in (a prime number).

Blocks that are shorter than a chunk visit each chunk several times. Without the cache, each visit would decompress or
compress it again.
"""


class HDF5Warning(LossWarning):
    """Information of a file or a dataset that its other form cannot hold, or holds differently."""


warn = functools.partial(guard.warn, HDF5Warning)
"""Takes a message, a path and the name of a variable; issues a warning that says where."""


def address_of(identifier: Any) -> tuple[int, int]:
    """Return the file number and the address of an open object, which identify it."""
    info = h5py.h5o.get_info(identifier)
    return info.fileno, info.addr


def open_file(path: str) -> Node:
    """Open a file to read.

    Raises
    ------
    OSError
        As `open` would, or if it is not a regular file, since the library would wait for a pipe.
    FormatError
        If it is not an HDF5 file, or a damaged one.
    """
    check_file(path)
    with guard.opening(path, "HDF5"), guard.Guard(FormatError, path):
        return h5py.File(path, "r", **CACHE)


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


PURE_DIMENSION = "This is a netCDF dimension but not a netCDF variable."
"""The `NAME` of a dimension scale without values begins with it (netCDF-4)."""

SCALE_ATTRIBUTES = ("CLASS", "NAME", "REFERENCE_LIST")
"""Attributes of a dimension scale, by the HDF5 dimension scale specification."""

SCALE_CLASS = "DIMENSION_SCALE"

MARKER = "ds_format"
"""Attribute of a dataset, group or file with what HDF5 cannot store; see `attributes`."""

HIDDEN = frozenset({
    "DIMENSION_LIST",
    LABELS,
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
    "_nc3_strict",
    "_NCProperties",
    MARKER,
})
"""Attributes that HDF5, netCDF-4 and this package need for themselves."""

IMPOSSIBLE = re.compile("[\0\ud800-\udfff]")
"""Names end at a NUL, and are UTF-8."""


def is_path(name: str) -> bool:
    """Return whether a name can be the path of an object."""
    parts = name.split("/")
    return not IMPOSSIBLE.search(name) and not any(
        part in ("", ".") or part.startswith(NON_COORDINATE) for part in parts
    )


def is_attribute(name: str) -> bool:
    """Return whether a name can be that of an attribute that other programs show."""
    return bool(name) and not IMPOSSIBLE.search(name) and name not in HIDDEN


def substitute(name: str, taken: Collection[str]) -> str:
    r"""Return a valid name in place of another.

    It is `%` and the name, with invalid characters written as `%` and their bytes in hexadecimal. `%` is appended until
    the name is not among those taken.

    Examples
    --------
    >>> substitute("a/\0", {"%a%2F%00"})
    '%a%2F%00%'
    """
    escaped = re.sub(
        "[/\0\ud800-\udfff]",
        lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass")),
        name,
    )
    found = "%" + escaped
    while found in taken:
        found += "%"
    return found


Kind = Literal["number", "bool", "fixed", "string", "octets"]
"""How values are stored in a file: as numbers, as booleans of h5py (an enumeration), as strings of fixed or variable
length, or as sequences of bytes, which this package writes for strings with a NUL."""

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
    """Return the ds type of a dataset, and the storage kind of its values.

    Parameters
    ----------
    dataset : h5py.h5d.DatasetID
    marked : object
        The type in the marker, if any.

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
        raise UnsupportedError(f"{UNSUPPORTED[kind]} is not supported by ds")
    try:
        dtype = dataset.dtype
    except TypeError as error:
        raise UnsupportedError(f"its type is not supported by ds: {error}") from None
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
        raise UnsupportedError(f"the type {dtype} is not supported by ds")
    if marked is not None and not TYPES[marked].is_string:
        return marked, "number"
    return TYPE_OF_CODE[code].name, "number"


def plain_dtype(dataset: Any) -> np.dtype[Any]:
    """Return the dtype of a dataset's numbers in memory: in native order, without the metadata that h5py adds."""
    dtype: np.dtype[Any] = np.dtype(dataset.dtype.str).newbyteorder("=")
    return dtype


def file_dtype(type_name: str, kind: Kind) -> Any:
    """Return the dtype of a dataset to be made."""
    if kind == "octets":
        return OCTETS
    if kind == "string":
        return h5py.string_dtype("utf-8" if type_name == "unicode" else "ascii")
    return np.dtype(TYPES[type_name].code)


PROPERTY = HDF5

COMPRESSIONS = ("gzip", "lzf")


def read_storage(dataset: Node) -> dict[str, Any]:
    """Return the record of a dataset."""
    record: dict[str, Any] = {}
    if dataset.chunks:
        record["chunks"] = [int(n) for n in dataset.chunks]
        if dataset.maxshape != dataset.shape:
            record["maxshape"] = [None if n is None else int(n) for n in dataset.maxshape]
        if dataset.compression in COMPRESSIONS:
            record["compression"] = dataset.compression
            if dataset.compression == "gzip":
                record["level"] = int(dataset.compression_opts)
        record.update({name: True for name in ("shuffle", "fletcher32") if getattr(dataset, name)})
    if dataset.dtype.byteorder == ">":
        record["endian"] = "big"
    members = h5py.check_enum_dtype(dataset.dtype)
    if members is not None and dataset.dtype.kind != "b":
        record["enum"] = {str(name): int(value) for name, value in members.items()}
    return record


def creation_options(record: Any, shape: tuple[int, ...], compression: str | None, level: int | None) -> dict[str, Any]:
    """Return the keywords that make h5py store a variable as its record says.

    Parameters
    ----------
    record : dict
        Record of the variable. Settings that do not fit are ignored, since they only affect speed and size.
    shape : tuple of int
    compression : str, optional
        Used if the record has no compression.
    level : int, optional
        Level of `gzip`.
    """
    if not shape:
        return {}
    options: dict[str, Any] = {}
    maxshape = setting(record, "maxshape", list)
    if _fits(maxshape, shape):
        options["maxshape"] = tuple(maxshape or ())
    found = setting(record, "compression", str)
    if found in COMPRESSIONS:
        compression, level = found, setting(record, "level", int)
    if compression is not None and 0 not in shape:
        options["compression"] = compression
        if compression == "gzip" and level is not None and 0 <= level <= 9:
            options["compression_opts"] = level
    options.update({name: True for name in ("shuffle", "fletcher32") if setting(record, name, bool) and 0 not in shape})
    if chunks := chunk_sizes(record, shape):
        limits = options.get("maxshape", shape)
        options["chunks"] = tuple(
            n if limit is None else min(n, max(limit, 1)) for n, limit in zip(chunks, limits, strict=True)
        )
    elif options:
        options["chunks"] = True
    return options


def _fits(maxshape: list[Any] | None, shape: tuple[int, ...]) -> bool:
    return (
        maxshape is not None
        and len(maxshape) == len(shape)
        and all(n is None or (isinstance(n, int) and n >= size) for n, size in zip(maxshape, shape, strict=True))
    )


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
