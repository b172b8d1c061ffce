"""The property `.hdf5`: how a variable is stored in a file, where it is not as by default.

============= ====================================================================
`chunks`      list of int
`maxshape`    list of int, or null where there is no limit
`compression` `gzip` or `lzf`
`level`       of gzip
`shuffle`     true
`fletcher32`  true
`endian`      `"big"`
`enum`        name → number
`packed`      true: numbers that are packed, which who reads them gets unpacked
============= ====================================================================

That of the whole dataset has `dimensions` (name → size), those that no variable has, and `groups`, those without
variables.
"""

from __future__ import annotations

from typing import Any

import h5py

from ..settings import HDF5, setting
from .calls import Node

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
        Of the variable. Settings that do not fit are left out: they decide on speed and size alone.
    shape : tuple of int
    compression : str, optional
        What to compress with where the record does not say.
    level : int, optional
        Of `gzip`.
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
    chunks = setting(record, "chunks", list) or []
    if len(chunks) == len(shape) and all(isinstance(n, int) and n > 0 for n in chunks):
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
