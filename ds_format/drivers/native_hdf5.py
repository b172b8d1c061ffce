"""HDF5 files, netCDF-4 among them, that this package reads itself: values, and the open file.

A file is open by a library as well only if a slab of it is `hdf5.Unusual`.
"""

from __future__ import annotations

import math
import threading
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import hdf5
from ..base.text import escape
from ..body.body import FIRST_SIZE, Body
from ..errors import DsError
from ..model.missing import default_fill
from .library.catalog import FileVariable
from .native import NativeSource, NativeValues, log_reason
from .slabs import Slices, read_filled


class HDF5Values(NativeValues):
    """Reads values of an HDF5 file; a library reads slabs that are `hdf5.Unusual`.

    Parameters
    ----------
    body : Body
        The bytes of the file.
    """

    library: ClassVar[str]
    """Name of the library."""
    as_text: ClassVar[bool]
    """Whether strings of variable length are read as `str`, not as `bytes`."""

    def __init__(self, body: Body):
        super().__init__(body)
        self._library: Any = None
        self._lock = threading.Lock()

    @abstractmethod
    def _open_by_library(self, path: str) -> Any:
        """Open the file as a `LibrarySource`."""

    def _values(self, place: Any, slices: Slices | None, sought: NDArray[Any] | None) -> tuple[NDArray[Any], bool]:
        return hdf5.values(self._body, place, slices, sought, as_text=self.as_text)

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
            log_reason(self._path, self.library, f'variable "{variable.name}": {reason}')
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
            return self._padding(place)

        shape = [s.stop - s.start for s in slices]
        if 0 in shape:
            return np.empty(shape, fetch(tuple([slice(0, 0)] * len(shape))).dtype), False
        hdf5.check_size(math.prod(shape) * place.dtype.itemsize, self._body)
        return read_filled(fetch, slices, place.shape, fill), any(are_sought)

    def _padding(self, place: hdf5.DatasetPlace) -> NDArray[Any]:
        """Return the value that a library has beyond the extent of a variable, as an array of one."""
        dtype = place.dtype
        if dtype.kind == "V":
            return np.array(["" if self.as_text else b""], object)
        if place.fill is not None:
            return np.frombuffer(place.fill, dtype.newbyteorder(">" if place.is_big else "<")).astype(dtype)
        return np.array([b"" if dtype.kind == "S" else default_fill(dtype)], dtype)

    def _opened_by_library(self) -> Any:
        with self._lock:
            if self._library is None:
                self._library = self._open_by_library(self._path)
            return self._library

    def close(self) -> None:
        """Close the file if the library opened it."""
        with self._lock:
            library, self._library = self._library, None
        if library is not None:
            library.close()


class HDF5FileSource(NativeSource):
    """An open HDF5 file; see `NativeSource`."""

    def __init__(self, values: HDF5Values, body: Body, catalog: Any):
        super().__init__(values, body, catalog)
        self._head = body.head(FIRST_SIZE)

    def head(self) -> memoryview:
        """Return the first bytes of the file: metadata are anywhere in it."""
        return memoryview(self._head)

    def _block_budget(self, name: str, budget: int) -> int:
        # chunks are read in threads, and once
        return budget if self.variables[name].chunk is not None else super()._block_budget(name, budget)
