"""NetCDF: classic, 64-bit offset, CDF-5, netCDF-4 and netCDF-4 with the classic model.

A dataset read from a file and written to another one gives the same variables, dimensions, attributes with their types,
values and missing values. The property `.netcdf` keeps the settings that only NetCDF has
(`ds_format.drivers.netcdf.format`).

This package reads classic files (`classic`) and netCDF-4 files (`hdf5`) itself. It loads the netCDF4 library for
unusual ones, and for writing (`by_library`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from ...base.progress import Progress
from ...body.body import Body, open_body
from ...body.stamp import Stamp
from ...errors import Unusual
from ...timeaxis import JD_CALENDAR, JD_UNITS
from ..base import ReadBy, Report, Source
from ..native import NativeSource, log_reason, refuse_elsewhere
from . import small
from .by_library import LIBRARY, create, open_by_library
from .classic.source import ClassicSource, opened as opened_classic
from .format import NetCDFWarning
from .hdf5.source import opened as opened_hdf5

if TYPE_CHECKING:
    from ...dataset import Dataset

__all__ = [
    "JD_CALENDAR",
    "JD_UNITS",
    "NetCDFWarning",
    "check",
    "create",
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
        Leave out variables and attributes of types that ds does not have, with a `NetCDFWarning`. Only files that the
        library reads have any.
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
    body = open_body(path) if body is None else body
    found = _opened(body)
    if not isinstance(found, str):
        return found
    refuse_elsewhere(body, LIBRARY, found)
    source = open_by_library(path, skip_unsupported=skip_unsupported, stamp=stamp)
    source.reader = ReadBy(LIBRARY, found)
    return source


def _opened(body: Body) -> NativeSource | str:
    """Open a file without the library; if this is not possible, return the reason."""
    try:
        found: NativeSource | None = opened_classic(body) or opened_hdf5(body)
    except Unusual as reason:
        log_reason(body.name, LIBRARY, str(reason))
        return str(reason)
    return found or "its first bytes are not those of a NetCDF file"


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


def read(
    path: Any, keys: Collection[str] | None, full: bool, strings: bool, unpack: bool | None
) -> Dataset | Body | None:
    """Read a small file in one call; see `small.read`. None if `strings` needs the general way."""
    return None if strings else small.read(path, keys, full, unpack)


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
    found = _opened(body)
    if isinstance(found, str):
        refuse_elsewhere(body, LIBRARY, found)
        return open(path, skip_unsupported=True, body=body)
    if isinstance(found, ClassicSource):
        from .classic import check as classic_check

        classic_check.check(found, report)
    return found
