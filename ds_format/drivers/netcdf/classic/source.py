"""A classic NetCDF file as a Source, or read in one call, and its variables by their positions."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .... import classic
from ....body.body import FIRST_SIZE, Body
from ....errors import NotInHeaderError
from ....kernels.common.finishing import Finisher
from ...library.catalog import FileVariable
from ...native import NativeSource, NativeValues
from ...slabs import Slices
from ..format import MARKER, NetCDFWarning
from ..whole import WholeFile
from .recalled import ClassicMemory, catalog_of, is_large


class ClassicValues(NativeValues):
    """Reads values of a classic file."""

    category = NetCDFWarning

    def _values(self, place: Any, slices: Slices | None, sought: NDArray[Any] | None) -> tuple[NDArray[Any], bool]:
        return classic.values(self._body, place, slices, sought)

    def read_small(
        self, variables: list[FileVariable], places: Sequence[Any], finishers: list[Finisher | None], masked: bool
    ) -> tuple[list[Any], list[int]]:
        """See `NativeValues`."""
        return classic.small_values(self._body, [*places], finishers, masked)

    def _ranges(self, place: Any, slices: Slices) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return classic.ranges_of(place, slices)


class ClassicSource(NativeSource):
    """An open classic file; see `NativeSource`.

    Parameters
    ----------
    body : Body
        The bytes of the file.
    """

    def __init__(self, body: Body):
        self.header = header = classic.read_header(body, share=True)
        self._head = body.head(max(FIRST_SIZE, header.size))
        values = ClassicValues(body)
        super().__init__(values, body, catalog_of(header, body.name, values.scalar))

    def head(self) -> memoryview:
        """Return the bytes of the header."""
        return memoryview(self._head)[: self.header.size]


class WholeClassicFile(WholeFile):
    """A classic file that is read in one call.

    Parameters
    ----------
    body : Body

    Raises
    ------
    FormatError
        If the header is wrong.
    Unusual
        If only the netCDF4 library can read the file, or a `ClassicSource` takes less memory.
    """

    __slots__ = ()
    memory = ClassicMemory
    header: classic.ClassicHeader

    def __init__(self, body: Body):
        super().__init__(body, classic.read_header(body, share=True), ClassicValues(body))
        if is_large(self.header):
            raise NotInHeaderError("very many variables, whose metadata would take much memory")

    def has_marker(self) -> bool:
        """See `WholeFile`."""
        return MARKER in self.header.attributes

    def stored(self, i: int) -> bytes | None:
        """See `WholeFile`."""
        variable, memory = self.header.variables[i], self.body.memory
        return None if variable.step or memory is None else bytes(memory[variable.begin : classic.end_of(variable)])

    def has(self, i: int, stored: bytes) -> bool:
        """See `WholeFile`."""
        begin, memory = self.header.variables[i].begin, self.body.memory
        return memory is not None and bool(memory[begin : begin + len(stored)] == stored)

    def digest(self) -> int:
        """Return a checksum of the header."""
        return zlib.crc32(self.body.read(0, self.header.size))
