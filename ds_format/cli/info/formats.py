"""Which format a file is of, precisely, and what the header of a ds file says beyond the metadata of a dataset."""

from __future__ import annotations

from typing import Any

from ...drivers import ds_header
from ...drivers.base import Source

NETCDF = {
    "NETCDF3_CLASSIC": "NetCDF classic",
    "NETCDF3_64BIT_OFFSET": "NetCDF 64-bit offset",
    "NETCDF3_64BIT_DATA": "NetCDF CDF-5",
    "NETCDF4_CLASSIC": "netCDF-4 classic model",
    "NETCDF4": "netCDF-4",
}
"""By the names that the library has for them."""
NAMES = {"csv": "CSV", "hdf5": "HDF5", "json": "JSON"}
LENGTH = ".stored"
"""Bytes of a variable in a ds file."""


def named(driver: str, source: Source) -> str:
    """Return the usual name of the format of an open file of a driver."""
    if driver == "netcdf":
        record = source.meta.get(".", {}).get(".netcdf")
        return NETCDF[record.get("format", "NETCDF4") if isinstance(record, dict) else "NETCDF4"]
    return "TSV" if getattr(source, "delimiter", ",") == "\t" else NAMES[driver]


def of_ds(path: str) -> tuple[str, dict[str, dict[str, Any]], dict[str, str]]:
    """Return what the header of a ds file says.

    Returns
    -------
    format : str
        With the version of its layout.
    meta : dict
        As `ds_header.meta`; with `.missing`, and the bytes in the file as `LENGTH`.
    faults : dict
        What is wrong with variables.

    Raises
    ------
    DsError, OSError
        If it cannot be read.
    """
    header, meta = ds_header.read(path)
    faults = {}
    for key in header.keys:
        described = header.variables[key]
        var = described.var
        if var is None:
            faults[key] = described.error
        else:
            meta[key][".missing"] = var.missing
            meta[key][LENGTH] = var.length or None
    return "ds-1.0" if header.version == "1.0" else f"ds {header.version}", meta, faults
