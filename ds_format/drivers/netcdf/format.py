"""Types and names that NetCDF files can hold, and the two places for everything else.

The attribute `MARKER` holds what NetCDF cannot store. The property `.netcdf` of a dataset holds the storage settings of
a variable that differ from the default:

============== ==========================================================================================
`fill`         `"default"`: missing values are those that the library left unwritten. `"unused"`: pre-filled, but all
               values were written. `"none"`: not pre-filled, but with a `_FillValue`
`endian`       `"big"`
`chunks`       list of int, of all dimensions in the file
`compression`  name as the library has it: `zlib`, `szip`, `zstd`, `bzip2`, `blosc_lz4`, ...
`level`        of compression
`shuffle`      bool (zlib), or 0, 1, 2 (blosc)
`szip`         [coding, pixels per block]
`fletcher32`   true
`char`         {`dim`, `size`} of the dimension of characters, or {} for a single character
`enum`         {`name`, `type`, `members`}
`compound`     {`name`, `size`, `fields`}: bytes of one value, and for each field its type, [type, shape] or fields
`strings`      list of names: attributes of one text that have the type string
`mark`         number that marks values as missing, if it is not the first of several candidates. In ds files also
               {`numbers`, `runs`}; see `ds_format.model.marks`
`packed`       true: packed numbers, which reading unpacks
============== ==========================================================================================

The record of the whole dataset has `format`, `unlimited` (list of dimensions), `dimensions` (name → size, of those that
no variable has), `order` (list of all dimensions, if variables have them in another order), `groups`, `enums` (without
variables) and `strings`.
"""

from __future__ import annotations

import functools
import math
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Literal

from ...base.dtypes import TYPES, np
from ...errors import UnsupportedError
from ...model.settings import NETCDF, chunk_sizes, setting
from .. import base
from ..base import LossWarning
from ..library.catalog import decode_json, parse_marker


class NetCDFWarning(LossWarning):
    """A dataset has information that the target format cannot represent, or represents differently."""


warn = functools.partial(base.warn, category=NetCDFWarning)
"""Takes a message, a path and the name of a variable; issues a warning that says where."""


Kind = Literal["number", "bool", "char", "string"]
"""How values are stored in a file: unchanged, as 0 and 1 in int8, as characters along a last dimension, or as
variable-length strings."""

BOOL_CODE = "i1"

ENCODING_ATTRIBUTE = "_Encoding"
"""Attribute of a variable with the encoding of its strings; UTF-8 without it."""

CLASSIC_CODES = ("i1", "i2", "i4", "f4", "f8")
CDF5_CODES = (*CLASSIC_CODES, "u1", "u2", "u4", "u8", "i8")

CODES: dict[str, tuple[str, ...]] = {
    "NETCDF3_CLASSIC": CLASSIC_CODES,
    "NETCDF3_64BIT_OFFSET": CLASSIC_CODES,
    "NETCDF3_64BIT_DATA": CDF5_CODES,
    "NETCDF4_CLASSIC": CLASSIC_CODES,
    "NETCDF4": CDF5_CODES,
}
"""File formats, and the numbers each can hold, as NumPy kind and item size."""


def file_kind(type_name: str, format: str) -> Kind:
    """Return the storage kind of a ds type in a file of a format, unless a record of the variable overrides it."""
    if type_name == "bool":
        return "bool"
    if type_name == "unicode":
        return "string" if format == "NETCDF4" else "char"
    return "char" if TYPES[type_name].is_string else "number"


def file_dtype(type_name: str) -> np.dtype[Any]:
    """Return the dtype in the file of numbers and booleans."""
    return np.dtype(BOOL_CODE if type_name == "bool" else TYPES[type_name].code)


def check_type(type_name: str | None, variable: str) -> None:
    """Raise an UnsupportedError for a ds type of numbers that no NetCDF format has."""
    ds_type = TYPES.get(type_name or "")
    if ds_type is not None and ds_type.is_number and ds_type.code not in CDF5_CODES:
        raise UnsupportedError(
            f"NetCDF has no type {type_name}; the option widen writes a wider one", variable=variable
        )


MAX_NAME_SIZE = 255
"""Bytes of a name in UTF-8: one less than `NC_MAX_NAME` in netcdf.h, of which the library loses the end."""

# Ranges without the characters beyond ASCII: compiling one with them takes 7 ms.
POSSIBLE = re.compile(r"[^\x00-/:-@\[-\^`{-\x7f](?:[^\x00-\x1f/\x7f]*[^\x00- /\x7f])?")
"""Names of variables, dimensions, groups and attributes, by the NetCDF user's guide. A name begins with a letter,
digit, underscore or character beyond ASCII. It has no `/`, no ASCII control characters, and no blank at its end."""

RESERVED = frozenset({
    "CLASS",
    "DIMENSION_LIST",
    "NAME",
    "REFERENCE_LIST",
    "_ARRAY_DIMENSIONS",
    "_Codecs",
    "_IsNetcdf4",
    "_NCProperties",
    "_Netcdf4Coordinates",
    "_Netcdf4Dimid",
    "_SuperblockVersion",
    "_nc3_strict",
})
"""Attributes that the library reserves in netCDF-4 files."""


def check_path(name: str) -> None:
    """Check the name of a variable, dimension or group, with the groups around it.

    Raises
    ------
    UnsupportedError
        If NetCDF cannot hold it, or would hold another one.
    """
    reason = next(filter(None, map(_reason, name.split("/"))), None)
    if reason is not None:
        raise UnsupportedError(f'the name "{name}" is not valid in NetCDF: {reason}')


def check_attribute(name: str, format: str) -> None:
    """Check the name of an attribute for a file format; see `check_path`."""
    reason = _reason(name)
    if reason is None and format.startswith("NETCDF4") and name in RESERVED:
        reason = "it is reserved"
    if reason is not None:
        raise UnsupportedError(f'attribute "{name}": the name is not valid in NetCDF: {reason}')


def _reason(part: str) -> str | None:
    """Return why a name, or one of a path, is not possible; None if it is."""
    if not part or part in (".", ".."):
        return 'it is empty, "." or ".."'
    if not POSSIBLE.fullmatch(part) or any("\ud800" <= character <= "\udfff" for character in part):
        return "it does not begin with a letter or digit, or it has characters that names must not have"
    if not unicodedata.is_normalized("NFC", part):
        return "it is not in Unicode's composed form (NFC)"
    if len(part.encode()) > MAX_NAME_SIZE:
        return f"it has more than {MAX_NAME_SIZE} bytes"
    return None


MARKER = "ds_format"
"""Attribute of a variable, group or file with what NetCDF cannot store, as JSON. `json` lists the attributes that are
JSON text. `missing` is the string written for missing ones. `type` is the ds type, if NetCDF shows another one. `empty`
and `dims` describe a variable without data."""


def take_marker(attributes: dict[str, Any]) -> dict[str, Any]:
    """Remove the marker of this package from attributes, and return what it says; decode attributes of JSON text."""
    if MARKER not in attributes:
        return {}
    marker = parse_marker(attributes[MARKER])
    if marker is None:
        return {}
    del attributes[MARKER]
    decode_json(attributes, marker.pop("json", []))
    return marker


PROPERTY = NETCDF

DEFAULT_FORMAT = "NETCDF4"


def creation_options(record: Any, shape: tuple[int, ...], unlimited: tuple[bool, ...], format: str) -> dict[str, Any]:
    """Return the keywords that make the library store a variable as its record says.

    Parameters
    ----------
    record : dict
        Record of the variable. Settings of a wrong type are ignored, since they only affect speed and size.
    shape : tuple of int
        In the file, that is with the dimension of characters.
    unlimited : tuple of bool
        Which dimensions are.
    format : str
        Name of the file format.
    """
    if not format.startswith("NETCDF4") or not isinstance(record, dict):
        return {}
    options: dict[str, Any] = {}
    if setting(record, "endian", str) == "big":
        options["endian"] = "big"
    if chunks := chunk_sizes(record, shape):
        options["chunksizes"] = [
            n if is_unlimited else min(n, size) for n, size, is_unlimited in zip(chunks, shape, unlimited, strict=True)
        ]
    if setting(record, "fletcher32", bool):
        options["fletcher32"] = True
    if shape:
        options.update(_filter_options(record))
    return options


UNLIMITED_SIZE = 4096
"""Bytes of a chunk whose dimensions are all unlimited (netCDF-C, DEFAULT_1D_UNLIM_SIZE)."""

LIBRARY_CHUNK_SIZE = 16 * 1024 * 1024
"""Bytes of a chunk that the library aims at (netCDF-C 4.9, DEFAULT_CHUNK_SIZE)."""


def chunk_of(
    given: Sequence[int] | None,
    shape: tuple[int, ...],
    unlimited: tuple[bool, ...],
    item_size: int,
    has_filters: bool,
) -> tuple[int, ...] | None:
    """Return the shape of chunks as the library chooses it; None: the values are contiguous.

    It divides the dimensions that have a limit by the same factor until a chunk is small enough, then so that the last
    chunks are nearly whole (`libhdf5/nc4var.c` of netCDF-C, `nc4_find_default_chunksizes2`). Chunks along several
    unlimited dimensions are smaller than its 16 MiB.

    Parameters
    ----------
    given : sequence of int, optional
    shape : tuple of int
    unlimited : tuple of bool
    item_size : int
        Bytes of a value, of a pointer for strings.
    has_filters : bool
    """
    if given is not None and shape:
        return tuple([int(n) for n in given])
    if all(unlimited) and shape:
        return (max(round((UNLIMITED_SIZE / item_size) ** (1 / len(shape))), 1),) * len(shape)
    if not any(unlimited) and not has_filters:
        return None
    size = math.prod([n for n, free in zip(shape, unlimited, strict=True) if not free]) * item_size
    if size <= LIBRARY_CHUNK_SIZE:
        return tuple([1 if free else n for n, free in zip(shape, unlimited, strict=True)])
    factor = (LIBRARY_CHUNK_SIZE / size) ** (1 / (len(shape) - sum(unlimited)))
    chunk = [1 if free else max(int(factor * n - 0.5), 1) for n, free in zip(shape, unlimited, strict=True)]
    for i, n in enumerate(shape):
        if not unlimited[i]:
            count = -(-n // chunk[i])
            chunk[i] -= (count * chunk[i] - n) // count
    return tuple(chunk)


def _filter_options(record: dict[str, Any]) -> dict[str, Any]:
    compression = setting(record, "compression", str)
    shuffle = bool(setting(record, "shuffle", bool))
    if compression is None:
        return {"compression": "zlib", "complevel": _NoLevel(), "shuffle": True} if shuffle else {}
    options: dict[str, Any] = {"compression": compression, "shuffle": shuffle}
    level = setting(record, "level", int)
    if level is not None:
        options["complevel"] = level
    if compression.startswith("blosc"):
        options["blosc_shuffle"] = setting(record, "shuffle", int) or 0
    szip = setting(record, "szip", list) or []
    if compression == "szip" and len(szip) == 2:
        options["szip_coding"], options["szip_pixels_per_block"] = szip
    return options


class _NoLevel(int):
    """Level 0 in a form that the library does not take for "no filters": it then shuffles without compressing."""

    def __bool__(self) -> bool:
        return True


PLUGINS = ("szip", "zstd", "bzip2", "blosc")
"""Families of compressions that a library may lack."""


def is_available(file: Any, compression: str) -> bool:
    """Return whether the library of this machine knows a compression."""
    family = compression.partition("_")[0]
    return family == "zlib" or (family in PLUGINS and bool(getattr(file, f"has_{family}_filter")()))
