"""A netCDF-4 file as a Source, or read in one call, and its variables by their positions."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from .... import hdf5
from ....body.body import FIRST_SIZE, Body
from ...native import HDF5FileSource, HDF5Values, NativeHandle, open_native
from ..by_library import LIBRARY, open_by_library
from ..format import MARKER, NetCDFWarning
from ..recalled import RecalledFile
from ..whole import WholeFile
from .description import FileOutline, outline
from .recalled import attributes_of, is_same, recall


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
    header: FileOutline

    def __init__(self, body: Body):
        super().__init__(body, outline(hdf5.read_file(body, netcdf=True, share=True)), NetCDF4Values(body))

    def recall(self, keys: Collection[str] | None, lends: bool) -> RecalledFile:
        """See `WholeFile`."""
        return recall(self.header, self.values.scalar, keys, lends)

    def attributes(self) -> dict[str, Any]:
        """See `WholeFile`."""
        return attributes_of(self.header)

    def has_marker(self) -> bool:
        """See `WholeFile`."""
        return any(MARKER in group.attributes for group in self.header.groups)

    def places(self) -> Sequence[hdf5.DatasetPlace]:
        """See `WholeFile`."""
        return self.header.places

    def is_alike(self, known: WholeNetCDF4File) -> bool:
        """Compare what all objects say."""
        header, other = self.header, known.header
        if header.format != other.format or header.dimensions != other.dimensions:
            return False
        if len(header.variables) != len(other.variables) or header.enums.records != other.enums.records:
            return False
        groups = [(group.prefix, group.strings) for group in header.groups]
        if groups != [(group.prefix, group.strings) for group in other.groups]:
            return False
        return all(map(is_same, header.variables, other.variables))

    def digest(self) -> int:
        """Return a checksum of the first bytes of the file, which in a small file is all of it."""
        return zlib.crc32(self.body.head(FIRST_SIZE))
