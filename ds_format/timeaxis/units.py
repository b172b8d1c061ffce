"""Decode the units and calendar of a time variable, and parse text with a date and a time of day.

Dates in units are read as cftime and UDUNITS do, which read more than they document. Where these differ:

- An offset from UTC is used in any form: `-6:00` with one digit, as in the CF conventions, and `6:00` without a sign,
  as in UDUNITS. cftime ignores both.
- A time of day is also used after a comma or several blanks, and without a colon. cftime ignores it.
- A sign directly after a date separates date and time if a colon follows (`2000-01-31-12:00`, as in cftime). After a
  blank it belongs to an offset (as in cftime).
- Text that is neither time nor offset nor a name of UTC is refused. cftime ignores it, including `EST` and `PM`.
- A date that does not exist is refused. UDUNITS uses the next one. A number that can be read as two dates (`2000153`)
  is refused, too.

Patterns are compiled on first use, since few programs use times.

Sources: CF conventions 1.12, section 4.4; cftime 1.6; the grammar of UDUNITS 2.2; ISO 8601.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ..errors import UnsupportedError
from .calendars import check_begin, count, main_name

_FLAGS = re.IGNORECASE | re.ASCII

# all for text with single blanks, so that none can take long
_OFFSET = r"(?!0[1-9]\d(?!\d))(?P<hours_ahead>\d\d?)(?P<minutes_ahead>:\d\d?|\d\d)?"
"""Without the sign. Three digits are one of hours and two of minutes, except after a 0."""
_ISO = (
    r"(?P<year>[+-]?\d{1,7})-(?P<month>\d\d?)-(?P<day>\d\d?)"
    r"(?:[T_ ](?P<hour>\d\d?)(?::(?P<minute>\d\d?)(?::(?P<second>\d\d?(?:[.,]\d*)?))?)?"
    rf"(?: ?(?P<sign>[+-]){_OFFSET})?)?"
    r" ?(?:Z|UTC|GMT)?"
)
_DATES = (
    r"(?P<year>[+-]?\d{1,7})-(?P<month>\d\d?)(?:-(?P<day>\d\d?)|(?!-))(?!\d)",
    r"(?P<year>\d{4})(?:(?P<month>\d\d)(?P<day>\d\d)?)?(?!\d)",
)
_COLONS = r"(?P<hour>\d\d?):(?P<minute>\d\d?)(?::(?P<second>\d\d?(?:[.,]\d*)?))?(?![\d:])"
_CLOCKS_BEHIND_DAYS = (
    r"(?: ?[T_,] ?| |[^ \d])" + _COLONS,
    r"(?: ?[T_,] ?| )(?P<hour>\d\d)(?P<minute>\d\d)(?P<second>\d\d(?:[.,]\d*)?)?(?![\d:])",
    r"(?: ?[T_,] ?| )(?P<hour>\d\d?)(?![\d:])",
)
_CLOCKS_BEHIND_MONTHS = (r"[T ]" + _COLONS,)
"""After months and years. Without a colon, the numbers could belong to the date."""
_ENDING = (
    rf"T?(?:(?: ?,? ?(?:UTC?|GMT)?)(?: ?(?P<sign>[+-]) ?|[ ,] ?){_OFFSET})?"
    r" ?,? ?[(\[]?(?:Z|Zulu|UTC?|GMT)?[)\]]? ?[.,;]?"
)


class Date(NamedTuple):
    """A date as written in the text."""

    year: int
    month: int
    day: int
    second: float
    """Seconds since midnight in UTC. With an offset, or in a leap second, this can be outside of the day."""


def parse_iso(text: str) -> Date:
    """Parse a date with a time of day in ISO 8601. The day is required, and single digits are allowed.

    Raises
    ------
    UnsupportedError
        If the text is not a date.
    """
    fields = _iso_fields(_with_single_blanks(text))
    if fields is None:
        raise _unclear()
    return _date(fields)


def parse_reference(text: str) -> Date:
    """Parse the date and time of day in units.

    Parameters
    ----------
    text : str
        Such as `2000-01-31 12:00:00`. Parts or punctuation can be missing, as in `2000-01` or `20000131T1200`. An
        offset can follow.

    Raises
    ------
    UnsupportedError
        If the text is not a date.
    """
    rest = _with_single_blanks(text)
    return _date(_iso_fields(rest) or _other_fields(rest))


def _with_single_blanks(text: str) -> str:
    return " ".join(text.split())


def _iso_fields(text: str) -> dict[str, str | None] | None:
    found = re.fullmatch(_ISO, text, _FLAGS)
    return None if found is None else found.groupdict()


def _other_fields(rest: str) -> dict[str, str | None]:
    """Return the fields of a date that is not in ISO 8601. Some can be missing."""
    date = _first(_DATES, rest)
    if date is None:
        raise _unclear()
    rest = rest[date.end() :]
    whole = date["day"] is not None
    clock = _first(_CLOCKS_BEHIND_DAYS if whole else _CLOCKS_BEHIND_MONTHS, rest)
    behind = "" if clock is None else clock[0]
    ending = re.fullmatch(_ENDING, rest[len(behind) :], _FLAGS)
    if ending is None:
        raise _unclear()
    if ending["hours_ahead"]:
        # in 12 30 there might be minutes, but 12 00 is noon
        is_offset = ending["sign"] or ":" in behind + ending[0] or not int(ending["hours_ahead"])
        if not is_offset or not (whole or behind):
            raise _unclear()
    return date.groupdict() | ({} if clock is None else clock.groupdict()) | ending.groupdict()


def _first(patterns: Iterable[str], text: str) -> re.Match[str] | None:
    return next((found for pattern in patterns if (found := re.match(pattern, text, _FLAGS))), None)


def _unclear() -> UnsupportedError:
    return UnsupportedError("expected a date, as 2000-01-31, or a date and a time, as 2000-01-31 12:00:00")


def _date(fields: Mapping[str, str | None]) -> Date:
    """Create a date from the texts of its fields. Only the year is required."""
    hour, minute, hours_ahead, minutes_ahead = (
        int((fields.get(name) or "0").lstrip(":")) for name in ("hour", "minute", "hours_ahead", "minutes_ahead")
    )
    second = float((fields.get("second") or "0").replace(",", "."))
    last = 61 if (hour, minute) == (23, 59) else 60
    if hour > 23 or minute > 59 or second >= last or hours_ahead > 23 or minutes_ahead > 59:
        raise UnsupportedError("there is no such time of day")
    ahead = (3600 * hours_ahead + 60 * minutes_ahead) * (-1 if fields.get("sign") == "-" else 1)
    year, month, day = (int(fields.get(name) or "1") for name in ("year", "month", "day"))
    return Date(year, month, day, 3600 * hour + 60 * minute + second - ahead)


JD_UNITS = "days since -4713-11-24 12:00 UTC"
"""Units of a Julian date."""
JD_CALENDAR = "proleptic_gregorian"
"""Calendar of the date in `JD_UNITS`."""
_JD_UNITS_OF = {"standard": "days since -4713-01-01 12:00", "julian": "days since -4713-01-01 12:00"}
"""Units of a Julian date by the date that other calendars have on that day."""

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


class TimeUnits(NamedTuple):
    """Decoded units and calendar of a time variable."""

    unit: int
    """Length of the unit in nanoseconds."""
    calendar: str
    """One of the values of `CALENDARS`."""
    day: int
    """Day of the reference date, as `calendars.count` counts."""
    second: float
    """Second of the reference date; see `Date`."""


def claims_time(attrs: Mapping[str, Any]) -> bool:
    """Return whether attributes describe a time, even if it cannot be decoded.

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
    # the other words are also used in units that are not times: "K from 273.15"
    return parts is not None and (str(parts["word"]).lower() == "since" or is_time(attrs))


def is_time(attrs: Mapping[str, Any]) -> bool:
    """Return whether attributes describe a time whose units and calendar can be decoded.

    Parameters
    ----------
    attrs : mapping
        Attributes with `units` and, optionally, `calendar`.

    Examples
    --------
    >>> from ds_format import timeaxis
    >>> timeaxis.is_time({"units": "days since 2000-01-01"})
    True
    >>> timeaxis.is_time({"units": "months since 2000-01-01"})
    False
    """
    try:
        decode(attrs.get("units"), attrs.get("calendar"))
    except UnsupportedError:
        return False
    return True


def calendar_of_its_own(attrs: Mapping[str, Any]) -> str | None:
    """Return the calendar of a time if some of its dates exist in no other calendar: `360_day` or `366_day`.

    Parameters
    ----------
    attrs : mapping
        Attributes with `units` and, optionally, `calendar`, that can be decoded.

    Returns
    -------
    str or None
        None for any other calendar.

    Examples
    --------
    >>> calendar_of_its_own({"units": "days since 2000-01-01", "calendar": "all_leap"})
    '366_day'
    """
    calendar = calendar_of(attrs)
    return calendar if calendar in ("360_day", "366_day") else None


def dated_julian(units: object, calendar: object) -> dict[str, str]:
    """Return attributes of Julian dates as which text is a date of the calendar of other units.

    Parameters
    ----------
    units, calendar : object
        Units and calendar that can be decoded.

    Examples
    --------
    >>> dated_julian("hours since 2000-01-01", "julian")
    {'units': 'days since -4713-01-01 12:00', 'calendar': 'julian'}
    >>> dated_julian("hours since 2000-01-01", "noleap")
    {'units': 'days since -4713-11-24 12:00 UTC', 'calendar': 'proleptic_gregorian'}
    """
    name = decode(units, calendar).calendar
    if name in _JD_UNITS_OF:
        return {"units": _JD_UNITS_OF[name], "calendar": name}
    return {"units": JD_UNITS, "calendar": JD_CALENDAR}


def calendar_of(attrs: Mapping[str, Any]) -> str:
    """Return the calendar of a time by its first name in the CF conventions.

    Examples
    --------
    >>> calendar_of({"units": "days since 2000-01-01", "calendar": "gregorian"})
    'standard'
    """
    return decode(attrs.get("units"), attrs.get("calendar")).calendar


def decode(units: object, calendar: object) -> TimeUnits:
    """Decode units and calendar.

    Parameters
    ----------
    units, calendar : object
        Values of the attributes. A calendar of None is `standard`.

    Raises
    ------
    UnsupportedError
        If they are not text, or cannot be decoded.
    """
    if not isinstance(units, str):
        raise UnsupportedError(f"found units {units!r}, expected text")
    if not isinstance(calendar, str | None):
        raise UnsupportedError(f"found a calendar {calendar!r}, expected text")
    return _decode(units, calendar)


def unit_length(name: object) -> int:
    """Return the length of a unit in nanoseconds.

    Raises
    ------
    UnsupportedError
        If it is not text, or no time of fixed length.
    """
    length = _UNITS.get(name.strip().lower()) if isinstance(name, str) else None
    if length is None:
        raise UnsupportedError(f"found units {name!r}, expected those of a duration, such as seconds")
    return length


@functools.lru_cache(256)
def _decode(units: str, calendar: str | None) -> TimeUnits:
    name = main_name(calendar)
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
    return TimeUnits(unit, name, day, date.second)


def _parts(units: str) -> re.Match[str] | None:
    return re.fullmatch(_SINCE, " ".join(units.split()), re.IGNORECASE)


def _unit(name: str, times: str | None, calendar: str) -> int:
    """Return the length of a unit, multiplied by the number before it."""
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
    """Return the day number of a reference date."""
    if calendar == "standard" and date == Date(-4712, 1, 1, 43_200):
        return 0  # the origin of Julian dates with a year 0: these units are meant as Julian dates
    return int(count(*date[:3], calendar))
