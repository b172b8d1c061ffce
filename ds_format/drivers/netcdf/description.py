"""What a NetCDF file says, whoever read it: the netCDF4 library or the codec of classic files.

What that means as metadata of a dataset is the catalog's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ...errors import UnsupportedError


class Described(NamedTuple):
    """A variable."""

    name: str
    """With its groups."""
    dims: Sequence[str]
    """Names of its dimensions, each with the group that defines it."""
    shape: tuple[int, ...]
    """In the file, that is with the dimension of characters."""
    code: str
    """NumPy kind and size of numbers; `S1`: characters, `O`: strings of variable length."""
    attributes: dict[str, Any]
    """By name; for the catalog to change."""
    strings: list[str]
    """Names of attributes that are one text of the type string, not characters; as well."""
    is_filled: bool
    """Whether the library fills it before it is written."""
    storage: dict[str, Any]
    """How it is stored, where that is not as by default; see `ds_format.drivers.netcdf.storage`."""
    chunk: tuple[int, ...] | None
    place: Any
    """By what its values are read."""


class Refused(NamedTuple):
    """A variable that ds cannot hold."""

    name: str
    error: UnsupportedError


class DescribedGroup(NamedTuple):
    """A group."""

    prefix: str
    """Of the names in it: `""` of the root, `"g/"`, `"g/h/"`."""
    attributes: dict[str, Any]
    strings: list[str]
    """As of `Described`."""


class DescribedFile(NamedTuple):
    """A file."""

    format: str
    dimensions: Sequence[tuple[str, int, bool]]
    """Names with groups, sizes, and whether they are unlimited."""
    groups: Sequence[DescribedGroup]
    """Outer ones first."""
    variables: Iterable[Described | Refused]
    """Once."""
    enums: Sequence[tuple[str, dict[str, Any]]] = ()
    """Names of enum types, and the records of them."""
