"""Values of datetime64 and timedelta64, and objects that are times ↔ numbers with CF units, exactly."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UnsupportedError
from .axes import MICROSECOND, split, to_julian
from .calendars import REFORM, UNIX_EPOCH
from .units import DAY, JD_CALENDAR, SECOND, decode, is_time, unit_length

NAMES = ("days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds")
"""Units that are chosen, the coarsest first."""
UNITS = dict(zip(("D", "h", "m", "s", "ms", "us", "ns"), NAMES, strict=True))
"""Units of datetime64 and timedelta64 → units of CF."""
XARRAY_TICKS = {"s": SECOND, "ms": 1_000_000, "us": 1_000, "ns": 1}
"""Length of the units of timedelta64 that xarray has, in nanoseconds."""
TICKS = {"W": 7 * DAY, "D": DAY, "h": 3_600 * SECOND, "m": 60 * SECOND, **XARRAY_TICKS}
REAL = ("standard", "proleptic_gregorian", "julian")
"""Calendars that share the count of days of datetime64."""
MAX_INT64 = (1 << 63) - 1
MAX_FLOAT = 1 << 53
"""Maximum of the integers that are all exact as float64."""


def units_attributes(dtype: np.dtype[Any]) -> dict[str, str]:
    """Return the attributes of the integers that datetime64 or timedelta64 with a unit of `UNITS` consists of."""
    units = UNITS[np.datetime_data(dtype)[0]]
    if dtype.kind == "m":
        return {"units": units}
    return {"units": f"{units} since 1970-01-01", "calendar": "proleptic_gregorian"}


def from_objects(objects: NDArray[Any]) -> Any:
    """Return an array of objects that are times, or None, as one of datetime64 or timedelta64.

    Parameters
    ----------
    objects : array or masked array of object
        Datetimes with a time zone become UTC.

    Returns
    -------
    masked array
        None, NaT and masked values are masked.

    Raises
    ------
    UnsupportedError
        If some objects are no times, or one unit cannot hold all of them.
    """
    flat, masked = np.ma.getdata(objects).reshape(-1), np.ma.getmaskarray(objects).reshape(-1)
    absent = np.array([hidden or one is None or one != one for one, hidden in zip(flat, masked, strict=True)], np.bool_)
    present = flat[~absent].tolist()
    values = _one_unit([_as_numpy(one) for one in present])
    whole = np.zeros(flat.shape, values.dtype)
    whole[~absent] = values
    return np.ma.MaskedArray(whole, absent).reshape(objects.shape)


def _as_numpy(value: Any) -> Any:
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return value
    if not isinstance(value, (datetime.date, datetime.timedelta)):
        raise UnsupportedError(f"found times and a value of type {type(value).__name__}; expected values of one type")
    if hasattr(value, "to_numpy"):
        return value.to_numpy()
    if isinstance(value, datetime.timedelta):
        return np.timedelta64(value)
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    return np.datetime64(value)


def _one_unit(values: Sequence[Any]) -> NDArray[Any]:
    """Return scalars of datetime64, or of timedelta64, as one array in the finest of their units."""
    if not values:
        return np.zeros(0, "M8[s]")
    if len({one.dtype.kind for one in values}) > 1:
        raise UnsupportedError("found dates and durations, expected values of one type")
    try:
        array = np.array(values)
    except OverflowError:
        array = None
    if array is None or any(array[i].astype(one.dtype) != one for i, one in enumerate(values)):
        raise UnsupportedError("found times that are too far from each other for their finest unit")
    return array


def encode(array: Any, entry: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return times as numbers, and the metadata that describe them.

    Parameters
    ----------
    array : array or masked array of datetime64 or timedelta64
        NaT is missing.
    entry : mapping
        Metadata of the variable. If they have `units` or `calendar`, these are used. With `.time` and without units the
        numbers are Julian dates.

    Returns
    -------
    values : array or masked array of int64
        Float64 if the units given need fractions, or for Julian dates.
    entry : dict
        The metadata, with `units`: the coarsest that hold all values exactly, since 1970-01-01 for dates, with their
        `calendar`. Durations have the attribute `dtype` by which xarray knows them.

    Raises
    ------
    UnsupportedError
        If the units given cannot be decoded, or do not hold all values exactly.

    Examples
    --------
    >>> encode(np.array(["1970-01-02", "1970-01-03T12"], "M8[ns]"), {})[0]
    array([24, 60])
    >>> encode(np.array([60, 90], "m8[s]"), {})
    (array([60, 90]), {'units': 'seconds', 'dtype': 'timedelta64[s]'})
    """
    data = np.ma.getdata(array)
    absent = np.ma.getmaskarray(array) | np.isnat(data)
    ticks, tick = _ticks(data[~absent])
    found = _fitting(ticks, tick, data.dtype, entry)
    if found is None:
        given = f'"{entry["units"]}"' if "units" in entry else "nanoseconds"
        advice = "; without `units` in the metadata, fitting ones are chosen" if "units" in entry else ""
        raise UnsupportedError(f"found times that are not whole numbers of the units {given} in int64{advice}")
    values, attributes = found
    out = np.zeros(data.shape, values.dtype)
    out[~absent] = values
    whole = np.ma.MaskedArray(out, absent) if absent.any() else out
    if data.dtype.kind == "M" and entry.get(".time") and "units" not in entry:
        return to_julian(whole, attributes["units"], attributes["calendar"]), dict(entry)
    return whole, {**entry, **attributes}


def _fitting(
    ticks: NDArray[np.int64], tick: int, dtype: np.dtype[Any], entry: Mapping[str, Any]
) -> tuple[NDArray[Any], dict[str, Any]] | None:
    """Return numbers, and attributes with the first units that hold them exactly."""
    for (unit, origin), attributes in _axes(dtype, entry):
        values = _scaled(ticks, tick, unit, origin, fractions="units" in entry)
        if values is not None:
            return values, attributes
    return None


def _ticks(values: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """Return numbers without a common divisor, and the nanoseconds that one of them counts."""
    unit, number = np.datetime_data(values.dtype)
    if unit in ("Y", "M") and values.dtype.kind == "M":
        values, unit, number = values.astype("M8[D]"), "D", 1
    if unit not in TICKS and values.size:
        raise UnsupportedError(f"found values of type {values.dtype}, expected units from nanoseconds to weeks")
    ticks = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("=")).view(np.int64)
    divisor = int(np.gcd.reduce(ticks)) or 1
    return ticks // divisor, TICKS.get(unit, 1) * number * divisor


def _axes(dtype: np.dtype[Any], entry: Mapping[str, Any]) -> Iterator[tuple[tuple[int, int], dict[str, Any]]]:
    """Yield the length of each possible unit, its origin in nanoseconds since 1970, and attributes for both."""
    given = entry.get("units")
    if dtype.kind == "m":
        own = np.datetime_data(dtype)[0]
        shown = {"dtype": f"timedelta64[{own if own in XARRAY_TICKS else 's'}]"}
        for units in NAMES if given is None else [given]:
            yield (unit_length(units), 0), {"units": units, **shown}
        return
    calendar = entry.get("calendar", JD_CALENDAR if given is None else None)
    for units in [f"{name} since 1970-01-01" for name in NAMES] if given is None else [given]:
        axis = decode(units, calendar)
        if axis.calendar not in REAL:
            raise UnsupportedError(f'found dates of datetime64 and the calendar "{calendar}", expected one of {REAL}')
        origin = (axis.day - UNIX_EPOCH) * DAY + round(axis.second * SECOND)
        yield (axis.unit, origin), {"units": units} if calendar is None else {"units": units, "calendar": calendar}


def _scaled(ticks: NDArray[np.int64], tick: int, unit: int, origin: int, *, fractions: bool) -> NDArray[Any] | None:
    """Return numbers of a unit since an origin, or None if they are not exact."""
    step = math.gcd(tick, origin)
    counts = _linear(ticks, tick // step, -(origin // step))
    if counts is None:
        return None
    common = math.gcd(step, unit)
    parts = unit // common
    divisor = math.gcd(int(np.gcd.reduce(counts)), parts)
    numbers, parts = _linear(counts // divisor, step // common, 0), parts // divisor
    if numbers is None or parts == 1:
        return numbers
    is_exact = fractions and not parts & (parts - 1) and not (np.abs(numbers) > MAX_FLOAT).any()
    return numbers / parts if is_exact else None


def _linear(values: NDArray[np.int64], factor: int, shift: int) -> NDArray[np.int64] | None:
    """Return `values * factor + shift`, or None if int64 cannot hold them."""
    if values.size:
        ends = int(values.min()), int(values.max())
        if max(abs(factor), abs(shift), *(abs(end * factor) + abs(shift) for end in ends)) > MAX_INT64:
            return None
    return values * np.int64(factor) + np.int64(shift) if values.size else values


def timestamps(data: NDArray[Any], attributes: Mapping[str, Any]) -> Any:
    """Return numbers as datetime64, if they are times of the calendar that datetime64 has.

    Parameters
    ----------
    data : ndarray
    attributes : mapping
        With `units`, and `calendar`.

    Returns
    -------
    ndarray or None
        Integers in the coarsest of s, ms, us and ns that holds them exactly, floats to the microsecond; NaN and
        infinity are NaT. None for values that are no times, times of other calendars, and dates of the Julian calendar.

    Raises
    ------
    UnsupportedError
        If the units are wrong, or a value is more than a million years away.

    Examples
    --------
    >>> print(timestamps(np.array([0, 12]), {"units": "hours since 2026-01-01"}))
    ['2026-01-01T00:00:00' '2026-01-01T12:00:00']
    """
    if data.dtype.kind not in "iuf" or not is_time(attributes):
        return None
    axis = decode(attributes.get("units"), attributes.get("calendar"))
    if axis.calendar not in ("standard", "proleptic_gregorian"):
        return None
    present = np.isfinite(data)
    days, seconds = split(np.where(present, data, data.dtype.type(0)), axis)
    if axis.calendar == "standard" and (days[present] < REFORM).any():
        return None
    origin = (axis.day - UNIX_EPOCH) * DAY + round(axis.second * SECOND)
    name, tick = next(row for row in XARRAY_TICKS.items() if math.gcd(axis.unit, origin) % row[1] == 0)
    ticks = _linear(data.astype(np.int64), axis.unit // tick, origin // tick) if data.dtype.kind in "iu" else None
    if ticks is None:
        name = "us"
        ticks = (days - UNIX_EPOCH) * (DAY // XARRAY_TICKS[name]) + np.rint(seconds / MICROSECOND).astype(np.int64)
    times = ticks.astype(f"M8[{name}]")
    times[~present] = np.array("NaT", times.dtype)
    return times
