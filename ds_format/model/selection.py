"""A part of a dataset, by position or by value → one index for each dimension."""

from __future__ import annotations

import contextlib
import datetime
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import timeaxis
from ..base import modes
from ..base.dtypes import COMPOUND
from ..base.text import escape, unescape
from ..datasets import META, attrs, dims
from ..errors import UnsupportedError
from .conventions import SAMPLE_DIMENSION, kind_by_name, kind_of
from .index import count, normalize_one
from .packing import is_packed, unpack

Selector = Mapping[str, Any] | None
Warn = Callable[[str], None]
"""Warns about a value, or raises in strict mode."""


class Selection(NamedTuple):
    """A part of any dataset.

    If several selectors apply to the same dimension, the positions that all of them select are taken.
    """

    variables: str | Iterable[str] | None = None
    """Names of variables; None: all."""
    sel: Selector = None
    """Dimension name → int (which removes the dimension), slice, or list or (n,) array of int or bool."""
    range_: Selector = None
    """Dimension name → (first, end): positions from `first` up to `end` (exclusive).

    Negative positions count from the end. None means no limit. An end larger than the size is the size.
    """
    at: Selector = None
    """Name of a 1-d variable → value, or list of values: the position of the nearest value for each of them.

    If several values are equally near, the first one is taken. A single value removes the dimension. For numeric
    variables, text is a time in ISO 8601. Packed numbers are unpacked for the comparison. Longitudes are cyclic. A
    latitude and a longitude along the same dimension select the nearest point on the sphere; two lists are pairs of
    these. If a value is outside of the range of the variable, and further from its nearest value than the largest gap
    between two values, this is a warning, and an error in strict mode.
    """
    between: Selector = None
    """Name of a 1-d variable → (low, high): positions where low ≤ value < high. None means no limit.

    Longitudes are cyclic if both limits are given: the range goes from low eastwards to high. If high - low is at least
    360°, all longitudes are selected.
    """
    jd: bool = False
    """Whether variables of time become Julian dates."""

    @property
    def has_positions(self) -> bool:
        """Whether it selects a part of any dimension."""
        return bool(self.sel or self.range_ or self.at or self.between)

    @property
    def is_everything(self) -> bool:
        """Whether it selects the whole file, as it is."""
        return self.variables is None and not self.jd and not self.has_positions

    def selectors(self) -> dict[str, Any]:
        """Return the selectors that are not empty, by the names of the parameters of `ds_format.read`."""
        given = {"sel": self.sel, "range_": self.range_, "at": self.at, "between": self.between}
        return {name: selector for name, selector in given.items() if selector}


ALL = Selection()


def resolve(
    selection: Selection,
    meta: Mapping[str, Mapping[str, Any]],
    values: Callable[[str], Any],
    path: str | None = None,
) -> dict[str, Any]:
    """Return one index for each dimension to which a selector applies.

    If several selectors apply to the same dimension, the dimension is kept.

    Parameters
    ----------
    selection : Selection
    meta : dict
        Key → metadata with `.size`, and `.dims` unless they are generated.
    values : callable
        Key → the data of the variable.
    path : str, optional
        The file, for messages.

    Returns
    -------
    dict
        Dimension name → an index for `index.normalize`.

    Raises
    ------
    IndexError
        If a position is out of bounds.
    UnsupportedError
        If the form of a selector is invalid, a variable does not have exactly one dimension, or it has no value to
        compare with. If `at` has several variables along one dimension, other than a latitude and a longitude. If the
        selection is empty along a dimension, in a command that writes; otherwise this is a warning.
    MissingError
        If a dimension or variable does not exist, in strict mode. Otherwise its selector is ignored.
    """
    sizes = dim_sizes(meta)
    selected: dict[str, list[Any]] = {}

    def select(dim: str, index: Any) -> None:
        if dim in sizes:
            selected.setdefault(dim, []).append(index)
        else:
            modes.missing(f'dimension "{dim}" not found', path=path, meant=(dim, sizes), selects=True)

    for dim, index in (selection.sel or {}).items():
        select(dim, index)
    for dim, limits in (selection.range_ or {}).items():
        select(dim, slice(*_limits(limits, dim)))
    for dim, targets in _by_dimension(selection.at, meta, path).items():
        with _about(next(iter(targets)), path):
            select(dim, _near(dim, targets, meta, values, path))
    for dim, ranges in _by_dimension(selection.between, meta, path).items():
        for name, limits in ranges.items():
            with _about(name, path):
                entry = meta[escape(name)]
                select(dim, within(_physical(values(escape(name)), entry), limits, attrs(entry)))
    indexes = {dim: _intersection(indexes, sizes[dim], dim) for dim, indexes in selected.items()}
    for key, entry in meta.items() if indexes else ():
        rows = entry.get(SAMPLE_DIMENSION)
        if not isinstance(rows, str) or rows not in sizes:
            continue
        instances = dims(key, entry, len(entry.get(".size") or ()))
        if len(instances) == 1 and instances[0] in indexes:
            index = _rows_of(values(key), indexes[instances[0]], sizes[rows], rows)
            if index is None:
                raise UnsupportedError(f'does not count the rows of "{rows}"', path=path, variable=unescape(key))
            indexes[rows] = _intersection([*selected.get(rows, []), index], sizes[rows], rows)
    for dim in selected:
        index = indexes[dim]
        if sizes[dim] and not np.isscalar(index) and not _count(index, sizes[dim], dim):
            message = f'the selection leaves nothing of dimension "{dim}", which has size {sizes[dim]}'
            modes.report_empty(dim, UnsupportedError(message, path=path))
    return indexes


@contextlib.contextmanager
def _about(name: str, path: str | None) -> Iterator[None]:
    """Add the variable to errors of a `with` block."""
    try:
        yield
    except UnsupportedError as error:
        raise error.at(path=path, variable=name)


def _count(index: Any, n: int, dim: str) -> int:
    """Return the number of positions that an index selects. For an invalid one, return 1: its use raises the error."""
    try:
        return count(normalize_one(index, n, dim))
    except IndexError:
        return 1


def _by_dimension(
    selector: Mapping[str, Any] | None, meta: Mapping[str, Mapping[str, Any]], path: str | None
) -> dict[str, dict[str, Any]]:
    """Return a selector by values, by dimension and name of the variable, without variables that do not exist."""
    out: dict[str, dict[str, Any]] = {}
    for name, value in (selector or {}).items():
        key = escape(name)
        if key not in meta or key == META:
            others = [unescape(other) for other in meta if other != META]
            modes.missing(f'variable "{name}" not found', path=path, meant=(name, others), selects=True)
            continue
        names = dims(key, meta[key], len(meta[key].get(".size") or ()))
        if len(names) != 1:
            raise UnsupportedError(f"found {len(names)} dimensions, expected one", variable=name)
        if meta[key].get(".type") == COMPOUND:
            raise UnsupportedError("its values have fields, expected numbers or text to compare with", variable=name)
        out.setdefault(names[0], {})[name] = value
    return out


def _near(
    dim: str,
    targets: Mapping[str, Any],
    meta: Mapping[str, Mapping[str, Any]],
    values: Callable[[str], Any],
    path: str | None,
) -> int | NDArray[np.int64]:
    """Return the positions along one dimension at which its variables are nearest to the targets."""
    entries = {name: meta[escape(name)] for name in targets}
    data = {name: _physical(values(escape(name)), entry) for name, entry in entries.items()}
    if len(targets) == 1:
        [(name, value)] = targets.items()

        def warn(message: str) -> None:
            modes.warn_or_raise(UnsupportedError(message, path=path, variable=name))

        return nearest(data[name], value, attrs(entries[name]), warn)
    kinds = {_place(name, entry): name for name, entry in entries.items()}
    if len(targets) != 2 or kinds.keys() != {"latitude", "longitude"}:
        raise UnsupportedError(
            f'found {" and ".join(map(repr, targets))}, which are all along dimension "{dim}"; expected one variable, '
            "or a latitude and a longitude, by their units, standard names, or the names `lat` and `lon`"
        )
    names = kinds["latitude"], kinds["longitude"]

    def warn_of_both(message: str) -> None:
        modes.warn_or_raise(UnsupportedError(f"variables {names[0]!r} and {names[1]!r}: {message}", path=path))

    return nearest_points([data[name] for name in names], [targets[name] for name in names], warn_of_both)


def _place(name: str, entry: Mapping[str, Any]) -> str:
    """Return `latitude` or `longitude`. The name decides if units and standard name allow both."""
    is_open = "standard_name" not in entry and entry.get("units", "degrees") in ("degrees", "degree", "deg")
    return kind_by_name(name) if is_open else kind_of(entry)


def _physical(data: Any, entry: Mapping[str, Any]) -> Any:
    """Return data, unpacked if they are packed."""
    return unpack(data, entry) if is_packed(entry, np.ma.getdata(data).dtype.name) else data


def dim_sizes(meta: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """Return name → size of all dimensions of variables that have data."""
    sizes: dict[str, int] = {}
    for key, entry in meta.items():
        size = entry.get(".size")
        if key != META and size:
            sizes.update(zip(dims(key, entry, len(size)), size, strict=True))
    return sizes


def _limits(limits: Any, name: str) -> tuple[Any, Any]:
    try:
        low, high = limits
    except (TypeError, ValueError):
        raise UnsupportedError(f"found {limits!r}, expected a pair of limits", variable=name) from None
    return low, high


def _rows_of(counts: Any, index: Any, n: int, dim: str) -> Any:
    """Return the index of the rows of some instances of a ragged array; None if these are more than all rows.

    Parameters
    ----------
    counts : (m,) array of int
        The number of rows of each instance.
    index : int, slice or array
        The instances.
    n : int
        Number of all rows.
    dim : str
        Their dimension.
    """
    counts = np.ma.filled(counts, -1)
    if counts.dtype.kind not in "iu" or (counts < 0).any() or counts.sum(dtype=object) > n:
        return None
    ends = np.cumsum(counts, dtype=np.int64)
    chosen = np.r_[normalize_one(index, len(counts), dim)].astype(np.int64)
    if len(chosen) == 1:
        return slice(int(ends[chosen[0]] - counts[chosen[0]]), int(ends[chosen[0]]))
    return np.concatenate([np.arange(ends[i] - counts[i], ends[i]) for i in chosen] or [np.empty(0, np.int64)])


def _intersection(indexes: Sequence[Any], n: int, dim: str) -> Any:
    if len(indexes) == 1:
        return indexes[0]
    positions = [np.unique(np.r_[normalize_one(index, n, f'"{dim}"')].astype(np.int64)) for index in indexes]
    return functools.reduce(np.intersect1d, positions)


def nearest(data: Any, value: Any, attributes: Mapping[str, Any], warn: Warn | None = None) -> int | NDArray[np.int64]:
    """Return the position of the value nearest to `value`, or the sorted positions nearest to each of several.

    Parameters
    ----------
    data : (n,) array or MaskedArray
    value : number, str, date, or list of these
        Text is a time as in ISO 8601, in the calendar of the data, and so is a date. If the data are text, it must
        equal one of them.
    attributes : dict
        Attributes of the variable. Times are converted by `units` and `calendar`.
    warn : callable, optional
        Called with a message about each value that is far from all data.
    """
    targets = [value] if np.ndim(value) == 0 else list(value)
    array = np.ma.asanyarray(data)
    positions = set()
    for target in targets:
        number = _in_units(target, array, attributes)
        positions.add(_nearest_one(array, number, target, _period(attributes)))
        if warn is not None and array.dtype.kind not in "OT":
            _check_distance(array, number, target, attributes, warn)
    return _positions(positions, targets)


def _positions(positions: set[int], targets: Sequence[Any]) -> int | NDArray[np.int64]:
    """Return sorted positions, or the only one for a single target."""
    array = np.array(sorted(positions), np.int64)
    return int(array[0]) if len(targets) == 1 else array


def _period(attributes: Mapping[str, Any]) -> float | None:
    """Return the period of longitudes in their units; None for other variables."""
    return (2 * math.pi if _is_radian(attributes) else 360.0) if kind_of(attributes) == "longitude" else None


def _is_radian(attributes: Mapping[str, Any]) -> bool:
    return str(attributes.get("units", "")).startswith("rad")


def _distances(array: Any, value: Any, period: float | None) -> Any:
    """Return the distance of each value in an array from `value`, masked where it is missing."""
    distance: Any = np.ma.masked_invalid(np.abs(array.astype(np.float64) - value))
    if period is not None:
        distance = distance % period
        distance = np.ma.minimum(distance, period - distance)
    return distance


def _check_distance(array: Any, value: Any, given: Any, attributes: Mapping[str, Any], warn: Warn) -> None:
    """Warn if a value is outside of the range of an array, and further away than the largest gap between its values.

    `given`: the value for the message, before conversion of units.
    """
    present = np.unique(np.ma.masked_invalid(array.astype(np.float64)).compressed())
    if present.size < 2 or present[0] <= value <= present[-1]:
        return
    gap, distances = np.diff(present).max(), _distances(present, value, _period(attributes))
    if distances.min() <= gap * (1 + 1e-9):
        return
    neighbour = present[distances.argmin()]
    units = f" {attributes['units']}" if "units" in attributes else ""
    text = f"{neighbour:g}{units}"
    if timeaxis.is_time(attributes):
        with contextlib.suppress(UnsupportedError):
            text = timeaxis.to_iso(neighbour, attributes["units"], attributes.get("calendar"))
            units = units.partition(" since ")[0]
    warn(f"no value is near {given}: the nearest is {text}, and the largest gap between values is {gap:g}{units}")


N_GAPS = 1000
"""Approximate maximum number of points whose distance to their nearest neighbour is computed."""


def nearest_points(data: Sequence[Any], targets: Sequence[Any], warn: Warn | None = None) -> int | NDArray[np.int64]:
    """Return the position of the point nearest to another one on the sphere, or the sorted positions for several.

    Parameters
    ----------
    data : pair of (n,) array or MaskedArray
        Latitudes and longitudes in degrees.
    targets : pair of number or list of numbers
        A latitude and a longitude, or two lists of the same length.
    warn : callable, optional
        See `nearest`.
    """
    pairs = [np.atleast_1d(np.asarray(value)) for value in targets]
    if any(values.dtype.kind not in "iuf" or values.ndim != 1 for values in pairs):
        raise UnsupportedError(f"found {targets[0]!r} and {targets[1]!r}, expected numbers")
    if pairs[0].size != pairs[1].size:
        raise UnsupportedError(
            f"found {pairs[0].size} latitudes and {pairs[1].size} longitudes, expected the same number of both"
        )
    arrays = [np.ma.masked_invalid(np.ma.asanyarray(values).astype(np.float64)) for values in data]
    is_missing = np.ma.getmaskarray(arrays[0]) | np.ma.getmaskarray(arrays[1])
    present = np.flatnonzero(~is_missing)
    if not present.size:
        raise UnsupportedError("no point has a latitude and a longitude")
    points = _on_sphere(*(values.data[present] for values in arrays))
    positions = set()
    for latitude, longitude in zip(*(values.astype(np.float64) for values in pairs), strict=True):
        distances = _chords(points, _on_sphere(latitude, longitude))
        i = int(distances.argmin())
        positions.add(int(present[i]))
        if warn is not None and not _has_gap(points, i, distances[i]):
            degrees = math.degrees(2 * math.asin(min(distances[i] / 2, 1.0)))
            warn(f"no point is near {latitude:g}, {longitude:g}: the nearest is {degrees:g} degrees away")
    return _positions(positions, pairs[0].tolist())


def _on_sphere(latitude: Any, longitude: Any) -> NDArray[np.float64]:
    """Return points on the unit sphere, with x, y and z along the last axis."""
    phi, theta = np.radians(latitude), np.radians(longitude)
    return np.stack([np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi)], axis=-1)


def _chords(points: NDArray[np.float64], point: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the chord lengths between points and one point. They have the same order as distances on the sphere."""
    distances: NDArray[np.float64] = np.sqrt(((points - point) ** 2).sum(axis=-1))
    return distances


def _has_gap(points: NDArray[np.float64], i: int, distance: float) -> bool:
    """Return whether any point has its nearest neighbour at `distance` or further, or no other point exists.

    Point `i` is checked first, because it usually decides. If there are many points, only some are checked.
    """
    n = len(points)
    for j in (i, *range(0, n, max(n // N_GAPS, 1))):
        others = _chords(points, points[j])
        others = others[others > 0]
        if not others.size and j == i:
            return True
        if others.size and others.min() >= distance * (1 - 1e-9):
            return True
    return False


def _nearest_one(array: Any, value: Any, given: Any, period: float | None) -> int:
    """Return the position of the value nearest to `value`; `given` is the same before conversion, for messages."""
    if array.dtype.kind in "OT":
        equal = np.flatnonzero(np.ma.filled(array == value, False))
        if not equal.size:
            raise UnsupportedError(f"no value equals {given!r}")
        return int(equal[0])
    distance = _distances(array, value, period)
    if not distance.count():
        raise UnsupportedError(f"found no present value to compare with {given!r}")
    return int(distance.argmin())


def within(data: Any, limits: Any, attributes: Mapping[str, Any]) -> NDArray[np.int64]:
    """Return the positions of values from a lower limit up to an upper limit (exclusive); see `nearest`."""
    low, high = _limits(limits, "between")
    array = np.ma.asanyarray(data)
    chosen = ~np.ma.getmaskarray(array)
    plain = np.ma.getdata(array)
    lower = None if low is None else _in_units(low, array, attributes)
    upper = None if high is None else _in_units(high, array, attributes, end=True)
    period = _period(attributes) if array.dtype.kind not in "OT" else None
    if period is None or lower is None or upper is None:
        chosen[chosen] = _inside(plain[chosen], lower, upper)
    elif upper - lower >= period:
        chosen[chosen] = ~np.isnan(plain[chosen])
    else:
        chosen[chosen] = _inside_band(plain[chosen], lower, upper, period)
    return np.flatnonzero(chosen).astype(np.int64)


def _inside(values: Any, lower: Any, upper: Any) -> Any:
    inside = np.ones(values.shape, np.bool_)
    if lower is not None:
        inside &= values >= lower
    if upper is not None:
        inside &= values < upper
    return inside


def _inside_band(values: Any, west: float, east: float, period: float) -> Any:
    """Return whether each longitude is between west and east (exclusive), modulo the period."""
    inside = np.zeros(values.shape, np.bool_)
    finite = values[np.isfinite(values)]
    if not finite.size:
        return inside
    if east < west:
        east += period * math.ceil((west - east) / period)
    first, last = math.floor((float(finite.min()) - east) / period), math.ceil((float(finite.max()) - west) / period)
    for turn in range(first, last + 1):
        inside |= _inside(values, west + turn * period, east + turn * period)
    return inside


def _in_units(value: Any, array: Any, attributes: Mapping[str, Any], *, end: bool = False) -> Any:
    """Return a value that can be compared with an array. A time is converted to the units of the array.

    A year or a month means its beginning, or its end if `end` is true.
    """
    text = isinstance(value, (str, datetime.date, np.datetime64))
    if array.dtype.kind in "OT":
        if not isinstance(value, (str, bytes)):
            raise UnsupportedError(f"found {value!r}, expected text, because the values are text")
        is_bytes = array.size and isinstance(np.ma.getdata(array).flat[0], bytes)
        return value.encode() if is_bytes and isinstance(value, str) else value
    if not text:
        if isinstance(value, bytes) or np.ndim(value) or not np.issubdtype(np.asarray(value).dtype, np.number):
            raise UnsupportedError(f"found {value!r}, expected a number")
        return value
    if not timeaxis.is_time(attributes):
        raise UnsupportedError(f"found {value!r}, but the variable has no units of time")
    calendar = attributes.get("calendar")
    date = timeaxis.whole_date(str(value), calendar, end=end and isinstance(value, str))
    try:
        return timeaxis.from_iso(date, attributes["units"], calendar)
    except ValueError as error:
        raise error if isinstance(error, UnsupportedError) else UnsupportedError(str(error)) from None
