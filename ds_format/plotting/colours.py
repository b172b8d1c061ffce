"""Values of a map → the range of colours, and which ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .scene import Look

SEQUENTIAL, DIVERGING = "viridis", "RdBu_r"
"""Colormaps of matplotlib that colour-blind people can read."""
BOTH_SIDES = 0.25
"""How far values have to reach to the other side of zero for the diverging one, as a share of the longer side."""
MIDDLE = (1.0, 99.0)
"""Percentiles between which values have colours of their own, if those beyond are far away."""
FAR = 4.0
"""How many times as wide as the middle a range is that far values stretch."""


class Scale(NamedTuple):
    """Which values have which colours."""

    low: float
    high: float
    colormap: str
    extend: str
    """Where values are beyond it: `neither`, `min`, `max` or `both`."""


def scale(values: NDArray[np.float64], look: Look) -> Scale:
    """Return the range of colours for some values.

    Where it is not given, it goes from the least to the greatest value; where these are far from all others, it is that
    of the middle 98 percent. Around zero, if values are on both sides of it, it is as long on either side.

    Parameters
    ----------
    values : ndarray of float64
        NaN where missing, but not everywhere.
    look : Look

    Examples
    --------
    >>> scale(np.array([-3.0, 1, 2, 4]), Look())
    Scale(low=-4.0, high=4.0, colormap='RdBu_r', extend='neither')
    """
    present = values[~np.isnan(values)]
    least, most = float(present.min()), float(present.max())
    low, high = _robust(present, least, most)
    is_diverging = low < 0 < high and min(-low, high) >= BOTH_SIDES * max(-low, high)
    if look.low is not None or look.high is not None:
        low, high = low if look.low is None else look.low, high if look.high is None else look.high
        is_diverging = low < 0 < high and low == -high
    elif is_diverging:
        low, high = -max(-low, high), max(-low, high)
    if low >= high:  # a constant field, or one that is beyond the one end that was given
        width = max(abs(low), abs(high)) * 0.05 or 1.0
        low, high = (
            (low, low + width) if look.low is not None
            else (high - width, high) if look.high is not None
            else (low - width, high + width)
        )  # fmt: skip
    ends = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
    extend = ends[least < low, most > high]
    return Scale(low, high, look.colormap or (DIVERGING if is_diverging else SEQUENTIAL), extend)


def _robust(present: NDArray[np.float64], least: float, most: float) -> tuple[float, float]:
    low, high = (float(value) for value in np.percentile(present, MIDDLE))
    is_far = 0 < high / 2 - low / 2 < (most / 2 - least / 2) / FAR  # halves: the whole may be more than a float holds
    return (low, high) if is_far else (least, most)
