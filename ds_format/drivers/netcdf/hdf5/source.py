"""A netCDF-4 file as a Source, or read in one call, and its variables by their positions."""

from __future__ import annotations

import zlib
from typing import Any

from .... import hdf5
from ....body.body import FIRST_SIZE, Body
from ...native import HDF5FileSource, HDF5Values
from ..by_library import LIBRARY, open_by_library
from ..format import MARKER, NetCDFWarning
from ..whole import WholeFile
from .description import FileOutline, outline
from .recalled import NetCDF4Memory


class NetCDF4Values(HDF5Values):
    """Reads values of a netCDF-4 file."""

    category = NetCDFWarning
    library = LIBRARY
    as_text = True

    def _open_by_library(self, path: str) -> Any:
        return open_by_library(path)


class NetCDF4Source(HDF5FileSource):
    """An open netCDF-4 file; see `NativeSource`.

    Parameters
    ----------
    body : Body
        The bytes of the file.
    """

    def __init__(self, body: Body):
        found, values = _outline(body), NetCDF4Values(body)
        super().__init__(values, body, NetCDF4Memory.recall(found, values.scalar).catalog(body.name))


def _outline(body: Body) -> FileOutline:
    return outline(hdf5.read_file(body, netcdf=True, share=True))


class WholeNetCDF4File(WholeFile):
    """A netCDF-4 file that is read in one call.

    Parameters
    ----------
    body : Body

    Raises
    ------
    FormatError
        If the file is damaged.
    Unusual
        If only the netCDF4 library can read the file.
    """

    __slots__ = ()
    memory = NetCDF4Memory
    header: FileOutline

    def __init__(self, body: Body):
        super().__init__(body, _outline(body), NetCDF4Values(body))

    def has_marker(self) -> bool:
        """See `WholeFile`."""
        return any(MARKER in group.attributes for group in self.header.groups)

    def digest(self) -> int:
        """Return a checksum of the first bytes of the file, which in a small file is all of it."""
        return zlib.crc32(self.body.head(FIRST_SIZE))
