"""Attributes of a time variable → what its numbers mean."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..errors import UnsupportedError
from .calendars import CALENDARS, REFUSED, check_begin, count
from .timestamps import Date, parse_reference

JD_UNITS = "days since -4713-11-24 12:00 UTC"
"""Units of a Julian date."""
JD_CALENDAR = "proleptic_gregorian"
"""Calendar of the date in `JD_UNITS`."""

SECOND = 1_000_000_000
"""Nanoseconds, in which the length of units is counted."""
DAY = 86_400 * SECOND

_UNITS = {
    name: length
    for names, length in (
        ("ns nsec nsecs nanosec nanosecs nanosecond nanoseconds", 1),
        ("us \u00b5s \u03bcs usec usecs microsec microsecs microsecond microseconds", 1_000),
        ("ms msec msecs millisec millisecs millisecond milliseconds", 1_000_000),
        ("s sec secs second seconds", SECOND),
        ("min mins minute minutes", 60 * SECOND),
        ("h hr hrs hour hours", 3_600 * SECOND),
        ("d day days", DAY),
        ("week weeks", 7 * DAY),
        ("fortnight fortnights", 14 * DAY),
        ("common_year common_years", 365 * DAY),
        ("leap_year leap_years", 366 * DAY),
        ("julian_year julian_years", 36_525 * DAY // 100),
        ("gregorian_year gregorian_years", 3_652_425 * DAY // 10_000),
    )
    for name in names.split()
}
_MONTHS = {"month": 30 * DAY, "months": 30 * DAY}
"""Units that have a fixed length in the calendar 360_day only."""

# for text with single blanks, so that it cannot take long
_SINCE = (
    r"(?:(?P<times>[0-9]{1,9}(?:\.[0-9]{0,9})?(?:e[+-]?[0-9])?) ?)?(?P<unit>[^ \d@]\S*?)"
    r"(?: (?P<word>since|after|from|ref)(?![a-z])| ?@) ?(?P<date>.*)"
)


class Axis(NamedTuple):
    """What the numbers of a time variable mean."""

    unit: int
    """Nanoseconds."""
    calendar: str
    """One of the values of `CALENDARS`."""
    day: int
    """Of the reference date, as `calendars.count` counts."""
    second: float
    """Of the reference date; see `Date`."""


def claims_time(attrs: Mapping[str, Any]) -> bool:
    """Return whether attributes of a variable say that it is a time, perhaps one that cannot be decoded.

    Parameters
    ----------
    attrs : mapping

    Examples
    --------
    >>> claims_time({"units": "months since 2000-01-01"}), claims_time({"units": "m"})
    (True, False)
    """
    units = attrs.get("units")
    parts = _parts(units) if isinstance(units, str) else None
    # behind the other words, also what is no time may stand: "K from 273.15"
    return parts is not None and (str(parts["word"]).lower() == "since" or is_time(attrs))


def is_time(attrs: Mapping[str, Any]) -> bool:
    """Return whether attributes of a variable say that it is a time, in units and a calendar that can be decoded.

    Parameters
    ----------
    attrs : mapping
        With `units`, and perhaps `calendar`.

    Examples
    --------
    >>> is_time({"units": "days since 2000-01-01"}), is_time({"units": "months since 2000-01-01"})
    (True, False)
    """
    try:
        decode(attrs.get("units"), attrs.get("calendar"))
    except UnsupportedError:
        return False
    return True


def calendar_of_its_own(attrs: Mapping[str, Any]) -> str | None:
    """Return the calendar of a time if it has dates that exist in no other one: `360_day` or `366_day`.

    Parameters
    ----------
    attrs : mapping
        With `units`, and perhaps `calendar`, that can be decoded.

    Returns
    -------
    str or None
        None for any other calendar.

    Examples
    --------
    >>> calendar_of_its_own({"units": "days since 2000-01-01", "calendar": "all_leap"})
    '366_day'
    """
    calendar = decode(attrs.get("units"), attrs.get("calendar")).calendar
    return calendar if calendar in ("360_day", "366_day") else None


def decode(units: object, calendar: object) -> Axis:
    """Return what units and calendar mean.

    Parameters
    ----------
    units, calendar : object
        As attributes have them; a calendar of None is `standard`.

    Raises
    ------
    UnsupportedError
        If they are no text, or cannot be decoded.
    """
    if not isinstance(units, str):
        raise UnsupportedError(f"found units {units!r}, expected text")
    if not isinstance(calendar, str | None):
        raise UnsupportedError(f"found a calendar {calendar!r}, expected text")
    return _decode(units, calendar)


@functools.lru_cache(256)
def _decode(units: str, calendar: str | None) -> Axis:
    label = "standard" if calendar is None else calendar.strip().lower()
    if label not in CALENDARS:
        reason = REFUSED.get(label, f"expected one of {', '.join(sorted(CALENDARS))}")
        raise UnsupportedError(f'found the calendar "{calendar}": {reason}')
    name = CALENDARS[label]
    parts = _parts(units)
    if parts is None:
        raise UnsupportedError(f'found the units "{units}", expected a unit, "since" and a date')
    try:
        unit = _unit(parts["unit"], parts["times"], name)
        date = parse_reference(parts["date"])
        day = _reference_day(date, name)
        check_begin(day, name)
    except UnsupportedError as error:
        raise UnsupportedError(f'found the units "{units}": {error.message}') from None
    return Axis(unit, name, day, date.second)


def _parts(units: str) -> re.Match[str] | None:
    return re.fullmatch(_SINCE, " ".join(units.split()), re.IGNORECASE)


def _unit(name: str, times: str | None, calendar: str) -> int:
    """Return the length of a unit, perhaps one behind a number."""
    length = _UNITS.get(name.lower()) or (_MONTHS.get(name.lower()) if calendar == "360_day" else None)
    if length is None:
        raise UnsupportedError(f'"{name}" is no fixed time in the calendar "{calendar}"')
    if times is None:
        return length
    mantissa, _, exponent = times.lower().partition("e")
    whole, _, decimals = mantissa.partition(".")
    shift = int(exponent or 0) - len(decimals)
    scale: int = 10 ** abs(shift)
    number = int(whole + decimals) * length
    unit, rest = (number * scale, 0) if shift > 0 else divmod(number, scale)
    if not unit or rest:
        raise UnsupportedError(f'"{times} {name}" is no whole number of nanoseconds')
    return unit


def _reference_day(date: Date, calendar: str) -> int:
    """Count the day of a reference date, by the years and the reform that its calendar has."""
    year, month, day, _ = date
    if calendar not in ("standard", "julian"):
        return int(count(year, month, day, calendar))
    if calendar == "standard" and date == Date(-4712, 1, 1, 43_200):
        return 0  # where Julian dates begin, if there is a year 0: who writes this means Julian dates
    if year == 0:
        raise UnsupportedError(f'there is no year 0 in the calendar "{calendar}"')
    if calendar == "standard" and (1582, 10, 5) <= date[:3] < (1582, 10, 15):
        raise UnsupportedError('the day after 1582-10-04 is 1582-10-15 in the calendar "standard"')
    reformed = calendar == "standard" and date[:3] >= (1582, 10, 15)
    return int(count(year + (year < 0), month, day, calendar if reformed else "julian"))
