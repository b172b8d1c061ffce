"""Reading: a classic NetCDF file as a Source, and its variables by their positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from .... import classic
from ....body.body import FIRST_SIZE, Body
from ....errors import DsError
from ...slabs import Slices
from ..native import NativeHandle, NativeSource, NativeValues
from .recalled import catalog_of


class ClassicValues(NativeValues):
    """Reads values of a classic file."""

    def _values(self, place: Any, slices: Slices | None, sought: NDArray[Any] | None) -> tuple[NDArray[Any], bool]:
        return classic.values(self._body, place, slices, sought)


@dataclass(frozen=True, slots=True)
class ClassicHandle(NativeHandle):
    """A variable of a classic file; see `drivers.base.Handle`."""

    values = ClassicValues


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


class ClassicSource(NativeSource):
    """An open classic file; see `NativeSource`.

    Parameters
    ----------
    body : Body
        The bytes of the file.
    header : Header
        Its attributes are taken for the metadata, and changed.
    """

    handles = ClassicHandle

    def __init__(self, body: Body, header: classic.ClassicHeader):
        self.header = header
        self._head = body.head(max(FIRST_SIZE, header.size))
        values = ClassicValues(body)
        super().__init__(values, body, catalog_of(header, body.name, values.scalar))

    def head(self) -> memoryview:
        """Return the bytes of the header."""
        return memoryview(self._head)[: self.header.size]
