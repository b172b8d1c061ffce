"""Reading: a netCDF-4 file as a Source, and its variables by their positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .... import hdf5
from ....body.body import Body
from ...native import HDF5FileSource, HDF5Values, NativeHandle, open_native
from ..by_library import LIBRARY, open_by_library
from ..format import NetCDFWarning
from .description import FileOutline, outline
from .recalled import recall


class NetCDF4Values(HDF5Values):
    """Reads values of a netCDF-4 file."""

    category = NetCDFWarning
    library = LIBRARY
    as_text = True

    def _open_by_library(self, path: str) -> Any:
        return open_by_library(path)


@dataclass(frozen=True, slots=True)
class NetCDF4Handle(NativeHandle):
    """A variable of a netCDF-4 file; see `drivers.base.Handle`."""

    values = NetCDF4Values


def opened(body: Body) -> NetCDF4Source | None:
    """Open a netCDF-4 file; see `native.open_native`."""
    return open_native(
        body,
        (hdf5.SIGNATURE,),
        lambda body: NetCDF4Source(body, outline(hdf5.read_file(body, netcdf=True, share=True))),
    )


class NetCDF4Source(HDF5FileSource):
    """An open netCDF-4 file; see `NativeSource`.

    Parameters
    ----------
    body : Body
        The bytes of the file.
    outline : FileOutline
    """

    handles = NetCDF4Handle

    def __init__(self, body: Body, outline: FileOutline):
        values = NetCDF4Values(body)
        super().__init__(values, body, recall(outline, values.scalar).catalog(body.name))
