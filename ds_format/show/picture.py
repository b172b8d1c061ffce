"""A scene → a picture in a file, by matplotlib.

A map has values in a range of colours, coasts, degrees, and a colour bar as tall as the map.
"""

from __future__ import annotations

import importlib
import io
import os
import textwrap
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.optional import library
from ..base.text import hint, visible
from ..body.target import naming, write_whole
from ..errors import DriverError
from .geography import Box, Cells, coasts_within, grid_cells
from .scene import Axis, Line, Look, Map, date_ticks, is_geographic

SEQUENTIAL, DIVERGING = "viridis", "RdBu_r"
"""Colormaps of matplotlib suitable for colour-blind readers."""
BOTH_SIDES = 0.25
"""Minimum extent on the shorter side of zero for the diverging colormap, as a share of the longer side."""
MIDDLE = (1.0, 99.0)
"""Percentiles that limit the colours if values beyond are far away."""
FAR = 4.0
"""Ratio of the full range to the range between the percentiles above which values beyond are far away."""


class Scale(NamedTuple):
    """Limits of the colours and the colormap."""

    low: float
    high: float
    colormap: str
    extend: str
    """The ends with values beyond: `neither`, `min`, `max` or `both`."""


def colour_scale(values: NDArray[np.float64], look: Look) -> Scale:
    """Return the range of colours for some values.

    By default it is the range from minimum to maximum. If these are far from all others, it is the range of the middle
    98 percent. If it includes zero and values are far on both sides, it is symmetric around zero.

    Parameters
    ----------
    values : ndarray of float64
        NaN where missing; not all NaN.
    look : Look

    Examples
    --------
    >>> colour_scale(np.array([-3.0, 1, 2, 4]), Look())
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


Floats = NDArray[np.float64]

BAR = 0.12, 0.16
"""Inches between a map and its colour bar, and the width of the bar."""
STEEPEST = 4.0
"""Maximum ratio of a degree of latitude to a degree of longitude."""
_TIGHT: dict[str, Any] = {"rasterized": True, "antialiaseds": False, "edgecolors": "face", "linewidths": 0.3}
"""Properties of cells without visible gaps."""
FLATTEST = 0.2
"""Minimum ratio of height to width of a map."""
SMALLEST = 1e-6
"""Minimum extent of a map in degrees. A single point is not drawn as a map."""
WIDE = 60.0
DEGREES = {True: (1, 1.5, 3, 4.5, 6, 9, 10), False: (1, 2, 5, 10)}
"""Steps of ticks, times powers of 10, for axes above a limit in degrees, and for others."""
COAST = {"colors": "black", "linewidths": 0.7}
HALO = {"linewidth": 1.8, "foreground": "white", "alpha": 0.6}
"""Outline of coasts, which makes them visible in dark colours."""
NO_OUTLINES = "no outlines of coasts are installed: pip install 'ds-format-cython[maps]'"


class Frame(NamedTuple):
    """Position of a map on the globe."""

    box: Box
    cells: Cells | None
    """Cells of a curvilinear grid, or None."""

    @property
    def steepness(self) -> float:
        """Ratio of a degree of latitude to a degree of longitude in the middle of the map."""
        middle = np.radians((self.box.south + self.box.north) / 2)
        return float(min(1 / max(np.cos(middle), 1e-9), STEEPEST))

    @property
    def ratio(self) -> float:
        """Ratio of height to width of the drawing."""
        ratio = self.steepness * (self.box.north - self.box.south) / (self.box.east - self.box.west)
        return min(max(ratio, FLATTEST), 1 / FLATTEST)


def map_frame(scene: Line | Map) -> Frame | None:
    """Return the position of a map on the globe; None if its axes are not longitude and latitude, or it is a point."""
    if isinstance(scene, Line) or not is_geographic(scene):
        return None
    found = None
    if scene.grid is not None:
        found = grid_cells(scene.grid.longitude, scene.grid.latitude)
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
    """Return the edges of cells with monotonic centres, one more than the centres.

    Examples
    --------
    >>> edges(np.array([0.0, 1, 3])).tolist()
    [-0.5, 0.5, 2.0, 4.0]
    """
    halves = np.diff(values) / 2
    ends: Floats = np.r_[values[0] - halves[0], values[:-1] + halves, values[-1] + halves[-1]]
    return ends


def draw_map(scene: Map, look: Look, figure: Any, axes: Any, place: Frame | None, dots: float) -> None:
    """Draw a map.

    Parameters
    ----------
    scene : Map
    look : Look
    figure, axes
        Objects of matplotlib.
    place : Frame or None
        Position of a map of longitude and latitude.
    dots : float
        Dots across the picture.

    Raises
    ------
    DriverError
        If coastlines are requested, but not available.
    """
    colours = colour_scale(scene.values, look)
    style = {"cmap": colours.colormap, "vmin": colours.low, "vmax": colours.high}
    found = place.cells if place else None
    mesh = _draw_rows(scene, axes, style) if found is None else _draw_grid(scene, found, axes, style)
    _bar(scene, figure, axes, mesh, colours)
    if place is not None:
        axes.set_xlim(place.box.west, place.box.east)
        axes.set_ylim(place.box.south, place.box.north)
        axes.set_aspect("auto")  # the axes have the form that the map is to have
        if look.coastlines is not False:
            _coasts(axes, place.box, dots, is_wanted=look.coastlines is True)


def _draw_rows(scene: Map, axes: Any, style: dict[str, Any]) -> Any:
    """Draw values on a rectilinear grid."""
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
    """Return the values of an axis as numbers of matplotlib, with dates as days."""
    if values.dtype.kind != "M":
        return values
    days: NDArray[np.float64] = importlib.import_module("matplotlib.dates").date2num(values)
    return days


def _draw_grid(scene: Map, found: Cells, axes: Any, style: dict[str, Any]) -> Any:
    """Draw values on a curvilinear grid."""
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
    found = coasts_within(box, dots)
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
    """Label an axis of matplotlib in degrees: `EW` for longitude, `NS` for latitude."""
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


EXTRA = "ds-format-cython[plot]"
SUFFIXES = (".png", ".pdf", ".svg", ".eps", ".ps", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")
"""Suffixes of pictures in lower case."""
WIDTH, HEIGHT = 6.5, 3.7
"""Size of the drawing in inches without labels."""
TALLEST = 7.5
"""Maximum height of a map in inches."""
MARGIN = 1.0
"""Inches around the drawing. The picture is cropped to what it uses."""
EDGE = 0.12
"""Empty margin of a picture in inches."""
DOTS = 150
"""Dots per inch."""
N_LINE, N_X, N_Y = 2 * 1200, 2400, 1350
"""Stretches of a line, and values of a map along each side: two for a dot of the picture."""
LARGEST = 1e300
"""Values are clipped to this distance from zero."""
FEW = 50
"""Maximum number of values of a line with markers."""
LETTERS, ROWS = 11.0, 2
"""Letters for each inch of a title, and lines of it."""
SMALLER, SPACE, ROW = 1.4, 5.0, 10.5
"""Ratio of letters per inch in the line below the title, the points below each, and the height of its rows."""
SIGNS = {"longitude": "EW", "latitude": "NS"}
STYLE = {
    "text.usetex": False,
    "text.parse_math": False,
    "image.composite_image": False,
    "axes.formatter.useoffset": False,
}
"""Settings that keep text from files literal, whatever the user configured."""
NO_MAP = "coastlines: only maps of longitude and latitude have them, with the units degrees_east and degrees_north"


def save(scene: Line | Map, path: str, look: Look | None = None) -> None:
    """Draw a scene into a file, which is written atomically.

    Parameters
    ----------
    scene : Line or Map
    path : str
        Its suffix, one of `SUFFIXES`, determines the format.
    look : Look, optional

    Raises
    ------
    DriverError
        If matplotlib is not installed, or does not support the format or colormap; or if coastlines are requested, but
        not available.
    OSError
        If the file cannot be written.
    """
    suffix = os.path.splitext(path)[1].lower()
    matplotlib = _import(path)
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # of a script that the font does not have
        try:
            figure = draw(scene, look or Look())
        except DriverError as error:
            raise error.at(path=path)
        if suffix not in SUFFIXES or suffix[1:] not in figure.canvas.get_supported_filetypes():
            raise DriverError(f"unknown picture format: expected one of {' '.join(sorted(SUFFIXES))}", path=path)
        with naming(path):
            picture = io.BytesIO()
            figure.savefig(picture, format=suffix[1:], dpi=DOTS, bbox_inches="tight", pad_inches=EDGE)
        write_whole(path, [picture.getbuffer()])


def draw(scene: Line | Map, look: Look) -> Any:
    """Return a scene as a figure of matplotlib, which must be installed; see `save`."""
    colormaps = importlib.import_module("matplotlib").colormaps
    if look.colormap is not None and look.colormap not in colormaps:
        raise DriverError(f'colormap: "{look.colormap}" not found{hint(look.colormap, colormaps)}')
    scene = _drawable(scene)
    place = map_frame(scene)
    if look.coastlines and place is None:
        raise DriverError(NO_MAP)
    width, height = (WIDTH, HEIGHT) if place is None else _size(place.ratio)
    whole = width + 2 * MARGIN, height + 2 * MARGIN
    figure = importlib.import_module("matplotlib.figure").Figure(figsize=whole)
    axes = figure.add_axes((MARGIN / whole[0], MARGIN / whole[1], width / whole[0], height / whole[1]))
    if isinstance(scene, Line):
        _draw_line(scene, look, axes)
    else:
        draw_map(scene, look, figure, axes, place, DOTS * width)
    if scene.y.downward:
        axes.yaxis.set_inverted(True)
    across, upward = scene.x.label, scene.y.label
    if place:
        across, upward = scene.grid.labels if isinstance(scene, Map) and scene.grid else (across, upward)
    for axis, side, label, inches in ((scene.x, axes.xaxis, across, width), (scene.y, axes.yaxis, upward, height)):
        if place or axis.kind in SIGNS:
            say_degrees(side, SIGNS.get(axis.kind) or ("EW" if side is axes.xaxis else "NS"), inches)
            label = label.rsplit(" (", 1)[0]  # the ticks tell the units
        elif axis.kind == "time":
            common = _say_dates(axis, side)
            if side is axes.yaxis:  # where matplotlib puts it is the subtitle
                side.get_offset_text().set_visible(False)
                label = f"{label}, {common}" if common else label
        side.set_label_text(shown(label, MARGIN + inches))
    _entitle(scene, axes, width)
    return figure


def _drawable(scene: Line | Map) -> Line | Map:
    """Return a scene without extreme values that matplotlib cannot handle."""
    if isinstance(scene, Map):
        return scene._replace(values=np.clip(scene.values, -LARGEST, LARGEST))
    axes = [
        axis if axis.kind == "time" else axis._replace(values=np.clip(axis.values, -LARGEST, LARGEST))
        for axis in (scene.x, scene.y)
    ]
    return scene._replace(x=axes[0], y=axes[1])


def _entitle(scene: Line | Map, axes: Any, width: float) -> None:
    units = f" ({scene.units})" if scene.units and f"({scene.units})" not in scene.title else ""
    part = shown(", ".join(part for part in (scene.where, scene.file) if part), width * SMALLER, ROWS)
    above = SPACE + (ROW * (1 + part.count("\n")) + 1 if part else 0)
    axes.set_title(shown(scene.title + units, width, ROWS), loc="left", pad=above)
    axes.annotate(
        part,
        (0, 1),
        (0, SPACE - 1),
        "axes fraction",
        "offset points",
        color="0.35",
        size="small",
        ha="left",
        va="bottom",
    )


def shown(text: str, inches: float, rows: int = 1) -> str:
    """Return text of a file, wrapped to the width of a picture, and cut to a number of lines."""
    line = visible(" ".join(text.split()))
    return "\n".join(textwrap.wrap(line, int(inches * LETTERS), max_lines=rows, placeholder=" ..."))


def _import(path: str) -> Any:
    try:
        library("matplotlib.figure", EXTRA)
        return library("matplotlib", EXTRA)
    except DriverError as error:
        raise DriverError(f"{error.message}; without -o it draws in the terminal", path=path) from error


def _size(ratio: float) -> tuple[float, float]:
    """Return width and height of a map with an aspect ratio, in inches."""
    width = min(WIDTH, TALLEST / ratio)
    return width, width * ratio


def _draw_line(scene: Line, look: Look, axes: Any) -> None:
    x, y = scene.x.values, scene.y.values
    [line] = axes.plot(x, y, linewidth=1.0, marker="." if len(x) <= FEW else "")
    alone = lonely_values(y)
    if alone.any() and len(x) > FEW:
        axes.plot(x[alone], y[alone], linestyle="", marker=".", markersize=3, color=line.get_color())
    axes.grid(visible=True, alpha=0.3)
    axes.set_ylim(look.low, look.high)


def lonely_values(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values are between two missing ones: a line does not show them."""
    present = np.r_[False, ~np.isnan(y), False]
    lonely: NDArray[np.bool_] = present[1:-1] & ~present[:-2] & ~present[2:]
    return lonely


COMMON_DATES = ("%Y-%m-%d", "%Y-%m", "%Y")
"""Formats of the common part of dates, the longest first."""


def _say_dates(axis: Axis, side: Any) -> str:
    """Label the ticks of an axis with dates, and return their common part, such as the year."""
    if axis.calendar:
        present = axis.values[~np.isnan(axis.values)]
        places, texts = date_ticks(float(present.min()), float(present.max()), axis.calendar)
        side.set_ticks(places, texts)
        return ""
    dates = importlib.import_module("matplotlib.dates")
    locator = dates.AutoDateLocator()
    side.set_major_locator(locator)
    side.set_major_formatter(dates.ConciseDateFormatter(locator))
    first, last = dates.num2date(sorted(side.get_view_interval()))
    forms = (form for form in COMMON_DATES if first.strftime(form) == last.strftime(form))
    return str(first.strftime(next(forms, "")))
