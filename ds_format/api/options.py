"""The options of writing, for type checkers. `Format.creation` has those of each format, and is checked at run time."""

from __future__ import annotations

from typing import Literal, TypedDict


class NetCDFOptions(TypedDict, total=False):
    """Options of `ds_format.to_netcdf`, besides units and calendar."""

    atomic: bool
    durable: bool
    format: str
    """Of a NetCDF file: `NETCDF4`, `NETCDF3_CLASSIC`, ..."""


class MergeOptions(NetCDFOptions, total=False):
    """Options of `ds_format.merge_files`: those of all formats of files that have dimensions."""

    time_units: str
    calendar: str
    times: Literal["iso"]
    version: str | int
    checksum: bool
    compression: str
    level: int
    mappable: bool
    """Of a BinPickle file."""
    key: str
    """Of samples and documents: the variable of their keys."""


class WriteOptions(MergeOptions, total=False):
    """Options of all formats; `ds_format.write` explains them."""

    dim: str
    """Of samples and documents: the dimension of which each position makes one."""
