"""How a file of NetCDF or HDF5 stored a variable: the properties `.netcdf` and `.hdf5` → encoding of xarray.

The properties stand in the encoding as they are, under their own names. What xarray has words for stands there in
these, too, and whoever writes goes by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..drivers.settings import names, setting
from ..model.packing import RECORDS

COMPRESSIONS = {"zlib": "zlib", "gzip": "zlib", "szip": "szip", "zstd": "zstd", "bzip2": "bzip2", "lzf": "lzf"}
"""Name in a record → in an encoding, where the engine netcdf4 has a flag of this name, or h5netcdf a `compression`."""

KINDS = frozenset({*COMPRESSIONS.values(), "blosc", "compression"})
"""Keys of an encoding that say how values are compressed."""


def record_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return what one of the properties says, the first that is there."""
    return next((entry[name] for name in RECORDS if isinstance(entry.get(name), dict)), {})


def encoding_of(entry: Mapping[str, Any], shape: tuple[int, ...]) -> dict[str, Any]:
    """Return the encoding of a variable that tells how a file stored it.

    Parameters
    ----------
    entry : dict
        Its metadata.
    shape : tuple of int
        Of what xarray gets, with the dimension of characters.
    """
    encoding = {name: entry[name] for name in RECORDS if name in entry}
    if not encoding:
        return {}
    record = record_of(entry)
    chunks = setting(record, "chunks", list)
    if chunks is not None and len(chunks) == len(shape):
        encoding |= {"contiguous": False, "chunksizes": tuple(chunks), "original_shape": shape}
    compression = setting(record, "compression", str)
    if compression is not None and compression in COMPRESSIONS:
        encoding["compression" if compression == "lzf" else COMPRESSIONS[compression]] = True
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
    """Return the dtype that a file stored numbers in: of its byte order, and with the names of an enumeration."""
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
        What the names of the group begin with.
    """
    found = (name for record in RECORDS for name in names(entry.get(record), "unlimited"))
    return {name[len(prefix) :] for name in found if name.startswith(prefix) and "/" not in name[len(prefix) :]}
