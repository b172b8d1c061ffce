"""A scene → a file, by matplotlib."""

from __future__ import annotations

import importlib
import os
import textwrap
import warnings
from typing import Any

import numpy as np

from ..base.optional import library
from ..base.wording import hint, visible
from ..body.target import Target, naming
from ..errors import DriverError
from . import lines, maps, times
from .scene import Axis, Line, Look, Map

EXTRA = "ds-format-cython[plot]"
SUFFIXES = (".png", ".pdf", ".svg", ".eps", ".ps", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")
"""Of pictures, in lower case."""
WIDTH, HEIGHT = 6.5, 3.7
"""Inches of what is drawn; labels are around it."""
TALLEST = 7.5
"""Inches of the height of a map."""
MARGIN = 1.0
"""Inches around it: the picture is cut to what is needed of them."""
EDGE = 0.12
"""Inches that stay empty at the sides of a picture."""
DOTS = 150
"""Per inch."""
N_LINE, N_X, N_Y = 2 * 1200, 2400, 1350
"""Stretches of a line, and values of a map along each side: two for a dot of the picture."""
LARGEST = 1e300
"""What is further away from zero is drawn as this."""
FEW = 50
"""Values of a line, up to which each is marked."""
LETTERS, ROWS = 11.0, 2
"""Letters for each inch of a title, and lines of it."""
SMALLER, SPACE, ROW = 1.4, 5.0, 10.5
"""How many more letters are in an inch of the line below; points below each, and of a row of the line below."""
SIGNS = {"longitude": "EW", "latitude": "NS"}
STYLE = {
    "text.usetex": False,
    "text.parse_math": False,
    "image.composite_image": False,
    "axes.formatter.useoffset": False,
}
"""Text from files is shown as it stands, whatever settings of his own somebody has."""
NO_MAP = "coastlines: only maps of longitude and latitude have them, with the units degrees_east and degrees_north"


def save(scene: Line | Map, path: str, look: Look | None = None) -> None:
    """Draw a scene into a file, which appears whole or not at all.

    Parameters
    ----------
    scene : Line or Map
    path : str
        One of `SUFFIXES` tells the format.
    look : Look, optional

    Raises
    ------
    DriverError
        If matplotlib is not installed, or knows no such format or colormap; or if coastlines are asked for that cannot
        be had.
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
            target = Target(path)
            try:
                with open(target.create(), "wb") as file:
                    figure.savefig(file, format=suffix[1:], dpi=DOTS, bbox_inches="tight", pad_inches=EDGE)
                target.commit()
            except BaseException:
                target.abort()
                raise


def draw(scene: Line | Map, look: Look) -> Any:
    """Return a figure of matplotlib, which has to be installed, with a scene in it; see `save`."""
    colormaps = importlib.import_module("matplotlib").colormaps
    if look.colormap is not None and look.colormap not in colormaps:
        raise DriverError(f'colormap: "{look.colormap}" not found{hint(look.colormap, colormaps)}')
    scene = _drawable(scene)
    place = maps.frame(scene)
    if look.coastlines and place is None:
        raise DriverError(NO_MAP)
    width, height = (WIDTH, HEIGHT) if place is None else _size(place.ratio)
    whole = width + 2 * MARGIN, height + 2 * MARGIN
    figure = importlib.import_module("matplotlib.figure").Figure(figsize=whole)
    axes = figure.add_axes((MARGIN / whole[0], MARGIN / whole[1], width / whole[0], height / whole[1]))
    if isinstance(scene, Line):
        _line(scene, look, axes)
    else:
        maps.draw(scene, look, figure, axes, place, DOTS * width)
    if scene.y.downward:
        axes.yaxis.set_inverted(True)
    across, upward = scene.x.label, scene.y.label
    if place:
        across, upward = scene.grid.labels if isinstance(scene, Map) and scene.grid else (across, upward)
    for axis, side, label, inches in ((scene.x, axes.xaxis, across, width), (scene.y, axes.yaxis, upward, height)):
        if place or axis.kind in SIGNS:
            maps.say_degrees(side, SIGNS.get(axis.kind) or ("EW" if side is axes.xaxis else "NS"), inches)
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
    """Return a scene without values of which matplotlib could not tell the difference."""
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
    """Return text of a file in so many lines, none of which is wider than a picture; what is more is left out."""
    line = visible(" ".join(text.split()))
    return "\n".join(textwrap.wrap(line, int(inches * LETTERS), max_lines=rows, placeholder=" ..."))


def _import(path: str) -> Any:
    try:
        library("matplotlib.figure", EXTRA)
        return library("matplotlib", EXTRA)
    except DriverError as error:
        raise DriverError(f"{error.message}; without -o it draws in the terminal", path=path) from error


def _size(ratio: float) -> tuple[float, float]:
    """Return width and height of a map of this form, in inches."""
    width = min(WIDTH, TALLEST / ratio)
    return width, width * ratio


def _line(scene: Line, look: Look, axes: Any) -> None:
    x, y = scene.x.values, scene.y.values
    [line] = axes.plot(x, y, linewidth=1.0, marker="." if len(x) <= FEW else "")
    alone = lines.alone(y)
    if alone.any() and len(x) > FEW:
        axes.plot(x[alone], y[alone], linestyle="", marker=".", markersize=3, color=line.get_color())
    axes.grid(visible=True, alpha=0.3)
    axes.set_ylim(look.low, look.high)


COMMON_DATES = ("%Y-%m-%d", "%Y-%m", "%Y")
"""What dates may have in common, the longest form first."""


def _say_dates(axis: Axis, side: Any) -> str:
    """Let the ticks of an axis be dates, and return what they have in common, such as the year."""
    if axis.calendar:
        present = axis.values[~np.isnan(axis.values)]
        places, texts = times.ticks(float(present.min()), float(present.max()), axis.calendar)
        side.set_ticks(places, texts)
        return ""
    dates = importlib.import_module("matplotlib.dates")
    locator = dates.AutoDateLocator()
    side.set_major_locator(locator)
    side.set_major_formatter(dates.ConciseDateFormatter(locator))
    first, last = dates.num2date(sorted(side.get_view_interval()))
    forms = (form for form in COMMON_DATES if first.strftime(form) == last.strftime(form))
    return str(first.strftime(next(forms, "")))
