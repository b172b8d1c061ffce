"""Variables that are shorter than their dimensions: what lies beyond their own extent was never written.

In netCDF-4 a variable grows for itself along unlimited dimensions, and has fill values where only others have grown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..slabs import Slices


def clipped(slices: Slices, extent: Sequence[int]) -> Slices:
    """Return the part of a slab that lies within an extent."""
    return tuple(slice(min(s.start, n), min(s.stop, n)) for s, n in zip(slices, extent, strict=True))


def read_filled(
    fetch: Callable[[Slices], NDArray[Any]], slices: Slices, extent: Sequence[int], fill: Callable[[], Any]
) -> NDArray[Any]:
    """Return a slab with fill values beyond an extent.

    Parameters
    ----------
    fetch : callable
        Slices of step 1 within the extent → that slab, of full rank.
    slices : tuple of slice
        Not empty.
    extent : sequence of int
    fill : callable
        Returns what is there without a value, as an array of one; called where that is needed.
    """
    inner = clipped(slices, extent)
    if inner == slices:
        return fetch(slices)
    value = fill()
    slab = np.empty([s.stop - s.start for s in slices], value.dtype)
    slab[...] = value.item()
    if all(s.start < s.stop for s in inner):
        place(slab, slices, inner, fetch(inner))
    return slab


def place(slab: NDArray[Any], slices: Slices, part: Slices, values: NDArray[Any]) -> None:
    """Put a part of a slab, whose places are counted as those of the slab, where it belongs."""
    slab[tuple(slice(p.start - s.start, p.stop - s.start) for p, s in zip(part, slices, strict=True))] = values
