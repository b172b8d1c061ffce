"""Calendars: convert between a count of days and year, month and day.

Years are astronomical: there is a year 0.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UnsupportedError

CALENDARS = {
    **{name: name for name in ("standard", "proleptic_gregorian", "julian", "tai", "360_day", "365_day", "366_day")},
    "gregorian": "standard",
    "noleap": "365_day",
    "all_leap": "366_day",
}
"""Name of a calendar in the CF conventions → its main name."""
REFUSED = {"none": "it has no dates", "utc": "its leap seconds are not known here"}
"""Unsupported calendars of the CF conventions → the reason."""

_COMMON_YEAR = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_LENGTHS = {
    "360_day": np.full(12, 30),
    "365_day": np.array(_COMMON_YEAR),
    "366_day": np.array([max(length, 29) for length in _COMMON_YEAR]),
}
"""Days of each month, in calendars where all years are the same."""
_STARTS = {name: np.array([0, *itertools.accumulate(lengths)]) for name, lengths in _LENGTHS.items()}
"""Days of the year before each month; the last item is the length of the year."""

_UNIX_EPOCH = 2_440_588
"""Julian day number of 1970-01-01, from which NumPy counts."""
_TAI_EPOCH = 2_436_205
"""Julian day number of 1958-01-01."""


def is_of_models(calendar: str) -> bool:
    """Return whether a calendar has a count of its own. All others count Julian day numbers."""
    return calendar in _LENGTHS


def count(year: Any, month: Any, day: Any, calendar: str) -> Any:
    """Return the number of the day of a date.

    Parameters
    ----------
    year, month, day : int or ndarray of int64
        A date in `calendar` if this is a calendar of models or `julian`, otherwise in the proleptic Gregorian calendar.
    calendar : str
        One of the values of `CALENDARS`.

    Returns
    -------
    int or ndarray of int64
        The Julian day number, or days since 0000-01-01 in a calendar of models.

    Raises
    ------
    UnsupportedError
        If the date does not exist.
    """
    if is_of_models(calendar):
        in_year = np.clip(month, 1, 12) - 1
        first, length = year * _STARTS[calendar][-1] + _STARTS[calendar][in_year], _LENGTHS[calendar][in_year]
    else:
        first = _first_of_month(year, month, calendar)
        length = _first_of_month(year, month + 1, calendar) - first
    wrong = np.atleast_1d((month < 1) | (month > 12) | (day < 1) | (day > length))
    if wrong.any():
        y, m, d = (int(np.atleast_1d(field)[wrong][0]) for field in (year, month, day))
        raise UnsupportedError(f'the date {year_text(y)}-{m:02}-{d:02} does not exist in the calendar "{calendar}"')
    return first + day - 1


def _first_of_month(year: Any, month: Any, calendar: str) -> Any:
    """Return the Julian day number of the first day of a month. The month can be 13."""
    before_march = (14 - month) // 12
    years = year + 4800 - before_march  # they begin in March, so that the day of a leap year is the last one
    days = (153 * (month + 12 * before_march - 3) + 2) // 5 + 365 * years + years // 4
    return days - 32082 if calendar == "julian" else days - years // 100 + years // 400 - 32044


def civil(days: NDArray[np.int64], calendar: str) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return year, month and day of counted days.

    Parameters
    ----------
    days : ndarray of int64
        As `count` returns them.
    calendar : str
        If it is not a calendar of models, the dates are in the proleptic Gregorian calendar.

    Returns
    -------
    tuple of 3 ndarrays of int64
        Years, months and days in the shape of `days`.
    """
    if is_of_models(calendar):
        starts = _STARTS[calendar]
        years, of_year = np.divmod(days, starts[-1])
        months = np.searchsorted(starts, of_year, side="right")
        return years, months, of_year - starts[months - 1] + 1
    dates = (days - _UNIX_EPOCH).astype("M8[D]")
    first = dates.astype("M8[M]")
    years, months = np.divmod(first.astype(np.int64), 12)
    return years + 1970, months + 1, (dates - first).astype(np.int64) + 1


def between(days: NDArray[np.int64], source: str, target: str) -> NDArray[np.int64]:
    """Convert days of one calendar to the days of the same dates in another.

    Raises
    ------
    UnsupportedError
        If a date does not exist in the other calendar.
    """
    if source == target or not (is_of_models(source) or is_of_models(target)):
        moved = days
    else:
        counted = "proleptic_gregorian" if target == "julian" else target
        moved = np.asarray(count(*civil(days, source), counted))
    check_begin(days, source)
    check_begin(moved, target)
    return moved


def check_begin(days: Any, calendar: str) -> None:
    """Raise UnsupportedError if a day is before the first one of its calendar, which only TAI has: 1958-01-01."""
    if calendar == "tai" and np.less(days, _TAI_EPOCH).any():
        raise UnsupportedError('the calendar "tai" begins in 1958')


def year_text(year: int) -> str:
    """Return a year in ISO 8601. Years before 0 and after 9999 have a sign and six digits."""
    return f"{year:04}" if 0 <= year <= 9999 else f"{year:+07}"
