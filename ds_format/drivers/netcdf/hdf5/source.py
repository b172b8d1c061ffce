"""Reading: a netCDF-4 file as a Source, and its variables by their positions."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .... import hdf5
from ....body.body import FIRST_SIZE, Body
from ....dataset import escape
from ....errors import DsError
from ....model.missing import default_fill
from ...library.catalog import FileVariable
from ...slabs import Slices, read_filled
from ..by_library import log_reason, open_by_library
from ..native import NativeHandle, NativeSource, NativeValues, open_native
from .description import FileOutline, outline
from .recalled import catalog_of


class NetCDF4Values(NativeValues):
    """Reads values of a netCDF-4 file. The netCDF4 library reads slabs that are `hdf5.Unusual`."""

    def __init__(self, body: Body):
        super().__init__(body)
        self._library: Any = None
        self._lock = threading.Lock()

    def _values(self, place: Any, slices: Slices | None, sought: NDArray[Any] | None) -> tuple[NDArray[Any], bool]:
        return hdf5.values(self._body, place, slices, sought, as_text=True)

    def _whole(self, variable: FileVariable, place: Any) -> NDArray[Any] | None:
        if variable.shape != place.shape:
            return None
        try:
            values, may_miss = hdf5.values(self._body, place, None, variable.sought)
        except (DsError, hdf5.Unusual):
            return None  # the slower way tells the reason
        return None if may_miss else values

    def _fetch_looked(self, variable: FileVariable, slices: Slices) -> tuple[NDArray[Any], bool]:
        try:
            return self._padded(variable, slices)
        except hdf5.Unusual as reason:
            log_reason(self._path, f'variable "{variable.name}": {reason}')
        except DsError as error:
            raise error.at(path=self._path, variable=variable.name)
        return self._opened_by_library().fetch(escape(variable.name), slices), True

    def _padded(self, variable: FileVariable, slices: Slices) -> tuple[NDArray[Any], bool]:
        """Return a slab of a variable, with fill values where it is shorter than its dimensions."""
        place: hdf5.DatasetPlace = variable.place
        are_sought = []

        def fetch(part: Slices) -> NDArray[Any]:
            values, may_be_found = self._values(place, part, variable.sought)
            are_sought.append(may_be_found)
            return values

        def fill() -> NDArray[Any]:
            are_sought.append(True)
            return _padding(place)

        shape = [s.stop - s.start for s in slices]
        if 0 in shape:
            return np.empty(shape, fetch(tuple([slice(0, 0)] * len(shape))).dtype), False
        hdf5.check_size(math.prod(shape) * place.dtype.itemsize, self._body)
        return read_filled(fetch, slices, place.shape, fill), any(are_sought)

    def _opened_by_library(self) -> Any:
        with self._lock:
            if self._library is None:
                self._library = open_by_library(self._path)
            return self._library

    def close(self) -> None:
        """Close the file if the library opened it."""
        with self._lock:
            library, self._library = self._library, None
        if library is not None:
            library.close()


def _padding(place: hdf5.DatasetPlace) -> NDArray[Any]:
    """Return the value that the library has beyond the extent of a variable, as an array of one."""
    dtype = place.dtype
    if dtype.kind == "V":
        return np.array([""], object)
    if place.fill is not None:
        return np.frombuffer(place.fill, dtype.newbyteorder(">" if place.is_big else "<")).astype(dtype)
    return np.array([b"" if dtype.kind == "S" else default_fill(dtype)], dtype)


@dataclass(frozen=True, slots=True)
class NetCDF4Handle(NativeHandle):
    """A variable of a netCDF-4 file; see `drivers.base.Handle`."""

    values = NetCDF4Values


def opened(body: Body) -> NetCDF4Source | None:
    """Open a netCDF-4 file; see `native.open_native`."""
    return open_native(
        body,
        (hdf5.SIGNATURE,),
        lambda body: NetCDF4Source(body, outline(hdf5.read_file(body, scalars=True, share=True))),
    )


class NetCDF4Source(NativeSource):
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
        super().__init__(values, body, catalog_of(outline, body.name, values.scalar))
        self._head = body.head(FIRST_SIZE)

    def head(self) -> memoryview:
        """Return the first bytes of the file: metadata are anywhere in it."""
        return memoryview(self._head)

    def _block_budget(self, name: str, budget: int) -> int:
        # chunks are read in threads, and once
        return budget if self.variables[name].chunk is not None else super()._block_budget(name, budget)
