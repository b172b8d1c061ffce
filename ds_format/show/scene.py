"""The scene of one variable: a line or a map, with axes of numbers or dates.

Dates are those of the file's calendar. Where they are dates of ISO 8601, too, they are NumPy dates, otherwise days
counted in that calendar, so that such an axis can have a 30 February.
"""

from __future__ import annotations

import itertools
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
    """`latitude`, `longitude`, `time` or empty."""
    downward: bool = False
    """Whether it increases downwards, as depth does."""
    calendar: str = ""
    """A calendar that NumPy does not have. Values are then days from `timeaxis.calendars.count`."""


class Grid(NamedTuple):
    """Positions of the cell centres of a curvilinear map."""

    longitude: NDArray[np.float64]
    """(m, n), the shape of the map; NaN where missing. So is `latitude`."""
    latitude: NDArray[np.float64]
    labels: tuple[str, str]
    """Label of both."""


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
    """Label of the values."""
    values: NDArray[np.float64]
    """(len(y), len(x)); NaN where missing."""
    where: str = ""
    """Which part of a variable of more dimensions."""
    units: str = ""
    file: str = ""
    grid: Grid | None = None
    """If it is not None, `x` and `y` are positions."""


class Look(NamedTuple):
    """Choices for a drawing."""

    low: float | None = None
    """Lower limit of the colours, or of the axis of a line; None: from the values."""
    high: float | None = None
    colormap: str | None = None
    """Name in matplotlib; None: chosen by the values."""
    coastlines: bool | None = None
    """None: if outlines are installed."""


def is_geographic(scene: Line | Map) -> bool:
    """Return whether a scene is a map of longitude and latitude."""
    if isinstance(scene, Line):
        return False
    return scene.grid is not None or (scene.x.kind == "longitude" and scene.y.kind == "latitude")


def heading(scene: Line | Map) -> str:
    """Return the title and the selection on one line."""
    return f"{scene.title}, {scene.where}" if scene.where else scene.title


FIRST_DAY, LAST_DAY = 1_721_427, 5_373_483
"""Julian day numbers of 0001-01-02 and 9999-12-30. Their years have four digits in all real calendars."""
SECONDS = 86_400
"""Fractions of a day."""

STEPS_OF_YEARS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000)
STEPS_OF_MONTHS = (1, 2, 3, 6)
STEPS_OF_DAYS = (1, 2, 5, 10)
STEPS_OF_HOURS = (1, 2, 3, 6, 12)


def time_axis(label: str, values: NDArray[np.float64], attributes: Mapping[str, Any]) -> Axis | None:
    """Return times as an axis; None if the values are not times, or cannot be decoded.

    Parameters
    ----------
    label : str
    values : (n,) float64
        Times in the units of the variable; NaN where missing.
    attributes : mapping
        Attributes `units` and, optionally, `calendar`.
    """
    if not timeaxis.claims_time(attributes):
        return None
    try:
        scale = decode(attributes.get("units"), attributes.get("calendar"))
        present, missing, _ = presence(values)
        days, seconds = split(present, scale)
    except UnsupportedError:
        return None
    some = days[~missing]
    is_of_models = calendars.is_of_models(scale.calendar)
    if some.size and not is_of_models and (some.min() < FIRST_DAY or some.max() > LAST_DAY):
        return None
    if not calendars.is_of_iso(scale.calendar, some):
        return Axis(label, np.where(missing, np.nan, days + seconds / SECONDS), "time", calendar=scale.calendar)
    since = (days - calendars.UNIX_EPOCH) * DAY + np.round(seconds * 1000).astype(np.int64)
    dates = since.astype("M8[ms]")
    dates[missing] = np.datetime64("NaT", "ms")
    return Axis(label, dates, "time")


def axis_text(axis: Axis, value: Any) -> str:
    """Return a number or date of an axis as text. The precision of a date depends on the other dates."""
    if axis.calendar:
        present = axis.values[~np.isnan(axis.values)]
        return date_text(float(value), axis.calendar, has_time=bool((present % 1 != 0).any()))
    if not isinstance(value, np.datetime64):
        return f"{value:.6g}"
    whole = (axis.values[~np.isnat(axis.values)].astype(np.int64) % DAY == 0).all()
    return str(np.datetime_as_string(value, unit="D" if whole else "m")).replace("T", " ")


def date_text(day: float, calendar: str, *, has_time: bool) -> str:
    """Return the date, and the time of day if `has_time`, of a day counted in a calendar."""
    minutes = round(day * 1440)
    year, month, of_month = (int(part[0]) for part in calendars.civil(np.array([minutes // 1440]), calendar))
    date = f"{calendars.year_text(year)}-{month:02}-{of_month:02}"
    return f"{date} {minutes // 60 % 24:02}:{minutes % 60:02}" if has_time else date


def date_ticks(low: float, high: float, calendar: str, most: int = 7) -> tuple[list[float], list[str]]:
    """Return positions and labels of ticks between two days counted in a calendar.

    Ticks are first days of years or of months, days or hours, at most `most` of them.

    Parameters
    ----------
    low, high : float
        Days from `timeaxis.calendars.count`.
    calendar : str
    most : int
        Maximum number of ticks.

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
    """Yield ticks, the finest first. Steps with far too many ticks are skipped."""
    first, last = (int(calendars.civil(np.array([int(np.floor(day))]), calendar)[0][0]) for day in (low, high))
    room = 4 * most
    if high - low < room:
        for hours in STEPS_OF_HOURS:
            start = int(np.floor(low))
            days = [start + i * hours / 24 for i in range(int((high - start) * 24 / hours) + 1)]
            yield [(day, date_text(day, calendar, has_time=True)) for day in days]
    if high - low < 10 * room:
        for step in STEPS_OF_DAYS:
            months = [day for day, _ in _firsts(first, last, range(1, 13), calendar)]
            # October 1582 has 21 days
            lengths = [min(31 if step == 1 else 28, end - day) for day, end in itertools.pairwise(months)] + [31]
            starts = {day + i for day, length in zip(months, lengths, strict=True) for i in range(0, int(length), step)}
            yield [(day, date_text(day, calendar, has_time=False)) for day in sorted(starts)]
    if last - first < room:
        for step in STEPS_OF_MONTHS:
            yield _firsts(first, last, range(1, 13, step), calendar)
    for step in STEPS_OF_YEARS:
        if (last - first) // step <= room:
            years = _years(-(-first // step) * step, last, calendar, step)
            yield [(float(calendars.count(year, 1, 1, calendar)), calendars.year_text(year)) for year in years]


def _firsts(first: int, last: int, months: range, calendar: str) -> list[tuple[float, str]]:
    return [
        (float(calendars.count(year, month, 1, calendar)), f"{calendars.year_text(year)}-{month:02}")
        for year in _years(first, last, calendar)
        for month in months
    ]


def _years(first: int, last: int, calendar: str, step: int = 1) -> list[int]:
    return [year for year in range(first, last + 1, step) if year or calendars.has_year_0(calendar)]
