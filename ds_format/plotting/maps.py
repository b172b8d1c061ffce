"""A map → axes of matplotlib: values, coasts, degrees, and a colour bar as tall as the map."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DriverError
from . import coastlines
from .cells import Cells, cells
from .coastlines import Box
from .colours import Scale, scale
from .scene import Line, Look, Map, is_geographic

Floats = NDArray[np.float64]

BAR = 0.12, 0.16
"""Inches between a map and its colour bar, and of the width of that."""
STEEPEST = 4.0
"""How many times as long as a degree of longitude one of latitude is drawn at most."""
_TIGHT: dict[str, Any] = {"rasterized": True, "antialiaseds": False, "edgecolors": "face", "linewidths": 0.3}
"""Cells between which nothing shines through."""
FLATTEST = 0.2
"""How many times as tall as wide a map is drawn at least."""
SMALLEST = 1e-6
"""Degrees that a map stretches at least in both directions: there is nothing to be seen of a place."""
WIDE = 60.0
DEGREES = {True: (1, 1.5, 3, 4.5, 6, 9, 10), False: (1, 2, 5, 10)}
"""Steps of ticks, or these times a power of 10: of axes of more degrees than that, and of others."""
COAST = {"colors": "black", "linewidths": 0.7}
HALO = {"linewidth": 1.8, "foreground": "white", "alpha": 0.6}
"""Around coasts, which else would be lost in dark colours."""
NO_OUTLINES = "no outlines of coasts are installed: pip install 'ds-format-cython[maps]'"


class Frame(NamedTuple):
    """Where on the globe a map is."""

    box: Box
    cells: Cells | None
    """Of a curvilinear grid."""

    @property
    def steepness(self) -> float:
        """How many times as long as a degree of longitude one of latitude is in its middle."""
        middle = np.radians((self.box.south + self.box.north) / 2)
        return float(min(1 / max(np.cos(middle), 1e-9), STEEPEST))

    @property
    def ratio(self) -> float:
        """How many times as tall as wide it is drawn."""
        ratio = self.steepness * (self.box.north - self.box.south) / (self.box.east - self.box.west)
        return min(max(ratio, FLATTEST), 1 / FLATTEST)


def frame(scene: Line | Map) -> Frame | None:
    """Return where on the globe a map is; None if it is no map of longitude and latitude, or all lies at one place."""
    if isinstance(scene, Line) or not is_geographic(scene):
        return None
    found = None
    if scene.grid is not None:
        found = cells(scene.grid.longitude, scene.grid.latitude)
        west, east = found.west, found.east
        ends = found.latitude[:-1, :-1][found.is_whole], found.latitude[1:, 1:][found.is_whole]
        y = np.concatenate([*ends, found.torn[:, :, 1].reshape(-1)])
        south, north = (y.min(), y.max()) if y.size else (-90.0, 90.0)
    else:
        x, y = edges(scene.x.values), edges(scene.y.values)
        west, east, south, north = x.min(), x.max(), y.min(), y.max()
    if east - west > 360:
        west, east = round((east + west) / 2) - 180, round((east + west) / 2) + 180
    box = Box(float(west), float(east), max(float(south), -90.0), min(float(north), 90.0))
    return Frame(box, found) if min(box.east - box.west, box.north - box.south) >= SMALLEST else None


def edges(values: Floats) -> Floats:
    """Return where cells end whose middles grow or fall all along: one more than these.

    Examples
    --------
    >>> edges(np.array([0.0, 1, 3])).tolist()
    [-0.5, 0.5, 2.0, 4.0]
    """
    halves = np.diff(values) / 2
    ends: Floats = np.r_[values[0] - halves[0], values[:-1] + halves, values[-1] + halves[-1]]
    return ends


def draw(scene: Map, look: Look, figure: Any, axes: Any, place: Frame | None, dots: float) -> None:
    """Draw a map.

    Parameters
    ----------
    scene : Map
    look : Look
    figure, axes
        Of matplotlib.
    place : Frame or None
        Of a map of longitude and latitude.
    dots : float
        Across the picture.

    Raises
    ------
    DriverError
        If coastlines are asked for, and cannot be had.
    """
    colours = scale(scene.values, look)
    style = {"cmap": colours.colormap, "vmin": colours.low, "vmax": colours.high}
    found = place.cells if place else None
    mesh = _rows(scene, axes, style) if found is None else _grid(scene, found, axes, style)
    _bar(scene, figure, axes, mesh, colours)
    if place is not None:
        axes.set_xlim(place.box.west, place.box.east)
        axes.set_ylim(place.box.south, place.box.north)
        axes.set_aspect("auto")  # the axes have the form that the map is to have
        if look.coastlines is not False:
            _coasts(axes, place.box, dots, is_wanted=look.coastlines is True)


def _rows(scene: Map, axes: Any, style: dict[str, Any]) -> Any:
    """Draw values that lie in straight rows and columns."""
    x, y = _numbers(scene.x.values), _numbers(scene.y.values)
    values = np.ma.masked_invalid(scene.values)
    if x[0] > x[-1]:
        x, values = x[::-1], values[:, ::-1]
    if y[0] > y[-1]:
        y, values = y[::-1], values[::-1]
    image = importlib.import_module("matplotlib.image").PcolorImage
    colours = importlib.import_module("matplotlib.colors").Normalize(style["vmin"], style["vmax"])
    mesh = image(axes, edges(x), edges(y), values, cmap=style["cmap"], norm=colours)
    mesh.set_in_layout(False)  # it has no extent that a layout could ask for, and fills the axes
    axes.add_image(mesh)
    ends = edges(x), edges(y)
    axes.set_xlim(ends[0][0], ends[0][-1])
    axes.set_ylim(ends[1][0], ends[1][-1])
    return mesh


def _numbers(values: NDArray[Any]) -> Floats:
    """Return the values of an axis as matplotlib counts: dates as days."""
    if values.dtype.kind != "M":
        return values
    days: NDArray[np.float64] = importlib.import_module("matplotlib.dates").date2num(values)
    return days


def _grid(scene: Map, found: Cells, axes: Any, style: dict[str, Any]) -> Any:
    """Draw values that lie on a curvilinear grid, each at its place."""
    shown = np.ma.MaskedArray(scene.values, np.isnan(scene.values) | ~found.is_whole)
    mesh = axes.pcolormesh(found.longitude, found.latitude, shown, rasterized=True, **style)
    values = scene.values.reshape(-1)[found.torn_cells]
    kept = ~np.isnan(values)
    if kept.any():
        polygons = importlib.import_module("matplotlib.collections").PolyCollection
        torn = polygons(found.torn[kept], array=values[kept], cmap=mesh.cmap, norm=mesh.norm, **_TIGHT)
        axes.add_collection(torn, autolim=False)
    return mesh


def _bar(scene: Map, figure: Any, axes: Any, mesh: Any, colours: Scale) -> None:
    width = axes.get_position().width * figure.get_figwidth()
    place = (1 + BAR[0] / width, 0.0, BAR[1] / width, 1.0)  # in parts of the map: as tall as it is
    bar = figure.colorbar(mesh, cax=axes.inset_axes(place), extend=colours.extend)
    bar.ax.set_ylabel(scene.label)


def _coasts(axes: Any, box: Box, dots: float, *, is_wanted: bool) -> None:
    found = coastlines.within(box, dots)
    if found is None:
        if is_wanted:
            raise DriverError(NO_OUTLINES)
        return
    effects = importlib.import_module("matplotlib.patheffects")
    lines = importlib.import_module("matplotlib.collections").LineCollection(
        found, **COAST, path_effects=[effects.withStroke(**HALO)], gid="coastlines", capstyle="round"
    )
    axes.add_collection(lines, autolim=False)


def say_degrees(side: Any, signs: str, inches: float) -> None:
    """Let an axis of matplotlib that is so long tell degrees: `EW` of longitude, `NS` of latitude."""
    ticker = importlib.import_module("matplotlib.ticker")
    low, high = side.get_view_interval()
    side.set_major_locator(ticker.MaxNLocator(min(int(1.6 * inches) + 1, 7), steps=DEGREES[bool(high - low > WIDE)]))
    side.set_major_formatter(ticker.FuncFormatter(lambda value, _: degrees(value, signs)))


def degrees(value: float, signs: str) -> str:
    """Return a longitude or latitude as text.

    Examples
    --------
    >>> degrees(190, "EW"), degrees(-22.5, "NS"), degrees(360, "EW")
    ('170°W', '22.5°S', '0°')
    """
    if signs == "EW":
        value = (value + 180) % 360 - 180
    if value in (0, -180):
        return f"{abs(value):.0f}°"
    return f"{abs(value):.6g}°{signs[int(value < 0)]}"
