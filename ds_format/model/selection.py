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
from ..base.text import escape, unescape
from ..dataset import META, attrs, dims
from ..errors import UnsupportedError
from .conventions import kind_of
from .index import count, normalize_one
from .packing import is_packed, unpack

Selector = Mapping[str, Any] | None
Say = Callable[[str], None]
"""Warns about a value, or raises in strict mode."""


class Selection(NamedTuple):
    """A part of any dataset.

    Where several selectors speak of one dimension, the positions that all of them select are taken.
    """

    variables: str | Iterable[str] | None = None
    """Names of variables; None: all."""
    sel: Selector = None
    """Dimension name → int (which removes the dimension), slice, or list or (n,) array of int or bool."""
    range_: Selector = None
    """Dimension name → (first, end): positions from `first` up to but without `end`.

    Negative ones count from the end, None is open, and an end beyond the size is the size.
    """
    at: Selector = None
    """Name of a 1-d variable → value, or list of values: the positions of the values nearest to these, the first of
    several.

    One value removes the dimension. Text for a variable of numbers is a time in ISO 8601. Packed numbers are compared
    as what they stand for. Longitudes are cyclic. Latitude and longitude along one dimension are the nearest point on
    the sphere; of two lists, one point for each pair. A value further from its nearest neighbour than the largest gap
    between neighbours is a warning, and an error in strict mode.
    """
    between: Selector = None
    """Name of a 1-d variable → (low, high): positions where low ≤ value < high; None is open.

    Longitudes are cyclic if both limits are given: from low eastwards to high, and everything if that is 360° or more.
    """
    jd: bool = False
    """Whether variables of time become Julian dates."""

    @property
    def has_positions(self) -> bool:
        """Whether it takes a part of a dimension."""
        return bool(self.sel or self.range_ or self.at or self.between)

    def selectors(self) -> dict[str, Selector]:
        """Return those that there are, by the names of the parameters of `ds_format.read`."""
        given = {"sel": self.sel, "range_": self.range_, "at": self.at, "between": self.between}
        return {name: selector for name, selector in given.items() if selector}


ALL = Selection()


def resolve(
    selection: Selection,
    meta: Mapping[str, Mapping[str, Any]],
    values: Callable[[str], Any],
    path: str | None = None,
) -> dict[str, Any]:
    """Return one index for each dimension that a selection takes a part of.

    Where several selectors speak of one dimension, the dimension is kept.

    Parameters
    ----------
    selection : Selection
        Its selectors.
    meta : dict
        Key → metadata with `.size`, and `.dims` unless they are generated.
    values : callable
        Key → the data of that variable.
    path : str, optional
        The file, for messages.

    Returns
    -------
    dict
        Dimension name → index, as `index.normalize` takes it.

    Raises
    ------
    IndexError
        If positions are out of bounds.
    UnsupportedError
        If a selector is none, or a variable has not one dimension or no value that could be near, or `at` has two
        variables along one dimension that are not latitude and longitude. If nothing is left of a dimension that has
        something: in a command that writes; otherwise a warning.
    MissingError
        For a dimension or variable that does not exist, in strict mode; else it is left out.
    """
    sizes = dim_sizes(meta)
    wanted: dict[str, list[Any]] = {}

    def want(dim: str, index: Any) -> None:
        if dim in sizes:
            wanted.setdefault(dim, []).append(index)
        else:
            modes.missing(f'dimension "{dim}" not found', path=path, meant=(dim, sizes), selects=True)

    for dim, index in (selection.sel or {}).items():
        want(dim, index)
    for dim, limits in (selection.range_ or {}).items():
        want(dim, slice(*_limits(limits, dim)))
    for dim, asked in _by_dimension(selection.at, meta, path).items():
        with _about(next(iter(asked)), path):
            want(dim, _near(dim, asked, meta, values, path))
    for dim, asked in _by_dimension(selection.between, meta, path).items():
        for name, limits in asked.items():
            with _about(name, path):
                entry = meta[escape(name)]
                want(dim, within(_physical(values(escape(name)), entry), limits, attrs(entry)))
    indexes = {dim: _intersection(indexes, sizes[dim], dim) for dim, indexes in wanted.items()}
    for dim, index in indexes.items():
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
    """Return how many positions an index selects; an invalid one is reported where it is used."""
    try:
        return count(normalize_one(index, n, dim))
    except IndexError:
        return 1


def _by_dimension(
    selector: Mapping[str, Any] | None, meta: Mapping[str, Mapping[str, Any]], path: str | None
) -> dict[str, dict[str, Any]]:
    """Return what is asked of each dimension, by the names of variables; those that do not exist are left out."""
    found: dict[str, dict[str, Any]] = {}
    for name, value in (selector or {}).items():
        key = escape(name)
        if key not in meta or key == META:
            known = [unescape(other) for other in meta if other != META]
            modes.missing(f'variable "{name}" not found', path=path, meant=(name, known), selects=True)
            continue
        names = dims(key, meta[key], len(meta[key].get(".size") or ()))
        if len(names) != 1:
            raise UnsupportedError(f"found {len(names)} dimensions, expected one to select by", variable=name)
        found.setdefault(names[0], {})[name] = value
    return found


def _near(
    dim: str,
    asked: Mapping[str, Any],
    meta: Mapping[str, Mapping[str, Any]],
    values: Callable[[str], Any],
    path: str | None,
) -> int | NDArray[np.int64]:
    """Return the positions along one dimension where its variables are nearest to the values that are asked for."""
    entries = {name: meta[escape(name)] for name in asked}
    data = {name: _physical(values(escape(name)), entry) for name, entry in entries.items()}
    if len(asked) == 1:
        [(name, value)] = asked.items()

        def say(message: str) -> None:
            modes.warn_or_raise(UnsupportedError(message, path=path, variable=name))

        return nearest(data[name], value, attrs(entries[name]), say)
    kinds = {kind_of(entry): name for name, entry in entries.items()}
    if len(asked) != 2 or kinds.keys() != {"latitude", "longitude"}:
        raise UnsupportedError(
            f'found {" and ".join(map(repr, asked))}, which are all along dimension "{dim}"; expected one variable, '
            "or a latitude and a longitude with units or standard names"
        )
    names = kinds["latitude"], kinds["longitude"]

    def tell(message: str) -> None:
        modes.warn_or_raise(UnsupportedError(f"variables {names[0]!r} and {names[1]!r}: {message}", path=path))

    return nearest_points([data[name] for name in names], [asked[name] for name in names], tell)


def _physical(data: Any, entry: Mapping[str, Any]) -> Any:
    """Return what data stand for, if they are packed."""
    return unpack(data, entry) if is_packed(entry, np.ma.getdata(data).dtype.name) else data


def dim_sizes(meta: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """Return the size of each dimension of variables with data, by its name."""
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


def _intersection(indexes: Sequence[Any], n: int, dim: str) -> Any:
    if len(indexes) == 1:
        return indexes[0]
    positions = [np.unique(np.r_[normalize_one(index, n, f'"{dim}"')].astype(np.int64)) for index in indexes]
    return functools.reduce(np.intersect1d, positions)


def nearest(data: Any, value: Any, attributes: Mapping[str, Any], say: Say | None = None) -> int | NDArray[np.int64]:
    """Return the position of the value nearest to `value`, or the sorted positions nearest to each of several.

    Parameters
    ----------
    data : (n,) array or MaskedArray
    value : number, str, date, or list of these
        Text stands for a time in ISO 8601, unless the data are text, which it must equal.
    attributes : dict
        Of the variable: `units` and `calendar` tell how times are counted.
    say : callable, optional
        Called with a message about each value that is far from all others.
    """
    asked = [value] if np.ndim(value) == 0 else list(value)
    array = np.ma.asanyarray(data)
    found = set()
    for one in asked:
        number = _in_units(one, array, attributes)
        found.add(_nearest_one(array, number, one, _period(attributes)))
        if say is not None and array.dtype.kind not in "OT":
            _check_distance(array, number, one, attributes, say)
    return _positions(found, asked)


def _positions(found: set[int], asked: Sequence[Any]) -> int | NDArray[np.int64]:
    positions = np.array(sorted(found), np.int64)
    return int(positions[0]) if len(asked) == 1 else positions


def _period(attributes: Mapping[str, Any]) -> float | None:
    """Return the period of longitudes in their units; None of other variables."""
    return (2 * math.pi if _is_radian(attributes) else 360.0) if kind_of(attributes) == "longitude" else None


def _is_radian(attributes: Mapping[str, Any]) -> bool:
    return str(attributes.get("units", "")).startswith("rad")


def _distances(array: Any, value: Any, period: float | None) -> Any:
    """Return the distance of each value from one; masked where a value is missing."""
    distance: Any = np.ma.masked_invalid(np.abs(array.astype(np.float64) - value))
    if period is not None:
        distance = distance % period
        distance = np.ma.minimum(distance, period - distance)
    return distance


def _check_distance(array: Any, value: Any, told: Any, attributes: Mapping[str, Any], say: Say) -> None:
    """Say that a value is further from all others than the largest gap between neighbours."""
    known = np.unique(np.ma.masked_invalid(array.astype(np.float64)).compressed())
    if known.size < 2 or known[0] <= value <= known[-1]:
        return
    gap, distances = np.diff(known).max(), _distances(known, value, _period(attributes))
    if distances.min() <= gap * (1 + 1e-9):
        return
    neighbour = known[distances.argmin()]
    units = f" {attributes['units']}" if "units" in attributes else ""
    found = f"{neighbour:g}{units}"
    if timeaxis.is_time(attributes):
        with contextlib.suppress(UnsupportedError):
            found = timeaxis.to_iso(neighbour, attributes["units"], attributes.get("calendar"))
            units = units.partition(" since ")[0]
    say(f"no value is near {told}: the nearest is {found}, and the largest gap between values is {gap:g}{units}")


N_GAPS = 1000
"""For how many points at most it is found out how far their nearest neighbour is."""


def nearest_points(data: Sequence[Any], asked: Sequence[Any], say: Say | None = None) -> int | NDArray[np.int64]:
    """Return the position of the point nearest to another one on the sphere, or the sorted positions for several.

    Parameters
    ----------
    data : pair of (n,) array or MaskedArray
        Latitudes and longitudes in degrees.
    asked : pair of number or list of numbers
        A latitude and a longitude, or as many of each.
    say : callable, optional
        As `nearest`.
    """
    pairs = [np.atleast_1d(np.asarray(value)) for value in asked]
    if any(values.dtype.kind not in "iuf" or values.ndim != 1 for values in pairs):
        raise UnsupportedError(f"found {asked[0]!r} and {asked[1]!r}, expected numbers")
    if pairs[0].size != pairs[1].size:
        raise UnsupportedError(
            f"found {pairs[0].size} latitudes and {pairs[1].size} longitudes, expected as many of each, for pairs"
        )
    arrays = [np.ma.masked_invalid(np.ma.asanyarray(values).astype(np.float64)) for values in data]
    is_missing = np.ma.getmaskarray(arrays[0]) | np.ma.getmaskarray(arrays[1])
    present = np.flatnonzero(~is_missing)
    if not present.size:
        raise UnsupportedError("no point has a latitude and a longitude")
    points = _on_sphere(*(values.data[present] for values in arrays))
    found = set()
    for latitude, longitude in zip(*(values.astype(np.float64) for values in pairs), strict=True):
        distances = _chords(points, _on_sphere(latitude, longitude))
        i = int(distances.argmin())
        found.add(int(present[i]))
        if say is not None and not _has_gap(points, i, distances[i]):
            degrees = math.degrees(2 * math.asin(min(distances[i] / 2, 1.0)))
            say(f"no point is near {latitude:g}, {longitude:g}: the nearest is {degrees:g} degrees away")
    return _positions(found, pairs[0].tolist())


def _on_sphere(latitude: Any, longitude: Any) -> NDArray[np.float64]:
    """Return points on the unit sphere, with x, y and z along the last axis."""
    phi, theta = np.radians(latitude), np.radians(longitude)
    return np.stack([np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi)], axis=-1)


def _chords(points: NDArray[np.float64], point: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the straight distances of points from one, which grow as those on the sphere."""
    distances: NDArray[np.float64] = np.sqrt(((points - point) ** 2).sum(axis=-1))
    return distances


def _has_gap(points: NDArray[np.float64], i: int, distance: float) -> bool:
    """Whether some point, above all point `i`, is at least so far from its nearest neighbour, or there is one point."""
    n = len(points)
    for j in (i, *range(0, n, max(n // N_GAPS, 1))):
        others = _chords(points, points[j])
        others = others[others > 0]
        if not others.size and j == i:
            return True
        if others.size and others.min() >= distance * (1 - 1e-9):
            return True
    return False


def _nearest_one(array: Any, value: Any, told: Any, period: float | None) -> int:
    if array.dtype.kind in "OT":
        equal = np.flatnonzero(np.ma.filled(array == value, False))
        if not equal.size:
            raise UnsupportedError(f"no value equals {told!r}")
        return int(equal[0])
    distance = _distances(array, value, period)
    if not distance.count():
        raise UnsupportedError(f"no value to be near to {told!r}")
    return int(distance.argmin())


def within(data: Any, limits: Any, attributes: Mapping[str, Any]) -> NDArray[np.int64]:
    """Return the positions of values from a lower limit up to but without an upper one; see `nearest`."""
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
    """Return which longitudes lie from one eastwards to another, on whatever turn around the globe."""
    inside = np.zeros(values.shape, np.bool_)
    known = values[np.isfinite(values)]
    if not known.size:
        return inside
    if east < west:
        east += period * math.ceil((west - east) / period)
    first, last = math.floor((float(known.min()) - east) / period), math.ceil((float(known.max()) - west) / period)
    for turn in range(first, last + 1):
        inside |= _inside(values, west + turn * period, east + turn * period)
    return inside


def _in_units(value: Any, array: Any, attributes: Mapping[str, Any], *, end: bool = False) -> Any:
    """Return a value to compare an array with: a time in the units of the array.

    Text that is a year or a month is the beginning of it, or with `end` its end.
    """
    text = isinstance(value, (str, datetime.date, np.datetime64))
    if array.dtype.kind in "OT":
        if not isinstance(value, (str, bytes)):
            raise UnsupportedError(f"found {value!r}, expected text as the values are")
        return value
    if not text:
        if isinstance(value, bytes) or np.ndim(value) or not np.issubdtype(np.asarray(value).dtype, np.number):
            raise UnsupportedError(f"found {value!r}, expected a number")
        return value
    if not timeaxis.is_time(attributes):
        raise UnsupportedError(f"found {value!r}, but the variable has no units of time")
    date = timeaxis.whole_date(str(value), end=end and isinstance(value, str))
    try:
        return timeaxis.from_iso(date, attributes["units"], attributes.get("calendar"))
    except ValueError as error:
        raise error if isinstance(error, UnsupportedError) else UnsupportedError(str(error)) from None
