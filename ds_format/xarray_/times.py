"""Units and calendars of times: the coders of xarray write them in other words, which mean the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from xarray import Variable

from ..errors import UnsupportedError
from ..timeaxis.units import TimeUnits, decode

REFORM = decode("days since 1582-10-15", "proleptic_gregorian").day
"""From here on the calendars standard and proleptic_gregorian are one."""


SPANS = ("days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds")
"""Units of differences of times, as xarray knows them."""


def is_time_like(units: Any) -> bool:
    """Whether xarray takes numbers of these units for times, or differences of times."""
    return isinstance(units, str) and (units in SPANS or _axis(units, None) is not None)


def give_calendar(given: Variable, encoding: dict[str, Any]) -> None:
    """Have times coded in the calendar of a file that named none, where none of them can be before the reform.

    Else xarray takes the proleptic one, and says so.

    Parameters
    ----------
    given : Variable
        In nanoseconds there is no time before the year 1677.
    encoding : dict
        Its encoding, which is changed.
    """
    units = encoding.get("units")
    if given.dtype != "M8[ns]" or units is None or encoding.get("calendar") is not None:
        return
    axis = _axis(units, "proleptic_gregorian")
    # the coder fails in a chunk where nothing but NaT is; where both calendars are one it need not know
    if given.chunks is None or (axis is not None and axis.day < REFORM):
        encoding["calendar"] = "standard"


def keep_words(given: Variable, attributes: dict[str, Any], values: Any) -> None:
    """Change the attributes of coded times to those in the encoding that they had, where they mean the same.

    Parameters
    ----------
    given : Variable
        Before it was coded.
    attributes : dict
    values : ndarray, MaskedArray or array of dask
        As coded; of an array of dask nothing is computed.
    """
    units, calendar = given.encoding.get("units"), attributes.get("calendar")
    if units is None or calendar is None or given.encoding.get("calendar") not in (None, calendar):
        return
    meant, written = _axis(units, calendar), _axis(attributes.get("units"), calendar)
    if meant is None or meant != written:
        return
    attributes["units"] = units
    if given.encoding.get("calendar") is None and (calendar == "standard" or _is_later(given, meant, values)):
        del attributes["calendar"]


def _axis(units: Any, calendar: Any) -> TimeUnits | None:
    try:
        return decode(units, calendar)
    except UnsupportedError:
        return None


def _is_later(given: Variable, axis: TimeUnits, values: Any) -> bool:
    """Whether times of the proleptic Gregorian calendar are behind the reform, and so is what they count from."""
    if axis.calendar != "proleptic_gregorian" or axis.day < REFORM:
        return False
    if given.dtype == "M8[ns]":
        return True
    if not isinstance(values, np.ndarray):
        return False
    present = values.compressed() if isinstance(values, np.ma.MaskedArray) else values
    return bool(np.all(present >= 0))
