"""Calendars: convert between a count of days and year, month and day.

The calendars standard and julian have no year 0: the year before 1 is -1. All others have one.
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

UNIX_EPOCH = 2_440_588
"""Julian day number of 1970-01-01, from which NumPy counts."""
_TAI_EPOCH = 2_436_205
"""Julian day number of 1958-01-01."""

REFORM = 2_299_161
"""Julian day number of 1582-10-15. From this day on the calendar standard is the proleptic Gregorian one."""
_REFORM_DATE, _DROPPED = 15821015, 15821005
"""The same date as a number, and the first of ten dates that the calendar standard does not have."""


def main_name(calendar: str | None) -> str:
    """Return the main name of a calendar, one of the values of `CALENDARS`. None is `standard`.

    Raises
    ------
    UnsupportedError
        If it is unknown, or cannot be decoded.
    """
    label = "standard" if calendar is None else calendar.strip().lower()
    if label not in CALENDARS:
        reason = REFUSED.get(label, f"expected one of {', '.join(sorted(CALENDARS))}")
        raise UnsupportedError(f'found the calendar "{calendar}": {reason}')
    return CALENDARS[label]


def is_of_models(calendar: str) -> bool:
    """Return whether a calendar has a count of its own. All others count Julian day numbers."""
    return calendar in _LENGTHS


def has_year_0(calendar: str) -> bool:
    """Return whether a calendar has a year 0, as ISO 8601; cftime and the CF conventions agree."""
    return calendar not in ("standard", "julian")


def is_of_iso(calendar: str, days: Any) -> bool:
    """Return whether days have the same dates in a calendar as in ISO 8601, which is proleptic Gregorian."""
    if calendar == "standard":
        return bool(np.all(np.greater_equal(days, REFORM)))
    return calendar in ("proleptic_gregorian", "tai")


def count(year: Any, month: Any, day: Any, calendar: str) -> Any:
    """Return the number of the day of a date.

    Parameters
    ----------
    year, month, day : int or ndarray of int64
        A date in `calendar`.
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
        years = year
        if not has_year_0(calendar):
            if np.any(np.equal(year, 0)):
                raise UnsupportedError(f'there is no year 0 in the calendar "{calendar}"')
            years = year + np.less(year, 0)
        date = (years * 100 + month) * 100 + day
        if calendar == "standard" and np.any((date >= _DROPPED) & (date < _REFORM_DATE)):
            raise UnsupportedError('the day after 1582-10-04 is 1582-10-15 in the calendar "standard"')
        is_julian = calendar == "julian" or (calendar == "standard" and date < _REFORM_DATE)
        first = _first_of_month(years, month, is_julian)
        length = _first_of_month(years, month + 1, is_julian) - first
    wrong = np.atleast_1d((month < 1) | (month > 12) | (day < 1) | (day > length))
    if wrong.any():
        y, m, d = (int(np.atleast_1d(field)[wrong][0]) for field in (year, month, day))
        raise UnsupportedError(f'the date {year_text(y)}-{m:02}-{d:02} does not exist in the calendar "{calendar}"')
    return first + day - 1


def _first_of_month(year: Any, month: Any, is_julian: Any) -> Any:
    """Return the Julian day number of the first day of a month. There is a year 0, and the month can be 13."""
    before_march = (14 - month) // 12
    years = year + 4800 - before_march  # they begin in March, so that the day of a leap year is the last one
    days = (153 * (month + 12 * before_march - 3) + 2) // 5 + 365 * years + years // 4
    return days - np.where(is_julian, 32082, years // 100 - years // 400 + 32044)


def civil(days: NDArray[np.int64], calendar: str) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return year, month and day of counted days, the inverse of `count`.

    Parameters
    ----------
    days : ndarray of int64
        As `count` returns them.
    calendar : str
        One of the values of `CALENDARS`.

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
    if is_of_iso(calendar, days):
        return _gregorian(days)
    fields = _julian(days)
    if calendar == "standard":
        is_julian = days < REFORM
        years, months, of_months = (np.where(is_julian, *pair) for pair in zip(fields, _gregorian(days), strict=True))
    else:
        years, months, of_months = fields
    return years - (years <= 0), months, of_months


def _gregorian(days: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    dates = (days - UNIX_EPOCH).astype("M8[D]")
    first = dates.astype("M8[M]")
    years, months = np.divmod(first.astype(np.int64), 12)
    return years + 1970, months + 1, (dates - first).astype(np.int64) + 1


def _julian(days: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return dates of the Julian calendar with a year 0, by the inverse of the formula in `_first_of_month`."""
    years, of_four = np.divmod(4 * (days + 32082) + 3, 1461)
    of_year = of_four // 4
    months = (5 * of_year + 2) // 153
    of_months = of_year - (153 * months + 2) // 5 + 1
    return years - 4800 + months // 10, months + 3 - 12 * (months // 10), of_months


def between(days: NDArray[np.int64], source: str, target: str) -> NDArray[np.int64]:
    """Convert days of one calendar to the days of the same dates in another.

    Real calendars share their days. A date of a model is the same date of the proleptic Gregorian calendar, as in
    Julian dates.

    Raises
    ------
    UnsupportedError
        If a date does not exist in the other calendar.
    """
    if source == target or not (is_of_models(source) or is_of_models(target)):
        moved = days
    else:
        given, wanted = (name if is_of_models(name) else "proleptic_gregorian" for name in (source, target))
        moved = np.asarray(count(*civil(days, given), wanted))
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
