"""Storage settings of variables in NetCDF and HDF5 files: the properties `.netcdf` and `.hdf5` ↔ encoding of xarray.

The encoding has the properties unchanged, under their own names. Settings for which xarray has keys are there under
these, too, and those take precedence when a file is written. The keys are those of xarray's engines `netcdf4` and
`h5netcdf`, and those of `zarr` that the others share.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ..base.dtypes import PACKED, RECORDS
from ..model.packing import are_packing
from ..model.settings import COMPRESSING, HDF5, LAYOUT, NETCDF, STORING, filter_settings, names, setting
from .coders import MARK, NO_DATA

XARRAY_COMPRESSIONS = {"zlib": "zlib", "gzip": "zlib", "szip": "szip", "zstd": "zstd", "bzip2": "bzip2", "lzf": "lzf"}
"""Name in a record → in an encoding, where the engine netcdf4 has a flag of this name, or h5netcdf a `compression`."""

QUANTIZED = "least_significant_digit"
"""Attribute of NetCDF files that xarray has in the encoding."""

KINDS = frozenset({*XARRAY_COMPRESSIONS.values(), "blosc", "compression"})
"""Keys of an encoding for compression."""


def record_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first of the properties that exists."""
    return next((entry[name] for name in RECORDS if isinstance(entry.get(name), dict)), {})


def encoding_of(entry: Mapping[str, Any], shape: tuple[int, ...]) -> dict[str, Any]:
    """Return the encoding of a variable with its storage settings.

    Parameters
    ----------
    entry : dict
        Its metadata.
    shape : tuple of int
        Shape in xarray, with the dimension of characters.
    """
    encoding = {name: entry[name] for name in RECORDS if name in entry}
    if not encoding:
        return {}
    record = record_of(entry)
    chunks = setting(record, "chunks", list)
    if chunks is not None and len(chunks) == len(shape):
        encoding |= {"contiguous": False, "chunksizes": tuple(chunks), "original_shape": shape}
    compression = setting(record, "compression", str)
    if compression is not None and compression in XARRAY_COMPRESSIONS:
        encoding["compression" if compression == "lzf" else XARRAY_COMPRESSIONS[compression]] = True
        if compression == "lzf":
            encoding["compression"] = compression
    if compression is not None and compression.startswith("blosc"):
        encoding["blosc"] = {"compressor": compression, "shuffle": setting(record, "shuffle", int) or 0}
    level = setting(record, "level", int)
    if level is not None and not encoding.keys().isdisjoint(KINDS):
        encoding["complevel"] = level
    pixels = setting(record, "szip", list)
    if compression == "szip" and pixels is not None and len(pixels) == 2:
        encoding["szip"] = {"coding": pixels[0], "pixels_per_block": pixels[1]}
    filters = ("shuffle", "fletcher32")
    encoding |= {name: record[name] for name in filters if isinstance(record.get(name), bool)}
    if "chunksizes" in encoding and (compression is None or not encoding.keys().isdisjoint(KINDS)):
        encoding = {**dict.fromkeys(filters, False), **encoding}  # a record has the filters that are used
    return encoding


def stored_dtype(entry: Mapping[str, Any], dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of numbers in a file, with its byte order and the names of an enumeration."""
    record = record_of(entry)
    if not record:
        return dtype
    if setting(record, "endian", str) == "big":
        dtype = dtype.newbyteorder(">")
    enum = setting(record, "enum", dict)
    if enum is not None and isinstance(enum.get("members"), dict) and isinstance(enum.get("name"), str):
        name = enum["name"].rpartition("/")[2]
        dtype = np.dtype(dtype, metadata={"enum": enum["members"], "enum_name": name})
    return dtype


def unlimited(entry: Mapping[str, Any], prefix: str) -> set[str]:
    """Return the names of the unlimited dimensions of one group, from the attributes of the dataset.

    Parameters
    ----------
    entry : dict
        The entry `"."` of the metadata.
    prefix : str
        Prefix of the names of the group.
    """
    found = (name for record in RECORDS for name in names(entry.get(record), "unlimited"))
    return {name[len(prefix) :] for name in found if name.startswith(prefix) and "/" not in name[len(prefix) :]}


POSSIBLE = STORING | frozenset({
    *("char_dim_name", "dtype", "_FillValue", "missing_value", "_Encoding", "_Unsigned"),
    *("source", "original_shape", "preferred_chunks", "unlimited_dims", MARK, NO_DATA, NETCDF, HDF5),
})
"""Keys of the argument `encoding` that are not from the CF conventions."""


def records_of(
    encoding: Mapping[str, Any],
    shape: Sequence[int],
    growing: Sequence[bool],
    *,
    char: Mapping[str, Any] | None,
    entry: Mapping[str, Any],
) -> dict[str, dict[str, Any]]:
    """Return the records of a variable, those that are not empty.

    Parameters
    ----------
    encoding : dict
        Encoding of the variable. Its standard keys take precedence over the records in it.
    shape : sequence of int
        In the file, that is with the dimension of characters.
    growing : sequence of bool
        Which dimensions are unlimited.
    char : dict, optional
        The setting `char`.
    entry : dict
        The attributes and `.type` of the variable.
    """
    found: dict[str, dict[str, Any]] = {}
    for name in (NETCDF, HDF5):
        given = encoding.get(name)
        if name == NETCDF or isinstance(given, Mapping):
            record = dict(given) if isinstance(given, Mapping) else {}
            _put_filters(record, encoding, name)
            _put_chunks(record, encoding, shape, growing)
            _put_limits(record, shape)
            found[name] = record
    netcdf = found[NETCDF]
    _put(netcdf, "char", None if char is None else dict(char))
    if "dtype" in encoding:
        enum = _enum(encoding["dtype"])
        if enum is not None:
            netcdf["enum"] = enum
    packed = are_packing(entry, entry.get(".type"))
    _put(netcdf, PACKED, True if packed else None)
    return {name: record for name, record in found.items() if record}


def _put(record: dict[str, Any], name: str, value: Any) -> None:
    """Set a setting; None removes it."""
    if value is None:
        record.pop(name, None)
    else:
        record[name] = value


def _put_filters(record: dict[str, Any], encoding: Mapping[str, Any], name: str) -> None:
    if not COMPRESSING.isdisjoint(encoding):
        for setting in ("compression", "level", "shuffle", "szip"):
            record.pop(setting, None)
        record.update(filter_settings(encoding, name))
    if "fletcher32" in encoding:
        _put(record, "fletcher32", True if encoding["fletcher32"] else None)
    endian = encoding.get("endian")
    if endian is None and isinstance(encoding.get("dtype"), np.dtype):
        endian = {">": "big", "<": "little"}.get(encoding["dtype"].byteorder)
    if endian is not None:
        _put(record, "endian", "big" if endian == "big" else None)


def _put_chunks(
    record: dict[str, Any], encoding: Mapping[str, Any], shape: Sequence[int], growing: Sequence[bool]
) -> None:
    if not LAYOUT.isdisjoint(encoding):
        chunks = encoding.get("chunksizes", encoding.get("chunks"))
        _put(record, "chunks", None if chunks is None else [int(n) for n in chunks])
    if "chunks" in record:
        chunks, original = record["chunks"], encoding.get("original_shape")
        fits = len(chunks) == len(shape) and all(
            0 < chunk <= n or grows for chunk, n, grows in zip(chunks, shape, growing, strict=True)
        )
        # what was cut out of a variable has other chunks, or none
        if not fits or (original is not None and tuple(original) != tuple(shape)):
            del record["chunks"]


def _put_limits(record: dict[str, Any], shape: Sequence[int]) -> None:
    """Leave out `maxshape` of another shape, the limits of dimensions in HDF5 files."""
    limits = record.get("maxshape")
    if limits is not None and not (
        len(limits) == len(shape) and all(m is None or m >= n for m, n in zip(limits, shape, strict=True))
    ):
        del record["maxshape"]


def _enum(dtype: Any) -> dict[str, Any] | None:
    """Return the record of the enum type in the metadata of a dtype, as xarray keeps it there."""
    metadata = dtype.metadata if isinstance(dtype, np.dtype) else None
    if not metadata or not metadata.get("enum") or not metadata.get("enum_name"):
        return None
    members = {str(name): int(value) for name, value in metadata["enum"].items()}
    return {"name": metadata["enum_name"], "type": dtype.name, "members": members}


def refused(encoding: Collection[str]) -> list[str]:
    """Return the keys that remain in an `encoding` after coding. No file can store them."""
    return [key for key in encoding if key not in POSSIBLE]
