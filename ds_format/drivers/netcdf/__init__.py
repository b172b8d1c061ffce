"""NetCDF: classic, 64-bit offset, CDF-5, netCDF-4 and netCDF-4 with the classic model.

A dataset read from a file and written to another one gives the same variables, dimensions, attributes with their types,
values and missing values. What only NetCDF has (`ds_format.drivers.netcdf.storage`) travels in the property `.netcdf`.
"""

from __future__ import annotations

from ...timeaxis import JD_CALENDAR, JD_UNITS
from .calls import NetCDFWarning
from .sink import NetCDFSink as create
from .source import NetCDFSource as open

__all__ = ["JD_CALENDAR", "JD_UNITS", "NetCDFWarning", "create", "open"]
