"""An open file → the scene of one variable, thinned to the resolution of the drawing.

The axes are variables with the names of its dimensions, or a grid of longitudes and latitudes. A long line keeps only
the minimum and maximum of each stretch. A line is broken at gaps of a time axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import timeaxis
from ..base.dtypes import TYPES
from ..base.text import escape, unescape
from ..datasets import META, dims
from ..drivers.base import Entries, Source, check_faults
from ..errors import UnsupportedError
from ..model.conventions import COORDINATES, kind_of, named
from .scene import Axis, Grid, Line, Map, axis_text, time_axis

REGULAR = 1.25
"""Multiple of the usual step that most steps of a regular axis, including months, do not exceed."""
GAP = 1.5
"""Multiple of the usual step of a regular axis above which a step is a gap."""
FEW = 0.9
"""Quantile of the steps that few steps exceed."""
WIDE_GAP = 5.0
"""Multiple of that quantile above which a step of an irregular axis is a gap."""


def envelope(blocks: Iterable[NDArray[np.float64]], n: int, step: int) -> NDArray[np.float64]:
    """Return the minimum and maximum of each `step` of `n` values in consecutive blocks."""
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


def gaps(times: NDArray[Any]) -> NDArray[np.intp]:
    """Return the positions of a time axis before gaps: the next step is much longer than usual.

    Parameters
    ----------
    times : (n,) float64 or datetime64
        NaN or NaT where missing.

    Examples
    --------
    >>> gaps(np.array([0.0, 1, 2, 3, 7, 8])).tolist()
    [3]
    """
    numbers = times.astype("M8[ms]").astype(np.float64) if times.dtype.kind == "M" else times
    steps = np.abs(np.diff(np.where(np.isnan(times), np.nan, numbers)))
    some = np.sort(steps[steps > 0])
    if some.size < 2:
        return np.zeros(0, np.intp)
    usual, long = np.median(some), some[int(FEW * (some.size - 1))]
    limit = GAP * usual if long <= REGULAR * usual else WIDE_GAP * long
    return np.flatnonzero(steps > limit)


def broken_line(x: NDArray[Any], y: NDArray[Any], behind: NDArray[np.intp]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a line with a missing value inserted after each of these positions."""
    missing = np.datetime64("NaT", "ms") if y.dtype.kind == "M" else np.nan
    return np.insert(x, behind + 1, x[behind]), np.insert(y, behind + 1, missing)


PRESSURE = {"Pa", "hPa", "kPa", "mb", "mbar", "millibar", "millibars", "bar", "dbar", "decibar"}
"""Units of coordinates that grow downwards even if these do not say so (CF conventions 1.11, section 4.3)."""
MANY_CELLS = 1000
"""Number of positions with longitudes and latitudes above which they are cells, not stations."""


def names_of(key: str, meta: Entries) -> list[str]:
    """Return the keys of possible coordinates of a variable.

    These are variables named like its dimensions, those that its attribute `coordinates` names, and any other
    longitudes and latitudes along its dimensions.
    """
    own = set(_dims(key, meta))
    found = dict.fromkeys(escape(dim) for dim in _dims(key, meta))
    found.update(dict.fromkeys(named(key, meta[key], COORDINATES)))
    for other, entry in meta.items():
        theirs = set(_dims(other, meta)) if other != META else set()
        if theirs and theirs <= own and kind_of(entry):
            found[other] = None
    return [other for other in found if other in meta and other not in (META, key)]


def value_axis(name: str, entry: Mapping[str, Any], values: NDArray[np.float64]) -> Axis:
    """Return numbers of a variable as an axis. Times become dates."""
    dated = time_axis(name, values, entry)
    return dated or Axis(axis_label(name, entry), values, kind_of(entry), entry.get("positive") == "down")


def axis_label(name: str, entry: Mapping[str, Any]) -> str:
    """Return a name and its units."""
    told = units_text(entry)
    return f"{name} ({told})" if told else name


def units_text(entry: Mapping[str, Any]) -> str:
    """Return the units of a variable, or empty text."""
    found = entry.get("units")
    return found.strip() if isinstance(found, str) else ""


def floats(data: Any) -> NDArray[np.float64]:
    """Return numbers as floats, with NaN for missing and infinite values."""
    values = np.ma.filled(np.ma.MaskedArray(data, dtype=np.float64), np.nan)
    return np.where(np.isfinite(values), values, np.nan)


def is_text(entry: Mapping[str, Any]) -> bool:
    """Return whether the values of a variable are strings."""
    return entry.get(".type") in TYPES and TYPES[entry[".type"]].is_string


def axis_along(source: Source, key: str, dim: str, picked: range, *, is_line: bool = False) -> Axis:
    """Return the axis of one dimension of a variable: values of the variable with its name, or else positions.

    Parameters
    ----------
    source : Source
    key : str
        Key of the variable.
    dim : str
    picked : range
        Positions along the dimension.
    is_line : bool
        Whether the axis is that of a line. The axis of a map must be monotonic.
    """
    for other in _candidates(source.meta, key, dim, is_line):
        entry = source.meta[other]
        values = floats(source.read(other, (picked,)))
        if kind_of(entry) == "longitude" and not is_line:
            values = _unwrapped(values)
        steps = np.diff(values)
        if not np.isnan(values).any() and (is_line or (steps > 0).all() or (steps < 0).all()):
            found = value_axis(unescape(other), entry, values)
            is_pressure = units_text(entry) in PRESSURE and "positive" not in entry
            return found._replace(downward=found.downward or is_pressure)
    return position_axis(dim, picked)


def position_axis(dim: str, picked: range) -> Axis:
    """Return positions along a dimension as an axis."""
    return Axis(dim, np.array(picked, np.float64))


def grid_of(source: Source, key: str, names: Sequence[str], picked: tuple[range, range]) -> Grid | None:
    """Return two-dimensional longitudes and latitudes of a variable, or None."""
    found: dict[str, str] = {}
    for other in names_of(key, source.meta):
        entry = source.meta[other]
        kind = kind_of(entry)
        if kind and _dims(other, source.meta) == list(names) and not is_text(entry) and other not in source.faults:
            found.setdefault(kind, other)
    if len(found) < 2:
        return None
    east, north = (floats(source.read(found[kind], picked)) for kind in ("longitude", "latitude"))
    if not (np.isfinite(east) & np.isfinite(north)).any() or np.nanmax(np.abs(north)) > 90.001:
        return None
    labels = [axis_label(unescape(found[kind]), source.meta[found[kind]]) for kind in ("longitude", "latitude")]
    return Grid(east, north, (labels[0], labels[1]))


def check_grid(source: Source, key: str, names: Iterable[str], sizes: Mapping[str, int]) -> None:
    """Refuse a variable on an unstructured grid: longitude and latitude have the same single dimension.

    Stations and ship tracks also have a single dimension. They are few, or have a time along it, or the dataset has the
    attribute `featureType`.
    """
    meta = source.meta
    for dim in names:
        theirs = [other for other in names_of(key, meta) if _dims(other, meta)[:1] == [dim]]
        kinds = {kind_of(meta[other]): unescape(other) for other in theirs if len(_dims(other, meta)) == 1}
        if not {"longitude", "latitude"} <= kinds.keys() or sizes[dim] < MANY_CELLS:
            continue
        has_time = any(timeaxis.claims_time(meta[other]) for other in _along(meta, dim))
        if not has_time and "featureType" not in meta.get(META, {}):
            raise UnsupportedError(
                f'its {sizes[dim]} values lie on no grid: "{kinds["longitude"]}" and "{kinds["latitude"]}" are both '
                f'along the dimension "{dim}"; ds plot draws values along axes, and maps of grids',
                variable=unescape(key),
            )


def _dims(key: str, meta: Entries) -> list[str]:
    return dims(key, meta[key], len(meta[key].get(".size") or ()))


def _along(meta: Entries, dim: str) -> Iterator[str]:
    return (key for key in meta if key != META and _dims(key, meta) == [dim])


def _candidates(meta: Entries, key: str, dim: str, is_line: bool) -> Iterator[str]:
    """Yield possible coordinates of a dimension, the best first."""
    own, listed = escape(dim), list(named(key, meta[key], COORDINATES))
    some = [other for other in _along(meta, dim) if other != key and not is_text(meta[other])]
    if own in some:
        yield own
    yield from (other for other in some if other in listed and other != own and _tells(meta[other]))
    if not is_line:
        places = [other for other in some if kind_of(meta[other])]
        if len(places) == 1 and places[0] not in (own, *listed):
            yield places[0]


def _tells(entry: Mapping[str, Any]) -> bool:
    return bool(kind_of(entry)) or timeaxis.claims_time(entry)


def _unwrapped(longitudes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return longitudes that continue monotonically across the date line or Greenwich."""
    if np.isnan(longitudes).any() or longitudes.size < 2:
        return longitudes
    steps = np.diff(longitudes)
    if (steps > 0).all() or (steps < 0).all():
        return longitudes
    going_on: NDArray[np.float64] = np.unwrap(longitudes, period=360)
    return going_on


ACROSS = ("longitude", "time", "latitude", "")
"""Roles of axes. The first one in this order is horizontal."""


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
    """Read the scene of a variable.

    Parameters
    ----------
    source : Source
        Has the variable and its coordinates, see `names_of`. Packed numbers are unpacked.
    key : str
        Key of the variable. Dimensions of size 1 do not count.
    n_line : int
        Maximum number of stretches of a line. Each keeps its minimum and maximum.
    n_x, n_y : int
        Maximum number of values of a map along each dimension, at equal distances.
    chosen : mapping, optional
        Positions along removed dimensions. The title names them if there is no coordinate.
    file : str
        Name of the file in the title.

    Returns
    -------
    Line or Map

    Raises
    ------
    UnsupportedError
        If the variable cannot be drawn; the message names the reason.
    """
    check_faults(source.faults, [key])
    entry = source.meta[key]
    name = unescape(key)
    size = entry.get(".size")
    if size is None or 0 in size:
        raise UnsupportedError("it has no values to draw", variable=name)
    if is_text(entry):
        raise UnsupportedError("text cannot be drawn, only numbers", variable=name)
    names = dims(key, entry, len(size))
    drawn = [i for i in range(len(size)) if size[i] != 1]
    if drawn:
        check_grid(source, key, names, dict(zip(names, size, strict=True)))
    if len(drawn) > 2:
        told = ", ".join(f"{names[i]}: {size[i]}" for i in drawn)
        pairs = " ".join(f"{names[i]}: 0" for i in drawn[:-2])
        raise UnsupportedError(
            f"found {len(drawn)} dimensions ({told}), expected at most 2: select positions, as in sel: {{ {pairs} }}",
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
    return scene._replace(where=where, units=units_text(entry), file=file)


def _line(source: Source, key: str, dim: str, n: int, n_line: int) -> Line:
    entry = source.meta[key]
    name = unescape(key)
    step = -(-n // n_line) if n > 2 * n_line else 1
    if step == 1:
        values = floats(source.read(key)).reshape(n)
    else:
        values = envelope((floats(block).reshape(-1) for block in source.blocks(key)), n, step)
    _check_any(values, name)
    picked = range(0, n, step)
    x = position_axis(dim, picked) if dim == name else axis_along(source, key, dim, picked, is_line=True)
    behind = gaps(x.values) if x.kind == "time" else np.zeros(0, np.intp)
    if step > 1:
        x = x._replace(values=np.repeat(x.values, 2))
        behind = 2 * behind + 1
    y = value_axis(name, entry, values)
    across, upward = broken_line(x.values, y.values, behind)
    return Line(_title(name, entry), x._replace(values=across), y._replace(values=upward))


def _map(source: Source, key: str, drawn: tuple[int, int], n_x: int, n_y: int) -> Map:
    entry = source.meta[key]
    name, size = unescape(key), entry[".size"]
    names = dims(key, entry, len(size))
    row, column = drawn
    picked = {row: range(0, size[row], -(-size[row] // n_y)), column: range(0, size[column], -(-size[column] // n_x))}
    values = floats(source.read(key, tuple(picked.get(i, 0) for i in range(len(size)))))
    _check_any(values, name)
    label, title = axis_label(name, entry), _title(name, entry)
    y, x = (axis_along(source, key, names[i], picked[i]) for i in drawn)
    if not (x.kind and y.kind):
        pair = picked[row], picked[column]
        grid = grid_of(source, key, [names[row], names[column]], pair)
        if grid is not None:
            y, x = (position_axis(names[i], picked[i]) for i in drawn)
            return Map(title, x, y, label, values, grid=grid)
    if ACROSS.index(y.kind) < ACROSS.index(x.kind):
        x, y, values = y, x, values.T
    return Map(title, x, y, label, values)


def _check_any(values: NDArray[np.float64], name: str) -> None:
    if np.isnan(values).all():
        raise UnsupportedError("all of its values are missing", variable=name)


def _title(name: str, entry: Mapping[str, Any]) -> str:
    """Return the long name or the name of a variable."""
    for text in (entry.get("long_name"), str(entry.get("standard_name", "")).replace("_", " ")):
        if isinstance(text, str) and text.strip():
            return text.strip()
    return name


def _where(
    source: Source, key: str, drawn: list[str], chosen: Mapping[str, int], ones: frozenset[str]
) -> Iterator[str]:
    """Yield the coordinates, or else the positions, at which a variable is drawn."""
    told = set()
    for other, about in source.meta.items():
        if other in (META, key) or is_text(about) or other in source.faults:
            continue
        sizes, names = about.get(".size"), about.get(".dims") or []
        if sizes == [] or (sizes == [1] and set(names) <= ones):
            [value] = floats(source.read(other)).reshape(-1)
            axis = value_axis(unescape(other), about, np.array([value]))
            if not np.isnan(value):
                told |= {unescape(other), *names}
                yield _place(unescape(other), about, axis)
    for dim, position in chosen.items():
        if dim not in told and dim not in drawn and dim not in ones:
            yield f"{dim}[{position}]"


def _place(name: str, entry: Mapping[str, Any], axis: Axis) -> str:
    text = f"{name} = {axis_text(axis, axis.values[0])}"
    told = "" if axis.kind == "time" else units_text(entry)
    return f"{text} {told}" if told not in ("", "1") else text
