"""The options of writing, for type checkers. `Format.creation` has those of each format, and is checked at run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict


class FileOptions(TypedDict, total=False):
    """The way in which a file is written, and the storage of its variables."""

    atomic: bool
    durable: bool
    format: str
    """The format of a NetCDF file: `NETCDF4`, `NETCDF3_CLASSIC`, ..."""
    compression: str | None
    level: int | None
    shuffle: bool | int
    chunks: Mapping[str, int] | Sequence[int]
    digits: int
    bits: int


class EncodingOption(TypedDict, total=False):
    """The storage of single variables of a NetCDF file."""

    encoding: Mapping[str, Any] | None


class TimeOptions(TypedDict, total=False):
    """Units and calendar of Julian dates."""

    time_units: str | None
    calendar: str | None


class FormatOptions(TypedDict, total=False):
    """Options that only some formats have."""

    times: Literal["iso"]
    version: str | int
    checksum: bool
    mappable: bool
    """For BinPickle files."""
    key: str
    """The variable that has the keys of samples or documents."""


class DimOption(TypedDict, total=False):
    """The dimension along which records are made."""

    dim: str


class NetCDFOptions(FileOptions, EncodingOption, total=False):
    """Options of `ds_format.to_netcdf`."""


class MergeOptions(FileOptions, EncodingOption, TimeOptions, FormatOptions, total=False):
    """Options of `ds_format.merge_files`."""


class ConvertOptions(MergeOptions, DimOption, total=False):
    """Options of `ds_format.convert` and `ds_format.convert_many`."""


class WriteOptions(FileOptions, TimeOptions, FormatOptions, DimOption, total=False):
    """Options of `ds_format.write`, which explains them."""

    mode: str
    """Only `w`, as objects of xarray have it."""
