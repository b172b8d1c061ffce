"""Whether an HDF5 file is netCDF-4, by the rule of the netCDF library (`NC4_isnetcdf4` in `libhdf5/nc4hdf.c`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .... import hdf5
from ....body.body import Body
from ....errors import FormatError
from ...base import OtherFormatError
from ..by_library import is_netcdf4 as is_netcdf4_by_library
from ..format import RESERVED
from .auditing import audited
from .description import outline

ROOT_MARKS = ("_NCProperties", "_nc3_strict")
"""Attributes of the root group, of which one is enough."""
LEAST_MARKS = 2
"""Attributes of datasets with names that the library reserves, which are enough together."""


def is_netcdf4(body: Body) -> bool:
    """Return whether a file is netCDF-4. Only for an unusual file the library is asked.

    Raises
    ------
    DriverError
        If the library must be asked, and is not installed.
    """
    content = hdf5.content(body)
    if content is None:
        return False
    try:
        file = hdf5.read_file(content)
        if not has_marks(file):
            return False
        outline(hdf5.read_file(content, netcdf=True))
    except hdf5.Unusual:
        if body.is_elsewhere:
            return False  # the library would take its address for that of a server; h5py reads its bytes
        try:
            audited(body)
            return is_netcdf4_by_library(body.name)
        except (FormatError, OtherFormatError):
            return False
    except FormatError:
        return False
    return True


def has_marks(file: hdf5.HDF5File) -> bool:
    """Return whether a file that was read without `netcdf` has the marks of netCDF-4."""
    if not file.groups[0].attributes.keys().isdisjoint(ROOT_MARKS):
        return True
    every: Iterable[Mapping[str, Any]] = (owner for each in file.datasets for owner in (each.attributes, each.hidden))
    return sum(name in RESERVED for owner in every for name in owner) >= LEAST_MARKS
