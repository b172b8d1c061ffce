"""Which format a file is of, precisely, and what the header of a ds file says beyond the metadata of a dataset."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from ...drivers import ds_header

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


def named(driver: str, path: str, meta: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the name of the format of a file of a driver, as people know it."""
    if driver == "netcdf":
        record = meta.get(".", {}).get(".netcdf")
        return NETCDF[record.get("format", "NETCDF4") if isinstance(record, dict) else "NETCDF4"]
    return "TSV" if driver == "csv" and not path.lower().endswith(".csv") else NAMES[driver]


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


class Float32(float):
    """A number of float32, which a header has as float64. Its text has as few digits as tell it from others.

    Examples
    --------
    >>> print(Float32(0.10000000149011612))
    0.1
    """

    __slots__ = ()

    def __str__(self) -> str:
        wanted = _packed(self)
        shorter = (float(f"{self:.{n}g}") for n in range(6, 10))
        return repr(next((one for one in shorter if _packed(one) == wanted), float(self)))


def in_float32(value: Any) -> Any:
    """Return a float as one of float32, and other values as they are."""
    return Float32(value) if isinstance(value, float) else value


def _packed(value: float) -> bytes:
    try:
        return struct.pack("f", value)
    except OverflowError:
        return b""
