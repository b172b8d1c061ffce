"""Time variables on their way into a file: Julian dates → the units and the calendar to write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import DsError, UnsupportedError
from ..timeaxis import JD_CALENDAR, JD_UNITS, from_julian
from .base import Metadata

PROPERTY = ".time"
"""True: the values of a variable are Julian dates."""


class TimeCoding(NamedTuple):
    """What time variables of a file are written in."""

    units: str
    calendar: str

    @property
    def is_julian(self) -> bool:
        """Whether values are written as they are."""
        return self == (JD_UNITS, JD_CALENDAR)


def time_coding(units: str | None, calendar: str | None) -> TimeCoding:
    """Return what time variables are written in.

    Parameters
    ----------
    units, calendar : str, optional
        As in CF: `days since 2000-01-01` and `standard`. By default Julian dates in the proleptic Gregorian calendar.
    """
    return TimeCoding(JD_UNITS if units is None else units, JD_CALENDAR if calendar is None else calendar)


def is_time(properties: Mapping[str, Any]) -> bool:
    """Return whether a variable is one of time, by its metadata."""
    return properties.get(PROPERTY) is True


def as_written(meta: Metadata, coding: TimeCoding) -> Metadata:
    """Return the metadata that a file gets: time variables with `units` and `calendar`, and as float64 if converted."""
    written: Metadata = {}
    for key, properties in meta.items():
        if key != "." and is_time(properties):
            properties = {**properties, **coding._asdict()}
            if not coding.is_julian:
                properties[".type"] = "float64"
        written[key] = properties
    return written


def blocks_as_written(
    blocks: Iterable[Any], coding: TimeCoding, variable: str, path: str | None = None
) -> Iterator[Any]:
    """Convert blocks of Julian dates (days); masks stay.

    Parameters
    ----------
    blocks : iterable of ndarray, MaskedArray or scalar
    coding : TimeCoding
    variable, path : str, optional
        For messages.

    Raises
    ------
    UnsupportedError
        If a date has no place in the calendar, or the units are not understood.
    """
    for block in blocks:
        if coding.is_julian:
            yield block
            continue
        if np.asarray(np.ma.getdata(block)).dtype.kind not in "fiu":
            raise UnsupportedError(
                "found values that are no numbers, expected Julian dates", variable=variable, path=path
            )
        try:
            yield from_julian(block, coding.units, coding.calendar)
        except DsError as error:
            raise error.at(variable=variable, path=path)
