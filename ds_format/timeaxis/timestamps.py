"""Text of a date and a time of day → its numbers.

What stands in units is read as cftime and UDUNITS do, who read more than they document. Where these differ:

- An offset from UTC counts, however it is written: `-6:00` with one digit, as in the CF conventions, and `6:00` without
  a sign, as UDUNITS has it. cftime leaves both out.
- A clock counts, too, behind a comma or several blanks, and without a colon. cftime leaves it out.
- Directly behind a date, a sign stands between date and clock if a colon follows (`2000-01-31-12:00`, cftime); behind a
  blank it is that of an offset (cftime).
- Text that is neither clock nor offset nor a name of UTC is refused. cftime leaves it out, also `EST` and `PM`.
- A date that does not exist is refused, where UDUNITS takes the next one; so is a number that can be read as two dates
  (`2000153`).

Patterns are compiled where they are first used: few programs have times.

Sources: CF conventions 1.12, section 4.4; cftime 1.6; the grammar of UDUNITS 2.2; ISO 8601.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..errors import UnsupportedError

_FLAGS = re.IGNORECASE | re.ASCII

# all for text with single blanks, so that none can take long
_OFFSET = r"(?!0[1-9]\d(?!\d))(?P<hours_ahead>\d\d?)(?P<minutes_ahead>:\d\d?|\d\d)?"
"""Without its sign. Three digits are one of hours and two of minutes, but not behind a 0."""
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
"""And behind years. Without a colon, the numbers may be those of the date."""
_ENDING = (
    rf"T?(?:(?: ?,? ?(?:UTC?|GMT)?)(?: ?(?P<sign>[+-]) ?|[ ,] ?){_OFFSET})?"
    r" ?,? ?[(\[]?(?:Z|Zulu|UTC?|GMT)?[)\]]? ?[.,;]?"
)


class Date(NamedTuple):
    """A date as it was written."""

    year: int
    month: int
    day: int
    second: float
    """Since midnight, in UTC; with an offset, or in a leap second, perhaps not within the day."""


def parse_iso(text: str) -> Date:
    """Return the date and time of day that a text by ISO 8601 says, with the day, perhaps in single digits.

    Raises
    ------
    UnsupportedError
        If it says none.
    """
    fields = _iso_fields(_with_single_blanks(text))
    if fields is None:
        raise _unclear()
    return _date(fields)


def parse_reference(text: str) -> Date:
    """Return the date and time of day that stand in units.

    Parameters
    ----------
    text : str
        As `2000-01-31 12:00:00`; with less of it, or without punctuation, as `2000-01` or `20000131T1200`; perhaps with
        an offset.

    Raises
    ------
    UnsupportedError
        If it says none.
    """
    rest = _with_single_blanks(text)
    return _date(_iso_fields(rest) or _other_fields(rest))


def _with_single_blanks(text: str) -> str:
    return " ".join(text.split())


def _iso_fields(text: str) -> dict[str, str | None] | None:
    found = re.fullmatch(_ISO, text, _FLAGS)
    return None if found is None else found.groupdict()


def _other_fields(rest: str) -> dict[str, str | None]:
    """Return the fields of a date that is not by ISO 8601, of which some may be missing."""
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
    """Make a date of the texts of its fields, of which all but the year may be missing."""
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
