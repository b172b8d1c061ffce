"""Values of one time axis → those of another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UnsupportedError
from .calendars import between
from .units import DAY, JD_CALENDAR, JD_UNITS, SECOND, Axis, decode

FARTHEST = 365_250_000
"""Days from the reference date, a million years; what is farther away is a fill value, no date."""


def to_julian(values: Any, units: str, calendar: str | None = None) -> Any:
    """Return times as Julian dates: days since noon of -4713-11-24 of the proleptic Gregorian calendar.

    Parameters
    ----------
    values : array_like of int or float, or masked array
    units : str
        As `hours since 2000-01-01 00:00:00`, or as cftime and UDUNITS read it. From nanoseconds to weeks, perhaps
        behind a number; `common_years` are of 365 days, and `months` known in the calendar 360_day only. In standard,
        -4712-01-01 12:00 is where Julian dates begin (ds-format 5.0.2).
    calendar : str, optional
        One of the CF conventions; the default is `standard`.

    Returns
    -------
    ndarray of float64, masked array of float64, or float64
        Of the same shape; masks are kept, NaN stays NaN. Julian dates of today have steps of 40 microseconds.

    Raises
    ------
    UnsupportedError
        If units or calendar cannot be decoded, or a value is no date of the proleptic Gregorian calendar.

    Examples
    --------
    >>> to_julian([0, 36], "hours since 2000-01-01")
    array([2451544.5, 2451546. ])
    """
    return convert(values, units, calendar, JD_UNITS, JD_CALENDAR)


def from_julian(jd: Any, units: str = JD_UNITS, calendar: str | None = JD_CALENDAR) -> Any:
    """Return Julian dates in other units; the inverse of `to_julian`.

    Parameters
    ----------
    jd : array_like of float, or masked array
    units : str
    calendar : str, optional
        None is `standard`.

    Returns
    -------
    ndarray of float64, masked array of float64, or float64
        Of the same shape. What is nearer to a whole second than a step of the Julian date is that second.

    Raises
    ------
    UnsupportedError
        If units or calendar cannot be decoded, or a date does not exist in the calendar.

    Examples
    --------
    >>> from_julian([2451544.5, 2451546.0], "hours since 2000-01-01", "standard")
    array([ 0., 36.])
    """
    return convert(jd, JD_UNITS, JD_CALENDAR, units, calendar)


def convert(values: Any, units: str, calendar: str | None, to_units: str, to_calendar: str | None) -> Any:
    """Return the values of one time axis in the units of another.

    Parameters
    ----------
    values : array_like of int or float, or masked array
    units, calendar : str
        Of the values; a calendar of None is `standard`.
    to_units, to_calendar : str
        Of the result. Within one calendar, dates need not exist in any other one.

    Returns
    -------
    ndarray of float64, masked array of float64, or float64
        Of the same shape; masks are kept, NaN stays NaN.

    Raises
    ------
    UnsupportedError
        If units or calendars cannot be decoded, or a date does not exist in the other calendar.

    Examples
    --------
    >>> convert([0, 12], "hours since 2000-01-02", None, "days since 2000-01-01", None)
    array([1. , 1.5])
    """
    source, target = decode(units, calendar), decode(to_units, to_calendar)
    present, nan, mask = presence(values)
    if source == target:
        result = present.astype(np.float64)
    else:
        days, seconds = split(present, source)
        result = join(between(days, source.calendar, target.calendar), seconds, target)
    return shaped(np.where(nan, np.nan, result), mask, values)


def presence(values: Any) -> tuple[NDArray[Any], NDArray[np.bool_], NDArray[np.bool_] | None]:
    """Return values with 0 for what is NaN or masked, where NaN is, and the mask of a masked array; of rank 1 or more.

    Raises
    ------
    UnsupportedError
        If they are no integers or floats.
    """
    data = np.atleast_1d(np.ma.getdata(values))
    if data.dtype.kind not in "iuf":
        raise UnsupportedError(f"found values of the type {data.dtype}, expected numbers")
    mask = np.atleast_1d(np.ma.getmaskarray(values)) if isinstance(values, np.ma.MaskedArray) else None
    nan = np.isnan(data)
    absent = nan if mask is None else nan | mask
    return np.where(absent, data.dtype.type(0), data), nan, mask


def shaped(result: NDArray[Any], mask: NDArray[np.bool_] | None, values: Any) -> Any:
    """Return a result in the shape of the values it was made of, with their mask."""
    whole = result if mask is None else np.ma.MaskedArray(result, mask=mask.copy())
    return whole.reshape(np.shape(values))[()]


def split(values: NDArray[Any], axis: Axis) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the days, as `calendars.count` counts, and the seconds since midnight of values that are not NaN.

    A float that is as near to a whole second as it can be is that second: the fraction of a day, as Julian dates have
    it, would else be just before midnight, on the wrong day.

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


def join(days: NDArray[np.int64], seconds: NDArray[np.float64], axis: Axis) -> NDArray[np.float64]:
    """Return the values of days and seconds, the inverse of `split`."""
    whole = (days - axis.day).astype(np.float64)
    whole = whole * (DAY // axis.unit) if DAY % axis.unit == 0 else whole / (axis.unit / DAY)
    return whole + (seconds - axis.second) * SECOND / axis.unit
