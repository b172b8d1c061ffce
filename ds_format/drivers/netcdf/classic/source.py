"""Reading: a classic NetCDF file as a Source."""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .... import classic
from ....body import Opened
from ....body.stamp import Stamp, Watch, watched, watched_blocks
from ....errors import DsError
from ....kernels.files import opening, ranges
from ....once import once
from ...base import BLOCK_SIZE, Entries, Origin
from ..catalog import NetCDFVariable
from .recalled import catalog_of
from .values import ClassicValues

if TYPE_CHECKING:
    from .handle import ClassicHandle

FIRST_SIZE = 64 * 1024
"""Bytes read at first: of a smaller file all of it."""
BLOCK_LIMIT = 1024 * 1024
"""Bytes of a block at most, so that the processor's cache holds it until it is written."""


def opened(path: Any) -> ClassicSource | None:
    """Open a classic file; None if it is none, or an unusual one, which the netCDF4 library shall read.

    Parameters
    ----------
    path : str, bytes or PathLike

    Raises
    ------
    OSError
        As the system says; see `kernels.files.opening.open_first`.
    FormatError
        If the header of a classic file is wrong.
    """
    fd, size, data, changed = opening.open_first(path, FIRST_SIZE)
    try:
        if data[:4] in classic.MAGIC:
            watch = Watch() if fd < 0 else Watch.of_open(os.fsdecode(path), fd, size, changed)
            size = size if fd >= 0 else len(data)  # it may have shrunk meanwhile
            with watch:
                header = classic.read_header(fd, size, data, share=True)
            source = ClassicSource(path, fd, size, data, header, watch)
            fd = -1
            return source
    except classic.Unusual:
        pass
    except DsError as error:
        raise error.at(path=os.fsdecode(path))
    finally:
        if fd >= 0:
            os.close(fd)
    return None


class ClassicSource(Opened):
    """An open classic file; see `ds_format.drivers.base.Source`.

    Values are as the netCDF4 library would give them; see `ds_format.drivers.netcdf.source.NetCDFSource`. Nothing is
    locked: any number of threads may read at once.

    Parameters
    ----------
    path : str, bytes or PathLike
    fd : int
        File descriptor, which the source closes; -1: it is closed already.
    size : int
        Bytes of the file.
    data : bytearray
        The first ones, all of them if the file is closed.
    header : Header
        Its attributes are taken for the metadata, and changed.
    watch : Watch, optional
        Of the file, if it is open.
    """

    origin: Origin
    """Set by whoever opens the source."""
    is_watched_by_path = False
    faults: Mapping[str, DsError]
    held: int
    """Bytes of the file that are in memory; 0: it is open instead."""

    def __init__(
        self, path: Any, fd: int, size: int, data: bytearray, header: classic.Header, watch: Watch | None = None
    ):
        self.path = os.fsdecode(path)
        self.watch = watch or Watch()
        self.header = header
        self.size = size
        self._data = data
        self.held = len(data) if fd < 0 else 0
        values = ClassicValues(self.path, fd, size, data if fd < 0 else None)
        catalog = catalog_of(header, self.path, values.scalar)
        self.meta: Entries = catalog.meta
        self.faults = catalog.faults
        self.variables: Mapping[str, NetCDFVariable] = catalog.variables
        self._values = values  # from here on the descriptor is closed with the source

    @watched
    def read(self, name: str, index: tuple[Any, ...] | None = None) -> Any:
        """Return one variable, or a part of it; see `Source.read`.

        Raises
        ------
        FormatError
            If the data are cut, or not what the attributes promise.
        """
        return self._values.read_variable(self.variables[name], index)

    @watched_blocks
    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Yield one variable in blocks; see `Source.blocks`."""
        return self._values.blocks_of(self.variables[name], min(budget, BLOCK_LIMIT))

    def handle(self, name: str) -> ClassicHandle:
        """Return what reads one variable elsewhere; see `drivers.base.Source`."""
        variable, type_name = self.variables[name], self.meta[name][".type"]
        handle: ClassicHandle = _handles().ClassicHandle(
            self._absolute, name, self._stamp, self.header.size, variable, type_name
        )
        return handle

    @once
    def _absolute(self) -> str:
        return os.path.abspath(self.path)

    @once
    def _stamp(self) -> Stamp:
        """What tells whether the file is still this one."""
        found: Stamp = _handles().ClassicHandle.stamp_of(self.path, self.watch, self.head())
        return found

    def head(self) -> memoryview:
        """Return the bytes of the header."""
        size = self.header.size
        if len(self._data) < size:
            self._data = bytearray(size)
            ranges.read_at(self._values.fd, 0, self._data)
        return memoryview(self._data)[:size]

    def close(self) -> None:
        """Release the file; closing twice is no error."""
        fd, self._values.fd = self._values.fd, -1
        if fd >= 0:
            self.watch.close()
            os.close(fd)

    def __del__(self) -> None:
        if hasattr(self, "_values"):
            self.close()


@functools.cache
def _handles() -> Any:
    """Return the module of handles: who reads a file, and makes none, need not load it."""
    return importlib.import_module(".handle", __package__)
