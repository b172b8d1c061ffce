"""CF units and calendars ↔ Julian date.

A time is a day of its calendar, counted in integers, and the seconds since midnight. Real calendars (standard,
proleptic Gregorian, Julian, TAI) share one count, the Julian day number. Calendars of models (360_day, noleap,
all_leap) have their own counts. Converting from or to these keeps year, month, day and time of day, as ds-format 5.0.2
does. A date that the other calendar does not have, such as 30 February, is an error. Text is a date of the calendar of
the values, as in cftime.

::

    axes        values of one axis → those of another, as Julian dates are; values ↔ text
    datetimes   datetime64 and timedelta64, and objects → integers with units
    units       attributes of a variable → TimeUnits; text of a date and a time of day → its numbers
    calendars   count of days ↔ year, month, day

Sources: CF conventions 1.12, section 4.4; cftime for the syntax of units.
"""

from __future__ import annotations

from .axes import convert, from_iso, from_julian, time_dt, to_iso, to_julian, whole_date
from .units import JD_CALENDAR, JD_UNITS, calendar_of, calendar_of_its_own, claims_time, dated_julian, is_time

__all__ = [
    "JD_CALENDAR",
    "JD_UNITS",
    "calendar_of",
    "calendar_of_its_own",
    "claims_time",
    "convert",
    "dated_julian",
    "from_iso",
    "from_julian",
    "is_time",
    "time_dt",
    "to_iso",
    "to_julian",
    "whole_date",
]
