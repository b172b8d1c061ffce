"""Extents of variables in netCDF-4 files that the netCDF4 library reads. h5py reports them, the library does not.

The library misreads values beyond the extent of a variable that is shorter than its dimensions. It reads the stored
values and appends fill values (netCDF-C 4.10, `NC4_get_vars`). This is right only along the first dimension. Along
another dimension, values get into wrong positions. With two such dimensions, memory is left uninitialized. Reading one
index at a time along each unlimited dimension is always right.

Without h5py, a value that is not the fill value proves that all indices up to its own are inside. Everything else is
read one index at a time.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...model import missing
from ...model.settings import NON_COORDINATE
from ..library.catalog import split
from ..library.guard import ERRORS
from ..slabs import Slices, clipped, insert, read_filled
from .calls import Variable

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
