"""A file is created: by the writer of its format.

It is chosen from the plan of the file, before anything is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..base import Metadata

if TYPE_CHECKING:
    from .sink import NetCDFSink


def create(
    path: Any,
    meta: Metadata,
    *,
    format: str | None = None,
    compression: str | None = None,
    level: int | None = None,
    shuffle: bool | int | None = None,
    chunks: Mapping[str, int] | None = None,
    digits: int | None = None,
    bits: int | None = None,
    encoding: Mapping[str, Mapping[str, Any]] | None = None,
    atomic: bool = True,
    durable: bool = False,
) -> NetCDFSink:
    """Create a file.

    Parameters
    ----------
    path : str, bytes or PathLike
    meta : dict
        Metadata of the dataset. The property `.netcdf` (see `ds_format.drivers.netcdf.format`) restores the storage
        settings of the file that the dataset was read from. It is optional.
    format : str, optional
        `NETCDF4`, `NETCDF4_CLASSIC`, `NETCDF3_CLASSIC`, `NETCDF3_64BIT_OFFSET` or `NETCDF3_64BIT_DATA`. By default the
        format that the dataset was read from, else `NETCDF4`. If the former cannot hold the dataset, a `NetCDFWarning`
        is issued and `NETCDF4` is used.
    compression, level, shuffle, chunks, digits, bits, encoding
        As `options.StorageOptions`.
    atomic, durable : bool
        As `target.Target`.

    Raises
    ------
    OSError
        As `open` in mode `x` would; IsADirectoryError if the target is a folder.
    DriverError
        If options are wrong.
    MissingError
        If options name a variable or dimension that does not exist.
    UnsupportedError
        If NetCDF, or the requested format, cannot hold the dataset, or a variable cannot be rounded as requested.
    """
    from .sink import plan_writing

    planned = plan_writing(
        path,
        meta,
        format,
        compression=compression,
        level=level,
        shuffle=shuffle,
        chunks=chunks,
        digits=digits,
        bits=bits,
        encoding=encoding,
    )
    if planned.format.startswith("NETCDF3"):
        from .classic.sink import ClassicSink

        return ClassicSink(path, meta, planned, atomic=atomic, durable=durable)
    from .hdf5.sink import ComposedSink, StreamedSink, is_covered, is_small

    if is_small(planned):
        return ComposedSink(path, meta, planned, atomic=atomic, durable=durable)
    if is_covered(planned):
        return StreamedSink(path, meta, planned, atomic=atomic, durable=durable)
    from .by_library import create_by_library

    return create_by_library(path, meta, planned, atomic=atomic, durable=durable)
