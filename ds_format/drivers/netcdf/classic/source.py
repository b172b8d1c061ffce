"""Reading: a classic NetCDF file as a Source, and its variables by their positions."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from numpy.typing import NDArray

from .... import classic
from ....base.once import once
from ....body import Opened
from ....body.body import FIRST_SIZE, Body
from ....body.stamp import Stamp, Watch, watched, watched_blocks
from ....errors import DsError, TruncatedError
from ...base import BLOCK_SIZE, Entries, Origin
from ...handle import PositionedHandle
from ...library.catalog import FileVariable
from ...library.source import Job, Reading
from ...slabs import Slices
from ..format import NetCDFWarning
from .recalled import catalog_of


class ClassicValues(Reading):
    """Reads values of a classic file; any number of threads may do so at once.

    Parameters
    ----------
    body : Body
        The bytes of the file.
    """

    category = NetCDFWarning

    def __init__(self, body: Body):
        self._body = body
        self._path = body.name

    def read_whole(self, variable: FileVariable, place: classic.ClassicVariable) -> Any:
        """Return one variable, at a place of which the variable itself need not know."""
        if self._body.memory is not None and variable.kind == "number" and variable.shape:
            # enough for a small file without missing values
            try:
                values, may_miss = classic.values(self._body, place, None, variable.sought)
                if not may_miss:
                    return values
            except TruncatedError:
                pass
        if variable.place is not place:
            variable = replace(variable, place=place, shape=place.shape)
        return super().read_variable(variable, None)

    def read_variable(self, variable: FileVariable, index: tuple[Any, ...] | None) -> Any:
        """Return one variable, or a part of it; see `Reading`."""
        return self.read_whole(variable, variable.place) if index is None else super().read_variable(variable, index)

    def _fetch_looked(self, variable: FileVariable, slices: Slices) -> tuple[NDArray[Any], bool]:
        try:
            return classic.values(self._body, variable.place, slices, variable.sought)
        except TruncatedError as error:
            raise error.at(path=self._path)

    def _job(self, variable: FileVariable, slices: Slices) -> Job:
        # no library is needed: the next slab may be read while this one is written
        return Job(partial(self._slab, variable, slices), self._body.memory is None)

    def scalar(self, place: classic.ClassicVariable) -> NDArray[Any] | None:
        """Return the value of a variable without dimensions; None if the file ends before."""
        try:
            return classic.values(self._body, place)[0]
        except TruncatedError:
            # reading it raises the reason
            return None


@dataclass(frozen=True, slots=True)
class ClassicHandle(PositionedHandle):
    """A variable of a classic file; see `drivers.base.Handle`.

    Attributes
    ----------
    variable : FileVariable
        The variable, from the header.
    type : str or None
        Name of the ds type.
    """

    variable: FileVariable
    type: str | None

    @property
    def shape(self) -> tuple[int, ...] | None:
        """None: no data."""
        return self.variable.shape

    @property
    def missing(self) -> bool:
        """Whether values may be missing."""
        return self.variable.may_be_missing

    def _read(self, file: Body, index: tuple[Any, ...] | None) -> Any:
        return ClassicValues(file).read_variable(self.variable, index)


BLOCK_LIMIT = 1024 * 1024
"""Bytes of a block at most, so that the processor's cache holds it until it is written."""


def opened(body: Body) -> ClassicSource | None:
    """Open a classic file; None if it is not one, or an unusual one, which the netCDF4 library must read.

    Parameters
    ----------
    body : Body
        The bytes of the file.

    Raises
    ------
    FormatError
        If the header of a classic file is wrong.
    """
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
    """Set by the function that opens the source."""
    is_watched_by_path = False
    faults: Mapping[str, DsError]
    held: int
    """Bytes of the file that are in memory; 0: it is open instead."""

    def __init__(self, body: Body, header: classic.ClassicHeader):
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
        self.variables: Mapping[str, FileVariable] = catalog.variables
        self._values: ClassicValues | None = values

    @property
    def _opened(self) -> ClassicValues:
        """The reader of values."""
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
        return ClassicHandle(self._absolute, name, self._stamp, self.header.size, variable, type_name)

    @once
    def _absolute(self) -> str:
        return os.path.abspath(self.path)

    @once
    def _stamp(self) -> Stamp:
        """The stamp that shows whether the file was replaced."""
        return ClassicHandle.stamp_of(self.path, self.watch, self.head())

    def head(self) -> memoryview:
        """Return the bytes of the header."""
        return memoryview(self._head)[: self.header.size]

    def close(self) -> None:
        """Release the file, which is closed when no thread reads it any more. A file in memory stays readable."""
        if not self.held:
            self._values, self.watch = None, Watch()
