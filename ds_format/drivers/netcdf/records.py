"""The definitions of a NetCDF file as plain records: what `definition` decides, and a writer of any kind follows.

Paths of variables, dimensions and types have the names of their groups before them. Records are added in the order in
which a writer must define them. They never change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from .attributes import EncodedAttribute

Attributes = Mapping[str, EncodedAttribute]
"""By name, in the order of the file."""


class DimensionRecord(NamedTuple):
    """A dimension."""

    path: str
    size: int
    """The size of an unlimited one is that when all variables are written."""
    is_unlimited: bool = False


class EnumRecord(NamedTuple):
    """An enum type."""

    path: str
    dtype: np.dtype[Any]
    members: dict[str, int]


class VariableRecord(NamedTuple):
    """A variable."""

    path: str
    type: np.dtype[Any] | Literal["char", "string"]
    """Dtype of numbers with their byte order in the file, characters, or strings of any length."""
    dims: tuple[str, ...] = ()
    """Paths of its dimensions in the file, that of characters included."""
    attributes: Attributes = MappingProxyType({})
    enum: EnumRecord | None = None
    """Its type, if it has names for numbers."""
    options: Mapping[str, Any] = MappingProxyType({})
    """Settings of storage in netCDF-4 files, by the keywords of `netCDF4.Dataset.createVariable`: `chunksizes`,
    `compression`, `complevel`, `shuffle`, `fletcher32`, `endian`, `blosc_shuffle`, `szip_coding` and
    `szip_pixels_per_block`. `fill_value` is False (not pre-filled), or the mark of a variable of an enum type. Without
    it, the attribute `_FillValue` or the default value of the type is the fill value."""


@dataclass(slots=True)
class FileRecords:
    """All records of a file, as far as they are known."""

    format: str
    """A key of `format.CODES`."""
    groups: list[str] = field(default_factory=list)
    """Without the root; outer ones first."""
    dimensions: dict[str, DimensionRecord] = field(default_factory=dict)
    """By path."""
    enums: dict[str, EnumRecord] = field(default_factory=dict)
    """By path."""
    attributes: dict[str, Attributes] = field(default_factory=dict)
    """By group, `""` for the root."""
    variables: dict[str, VariableRecord] = field(default_factory=dict)
    """By path."""
