"""A scene → text with braille characters, or only ASCII."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .scene import Axis, Line, Look, Map, axis_text, heading

BRAILLE = 0x2800
DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
"""Bits of the dots in a braille character: four rows of two (Unicode, block Braille Patterns)."""
SHADES = "⡀⣀⣄⣤⣦⣶⣷⣿"
ASCII_SHADES = ".:-=+*#%@"
"""Characters from the minimum to the maximum. Missing values are blank."""
LEAST_COLUMNS = 40
"""Minimum width of a terminal: the longest label of an axis, and a drawing next to it."""


def render(scene: Line | Map, columns: int, rows: int, *, unicode: bool = True, look: Look | None = None) -> str:
    """Draw a scene as lines of text.

    Parameters
    ----------
    scene : Line or Map
    columns : int
        Width of the terminal; at least `LEAST_COLUMNS` are used.
    rows : int
        Lines of the drawing itself.
    unicode : bool
        Whether to draw with non-ASCII characters.
    look : Look, optional
        Only its limits are used, because there are no colours.

    Returns
    -------
    str
        Each line ends with a newline.
    """
    columns = max(columns, LEAST_COLUMNS)
    limits = _limits(scene, look or Look())
    ends = limits if isinstance(scene, Line) else _range(scene.y.values)
    top, bottom = ends if scene.y.downward else ends[::-1]
    labels = [axis_text(scene.y, end) for end in (top, bottom)]
    margin = max(map(len, labels))
    width = columns - margin - 3
    title = heading(scene)
    if isinstance(scene, Line):
        drawn = _line(scene, (top, bottom), width, rows, unicode)
        heads = [title, *([scene.y.label] if scene.y.label != title else [])]
    else:
        shades = SHADES if unicode else ASCII_SHADES
        drawn = _map(scene, (top, bottom), limits, width, rows, shades)
        heads = [title, f"{scene.label}: {shades[0]} {limits[0]:.6g} to {shades[-1]} {limits[1]:.6g}", scene.y.label]
    wall, corner, floor = ("│", "└", "─") if unicode else ("|", "+", "-")
    sides = [labels[0], *[""] * (rows - 2), labels[1]]
    lines = [_cut(head, columns) for head in heads]
    lines += [f"{side:>{margin}} {wall}{row}".rstrip() for side, row in zip(sides, drawn, strict=True)]
    lines.append(f"{'':{margin}} {corner}{floor * width}")
    lines += [f"{'':{margin + 2}}{line}" for line in _below(scene.x, width)]
    return "".join(f"{line}\n" for line in lines)


def _limits(scene: Line | Map, look: Look) -> tuple[Any, Any]:
    """Return the limits within which values are distinguished."""
    low, high = _range(scene.y.values if isinstance(scene, Line) else scene.values)
    low, high = low if look.low is None else look.low, high if look.high is None else look.high
    return (low, high) if low <= high else (look.low, look.low) if look.low is not None else (look.high, look.high)


def _range(values: NDArray[Any]) -> tuple[Any, Any]:
    present = values[~np.isnan(values)]
    return present.min(), present.max()


def _below(axis: Axis, width: int) -> Iterable[str]:
    """Return the lines below a horizontal axis: its ends, and its label between them or on a separate line."""
    left, right = (axis_text(axis, end) for end in _range(axis.values))
    room = width - len(left) - len(right)
    label = _cut(axis.label, width)
    if room >= len(label) + 2:
        return [f"{left}{label:^{room}}{right}"]
    return [f"{left}{right:>{width - len(left)}}", label] if room >= 1 else [left, f"{right:>{width}}", label]


def _share(values: NDArray[Any], low: Any, high: Any) -> NDArray[np.float64]:
    """Return values scaled from `low` (0) to `high` (1); NaN where missing."""
    if values.dtype.kind == "M":
        values = np.where(np.isnan(values), np.nan, values.astype(np.int64).astype(np.float64))
        low, high = float(low.astype(np.int64)), float(high.astype(np.int64))
    span = high / 2 - low / 2  # halves, since the whole may be more than a float holds
    if not span:
        return np.where(np.isnan(values), np.nan, 0.5)
    shares: NDArray[np.float64] = (values / 2 - low / 2) / span
    return shares


def _line(scene: Line, ends: tuple[Any, Any], width: int, rows: int, unicode: bool) -> list[str]:
    across, down = (2, 4) if unicode else (1, 1)
    x = _share(scene.x.values, *_range(scene.x.values)) * (width * across - 1)
    share = _share(scene.y.values, *ends)
    y = np.where((share >= 0) & (share <= 1), share, np.nan) * (rows * down - 1)
    dots = np.zeros((rows * down, width * across), np.bool_)
    present = ~(np.isnan(x) | np.isnan(y))
    columns, lines = np.round(x[present]).astype(int), np.round(y[present]).astype(int)
    dots[lines, columns] = True
    places = np.flatnonzero(present)
    for i in np.flatnonzero(np.diff(places) == 1):
        n = max(abs(columns[i + 1] - columns[i]), abs(lines[i + 1] - lines[i])) + 1
        if n > 2:
            between = np.round(np.linspace(lines[i], lines[i + 1], n)).astype(int)
            dots[between, np.round(np.linspace(columns[i], columns[i + 1], n)).astype(int)] = True
    if not unicode:
        return ["".join("*" if dot else " " for dot in row) for row in dots]
    cells = dots.reshape(rows, down, width, across).transpose(0, 2, 1, 3)
    codes = (cells * DOTS).sum(axis=(2, 3))
    return ["".join(chr(BRAILLE + code) if code else " " for code in row) for row in codes.tolist()]


def _map(
    scene: Map, ends: tuple[Any, Any], limits: tuple[float, float], width: int, rows: int, shades: str
) -> list[str]:
    left, right = _range(scene.x.values)
    down, across = _nearest(scene.y.values, *ends, rows), _nearest(scene.x.values, left, right, width)
    share = np.clip(_share(scene.values[np.ix_(down, across)], *limits), 0, 1)
    levels = np.where(np.isnan(share), -1, np.minimum(share * len(shades), len(shades) - 1)).astype(int)
    return ["".join(" " if level < 0 else shades[level] for level in row) for row in levels.tolist()]


def _nearest(values: NDArray[Any], start: Any, stop: Any, n: int) -> NDArray[np.intp]:
    """Return the index of the monotonic value nearest to each of `n` positions from start to stop."""
    shares = _share(values, start, stop)
    wanted = np.linspace(0, 1, n) if n > 1 else np.array([0.5])
    order = np.argsort(shares)
    middles = [(a + b) / 2 for a, b in itertools.pairwise(shares[order].tolist())]
    found: NDArray[np.intp] = order[np.searchsorted(middles, wanted)]
    return found


def _cut(line: str, width: int) -> str:
    """Return text of at most `width` characters, with control characters escaped."""
    line = "".join(character if character.isprintable() else " " for character in line)
    return line if len(line) <= width else line[: width - 3] + "..."
