"""An open file → the axes of a variable, or its grid of longitudes and latitudes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import timeaxis
from ..base.dtypes import TYPES
from ..base.names import escape, unescape
from ..dataset import META, dims
from ..drivers.base import Entries, Source
from ..errors import UnsupportedError
from ..model.conventions import COORDINATES, kind_of, named
from . import times
from .scene import Axis, Grid

PRESSURE = {"Pa", "hPa", "kPa", "mb", "mbar", "millibar", "millibars", "bar", "dbar", "decibar"}
"""Units of coordinates that grow downwards even if these do not say so (CF conventions 1.11, section 4.3)."""
MANY_CELLS = 1000
"""Along one dimension with a longitude and a latitude of its own: then these are cells, and no stations."""


def names_of(key: str, meta: Entries) -> list[str]:
    """Return the keys of the variables that may tell where the values of one are.

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


def axis(name: str, entry: Mapping[str, Any], values: NDArray[np.float64]) -> Axis:
    """Return numbers of a variable as an axis: as dates, if that is what they are."""
    dated = times.axis(name, values, entry)
    return dated or Axis(label(name, entry), values, kind_of(entry), entry.get("positive") == "down")


def label(name: str, entry: Mapping[str, Any]) -> str:
    """Return a name and its units."""
    told = units(entry)
    return f"{name} ({told})" if told else name


def units(entry: Mapping[str, Any]) -> str:
    """Return the units of a variable; nothing of one that has none."""
    found = entry.get("units")
    return found.strip() if isinstance(found, str) else ""


def floats(data: Any) -> NDArray[np.float64]:
    """Return numbers as floats, with NaN for what cannot be drawn."""
    values = np.ma.filled(np.ma.MaskedArray(data, dtype=np.float64), np.nan)
    return np.where(np.isfinite(values), values, np.nan)


def is_text(entry: Mapping[str, Any]) -> bool:
    """Return whether the values of a variable are strings."""
    return entry.get(".type") in TYPES and TYPES[entry[".type"]].is_string


def along(source: Source, key: str, dim: str, picked: range, *, is_line: bool = False) -> Axis:
    """Return the axis of one dimension of a variable: values of the variable that is named like it, or else positions.

    Parameters
    ----------
    source : Source
    key : str
        Of the variable.
    dim : str
    picked : range
        Positions along the dimension.
    is_line : bool
        Whether values need not grow or fall all along, as those of a map have to.
    """
    for other in _candidates(source.meta, key, dim, is_line):
        entry = source.meta[other]
        values = floats(source.read(other, (picked,)))
        if kind_of(entry) == "longitude" and not is_line:
            values = _unwrapped(values)
        steps = np.diff(values)
        if not np.isnan(values).any() and (is_line or (steps > 0).all() or (steps < 0).all()):
            found = axis(unescape(other), entry, values)
            is_pressure = units(entry) in PRESSURE and "positive" not in entry
            return found._replace(downward=found.downward or is_pressure)
    return positions(dim, picked)


def positions(dim: str, picked: range) -> Axis:
    """Return positions along a dimension as an axis."""
    return Axis(dim, np.array(picked, np.float64))


def grid(source: Source, key: str, names: Sequence[str], picked: tuple[range, range]) -> Grid | None:
    """Return the longitudes and latitudes of a variable that has them along both of its dimensions, else None."""
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
    labels = [label(unescape(found[kind]), source.meta[found[kind]]) for kind in ("longitude", "latitude")]
    return Grid(east, north, (labels[0], labels[1]))


def check_grid(source: Source, key: str, names: Iterable[str], sizes: Mapping[str, int]) -> None:
    """Refuse a variable whose cells lie on no grid: longitude and latitude are along one and the same dimension.

    Stations and what a ship passes are along one dimension, too; these are few, or have a time along it, or the dataset
    has the attribute `featureType`.
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
    """Yield the variables that may tell where positions along a dimension are, the best first."""
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
    """Return longitudes that grow or fall across the date line, or across Greenwich, as they go on."""
    if np.isnan(longitudes).any() or longitudes.size < 2:
        return longitudes
    steps = np.diff(longitudes)
    if (steps > 0).all() or (steps < 0).all():
        return longitudes
    going_on: NDArray[np.float64] = np.unwrap(longitudes, period=360)
    return going_on
