"""NetCDF: classic, 64-bit offset, CDF-5, netCDF-4 and netCDF-4 with the classic model.

A dataset read from a file and written to another one gives the same variables, dimensions, attributes with their types,
values and missing values. What only NetCDF has (`ds_format.drivers.netcdf.storage`) travels in the property `.netcdf`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ...timeaxis import JD_CALENDAR, JD_UNITS
from .calls import NetCDFWarning
from .source import NetCDFSource as open

if TYPE_CHECKING:
    from .sink import NetCDFSink as create

__all__ = ["JD_CALENDAR", "JD_UNITS", "NetCDFWarning", "create", "open"]


def __getattr__(name: str) -> Any:
    # who only reads need not load what writes
    if name != "create":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = importlib.import_module(".sink", __name__).NetCDFSink
    return value
