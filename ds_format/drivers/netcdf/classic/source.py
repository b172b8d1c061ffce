"""Reading: a classic NetCDF file as a Source, and its variables by their positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from .... import classic
from ....body.body import FIRST_SIZE, Body
from ...native import NativeHandle, NativeSource, NativeValues, open_native
from ...slabs import Slices
from ..format import NetCDFWarning
from .recalled import catalog_of


class ClassicValues(NativeValues):
    """Reads values of a classic file."""

    category = NetCDFWarning

    def _values(self, place: Any, slices: Slices | None, sought: NDArray[Any] | None) -> tuple[NDArray[Any], bool]:
        return classic.values(self._body, place, slices, sought)


@dataclass(frozen=True, slots=True)
class ClassicHandle(NativeHandle):
    """A variable of a classic file; see `drivers.base.Handle`."""

    values = ClassicValues


def opened(body: Body) -> ClassicSource | None:
    """Open a classic file; see `native.open_native`."""
    return open_native(body, classic.MAGIC, lambda body: ClassicSource(body, classic.read_header(body, share=True)))


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
