"""Convert values between time axes, and between numbers and text in ISO 8601."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UnsupportedError
from .calendars import between, check_begin, civil, count, has_year_0, is_of_models, main_name, year_text
from .units import DAY, JD_CALENDAR, JD_UNITS, SECOND, TimeUnits, decode, parse_iso

FARTHEST = 365_250_000
"""Days from the reference date, a million years. A value farther away is taken for a fill value, and is not a date."""


def to_julian(values: Any, units: str, calendar: str | None = None) -> Any:
    """Convert times to Julian dates: days since noon of -4713-11-24 in the proleptic Gregorian calendar.

    Parameters
    ----------
    values : array_like of int or float, or masked array
    units : str
        Such as `hours since 2000-01-01 00:00:00`, in any form that cftime and UDUNITS read. Units range from
        nanoseconds to weeks, and can follow a number. `common_years` have 365 days. `months` are allowed only in the
        calendar 360_day. In the calendar `standard`, -4712-01-01 12:00 is the origin of Julian dates (ds-format 5.0.2).
    calendar : str, optional
        A calendar of the CF conventions. The default is `standard`.

    Returns
    -------
    ndarray of float64, masked array of float64, or float64
        Julian dates in the shape of `values`. Masks and NaN are kept. The resolution for present dates is
        40 microseconds.

    Raises
    ------
    UnsupportedError
        If units or calendar cannot be decoded, or a value is not a date of the proleptic Gregorian calendar.

    Examples
    --------
    >>> from ds_format import timeaxis
    >>> timeaxis.to_julian([0, 36], "hours since 2000-01-01")
    array([2451544.5, 2451546. ])
    """
    return convert(values, units, calendar, JD_UNITS, JD_CALENDAR)


def from_julian(jd: Any, units: str = JD_UNITS, calendar: str | None = JD_CALENDAR) -> Any:
    """Convert Julian dates to other units, the inverse of `to_julian`.

    Parameters
    ----------
    jd : array_like of float, or masked array
    units : str
    calendar : str, optional
        None is `standard`.

    Returns
    -------
    ndarray of float64, masked array of float64, or float64
        Times in the shape of `jd`. They are rounded to a whole second if they differ from it by less than the
        resolution of the Julian date.

    Raises
    ------
    UnsupportedError
        If units or calendar cannot be decoded, or a date does not exist in the calendar.

    Examples
    --------
    >>> from ds_format import timeaxis
    >>> timeaxis.from_julian([2451544.5, 2451546.0], "hours since 2000-01-01", "standard")
    array([ 0., 36.])
    """
    return convert(jd, JD_UNITS, JD_CALENDAR, units, calendar)


def convert(values: Any, units: str, calendar: str | None, to_units: str, to_calendar: str | None) -> Any:
    """Convert values from one time axis to another.

    Parameters
    ----------
    values : array_like of int or float, or masked array
    units, calendar : str
        Units and calendar of the values. A calendar of None is `standard`.
    to_units, to_calendar : str
        Units and calendar of the result. If both calendars are the same, dates need not exist in another calendar.

    Returns
    -------
    ndarray of float64, masked array of float64, or float64
        Times in the shape of `values`. Masks and NaN are kept.

    Raises
    ------
    UnsupportedError
        If units or calendars cannot be decoded, or a date does not exist in the other calendar.

    Examples
    --------
    >>> from ds_format import timeaxis
    >>> timeaxis.convert([0, 12], "hours since 2000-01-02", None, "days since 2000-01-01", None)
    array([1. , 1.5])
    """
    source, target = decode(units, calendar), decode(to_units, to_calendar)
    present, nan, mask = presence(values)
    if source == target:
        result = present.astype(np.float64)
    else:
        days, seconds = split(present, source)
        if source.calendar != target.calendar and (is_of_models(source.calendar) or is_of_models(target.calendar)):
            days, seconds = _to_midnight(days, seconds)
        result = join(between(days, source.calendar, target.calendar), seconds, target)
    return shaped(np.where(nan, np.nan, result), mask, values)


def presence(values: Any) -> tuple[NDArray[Any], NDArray[np.bool_], NDArray[np.bool_] | None]:
    """Return values with 0 instead of NaN and masked values, where NaN is, and the mask; of rank 1 or more.

    Raises
    ------
    UnsupportedError
        If they are not integers or floats.
    """
    data = np.atleast_1d(np.ma.getdata(values))
    if data.dtype.kind not in "iuf":
        raise UnsupportedError(f"found values of the type {data.dtype}, expected numbers")
    mask = np.atleast_1d(np.ma.getmaskarray(values)) if isinstance(values, np.ma.MaskedArray) else None
    nan = np.isnan(data)
    absent = nan if mask is None else nan | mask
    return np.where(absent, data.dtype.type(0), data), nan, mask


def shaped(result: NDArray[Any], mask: NDArray[np.bool_] | None, values: Any) -> Any:
    """Return a result in the shape of the original values, with their mask."""
    whole = result if mask is None else np.ma.MaskedArray(result, mask=mask.copy())
    return whole.reshape(np.shape(values))[()]


def split(values: NDArray[Any], axis: TimeUnits) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the days, as `calendars.count` counts, and the seconds since midnight of values that are not NaN.

    A float whose nearest representable neighbour is a whole second is rounded to this second. Otherwise the fraction of
    a day in Julian dates could be just before midnight, on the wrong day.

    Raises
    ------
    UnsupportedError
        If a value is more than a million years away.
    """
    wide = values.astype({"f": np.float64, "i": np.int64, "u": np.uint64}[values.dtype.kind])
    farthest = FARTHEST * DAY // axis.unit
    far = (wide > farthest) | (wide < -farthest)
    if far.any():
        raise UnsupportedError(f"found the time {values[far][0]}, which is more than a million years away")
    if DAY % axis.unit == 0:
        whole, rest = np.divmod(wide, DAY // axis.unit)
        seconds = rest * axis.unit / SECOND
    else:
        scaled = wide * (axis.unit / DAY)
        whole = np.floor(scaled)
        seconds = (scaled - whole) * (DAY // SECOND)
    seconds = seconds + axis.second
    if wide.dtype.kind == "f":
        nearest = np.rint(seconds)
        seconds = np.where(np.abs(seconds - nearest) <= np.spacing(np.abs(wide)) * axis.unit / SECOND, nearest, seconds)
    carry, seconds = np.divmod(seconds, DAY // SECOND)
    return whole.astype(np.int64) + axis.day + carry.astype(np.int64), seconds


MICROSECOND = 1e-6
"""Seconds, the resolution of dates in cftime."""


def _to_midnight(
    days: NDArray[np.int64], seconds: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return days and seconds of day, with less than a microsecond before midnight as the next day.

    cftime sees that date, too. The same date in another calendar may be a whole day away from that of the day before.
    """
    is_late = seconds > DAY // SECOND - MICROSECOND
    return days + is_late, np.where(is_late, 0, seconds)


def join(days: NDArray[np.int64], seconds: NDArray[np.float64], axis: TimeUnits) -> NDArray[np.float64]:
    """Convert days and seconds to values, the inverse of `split`."""
    whole = (days - axis.day).astype(np.float64)
    whole = whole * (DAY // axis.unit) if DAY % axis.unit == 0 else whole / (axis.unit / DAY)
    return whole + (seconds - axis.second) * SECOND / axis.unit


ROUNDING = 5e-10
"""Maximum rounding error of a calculated time of day, in seconds."""


def to_iso(values: Any, units: str = JD_UNITS, calendar: str | None = JD_CALENDAR, *, fractions: bool = False) -> Any:
    """Convert times to text in ISO 8601, rounded to seconds.

    Parameters
    ----------
    values : array_like of int or float, or masked array
        Times; Julian dates by default.
    units : str
    calendar : str, optional
        None is `standard`. Dates in the text are dates of this calendar. In `standard` those before 1582-10-15 are
        in the Julian calendar, without a year 0; ISO 8601 itself has only `proleptic_gregorian`.
    fractions : bool
        Write fractions of seconds, with 3, 6 or 9 digits in all texts. Rounding errors are not written.

    Returns
    -------
    ndarray of object (str), masked array of object, or str
        Text in the shape of `values`. Masked values and NaN are masked. Years before 0 and after 9999 have a sign and
        six digits.

    Raises
    ------
    UnsupportedError
        If units or calendar cannot be decoded, or a value is more than a million years away.

    Examples
    --------
    >>> from ds_format import timeaxis
    >>> timeaxis.to_iso(2451545.25)
    '2000-01-01T18:00:00'
    >>> timeaxis.to_iso([59], "days since 2000-01-01", "360_day")
    array(['2000-02-30T00:00:00'], dtype=object)
    >>> timeaxis.to_iso([0, 0.5], "seconds since 2000-01-01", fractions=True).tolist()
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


def _digits(seconds: NDArray[np.float64], values: NDArray[Any], axis: TimeUnits) -> int:
    """Return the number of digits of fractions of seconds that are not rounding errors of the values."""
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
    """Convert text in ISO 8601 to a time.

    Parameters
    ----------
    text : str
        A date, or a date and a time after `T` or a blank. Seconds, or minutes and seconds, can be omitted. The time is
        UTC, unless it ends with an offset such as `+01:00`. Years can have a sign. The date is in `calendar`.
    units : str
        Units of the result. The default is a Julian date.
    calendar : str, optional
        None is `standard`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the text is not a time, or the time does not exist.
    UnsupportedError
        If units or calendar cannot be decoded.

    Examples
    --------
    >>> from ds_format import timeaxis
    >>> timeaxis.from_iso("2000-01-01T18:00")
    2451545.25
    >>> timeaxis.from_iso("2000-02-30", "days since 2000-01-01", "360_day")
    59.0
    """
    axis = decode(units, calendar)
    try:
        date = parse_iso(text)
        day = count(*date[:3], axis.calendar)
        check_begin(day, axis.calendar)
    except UnsupportedError as error:
        raise ValueError(f'found the time "{text}": {error.message}') from None
    return float(join(np.array(day), np.array(date.second), axis))


_YEAR_OR_MONTH = re.compile(r"(\d{4}|[+-]\d{4,6})(?:-(\d{1,2}))?", re.ASCII)


def whole_date(text: str, calendar: str | None = None, *, end: bool = False) -> str:
    """Return the first day of a year or month, or with `end` the first day after it. Other text is returned unchanged.

    `calendar` is that of the date, as an attribute that can be decoded; None is `standard`.

    Examples
    --------
    >>> whole_date("1900"), whole_date("1900-12", end=True), whole_date("1900-12-24")
    ('1900-01-01', '1901-01-01', '1900-12-24')
    >>> whole_date("-0001", "julian", end=True)
    '0001-01-01'
    """
    found = _YEAR_OR_MONTH.fullmatch(text.strip())
    if found is None:
        return text
    year, month = int(found[1]), int(found[2] or 1)
    if end and 1 <= month <= 12:
        years, month = divmod(month, 12) if found[2] else (1, 0)
        year, month = year + years, month + 1
        if years and year == 0 and not has_year_0(main_name(calendar)):
            year = 1
    return f"{year_text(year)}-{month:02}-01"


def time_dt(time: Iterable[str]) -> list[datetime.datetime | None]:
    """Convert texts to datetimes without a time zone.

    Parameters
    ----------
    time : iterable of str
        Texts such as `2000-01-31T12:00:00Z`, `2000-01-31 12:00:00` or `2000-01-31 12:00:00.5`.

    Returns
    -------
    list of datetime.datetime or None
        None for a text of any other form.

    Examples
    --------
    >>> import ds_format as ds
    >>> ds.time_dt(["2000-01-31T12:00:00Z", "noon"])
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
