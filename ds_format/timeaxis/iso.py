"""Values of a time axis ↔ text by ISO 8601."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UnsupportedError
from .axes import join, presence, shaped, split
from .calendars import check_begin, civil, count, is_of_models, year_text
from .timestamps import parse_iso
from .units import JD_CALENDAR, JD_UNITS, SECOND, Axis, decode

ROUNDING = 5e-10
"""Seconds that calculating the time of day may be wrong by."""


def to_iso(values: Any, units: str = JD_UNITS, calendar: str | None = JD_CALENDAR, *, fractions: bool = False) -> Any:
    """Return times as text by ISO 8601, rounded to seconds.

    Parameters
    ----------
    values : array_like of int or float, or masked array
        Julian dates, unless units are given.
    units : str
    calendar : str, optional
        None is `standard`. Dates in the text are those of 360_day, noleap or all_leap, if that is the calendar; else of
        the proleptic Gregorian calendar, as ISO 8601 wants.
    fractions : bool
        Write fractions of seconds, with 3, 6 or 9 digits in all texts. Rounding errors are not fractions.

    Returns
    -------
    ndarray of object (str), masked array of object, or str
        Of the same shape. Missing values stay masked; NaN becomes masked, because it is no time, and an empty text
        would look like data. Years before 0 and after 9999 have a sign and six digits.

    Raises
    ------
    UnsupportedError
        If units or calendar cannot be decoded, or a value is more than a million years away.

    Examples
    --------
    >>> to_iso(2451545.25)
    '2000-01-01T18:00:00'
    >>> to_iso([59], "days since 2000-01-01", "360_day")
    array(['2000-02-30T00:00:00'], dtype=object)
    >>> to_iso([0, 0.5], "seconds since 2000-01-01", fractions=True).tolist()
    ['2000-01-01T00:00:00.000', '2000-01-01T00:00:00.500']
    """
    axis = decode(units, calendar)
    present, nan, mask = presence(values)
    days, seconds = split(present, axis)
    digits = _digits(seconds, present, axis) if fractions else 0
    ticks = 10**digits
    count_of_ticks = np.floor(seconds * ticks + 0.5).astype(np.int64)
    carry, tick = np.divmod(count_of_ticks, 86_400 * ticks)
    second, fraction = np.divmod(tick, ticks)
    minute, hour = second // 60 % 60, second // 3600
    fields = (*civil(days + carry, axis.calendar), hour, minute, second % 60)
    texts = [
        f"{year_text(year)}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
        for year, month, day, hour, minute, second in zip(*(field.ravel().tolist() for field in fields), strict=True)
    ]
    if digits:
        texts = [f"{text}.{part:0{digits}}" for text, part in zip(texts, fraction.ravel().tolist(), strict=True)]
    if nan.any():
        mask = nan if mask is None else nan | mask
    return shaped(np.array(texts, object).reshape(days.shape), mask, values)


def _digits(seconds: NDArray[np.float64], values: NDArray[Any], axis: Axis) -> int:
    """Return how many digits of the fractions of seconds are more than rounding errors of the values."""
    if values.dtype.kind == "f":
        errors = np.maximum(np.spacing(np.abs(values)).astype(np.float64) * axis.unit / SECOND, ROUNDING)
    else:
        errors = np.full(values.shape, ROUNDING)
    for digits in (0, 3, 6):
        scaled = seconds * 10**digits
        if (np.abs(scaled - np.rint(scaled)) <= errors * 10**digits).all():
            return digits
    return 6 if values.dtype.kind == "f" else 9


def from_iso(text: str, units: str = JD_UNITS, calendar: str | None = JD_CALENDAR) -> float:
    """Return the time that a text by ISO 8601 says.

    Parameters
    ----------
    text : str
        A date, or a date and a time behind `T` or a blank, which may lack seconds, or minutes and seconds. In UTC,
        unless it ends with an offset, as `+01:00`. Years may have a sign. The date is one of 360_day, noleap or
        all_leap, if that is the calendar; else of the proleptic Gregorian calendar.
    units : str
        Of the result; the default is a Julian date.
    calendar : str, optional
        None is `standard`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the text says no time, or one that does not exist.
    UnsupportedError
        If units or calendar cannot be decoded.

    Examples
    --------
    >>> from_iso("2000-01-01T18:00")
    2451545.25
    >>> from_iso("2000-02-30", "days since 2000-01-01", "360_day")
    59.0
    """
    axis = decode(units, calendar)
    try:
        date = parse_iso(text)
        day = count(*date[:3], axis.calendar if is_of_models(axis.calendar) else JD_CALENDAR)
        check_begin(day, axis.calendar)
    except UnsupportedError as error:
        raise ValueError(f'found the time "{text}": {error.message}') from None
    return float(join(np.array(day), np.array(date.second), axis))


_YEAR_OR_MONTH = re.compile(r"(\d{4}|[+-]\d{4,6})(?:-(\d{1,2}))?", re.ASCII)


def whole_date(text: str, *, end: bool = False) -> str:
    """Return the first day of a year or month, or with `end` the first day after it. Other text is returned as it is.

    Examples
    --------
    >>> whole_date("1900"), whole_date("1900-12", end=True), whole_date("1900-12-24")
    ('1900-01-01', '1901-01-01', '1900-12-24')
    """
    found = _YEAR_OR_MONTH.fullmatch(text.strip())
    if found is None:
        return text
    year, month = int(found[1]), int(found[2] or 1)
    if end and 1 <= month <= 12:
        years, month = divmod(month, 12) if found[2] else (1, 0)
        year, month = year + years, month + 1
    return f"{year_text(year)}-{month:02}-01"


def time_dt(time: Iterable[str]) -> list[datetime.datetime | None]:
    """Return texts as datetimes without a time zone.

    Parameters
    ----------
    time : iterable of str
        Of the form `2000-01-31T12:00:00Z`, `2000-01-31 12:00:00` or `2000-01-31 12:00:00.5`.

    Returns
    -------
    list of datetime.datetime or None
        None for a text of any other form.

    Examples
    --------
    >>> time_dt(["2000-01-31T12:00:00Z", "noon"])
    [datetime.datetime(2000, 1, 31, 12, 0), None]
    """
    return [_datetime(text) for text in time]


def _datetime(text: str) -> datetime.datetime | None:
    for form in ("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f"):
        try:
            return datetime.datetime.strptime(text, form)
        except (TypeError, ValueError):
            continue
    return None
