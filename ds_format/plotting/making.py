"""An open file → what is drawn of one variable, thinned to what can be seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.names import unescape
from ..dataset import META, dims
from ..drivers.base import Source, check_faults
from ..errors import UnsupportedError
from . import coordinates, lines, times
from .coordinates import floats
from .scene import Axis, Line, Map

ACROSS = ("longitude", "time", "latitude", "")
"""Kinds of axes: of two the first one goes across."""


def make(
    source: Source,
    key: str,
    n_line: int,
    n_x: int,
    n_y: int,
    *,
    chosen: Mapping[str, int] | None = None,
    file: str = "",
) -> Line | Map:
    """Read what is to be drawn of a variable.

    Parameters
    ----------
    source : Source
        Of the variable and its coordinates, see `coordinates.names_of`. Packed numbers are unpacked.
    key : str
        Of the variable. Dimensions of size 1 do not count.
    n_line : int
        Stretches that a line is cut into if it has more values; of each the least and the greatest value are kept.
    n_x, n_y : int
        Values of a map that are kept along each dimension, at equal distances.
    chosen : mapping, optional
        Positions along dimensions that are gone, for the title: it tells them where no coordinate does.
    file : str
        What to call the file in the title.

    Returns
    -------
    Line or Map

    Raises
    ------
    UnsupportedError
        If there is nothing that could be drawn; the message says why.
    """
    check_faults(source.faults, [key])
    entry = source.meta[key]
    name = unescape(key)
    size = entry.get(".size")
    if size is None or 0 in size:
        raise UnsupportedError("it has no values to draw", variable=name)
    if coordinates.is_text(entry):
        raise UnsupportedError("text cannot be drawn, only numbers", variable=name)
    names = dims(key, entry, len(size))
    drawn = [i for i in range(len(size)) if size[i] != 1]
    if drawn:
        coordinates.check_grid(source, key, names, dict(zip(names, size, strict=True)))
    if len(drawn) > 2:
        told = ", ".join(f"{names[i]}: {size[i]}" for i in drawn)
        pairs = " ".join(f"{names[i]}: 0" for i in drawn[:-2])
        raise UnsupportedError(
            f"found {len(drawn)} dimensions ({told}), expected at most 2: select some, as by sel: {{ {pairs} }}",
            variable=name,
        )
    if not drawn:
        raise UnsupportedError("a single value cannot be drawn: ds cat prints it", variable=name)
    ones = {names[i]: 0 for i in range(len(size)) if i not in drawn}
    where = ", ".join(_where(source, key, [names[i] for i in drawn], {**(chosen or {}), **ones}, frozenset(ones)))
    if len(drawn) == 1:
        scene: Line | Map = _line(source, key, names[drawn[0]], size[drawn[0]], n_line)
    else:
        scene = _map(source, key, (drawn[0], drawn[1]), n_x, n_y)
    return scene._replace(where=where, units=coordinates.units(entry), file=file)


def _line(source: Source, key: str, dim: str, n: int, n_line: int) -> Line:
    entry = source.meta[key]
    name = unescape(key)
    step = -(-n // n_line) if n > 2 * n_line else 1
    if step == 1:
        values = floats(source.read(key)).reshape(n)
    else:
        values = lines.envelope((floats(block).reshape(-1) for block in source.blocks(key)), n, step)
    _check_any(values, name)
    picked = range(0, n, step)
    x = coordinates.positions(dim, picked) if dim == name else coordinates.along(source, key, dim, picked, is_line=True)
    behind = lines.gaps(x.values) if x.kind == "time" else np.zeros(0, np.intp)
    if step > 1:
        x = x._replace(values=np.repeat(x.values, 2))
        behind = 2 * behind + 1
    y = coordinates.axis(name, entry, values)
    across, upward = lines.opened(x.values, y.values, behind)
    return Line(_title(name, entry), x._replace(values=across), y._replace(values=upward))


def _map(source: Source, key: str, drawn: tuple[int, int], n_x: int, n_y: int) -> Map:
    entry = source.meta[key]
    name, size = unescape(key), entry[".size"]
    names = dims(key, entry, len(size))
    row, column = drawn
    picked = {row: range(0, size[row], -(-size[row] // n_y)), column: range(0, size[column], -(-size[column] // n_x))}
    values = floats(source.read(key, tuple(picked.get(i, 0) for i in range(len(size)))))
    _check_any(values, name)
    label, title = coordinates.label(name, entry), _title(name, entry)
    y, x = (coordinates.along(source, key, names[i], picked[i]) for i in drawn)
    if not (x.kind and y.kind):
        pair = picked[row], picked[column]
        grid = coordinates.grid(source, key, [names[row], names[column]], pair)
        if grid is not None:
            y, x = (coordinates.positions(names[i], picked[i]) for i in drawn)
            return Map(title, x, y, label, values, grid=grid)
    if ACROSS.index(y.kind) < ACROSS.index(x.kind):
        x, y, values = y, x, values.T
    return Map(title, x, y, label, values)


def _check_any(values: NDArray[np.float64], name: str) -> None:
    if np.isnan(values).all():
        raise UnsupportedError("all of its values are missing", variable=name)


def _title(name: str, entry: Mapping[str, Any]) -> str:
    """Return what a variable is called."""
    for text in (entry.get("long_name"), str(entry.get("standard_name", "")).replace("_", " ")):
        if isinstance(text, str) and text.strip():
            return text.strip()
    return name


def _where(
    source: Source, key: str, drawn: list[str], chosen: Mapping[str, int], ones: frozenset[str]
) -> Iterator[str]:
    """Yield at which values of coordinates a variable is drawn, or else at which positions."""
    told = set()
    for other, about in source.meta.items():
        if other in (META, key) or coordinates.is_text(about) or other in source.faults:
            continue
        sizes, names = about.get(".size"), about.get(".dims") or []
        if sizes == [] or (sizes == [1] and set(names) <= ones):
            [value] = floats(source.read(other)).reshape(-1)
            axis = coordinates.axis(unescape(other), about, np.array([value]))
            if not np.isnan(value):
                told |= {unescape(other), *names}
                yield _place(unescape(other), about, axis)
    for dim, position in chosen.items():
        if dim not in told and dim not in drawn and dim not in ones:
            yield f"{dim}[{position}]"


def _place(name: str, entry: Mapping[str, Any], axis: Axis) -> str:
    text = f"{name} = {times.text_of(axis, axis.values[0])}"
    told = "" if axis.kind == "time" else coordinates.units(entry)
    return f"{text} {told}" if told not in ("", "1") else text
