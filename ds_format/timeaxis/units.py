"""Attributes of a time variable → what its numbers mean."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..errors import UnsupportedError
from .calendars import CALENDARS, REFUSED, check_begin, count

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
        ("ns nanosec nanosecs nanosecond nanoseconds", 1),
        ("us microsec microsecs microsecond microseconds", 1_000),
        ("ms msec msecs millisec millisecs millisecond milliseconds", 1_000_000),
        ("s sec secs second seconds", SECOND),
        ("min mins minute minutes", 60 * SECOND),
        ("h hr hrs hour hours", 3_600 * SECOND),
        ("d day days", DAY),
        ("week weeks", 7 * DAY),
    )
    for name in names.split()
}
_UNITS_OF_CALENDAR = {
    "360_day": {"month": 30 * DAY, "months": 30 * DAY},
    "365_day": {"common_year": 365 * DAY, "common_years": 365 * DAY},
}
"""Units that have a fixed length in one calendar only."""

_SINCE = re.compile(r"\s*(\S+)\s+since\s+(.*)", re.IGNORECASE | re.DOTALL)
_DATE = re.compile(
    r"\s*(?P<year>[+-]?\d{1,7})-(?P<month>\d\d?)-(?P<day>\d\d?)"
    r"(?:(?:[T_]|\s+)(?P<hour>\d\d?)(?::(?P<minute>\d\d?)(?::(?P<second>\d\d?(?:[.,]\d*)?))?)?"
    r"(?:\s*(?P<sign>[+-])(?P<hours_ahead>\d\d?)(?::?(?P<minutes_ahead>\d\d))?)?)?"
    r"\s*(?:Z|UTC|GMT)?\s*",
    re.IGNORECASE | re.ASCII,
)


class Date(NamedTuple):
    """A date as it was written."""

    year: int
    month: int
    day: int
    second: float
    """Since midnight, in UTC; with an offset, perhaps not within the day."""


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
    return isinstance(units, str) and _SINCE.fullmatch(units) is not None


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
    parts = _SINCE.fullmatch(units)
    if parts is None:
        raise UnsupportedError(f'found the units "{units}", expected a unit, "since" and a date')
    unit = _UNITS.get(parts[1].lower()) or _UNITS_OF_CALENDAR.get(name, {}).get(parts[1].lower())
    if unit is None:
        raise UnsupportedError(f'found the units "{units}": "{parts[1]}" is no fixed time in the calendar "{label}"')
    try:
        date = parse_date(parts[2])
        day = _reference_day(date, name)
        check_begin(day, name)
    except UnsupportedError as error:
        raise UnsupportedError(f'found the units "{units}": {error.message}') from None
    return Axis(unit, name, day, date.second)


def parse_date(text: str) -> Date:
    """Return the date and time of day that a text says.

    Raises
    ------
    UnsupportedError
        If it says none.
    """
    found = _DATE.fullmatch(text)
    if found is None:
        raise UnsupportedError("expected a date, as 2000-01-31, or a date and a time, as 2000-01-31 12:00:00")
    hour, minute, hours_ahead, minutes_ahead = (
        int(found[name] or 0) for name in ("hour", "minute", "hours_ahead", "minutes_ahead")
    )
    second = float((found["second"] or "0").replace(",", "."))
    if hour > 23 or minute > 59 or second >= 60 or hours_ahead > 23 or minutes_ahead > 59:
        raise UnsupportedError("there is no such time of day")
    ahead = (3600 * hours_ahead + 60 * minutes_ahead) * (-1 if found["sign"] == "-" else 1)
    return Date(int(found["year"]), int(found["month"]), int(found["day"]), 3600 * hour + 60 * minute + second - ahead)


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
