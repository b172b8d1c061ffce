"""What is drawn of one variable: a line or a map, with axes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

DAY = 86_400_000
"""Milliseconds."""


class Axis(NamedTuple):
    """A dimension or quantity."""

    label: str
    values: NDArray[Any]
    """(n,) float64, or datetime64[ms]; NaN or NaT where missing."""
    kind: str = ""
    """`latitude`, `longitude`, `time`, or nothing of these."""
    downward: bool = False
    """Whether it grows downwards, as depth does."""
    calendar: str = ""
    """Of models, whose dates NumPy does not have: values are then days, as `timeaxis.calendars.count` counts."""


class Grid(NamedTuple):
    """Where the middles of the cells of a map are that lie in no straight rows."""

    longitude: NDArray[np.float64]
    """Of the shape of the map, NaN where missing; so is `latitude`."""
    latitude: NDArray[np.float64]
    labels: tuple[str, str]
    """Of both."""


class Line(NamedTuple):
    """One dimension."""

    title: str
    x: Axis
    y: Axis
    """As many values as `x`; NaN where the line is broken."""
    where: str = ""
    """Which part of a variable of more dimensions."""
    units: str = ""
    file: str = ""


class Map(NamedTuple):
    """Two dimensions."""

    title: str
    x: Axis
    y: Axis
    label: str
    """Of the values."""
    values: NDArray[np.float64]
    """(len(y), len(x)); NaN where missing."""
    where: str = ""
    """Which part of a variable of more dimensions."""
    units: str = ""
    file: str = ""
    grid: Grid | None = None
    """Then `x` and `y` are positions."""


class Look(NamedTuple):
    """What of a drawing can be chosen."""

    low: float | None = None
    """Least value that has a colour of its own, or the end of the axis of a line; None: what the values tell."""
    high: float | None = None
    colormap: str | None = None
    """As matplotlib calls it; None: by the values."""
    coastlines: bool | None = None
    """None: where they can be had."""


def is_geographic(scene: Line | Map) -> bool:
    """Return whether a scene is a map of longitude and latitude."""
    if isinstance(scene, Line):
        return False
    return scene.grid is not None or (scene.x.kind == "longitude" and scene.y.kind == "latitude")


def heading(scene: Line | Map) -> str:
    """Return the title and which part it is, on one line."""
    return f"{scene.title}, {scene.where}" if scene.where else scene.title
