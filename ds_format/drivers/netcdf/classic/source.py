"""Reading: a classic NetCDF file as a Source."""

from __future__ import annotations

import errno
import functools
import importlib
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .... import classic
from ....base.once import once
from ....body import Opened
from ....body.body import FIRST_SIZE, Body, open_body
from ....body.stamp import Stamp, Watch, watched, watched_blocks
from ....errors import DsError
from ...base import BLOCK_SIZE, Entries, Origin
from ..catalog import NetCDFVariable
from .recalled import catalog_of
from .values import ClassicValues

if TYPE_CHECKING:
    from .handle import ClassicHandle

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
        As `open_body`.
    FormatError
        If the header of a classic file is wrong.
    """
    body = open_body(path)
    if body.head(FIRST_SIZE)[:4] not in classic.MAGIC:
        return None
    try:
        with body.watch:
            header = classic.read_header(body, share=True)
        return ClassicSource(body, header)
    except classic.Unusual:
        return None
    except DsError as error:
        raise error.at(path=body.name)


class ClassicSource(Opened):
    """An open classic file; see `ds_format.drivers.base.Source`.

    Values are as the netCDF4 library would give them; see `ds_format.drivers.netcdf.source.NetCDFSource`. Nothing is
    locked: any number of threads may read at once.

    Parameters
    ----------
    body : Body
        The bytes of the file.
    header : Header
        Its attributes are taken for the metadata, and changed.
    """

    origin: Origin
    """Set by whoever opens the source."""
    is_watched_by_path = False
    faults: Mapping[str, DsError]
    held: int
    """Bytes of the file that are in memory; 0: it is open instead."""

    def __init__(self, body: Body, header: classic.Header):
        self.path = body.name
        self.watch = body.watch
        self.header = header
        self.size = body.size
        self.held = 0 if body.memory is None else body.size
        self._head = body.head(max(FIRST_SIZE, header.size))
        values = ClassicValues(body)
        catalog = catalog_of(header, self.path, values.scalar)
        self.meta: Entries = catalog.meta
        self.faults = catalog.faults
        self.variables: Mapping[str, NetCDFVariable] = catalog.variables
        self._values: ClassicValues | None = values

    @property
    def _opened(self) -> ClassicValues:
        """What reads values."""
        if self._values is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self.path)
        return self._values

    @watched
    def read(self, name: str, index: tuple[Any, ...] | None = None) -> Any:
        """Return one variable, or a part of it; see `Source.read`.

        Raises
        ------
        FormatError
            If the data are cut, or not what the attributes promise.
        """
        return self._opened.read_variable(self.variables[name], index)

    @watched_blocks
    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Yield one variable in blocks; see `Source.blocks`."""
        return self._opened.blocks_of(self.variables[name], min(budget, BLOCK_LIMIT))

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
        return memoryview(self._head)[: self.header.size]

    def close(self) -> None:
        """Let go of the file, which is closed when no thread reads it any more. What is in memory stays readable."""
        if not self.held:
            self._values, self.watch = None, Watch()


@functools.cache
def _handles() -> Any:
    """Return the module of handles: who reads a file, and makes none, need not load it."""
    return importlib.import_module(".handle", __package__)
