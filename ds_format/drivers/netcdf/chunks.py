"""Chunks and extents of variables in netCDF-4 files, which h5py reports and the netCDF4 library does not.

The library misreads values beyond the extent of a variable that is shorter than its dimensions. It reads the stored
values and appends fill values (netCDF-C 4.10, `NC4_get_vars`). This is right only along the first dimension. Along
another dimension, values get into wrong positions. With two such dimensions, memory is left uninitialized. Reading one
index at a time along each unlimited dimension is always right.

Without h5py, a value that is not the fill value proves that all indices up to its own are inside. Everything else is
read one index at a time.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...body.stamp import Stamp
from ...codec.slab_reading import SlabReader
from ...model import missing
from ...model.settings import NON_COORDINATE
from ..chunked import Chunks
from ..library.catalog import FileVariable, split
from ..library.guard import ERRORS, LOCK
from ..slabs import Slices, clipped, insert, read_filled
from .calls import Group, Variable

Fetch = Callable[[Slices], NDArray[Any]]


class Extent(NamedTuple):
    """The extent of a variable, as far as it is known."""

    shape: tuple[int, ...]
    """Indices below these are inside of it, along `axes`."""
    is_exact: bool
    """Whether all other indices are outside."""


def find_extent(path: str, name: str, variable: Variable, axes: tuple[int, ...], fetch: Fetch) -> Extent:
    """Return the extent of a variable of a netCDF-4 file.

    Parameters
    ----------
    path : str
    name : str
        Name of the variable, with its groups.
    variable : netCDF4.Variable
    axes : tuple of int
        Those that are unlimited.
    fetch : callable
        Slices → what the library returns for them.
    """
    shape = tuple(int(n) for n in variable.shape)
    stored = _stored(path, name)
    if stored is not None and len(stored) == len(shape) and all(a <= b for a, b in zip(stored, shape, strict=True)):
        return Extent(stored, True)
    return Extent(_proven(variable, shape, axes, fetch), False)


def read_growing(fetch: Fetch, slices: Slices, extent: Extent, axes: tuple[int, ...]) -> NDArray[Any]:
    """Return a slab, with the library's fill values beyond the extent."""
    if any(s.start >= s.stop for s in slices):
        return fetch(slices)
    if extent.is_exact:
        return read_filled(fetch, slices, extent.shape, lambda: fetch(_last(slices)))
    inner = clipped(slices, extent.shape)
    if inner == slices:
        return fetch(slices)
    has_inner = all(s.start < s.stop for s in inner)
    slab = np.empty([s.stop - s.start for s in slices], fetch(_last(slices)).dtype)
    for index in itertools.product(*(range(slices[axis].start, slices[axis].stop) for axis in axes)):
        if not has_inner or any(i >= inner[axis].stop for axis, i in zip(axes, index, strict=True)):
            part = _at(slices, axes, index)
            insert(slab, slices, part, fetch(part))
    if has_inner:
        insert(slab, slices, inner, fetch(inner))
    return slab


def _at(slices: Slices, axes: tuple[int, ...], index: tuple[int, ...]) -> Slices:
    part = list(slices)
    for axis, i in zip(axes, index, strict=True):
        part[axis] = slice(i, i + 1)
    return tuple(part)


def _last(slices: Slices) -> Slices:
    """Return the last position of a slab, which is beyond an extent if any position is."""
    return tuple(slice(s.stop - 1, s.stop) for s in slices)


def _stored(path: str, name: str) -> tuple[int, ...] | None:
    """Return the extent of a variable from h5py; None without h5py, or if it does not find the variable."""
    try:
        h5py = importlib.import_module("h5py")
        with h5py.File(path, "r") as file:
            found = _dataset(h5py, file, name)
            return None if found is None else found.shape and tuple(int(n) for n in found.shape)
    except (ImportError, *ERRORS):
        return None


def _dataset(h5py: Any, file: Any, name: str) -> Any:
    """Return a variable of an open file of h5py; None if it does not know it."""
    group, base = split(name)
    for each in (NON_COORDINATE + base, base):
        found = file.get(f"{group}/{each}")
        if isinstance(found, h5py.Dataset):
            return found
    return None


def _proven(variable: Variable, shape: tuple[int, ...], axes: tuple[int, ...], fetch: Fetch) -> tuple[int, ...]:
    """Return an extent that a variable has at least, from values at a few places."""
    whole = tuple(slice(0, n) for n in shape)

    def is_inside(axis: int, i: int) -> bool:
        places = (tuple(i if a == axis else (shape[a] - 1) * half // 2 for a in axes) for half in (0, 1, 2))
        return any(_has_value(variable, fetch(_at(whole, axes, index))) for index in places)

    extent = list(shape)
    for axis in axes:
        low, high = 0, shape[axis]
        if 0 in shape or is_inside(axis, high - 1):
            continue
        while low < high:
            middle = (low + high) // 2
            if is_inside(axis, middle):
                low = middle + 1
            else:
                high = middle
        extent[axis] = low
    return tuple(extent)


def _has_value(variable: Variable, values: NDArray[Any]) -> bool:
    """Return whether one of them is not what the library may return for values that were not written."""
    own = variable.get_fill_value()
    if values.dtype.kind not in "fiu":
        return not {"", b"", np.asarray(own).item()}.issuperset(values.ravel().tolist())
    fills = [missing.default_fill(values.dtype), *(values.dtype.type(fill) for fill in (0, own) if fill is not None)]
    return not np.all(np.any([missing.is_value(values, fill) for fill in fills], axis=0))


MIN_SIZE = 1024 * 1024
"""Bytes of a slab from which on it pays to open the file a second time."""

IMPORT_SIZE = 24 * 1024 * 1024
"""Bytes that the library inflates in about the time that threads save, less the one it takes to import h5py."""

_read_size = 0
"""Bytes of slabs that this process has read without h5py, each of which it might have been worth."""


class NetCDFChunks:
    """The chunks of one file, for one source. The caller holds the lock of the library.

    Parameters
    ----------
    path : str
    stamp : Stamp
        Stamp of the file when it was opened.
    file : netCDF4.Dataset
    """

    def __init__(self, path: str, stamp: Stamp, file: Group):
        self._path = path
        self._stamp = stamp
        self._file: Any = None
        self._chunks: Chunks | None = None
        self._is_hopeless = not file.data_model.startswith("NETCDF4") or file.disk_format != "HDF5"

    def prepare(self, variable: FileVariable, slices: Slices, fetch: Callable[[Slices], Any]) -> SlabReader | None:
        """Return a reader of a slab; None if the library must read it.

        Parameters
        ----------
        variable : FileVariable
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
            found = _dataset(importlib.import_module("h5py"), self._file, variable.name)
            is_same = found is not None and np.dtype(found.id.dtype.str).newbyteorder("=") == dtype
            return found.id if is_same else None

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
        """Close the file if its owner forgot to, as soon as no thread is inside of the library."""
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
