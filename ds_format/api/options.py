"""The options of reading and writing, for type checkers.

`Format.creation` has the options of writing each format, and is checked at run time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypedDict


class TableOptions(TypedDict, total=False):
    """The form of a CSV file, for reading and writing."""

    decimal: Literal[".", ","]
    """The character before decimals."""
    delimiter: str
    units: bool
    """Whether the second line has units."""


class TableReadOptions(TableOptions, total=False):
    """Options of reading CSV files."""

    comments: str
    """The character at the start of lines that are skipped."""
    skip: int
    """Lines before the names that are skipped."""


class ReadOptions(TableReadOptions, total=False):
    """Options of `ds_format.loads`, which are those of `ds_format.read`."""

    range_: Mapping[str, Any] | None
    at: Mapping[str, Any] | None
    between: Mapping[str, Any] | None
    full: bool
    jd: bool
    unpack: bool | None
    strings: str
    skip_unsupported: bool
    verify: bool


class CompressionOptions(TypedDict, total=False):
    """The storage of variables."""

    compression: str | None
    level: int | None
    shuffle: bool | int
    chunks: Mapping[str, int] | Sequence[int]
    shards: Mapping[str, int]
    digits: int
    bits: int


class FileOptions(CompressionOptions, total=False):
    """The way in which a file is written, and the storage of its variables."""

    atomic: bool
    durable: bool
    format: str
    """The format, a name or a suffix; or that of a NetCDF file: `NETCDF4`, `NETCDF3_CLASSIC`, ..."""


class EncodingOption(TypedDict, total=False):
    """The storage of single variables of a NetCDF file."""

    encoding: Mapping[str, Any] | None


class TimeOptions(TypedDict, total=False):
    """Units and calendar of Julian dates."""

    time_units: str | None
    calendar: str | None


class FormatOptions(TableOptions, total=False):
    """Options that only some formats have."""

    times: Literal["iso"]
    version: str | int
    checksum: bool
    widen: bool
    """For ds and NetCDF files."""
    excel: bool
    scalars: bool
    """Both for CSV files."""
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


class DumpOptions(CompressionOptions, EncodingOption, TimeOptions, FormatOptions, total=False):
    """Options of `ds_format.dumps`: those of `ds_format.write` but for files."""

    unlimited_dims: Any
    mask: bool


class Writable(Protocol):
    """A file object that is open for writing bytes."""

    def write(self, data: Any, /) -> Any:
        """Write bytes."""
        ...
