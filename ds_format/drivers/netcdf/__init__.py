"""NetCDF: classic, 64-bit offset, CDF-5, netCDF-4 and netCDF-4 with the classic model.

A dataset read from a file and written to another one gives the same variables, dimensions, attributes with their types,
values and missing values. The property `.netcdf` keeps the settings that only NetCDF has
(`ds_format.drivers.netcdf.format`).

This package reads classic files (`classic`) and netCDF-4 files (`hdf5`) itself (`opening`), and writes classic ones. It
loads the netCDF4 library for unusual ones, and to write netCDF-4 files (`by_library`). The metadata alone need less
code (`header`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...timeaxis import JD_CALENDAR as JD_CALENDAR, JD_UNITS as JD_UNITS
    from .format import NetCDFWarning as NetCDFWarning
    from .opening import check as check, create as create, open as open, read as read, title as title

__all__ = ["JD_CALENDAR", "JD_UNITS", "NetCDFWarning", "check", "create", "open", "read", "title"]


def __getattr__(name: str) -> Any:
    """Load the functions of the driver, which the metadata do not need."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ... import timeaxis
    from . import opening

    return getattr(timeaxis if name.startswith("JD_") else opening, name)
