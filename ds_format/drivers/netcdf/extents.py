"""What the library reads wrongly: parts beyond the extent of a variable that is shorter than its dimensions.

It reads what there is, and then appends fill values (netCDF-C 4.10, `NC4_get_vars`). That is right along the first
dimension alone. Along another one values get into wrong places, and with two there is memory as it was. Reading one
index at a time along each unlimited dimension is always right.

The library does not tell the extent, but h5py does. Without h5py a value that is not the fill value shows that all
indices up to its own are inside, and what is not shown to be is read one index at a time.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..library import extents, missing
from ..library.groups import split
from ..library.guard import ERRORS
from ..slabs import Slices
from .calls import Variable

NON_COORDINATE = "_nc4_non_coord_"
"""Before the name, in the HDF5 file, of a variable that is not the coordinate of the dimension of that name."""

Fetch = Callable[[Slices], NDArray[Any]]


class Extent(NamedTuple):
    """What is known of the extent of a variable."""

    shape: tuple[int, ...]
    """All within is inside of it, as far as `axes` tell it."""
    is_exact: bool
    """Whether all else is outside."""


def find(path: str, name: str, variable: Variable, axes: tuple[int, ...], fetch: Fetch) -> Extent:
    """Return the extent of a variable of a netCDF-4 file.

    Parameters
    ----------
    path : str
    name : str
        Of the variable, with its groups.
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


def read(fetch: Fetch, slices: Slices, extent: Extent, axes: tuple[int, ...]) -> NDArray[Any]:
    """Return a slab, with the library's fill values beyond the extent."""
    if any(s.start >= s.stop for s in slices):
        return fetch(slices)
    if extent.is_exact:
        return extents.read_filled(fetch, slices, extent.shape, lambda: fetch(_last(slices)))
    inner = extents.clipped(slices, extent.shape)
    if inner == slices:
        return fetch(slices)
    has_inner = all(s.start < s.stop for s in inner)
    slab = np.empty([s.stop - s.start for s in slices], fetch(_last(slices)).dtype)
    for index in itertools.product(*(range(slices[axis].start, slices[axis].stop) for axis in axes)):
        if not has_inner or any(i >= inner[axis].stop for axis, i in zip(axes, index, strict=True)):
            part = _at(slices, axes, index)
            extents.place(slab, slices, part, fetch(part))
    if has_inner:
        extents.place(slab, slices, inner, fetch(inner))
    return slab


def _at(slices: Slices, axes: tuple[int, ...], index: tuple[int, ...]) -> Slices:
    part = list(slices)
    for axis, i in zip(axes, index, strict=True):
        part[axis] = slice(i, i + 1)
    return tuple(part)


def _last(slices: Slices) -> Slices:
    """Return the last place of a slab, which lies beyond an extent if any of it does."""
    return tuple(slice(s.stop - 1, s.stop) for s in slices)


def _stored(path: str, name: str) -> tuple[int, ...] | None:
    """Return the extent of a variable as h5py tells it; None without h5py, or if it does not know the variable."""
    group, base = split(name)
    try:
        h5py = importlib.import_module("h5py")
        with h5py.File(path, "r") as file:
            for each in (NON_COORDINATE + base, base):
                found = file.get(f"{group}/{each}")
                if isinstance(found, h5py.Dataset):
                    return found.shape and tuple(int(n) for n in found.shape)
    except (ImportError, *ERRORS):
        return None
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
    """Return whether one of them is not what the library may return for those that nobody wrote."""
    own = variable.get_fill_value()
    if values.dtype.kind not in "fiu":
        return not {"", b"", np.asarray(own).item()}.issuperset(values.ravel().tolist())
    fills = [missing.default_fill(values.dtype), *(values.dtype.type(fill) for fill in (0, own) if fill is not None)]
    return not np.all(np.any([missing.is_value(values, fill) for fill in fills], axis=0))
