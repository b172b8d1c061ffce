"""The way to the modules that need the netCDF4 library. They are imported when a file is opened with it.

Everything else in this folder works without the library, which takes longer to import than to read many files.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...base import isolation
from ...base.optional import unavailable
from ...body.stamp import Stamp
from ..base import Metadata
from .format import NetCDFWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..library.source import LibrarySource
    from .records import FileRecords
    from .sink import NetCDFSink, WritingPlan
    from .source import NetCDFSource


@contextlib.contextmanager
def _needing_netcdf4() -> Iterator[None]:
    """Import modules that need netCDF4; if it is not installed, the error names what to install."""
    try:
        yield
    except ImportError as error:
        raise unavailable(error, "netCDF4", "netCDF4") from error


def open_by_library(
    path: Any, *, skip_unsupported: bool = False, structured: bool = False, stamp: Stamp | None = None
) -> LibrarySource:
    """Open a file with the library, perhaps in another process; parameters and errors as of `source.NetCDFSource`."""
    options = {"skip_unsupported": skip_unsupported, "structured": structured}
    if isolation.is_on():
        from ..library.isolated import IsolatedSource

        return IsolatedSource(path, LIBRARY, NetCDFWarning, open_here, **options)
    return open_here(path, **options, stamp=stamp)


def open_here(
    path: Any, *, skip_unsupported: bool = False, structured: bool = False, stamp: Stamp | None = None
) -> NetCDFSource:
    """Open a file with the library in this process; parameters and errors as of `source.NetCDFSource`."""
    with _needing_netcdf4():
        from .source import NetCDFSource
    return NetCDFSource(path, skip_unsupported=skip_unsupported, structured=structured, stamp=stamp)


LIBRARY = "netCDF4"


def create_by_library(path: Any, meta: Metadata, planned: WritingPlan, *, atomic: bool, durable: bool) -> NetCDFSink:
    """Create a file with the library; see `sink.NetCDFSink`."""
    with _needing_netcdf4():
        from .library_sink import LibraryNetCDFSink
    return LibraryNetCDFSink(path, meta, planned, atomic=atomic, durable=durable)


def write_by_library(path: str, target: str, records: FileRecords, values: Mapping[str, NDArray[Any]]) -> None:
    """Write a whole file with the library.

    Parameters
    ----------
    path : str
    target : str
        The name for messages.
    records : FileRecords
        All of them.
    values : dict
        Path of a variable → all its values, in the shape of its dimensions.
    """
    with _needing_netcdf4():
        from .slab_writing import write_records
    write_records(path, target, records, values)


def is_netcdf4(path: str) -> bool:
    """Whether the NetCDF library says that an HDF5 file is netCDF-4.

    Raises
    ------
    FormatError
        If the library cannot open the file.
    ImportError
        If the library is not installed.
    """
    if isolation.is_on():
        from ..library.isolated import call

        return bool(call(LIBRARY, path, _is_netcdf4, os.path.abspath(path)))
    return _is_netcdf4(path)


def _is_netcdf4(path: str) -> bool:
    with _needing_netcdf4():
        from .calls import is_netcdf4
    return is_netcdf4(path)
