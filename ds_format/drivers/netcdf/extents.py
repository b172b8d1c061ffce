"""Extents of variables in netCDF-4 files that the netCDF4 library reads, which does not tell them.

The library misreads values beyond the extent of a variable that is shorter than its dimensions. It reads the stored
values and appends fill values (netCDF-C 4.10, `NC4_get_vars`). This is right only along the first dimension. Along
another dimension, values get into wrong positions. With two such dimensions, memory is left uninitialized. Reading one
index at a time along each unlimited dimension is always right.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...body.body import open_body
from ..slabs import Slices, insert, read_filled
from .hdf5.auditing import audited

Fetch = Callable[[Slices], NDArray[Any]]


def find_extent(path: str, name: str) -> tuple[int, ...] | None:
    """Return the extent of a variable of a netCDF-4 file by its name; None if `ds_format.hdf5` does not know it."""
    audit = audited(open_body(path))
    dataset = None if audit is None else audit.datasets.get(name)
    return None if dataset is None else dataset.shape


def read_growing(fetch: Fetch, slices: Slices, extent: tuple[int, ...] | None, axes: tuple[int, ...]) -> NDArray[Any]:
    """Return a slab, with the library's fill values beyond the extent.

    Parameters
    ----------
    fetch : callable
        Slices → what the library returns for them.
    slices : tuple of slice
    extent : tuple of int or None
        None: it is not known.
    axes : tuple of int
        Those that are unlimited.
    """
    last = tuple(slice(s.stop - 1, s.stop) for s in slices)  # beyond the extent if any position is
    if any(s.start >= s.stop for s in slices):
        return fetch(slices)
    if extent is not None:
        return read_filled(fetch, slices, extent, lambda: fetch(last))
    slab = np.empty([s.stop - s.start for s in slices], fetch(last).dtype)
    for index in itertools.product(*(range(slices[axis].start, slices[axis].stop) for axis in axes)):
        part = list(slices)
        for axis, i in zip(axes, index, strict=True):
            part[axis] = slice(i, i + 1)
        insert(slab, slices, tuple(part), fetch(tuple(part)))
    return slab
