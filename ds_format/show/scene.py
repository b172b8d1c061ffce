"""What is drawn of one variable: a line or a map, with axes of numbers or dates.

Dates of the real world are those of NumPy. Of calendars of models (360_day, noleap, all_leap) they are days, counted in
that calendar: 30 February is a place on such an axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import timeaxis
from ..errors import UnsupportedError
from ..timeaxis import calendars
from ..timeaxis.axes import presence, split
from ..timeaxis.units import decode

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


UNIX_EPOCH = 2_440_588
"""Julian day number of 1970-01-01."""
FIRST_DATE, LAST_DATE = np.datetime64("0001-01-02", "ms"), np.datetime64("9999-12-30", "ms")
"""What can be written with four digits of a year."""
SECONDS = 86_400
"""Of a day."""

STEPS_OF_YEARS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000)
STEPS_OF_MONTHS = (1, 2, 3, 6)
STEPS_OF_DAYS = (1, 2, 5, 10)
STEPS_OF_HOURS = (1, 2, 3, 6, 12)


def time_axis(label: str, values: NDArray[np.float64], attributes: Mapping[str, Any]) -> Axis | None:
    """Return times as an axis; None if they are none, or cannot be decoded.

    Parameters
    ----------
    label : str
    values : (n,) float64
        In the units of the variable; NaN where missing.
    attributes : mapping
        With `units` and perhaps `calendar`.
    """
    if not timeaxis.claims_time(attributes):
        return None
    try:
        scale = decode(attributes.get("units"), attributes.get("calendar"))
        present, missing, _ = presence(values)
        days, seconds = split(present, scale)
    except UnsupportedError:
        return None
    if calendars.is_of_models(scale.calendar):
        return Axis(label, np.where(missing, np.nan, days + seconds / SECONDS), "time", calendar=scale.calendar)
    since = (days - UNIX_EPOCH) * DAY + np.round(seconds * 1000).astype(np.int64)
    dates = since.astype("M8[ms]")
    dates[missing] = np.datetime64("NaT", "ms")
    some = dates[~missing]
    if some.size and (some.min() < FIRST_DATE or some.max() > LAST_DATE):
        return None
    return Axis(label, dates, "time")


def axis_text(axis: Axis, value: Any) -> str:
    """Return a number or date of an axis as text, dates as exact as the others on it ask for."""
    if axis.calendar:
        present = axis.values[~np.isnan(axis.values)]
        return date_text(float(value), axis.calendar, has_time=bool((present % 1 != 0).any()))
    if not isinstance(value, np.datetime64):
        return f"{value:.6g}"
    whole = (axis.values[~np.isnat(axis.values)].astype(np.int64) % DAY == 0).all()
    return str(np.datetime_as_string(value, unit="D" if whole else "m")).replace("T", " ")


def date_text(day: float, calendar: str, *, has_time: bool) -> str:
    """Return the date, and perhaps the time of day, of a day in a calendar of models."""
    minutes = round(day * 1440)
    year, month, of_month = (int(part[0]) for part in calendars.civil(np.array([minutes // 1440]), calendar))
    date = f"{calendars.year_text(year)}-{month:02}-{of_month:02}"
    return f"{date} {minutes // 60 % 24:02}:{minutes % 60:02}" if has_time else date


def date_ticks(low: float, high: float, calendar: str, most: int = 7) -> tuple[list[float], list[str]]:
    """Return where ticks between two days of a calendar of models are, and what they say.

    They are first days of years or of months, days or hours: so many as there is room for.

    Parameters
    ----------
    low, high : float
        Days, as `timeaxis.calendars.count` counts.
    calendar : str
    most : int
        Ticks.

    Examples
    --------
    >>> date_ticks(720_000, 720_720, "360_day", 3)
    ([720000.0, 720360.0, 720720.0], ['2000', '2001', '2002'])
    """
    found: list[tuple[float, str]] = []
    for places in _possible_ticks(low, high, calendar, most):
        found = [(day, text) for day, text in places if low <= day <= high]
        if 2 <= len(found) <= most:
            break
    return [day for day, _ in found], [text for _, text in found]


def _possible_ticks(low: float, high: float, calendar: str, most: int) -> Iterator[list[tuple[float, str]]]:
    """Yield ticks, from the finest on; steps with far too many of them are left out."""
    first, last = (int(calendars.civil(np.array([int(np.floor(day))]), calendar)[0][0]) for day in (low, high))
    room = 4 * most
    if high - low < room:
        for hours in STEPS_OF_HOURS:
            start = int(np.floor(low))
            days = [start + i * hours / 24 for i in range(int((high - start) * 24 / hours) + 1)]
            yield [(day, date_text(day, calendar, has_time=True)) for day in days]
    if high - low < 10 * room:
        for step in STEPS_OF_DAYS:
            months = _firsts(first, last, range(1, 13), calendar)
            starts = {day + i for day, _ in months for i in range(0, 31 if step == 1 else 28, step)}
            yield [(day, date_text(day, calendar, has_time=False)) for day in sorted(starts)]
    if last - first < room:
        for step in STEPS_OF_MONTHS:
            yield _firsts(first, last, range(1, 13, step), calendar)
    for step in STEPS_OF_YEARS:
        if (last - first) // step <= room:
            years = range(-(-first // step) * step, last + 1, step)
            yield [(float(calendars.count(year, 1, 1, calendar)), calendars.year_text(year)) for year in years]


def _firsts(first: int, last: int, months: range, calendar: str) -> list[tuple[float, str]]:
    return [
        (float(calendars.count(year, month, 1, calendar)), f"{calendars.year_text(year)}-{month:02}")
        for year in range(first, last + 1)
        for month in months
    ]
