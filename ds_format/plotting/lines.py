"""Many values → those of a line that can be seen, broken at gaps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

REGULAR = 1.25
"""Times the usual step: what most steps of a regular axis are not longer than, and months are not."""
GAP = 1.5
"""Times the usual step of a regular axis: what is longer is a gap."""
FEW = 0.9
"""Which part of the steps is not longer than one that few are longer than."""
WIDE_GAP = 5.0
"""The same of an axis that is not regular, times a step that few are longer than."""


def envelope(blocks: Iterable[NDArray[np.float64]], n: int, step: int) -> NDArray[np.float64]:
    """Return the least and the greatest of each `step` of `n` values that come in blocks, one behind the other."""
    n_bins = -(-n // step)
    low, high = np.full(n_bins, np.nan), np.full(n_bins, np.nan)
    start = 0
    for values in blocks:
        first = start // step
        edges = np.r_[0, np.arange((first + 1) * step - start, values.size, step)]
        some = slice(first, first + len(edges))
        low[some] = np.fmin(low[some], np.fmin.reduceat(values, edges))
        high[some] = np.fmax(high[some], np.fmax.reduceat(values, edges))
        start += values.size
    return np.stack([low, high], axis=1).reshape(-1)


def gaps(times: NDArray[Any]) -> NDArray[np.intp]:
    """Return behind which places of an axis of time something is left out: the step is much longer than usual.

    Parameters
    ----------
    times : (n,) float64 or datetime64
        NaN or NaT where missing.

    Examples
    --------
    >>> gaps(np.array([0.0, 1, 2, 3, 7, 8])).tolist()
    [3]
    """
    numbers = times.astype("M8[ms]").astype(np.float64) if times.dtype.kind == "M" else times
    steps = np.abs(np.diff(np.where(np.isnan(times), np.nan, numbers)))
    some = np.sort(steps[steps > 0])
    if some.size < 2:
        return np.zeros(0, np.intp)
    usual, long = np.median(some), some[int(FEW * (some.size - 1))]
    limit = GAP * usual if long <= REGULAR * usual else WIDE_GAP * long
    return np.flatnonzero(steps > limit)


def opened(x: NDArray[Any], y: NDArray[Any], behind: NDArray[np.intp]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a line with a missing value put behind each of these places."""
    missing = np.datetime64("NaT", "ms") if y.dtype.kind == "M" else np.nan
    return np.insert(x, behind + 1, x[behind]), np.insert(y, behind + 1, missing)


def alone(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values stand between two that are missing: a line does not show them."""
    present = np.r_[False, ~np.isnan(y), False]
    lonely: NDArray[np.bool_] = present[1:-1] & ~present[:-2] & ~present[2:]
    return lonely
