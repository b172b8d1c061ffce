"""The middles of cells of a curvilinear grid → their corners.

All on the unit sphere, so that neither the date line nor a pole is a place of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WHOLE = 300.0
"""Degrees of longitude: a grid that has more of them goes round the globe."""
ROUNDING = 1e-9
"""Degrees that a point may lie west of the window and still be at its western end."""
WIDEST = 180.0
"""Degrees of longitude that a cell may stretch, which then has no pole inside."""


class Cells(NamedTuple):
    """A grid in a window of longitudes."""

    west: float
    east: float
    longitude: Floats
    """(m+1, n+1) of the corners, from `west` on; no NaN. So is `latitude`."""
    latitude: Floats
    is_whole: NDArray[np.bool_]
    """(m, n): whether a cell lies between the corners around it."""
    torn: Floats
    """(k, 4, 2): corners of the cells that cross an end of the window, at each end of it."""
    torn_cells: NDArray[np.intp]
    """(k,): which of the cells these are, counted row by row."""


def cells(longitude: Floats, latitude: Floats) -> Cells:
    """Return the cells of a grid.

    Parameters
    ----------
    longitude, latitude : (m, n) float64
        Of their middles, in degrees; NaN where they are missing.
    """
    known = np.isfinite(longitude) & np.isfinite(latitude)
    corners = _between(_points(longitude, latitude))
    x, y = np.degrees(np.arctan2(corners[..., 1], corners[..., 0])), np.degrees(np.arcsin(corners[..., 2]))
    west, east = window(x[np.isfinite(x)], first=0 if longitude[known].max() > 181 else -180)
    x = west + (x - west + ROUNDING) % 360 - ROUNDING
    around = np.stack([x[:-1, :-1], x[:-1, 1:], x[1:, 1:], x[1:, :-1]], axis=-1)
    heights = np.stack([y[:-1, :-1], y[:-1, 1:], y[1:, 1:], y[1:, :-1]], axis=-1)
    usable = known & np.isfinite(around).all(axis=-1)
    stretch = np.where(usable, np.ptp(np.nan_to_num(around), axis=-1), 0.0)
    is_torn = stretch > WIDEST
    middle = west + (longitude[is_torn] - west) % 360
    parts = middle[:, None] + (around[is_torn] - middle[:, None] + 180) % 360 - 180
    small = np.ptp(parts, axis=-1) <= WIDEST
    shifts = np.where(parts[small].min(axis=-1, initial=np.inf) < west, 360.0, -360.0)
    quads = np.stack([parts[small], heights[is_torn][small]], axis=-1)
    moved = quads + np.stack([shifts, np.zeros_like(shifts)], axis=-1)[:, None, :]
    which = np.flatnonzero(is_torn)[small]
    return Cells(
        west,
        east,
        np.where(np.isnan(x), west, x),
        np.nan_to_num(y),
        usable & ~is_torn,
        np.concatenate([quads, moved]),
        np.concatenate([which, which]),
    )


def window(longitudes: Floats, first: int = -180) -> tuple[float, float]:
    """Return between which longitudes some lie: east of the widest gap between them; around the globe from `first` on.

    Examples
    --------
    >>> window(np.array([170.0, 175, -180, -175]))
    (170.0, 185.0)
    """
    places = np.unique(longitudes % 360)
    steps = np.diff(np.r_[places, places[0] + 360])
    widest = int(np.argmax(steps))
    if 360 - steps[widest] > WHOLE:
        return float(first), first + 360.0
    west = float(places[(widest + 1) % places.size])
    west -= 360 if west > 180 else 0
    return west, west + 360 - float(steps[widest])


def _points(longitude: Floats, latitude: Floats) -> Floats:
    x, y = np.radians(longitude), np.radians(latitude)
    return np.stack([np.cos(y) * np.cos(x), np.cos(y) * np.sin(x), np.sin(y)], axis=-1)


def _between(points: Floats) -> Floats:
    """Return the points in the middle of four each, with one more row and column at each end."""
    for place in (0, 1):
        points = np.moveaxis(points, place, 0)
        if len(points) > 1:
            first, last = 2 * points[:1] - points[1:2], 2 * points[-1:] - points[-2:-1]
        else:
            first = last = points[:1]
        points = np.moveaxis(np.concatenate([first, points, last]), 0, place)
    four = np.stack([points[:-1, :-1], points[:-1, 1:], points[1:, :-1], points[1:, 1:]])
    known = np.isfinite(four)
    total = np.where(known, four, 0.0).sum(axis=0)
    length = np.sqrt((total**2).sum(axis=-1, keepdims=True))
    middles: Floats = np.divide(total, length, out=np.full_like(total, np.nan), where=length > 0)
    return middles
