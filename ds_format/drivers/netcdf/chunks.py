"""Chunks of netCDF-4 files, which h5py finds for us: it opens the file, too, as soon as that pays."""

from __future__ import annotations

import contextlib
import importlib
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...body.stamp import Stamp
from ..chunked import Chunks, Reading
from ..library.groups import split
from ..library.guard import ERRORS
from ..library.lock import LOCK
from ..slabs import Slices
from .calls import Group
from .catalog import NetCDFVariable
from .extents import NON_COORDINATE

MIN_SIZE = 1024 * 1024
"""Bytes of a slab that is worth opening the file once more."""

IMPORT_SIZE = 24 * 1024 * 1024
"""Bytes that the library inflates in about the time that threads save, less the one it takes to import h5py."""

_read_size = 0
"""Bytes of slabs that this process has read without h5py, each of which it might have been worth."""


class NetCDFChunks:
    """The chunks of one file, for one source. The lock of the library is held by whoever calls.

    Parameters
    ----------
    path : str
    stamp : Stamp
        Of the file when it was opened.
    file : netCDF4.Dataset
    """

    def __init__(self, path: str, stamp: Stamp, file: Group):
        self._path = path
        self._stamp = stamp
        self._file: Any = None
        self._chunks: Chunks | None = None
        self._is_hopeless = not file.data_model.startswith("NETCDF4") or file.disk_format != "HDF5"

    def prepare(self, variable: NetCDFVariable, slices: Slices, fetch: Callable[[Slices], Any]) -> Reading | None:
        """Return what reads a slab; None if the library shall.

        Parameters
        ----------
        variable : NetCDFVariable
        slices : tuple of slice
        fetch : callable
            Slices → what the library has there.
        """
        if self._is_hopeless or variable.kind not in ("number", "bool") or not slices:
            return None
        size = variable.size * math.prod(s.stop - s.start for s in slices)
        chunks = self._opened(size) if size >= MIN_SIZE else None
        if chunks is None:
            return None
        dtype = np.dtype(variable.place.dtype).newbyteorder("=")

        def find() -> Any:
            found = self._find(variable.name)
            return found if found is not None and np.dtype(found.dtype.str).newbyteorder("=") == dtype else None

        def fill() -> NDArray[Any]:
            # beyond the extent of the variable, if the last place is not within
            return np.asarray(fetch(tuple(slice(s.stop - 1, s.stop) for s in slices)))

        return chunks.prepare(variable.name, find, slices, fill)

    def close(self) -> None:
        """Close the file; twice is no error."""
        file, self._file, self._chunks, self._is_hopeless = self._file, None, None, True
        if file is not None:
            with contextlib.suppress(*ERRORS):
                file.close()

    def drop(self) -> None:
        """Close what its owner forgot, as soon as nobody is inside of the library."""
        if self._file is not None:
            LOCK.later(self.close)

    def _opened(self, size: int) -> Chunks | None:
        """Return the file, which is opened unless it is; None if that does not pay yet, or is not possible."""
        global _read_size
        if self._chunks is not None:
            return self._chunks
        if "h5py" not in sys.modules:
            _read_size += size
            if _read_size < IMPORT_SIZE:
                return None
        try:
            h5py: Any = importlib.import_module("h5py")
            self._file = h5py.File(self._path, "r")
            chunks = Chunks(self._file, self._path)
        except (ImportError, *ERRORS):
            self._is_hopeless = True
            return None
        if chunks.stamp != self._stamp:
            # another file by now, or one that was written to
            self.close()
            return None
        self._chunks = chunks
        return chunks

    def _find(self, name: str) -> Any:
        group, base = split(name)
        h5py: Any = importlib.import_module("h5py")
        for each in (NON_COORDINATE + base, base):
            found = self._file.get(f"{group}/{each}")
            if isinstance(found, h5py.Dataset):
                return found.id
        return None
