"""An open file → what is drawn of one variable: a line or a map, with axes, thinned to what can be seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..dataset import META, dims
from ..drivers.base import Source, check_faults
from ..dtypes import TYPES
from ..errors import UnsupportedError
from ..names import escape, unescape
from ..timeaxis import JD_UNITS

JD_OF_1970 = 2440587.5
"""Julian date of 1970-01-01 00:00."""
DAY = 86_400_000
"""Milliseconds."""
FIRST_DATE, LAST_DATE = np.datetime64("0001-01-02", "ms"), np.datetime64("9999-12-30", "ms")
"""What can be written with four digits of a year."""

NORTH = {"degrees_north", "degree_north", "degree_n", "degrees_n", "degreen", "degreesn"}
EAST = {"degrees_east", "degree_east", "degree_e", "degrees_e", "degreee", "degreese"}
"""Units of latitude and of longitude in lower case (CF conventions 1.11, sections 4.1 and 4.2)."""


class Axis(NamedTuple):
    """A dimension or quantity."""

    label: str
    values: NDArray[Any]
    """(n,) float64, or datetime64[ms]; NaN or NaT where missing."""
    kind: str = ""
    """`latitude`, `longitude`, `time`, or nothing of these."""
    downward: bool = False
    """Whether it grows downwards, as depth does."""


class Line(NamedTuple):
    """One dimension."""

    title: str
    x: Axis
    y: Axis
    """As many values as `x`."""


class Map(NamedTuple):
    """Two dimensions."""

    title: str
    x: Axis
    y: Axis
    label: str
    """Of the values."""
    values: NDArray[np.float64]
    """(len(y), len(x)); NaN where missing."""


def make(source: Source, key: str, n_line: int, n_x: int, n_y: int) -> Line | Map:
    """Read what is to be drawn of a variable.

    Parameters
    ----------
    source : Source
        Times are Julian dates and packed numbers unpacked, as `subset.open_subset` with `jd` and `unpack` makes them.
    key : str
        Of the variable. Dimensions of size 1 do not count if there are more than two.
    n_line : int
        Stretches that a line is cut into if it has more values; of each the least and the greatest value are kept.
    n_x, n_y : int
        Values of a map that are kept along each dimension, at equal distances.

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
    if entry.get(".type") in TYPES and TYPES[entry[".type"]].is_string:
        raise UnsupportedError("text cannot be drawn, only numbers", variable=name)
    names = dims(key, entry, len(size))
    drawn = [i for i in range(len(size)) if len(size) <= 2 or size[i] != 1]
    if len(drawn) > 2:
        told = ", ".join(f"{names[i]}: {size[i]}" for i in drawn)
        pairs = " ".join(f"{names[i]}: 0" for i in drawn[:-2])
        raise UnsupportedError(
            f"found {len(drawn)} dimensions ({told}), expected at most 2: select some, as by sel: {{ {pairs} }}",
            variable=name,
        )
    if not drawn:
        raise UnsupportedError("a single value cannot be drawn: ds cat prints it", variable=name)
    if len(drawn) == 1:
        return _line(source, key, names[drawn[0]], size[drawn[0]], n_line)
    row, column = drawn
    steps = {row: -(-size[row] // n_y), column: -(-size[column] // n_x)}
    picked = {i: range(0, size[i], steps[i]) for i in drawn}
    index = tuple(picked.get(i, 0) for i in range(len(size)))
    values = _floats(source.read(key, index))
    y, x = (_coordinate(source, names[i], size[i], picked[i]) for i in drawn)
    if x.kind == "latitude" or y.kind == "longitude" or (y.kind == "time" and not x.kind):
        x, y, values = y, x, values.T
    _check_any(values, name)
    return Map(_title(source, key), x, y, _label(name, entry), values)


def _line(source: Source, key: str, dim: str, n: int, n_line: int) -> Line:
    entry = source.meta[key]
    name = unescape(key)
    step = -(-n // n_line) if n > 2 * n_line else 1
    if step == 1:
        values = _floats(source.read(key)).reshape(n)
    else:
        values = _envelope((_floats(block).reshape(-1) for block in source.blocks(key)), n, step)
    picked = range(0, n, step)
    x = _positions(dim, picked) if dim == name else _coordinate(source, dim, n, picked, is_line=True)
    _check_any(values, name)
    if step > 1:
        x = x._replace(values=np.repeat(x.values, 2))
    return Line(_title(source, key), x, _axis(name, entry, values))


def _envelope(blocks: Iterable[NDArray[np.float64]], n: int, step: int) -> NDArray[np.float64]:
    """Return the least and the greatest of each `step` of `n` values that come in blocks, one behind the other."""
    n_bins = -(-n // step)
    low, high = np.full(n_bins, np.nan), np.full(n_bins, np.nan)
    start = 0
    for values in blocks:
        first = start // step
        edges = np.r_[0, np.arange((first + 1) * step - start, values.size, step)]
        some = slice(first, first + len(edges))
        low[some] = np.fmin(low[some], np.fmin.reduceat(values, edges))
        high[some] = np.fmax(high[some], np.fmax.reduceat(values, edges))
        start += values.size
    return np.stack([low, high], axis=1).reshape(-1)


def _floats(data: Any) -> NDArray[np.float64]:
    """Return numbers as floats, with NaN for what cannot be drawn."""
    values = np.ma.filled(np.ma.MaskedArray(data, dtype=np.float64), np.nan)
    return np.where(np.isfinite(values), values, np.nan)


def _check_any(values: NDArray[np.float64], name: str) -> None:
    if np.isnan(values).all():
        raise UnsupportedError("all of its values are missing", variable=name)


def _coordinate(source: Source, dim: str, n: int, picked: range, *, is_line: bool = False) -> Axis:
    """Return the values of the variable that is named like a dimension, or else positions.

    For a map they have to grow or to fall all along.
    """
    key = escape(dim)
    entry = source.meta.get(key, {})
    usable = key != META and entry.get(".size") == [n] and entry.get(".dims") == [dim]
    if not usable or (entry.get(".type") in TYPES and TYPES[entry[".type"]].is_string):
        return _positions(dim, picked)
    values = _floats(source.read(key, (picked,)))
    differences = np.diff(values)
    if np.isnan(values).any() or not (is_line or (differences > 0).all() or (differences < 0).all()):
        return _positions(dim, picked)
    return _axis(dim, entry, values)


def _positions(dim: str, picked: range) -> Axis:
    return Axis(dim, np.array(picked, np.float64))


def _axis(name: str, entry: Mapping[str, Any], values: NDArray[np.float64]) -> Axis:
    if entry.get(".time") is True and entry.get("units") == JD_UNITS:
        dates = _dates(values)
        if dates is not None:
            return Axis(name, dates, "time")
    units = str(entry.get("units", "")).lower()
    standard = entry.get("standard_name")
    kind = "latitude" if units in NORTH or standard == "latitude" else ""
    kind = "longitude" if units in EAST or standard == "longitude" else kind
    return Axis(_label(name, entry), values, kind, entry.get("positive") == "down")


def _dates(values: NDArray[np.float64]) -> NDArray[Any] | None:
    """Return Julian dates as datetime64, or None if one is out of range."""
    present = ~np.isnan(values)
    since = np.round((values[present] - JD_OF_1970) * DAY)
    if since.size and np.abs(since).max() > 1e15:
        return None
    dates = np.full(values.shape, "NaT", "datetime64[ms]")
    dates[present] = since.astype(np.int64).astype("datetime64[ms]")
    some = dates[present]
    return None if some.size and (some.min() < FIRST_DATE or some.max() > LAST_DATE) else dates


def _label(name: str, entry: Mapping[str, Any]) -> str:
    units = entry.get("units")
    return f"{name} ({units})" if isinstance(units, str) and units.strip() else name


def _title(source: Source, key: str) -> str:
    """Return what a variable is called, and the values of coordinates at which it is drawn."""
    entry = source.meta[key]
    long_name = entry.get("long_name")
    told = [long_name if isinstance(long_name, str) and long_name.strip() else unescape(key)]
    for other, about in source.meta.items():
        if other not in (META, key) and about.get(".size") == []:
            axis = _axis(unescape(other), about, np.atleast_1d(_floats(source.read(other))))
            told.append(f"{unescape(other)} = {text_of(axis.values[0], axis.values)}")
    return ", ".join(told)


def text_of(value: Any, others: NDArray[Any]) -> str:
    """Return a number or date as text, dates as exact as the others around it ask for."""
    if not isinstance(value, np.datetime64):
        return f"{value:.6g}"
    whole = (others[~np.isnat(others)].astype(np.int64) % DAY == 0).all()
    return str(np.datetime_as_string(value, unit="D" if whole else "m")).replace("T", " ")
