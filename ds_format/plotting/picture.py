"""A scene → a file, by matplotlib."""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np

from ..errors import DriverError
from ..target import Target, naming
from .scene import Axis, Line, Map

SUFFIXES = (".png", ".pdf", ".svg", ".eps", ".ps", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")
"""Of pictures, in lower case."""
SIZE = (8.0, 4.5)
"""Inches."""
DOTS = 150
"""Per inch."""
N_LINE, N_X, N_Y = 2 * 1200, 2400, 1350
"""Stretches of a line, and values of a map along each side: two for a dot of the picture."""


def save(scene: Line | Map, path: str) -> None:
    """Draw a scene into a file, which appears whole or not at all.

    Parameters
    ----------
    scene : Line or Map
    path : str
        One of `SUFFIXES` tells the format.

    Raises
    ------
    DriverError
        If matplotlib is not installed, or knows no such format.
    OSError
        If the file cannot be written.
    """
    suffix = os.path.splitext(path)[1].lower()
    figure = _figure(path)
    if suffix not in SUFFIXES or suffix[1:] not in figure.canvas.get_supported_filetypes():
        raise DriverError(f"unknown picture format: expected one of {' '.join(sorted(SUFFIXES))}", path=path)
    axes = figure.add_subplot()
    if isinstance(scene, Line):
        axes.plot(scene.x.values, scene.y.values, linewidth=1.0, marker="." if len(scene.x.values) < 50 else "")
        axes.grid(visible=True, alpha=0.3)
        axes.set_ylabel(scene.y.label, parse_math=False)
        _turn(scene.y, axes)
    else:
        _draw_map(scene, figure, axes)
    axes.set_xlabel(scene.x.label, parse_math=False)
    axes.set_title(scene.title, parse_math=False, wrap=True)
    for axis, side in ((scene.x, axes.xaxis), (scene.y, axes.yaxis)):
        if axis.kind == "time":
            _say_dates(side)
    with naming(path):
        target = Target(path)
        try:
            with open(target.create(), "wb") as file:
                figure.savefig(file, format=suffix[1:], dpi=DOTS)
            target.commit()
        except BaseException:
            target.abort()
            raise


def _figure(path: str) -> Any:
    try:
        module = importlib.import_module("matplotlib.figure")
    except ImportError as error:
        raise DriverError(
            f"cannot import {error.name}: install ds-format-cython[plot], or leave out -o to draw in the terminal",
            path=path,
        ) from None
    return module.Figure(figsize=SIZE, layout="constrained")


def _draw_map(scene: Map, figure: Any, axes: Any) -> None:
    mesh = axes.pcolormesh(
        scene.x.values, scene.y.values, np.ma.masked_invalid(scene.values), shading="nearest", rasterized=True
    )
    bar = figure.colorbar(mesh, ax=axes)
    bar.ax.set_ylabel(scene.label, parse_math=False)
    axes.set_ylabel(scene.y.label, parse_math=False)
    _turn(scene.y, axes)
    if scene.x.kind == "longitude" and scene.y.kind == "latitude":
        middle = np.deg2rad(abs(float(scene.y.values.mean())))
        axes.set_aspect(min(1 / max(np.cos(middle), 0.1), 2.0), adjustable="box")


def _turn(axis: Axis, axes: Any) -> None:
    if axis.downward:
        axes.invert_yaxis()


def _say_dates(side: Any) -> None:
    dates = importlib.import_module("matplotlib.dates")
    locator = dates.AutoDateLocator()
    side.set_major_locator(locator)
    side.set_major_formatter(dates.ConciseDateFormatter(locator))
