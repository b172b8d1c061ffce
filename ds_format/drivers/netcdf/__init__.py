"""NetCDF: classic, 64-bit offset, CDF-5, netCDF-4 and netCDF-4 with the classic model.

A dataset read from a file and written to another one gives the same variables, dimensions, attributes with their types,
values and missing values. The property `.netcdf` keeps the settings that only NetCDF has
(`ds_format.drivers.netcdf.format`).

This package reads classic files itself (`classic`). It loads the netCDF4 library for netCDF-4 files, for unusual
classic files, and for writing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...base.optional import unavailable
from ...base.progress import Progress
from ...body.body import Body, open_body
from ...body.stamp import Stamp
from ...timeaxis import JD_CALENDAR, JD_UNITS
from ..base import Metadata, Report, Source
from .classic import small as classic_small, source as classic_source
from .format import NetCDFWarning

if TYPE_CHECKING:
    from ...dataset import Dataset
    from .sink import NetCDFSink

__all__ = [
    "JD_CALENDAR",
    "JD_UNITS",
    "NetCDFWarning",
    "check",
    "create",
    "is_netcdf4",
    "open",
    "read",
    "title",
]


def open(path: Any, *, skip_unsupported: bool = False, body: Body | None = None, stamp: Stamp | None = None) -> Source:
    """Open a file.

    Parameters
    ----------
    path : str, bytes or PathLike
    skip_unsupported : bool
        Leave out variables and attributes of types that ds does not have, with a `NetCDFWarning`. Classic files do not
        have any.
    body : Body, optional
        The file, if it is open.
    stamp : Stamp, optional
        Its size and times, if they are known.

    Raises
    ------
    OSError
        As `open` would.
    FormatError
        If it is not a NetCDF file, or a damaged one.
    UnsupportedError
        As `source.NetCDFSource`.
    """
    found = classic_source.opened(open_body(path) if body is None else body)
    if found is not None:
        return found
    with _needing_netcdf4():
        from .source import NetCDFSource
    return NetCDFSource(path, skip_unsupported=skip_unsupported, stamp=stamp)


TITLES = {
    "NETCDF3_CLASSIC": "NetCDF classic",
    "NETCDF3_64BIT_OFFSET": "NetCDF 64-bit offset",
    "NETCDF3_64BIT_DATA": "NetCDF CDF-5",
    "NETCDF4_CLASSIC": "netCDF-4 classic model",
    "NETCDF4": "netCDF-4",
}
"""Usual names of the formats, by those that the library has for them."""


def title(source: Source) -> str:
    """Return the usual name of the format of an open file."""
    record = source.meta.get(".", {}).get(".netcdf")
    return TITLES[record.get("format", "NETCDF4") if isinstance(record, dict) else "NETCDF4"]


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
    """Create a file; see `sink.NetCDFSink`. The writer is imported here, so that reading does not load it."""
    with _needing_netcdf4():
        from .sink import NetCDFSink
    return NetCDFSink(
        path,
        meta,
        format=format,
        compression=compression,
        level=level,
        shuffle=shuffle,
        chunks=chunks,
        digits=digits,
        bits=bits,
        encoding=encoding,
        atomic=atomic,
        durable=durable,
    )


def read(
    path: Any, keys: Collection[str] | None, full: bool, strings: bool, unpack: bool | None
) -> Dataset | Body | None:
    """Read a small classic file in one call; see `classic.small.read`. None if `strings` needs the general way."""
    return None if strings else classic_small.read(path, keys, full, unpack)


def check(path: Any, report: Report, *, strict: bool, progress: Progress | None = None) -> Source:
    """Open a file, and report problems in the header of a classic file; parameters and errors as of `open`.

    Parameters
    ----------
    path : str, bytes or PathLike
    report : callable
    strict : bool
        Ignored.
    progress : callable, optional
        Never called, since the check takes no time.
    """
    body = open_body(path)
    found = classic_source.opened(body)
    if found is None:
        return open(path, skip_unsupported=True, body=body)
    from .classic import check as classic_check

    classic_check.check(found, report)
    return found


def is_netcdf4(path: str) -> bool:
    """Whether the NetCDF library says that an HDF5 file is netCDF-4.

    Raises
    ------
    FormatError
        If the library cannot open the file.
    ImportError
        If the library is not installed.
    """
    with _needing_netcdf4():
        from .calls import is_netcdf4
    return is_netcdf4(path)


@contextlib.contextmanager
def _needing_netcdf4() -> Iterator[None]:
    """Import modules that need netCDF4; if it is not installed, the error names what to install."""
    try:
        yield
    except ImportError as error:
        raise unavailable(error, "netCDF4", "netCDF4") from error
