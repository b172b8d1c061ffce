"""Names and types that HDF5 files can hold, and storage settings of variables.

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

import numpy as np

from ...base.dtypes import TYPE_OF_CODE, TYPES
from ...codec.filters import FLETCHER32, LZF, SHUFFLE, ZLIB_NUMBER
from ...errors import UnsupportedError
from ...hdf5 import HDF5Dataset, HDF5Type
from ...model.settings import HDF5, LABELS, NON_COORDINATE, chunk_sizes, setting
from .. import base
from ..base import LossWarning

LIBVER = ("v108", "v110")
"""Oldest and newest layout to write: that of HDF5 1.8 has attributes of more than 64 kB, and netCDF-4 reads both."""


CACHE = {"rdcc_nbytes": 32 * 1024 * 1024, "rdcc_nslots": 1009}
"""Bytes of chunks that the library may keep for one open dataset, and slots to find them in (a prime number).

Blocks that are shorter than a chunk visit each chunk several times. Without the cache, each visit would decompress or
compress it again.
"""


class HDF5Warning(LossWarning):
    """A file or a dataset has information that the target format cannot represent, or represents differently."""


warn = functools.partial(base.warn, category=HDF5Warning)
"""Takes a message, a path and the name of a variable; issues a warning that says where."""


SCALE_ATTRIBUTES = ("CLASS", "NAME", "REFERENCE_LIST")
"""Attributes of a dimension scale, by the HDF5 dimension scale specification."""

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

UNSUPPORTED = {
    "time": "a time type",
    "bitfield": "a type of bits",
    "opaque": "an opaque type",
    "compound": "a compound type",
    "reference": "a type of references",
    "sequence": "a ragged type",
    "array": "an array type",
}
"""Types that ds does not have, as in `ds_format.hdf5.records.HDF5Type`, in words."""


BOOLEAN = {"FALSE": 0, "TRUE": 1}
"""Members of the enumeration by which h5py stores booleans."""


def is_bool(type_: HDF5Type) -> bool:
    """Return whether a type is that of h5py's booleans."""
    return type_.kind == "enum" and dict(type_.members or ()) == BOOLEAN


def dtype_of(type_: HDF5Type) -> Any:
    """Return the NumPy dtype of values in memory, in native byte order; None: they have various lengths."""
    if type_.code is None:
        return None
    return np.dtype(bool) if is_bool(type_) else np.dtype(type_.code).newbyteorder("=")


def type_of(type_: HDF5Type, marked: Any) -> tuple[str, Kind]:
    """Return the ds type of a dataset, and the storage kind of its values.

    Parameters
    ----------
    type_ : HDF5Type
    marked : object
        The type in the marker, if any.

    Raises
    ------
    UnsupportedError
        If ds has no such type.
    """
    kind, dtype = type_.kind, dtype_of(type_)
    marked = marked if isinstance(marked, str) and marked in TYPES else None
    if kind == "string":
        return ("str" if marked == "str" else "unicode"), "string"
    if kind == "octets" and marked in ("str", "unicode"):
        return str(marked), "octets"
    if dtype is None:
        known = UNSUPPORTED.get("sequence" if kind == "octets" else kind)
        raise UnsupportedError(
            f"{known} is not supported by ds" if known else f"its type is not supported by ds: {kind}"
        )
    if kind == "text":
        return ("unicode" if type_.is_utf8 else "str"), "fixed"
    if dtype == np.dtype(bool):
        return "bool", "bool"
    code = dtype.str[1:]
    if code not in TYPE_OF_CODE:
        raise UnsupportedError(f"the type {dtype} is not supported by ds")
    if marked is not None and not TYPES[marked].is_string:
        return str(marked), "number"
    return TYPE_OF_CODE[code].name, "number"


PROPERTY = HDF5

COMPRESSIONS = ("gzip", "lzf")


def storage_of(dataset: HDF5Dataset) -> dict[str, Any]:
    """Return the record of a dataset."""
    record: dict[str, Any] = {}
    type_, chunk = dataset.type, dataset.layout.chunk
    if chunk is not None:
        record["chunks"] = list(chunk)
        if dataset.max_shape != dataset.shape:
            record["maxshape"] = [None if n == -1 else n for n in dataset.max_shape]
        filters = {each.number: each.values for each in dataset.filters}
        if filters.get(ZLIB_NUMBER):
            record |= {"compression": "gzip", "level": filters[ZLIB_NUMBER][0]}
        elif LZF in filters:
            record["compression"] = "lzf"
        names = {SHUFFLE: "shuffle", FLETCHER32: "fletcher32"}
        record |= {name: True for number, name in names.items() if number in filters}
    if type_.kind in ("number", "enum") and type_.code is not None and type_.code[0] == ">":
        record["endian"] = "big"
    if type_.kind == "enum" and not is_bool(type_):
        record["enum"] = dict(type_.members or ())
    return record


def enum_members(record: Any, dtype: np.dtype[Any]) -> dict[str, int] | None:
    """Return the names of the numbers of a variable, if the record has any that an enumeration of its type can have."""
    members = setting(record, "enum", dict)
    if not members or dtype.kind not in "iu" or not all(isinstance(value, int) for value in members.values()):
        return None
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    is_valid = all(name and not IMPOSSIBLE.search(name) and least <= value <= most for name, value in members.items())
    return members if is_valid and len({*members.values()}) == len(members) else None


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
    limits = options.get("maxshape", shape)
    if 0 in limits:  # a chunk would be larger
        return {}
    if chunks := chunk_sizes(record, shape):
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
