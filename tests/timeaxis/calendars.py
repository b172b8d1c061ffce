"""Calendars, and times in them, for tests of axes and units."""

from __future__ import annotations

import datetime
import warnings
from typing import Any

import cftime  # type: ignore[import-untyped]
import numpy as np
from hypothesis import strategies as st

REAL_WORLD = ["standard", "gregorian", "proleptic_gregorian", "julian", "tai"]

MODELS = ["noleap", "365_day", "all_leap", "366_day", "360_day"]

JULIAN_STEP = 1e-4

"""Seconds by which a Julian date may be wrong, in the years that are drawn."""


def values(per_day: float) -> st.SearchStrategy[float]:
    days = st.integers(0, 100_000) | st.floats(-100_000, 100_000) | st.integers(0, 500_000).map(lambda n: n / 24)
    return days.map(lambda value: value * per_day)


def julian_date(date: cftime.datetime, calendar: str) -> float:
    """Return the Julian date of a date of `calendar`, as cftime counts."""
    clock = datetime.timedelta(hours=date.hour, minutes=date.minute, seconds=date.second, microseconds=date.microsecond)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cftime.CFWarning)
        day = cftime.datetime(date.year, date.month, date.day, calendar=calendar).toordinal()
    return float(day - 0.5 + clock / datetime.timedelta(1))


def close(found: Any, wanted: Any, per_day: float = 1) -> None:
    assert np.max(np.abs(np.asarray(found) - np.asarray(wanted)), initial=0) / per_day * 86_400 <= JULIAN_STEP


REFERENCE = """
import json, sys, warnings
import ds_format as ds
warnings.simplefilter("ignore")
out = []
for path in sys.argv[1:]:
    d = ds.read(path, jd=True)
    out.append(d["t"].tolist() if d["."]["t"].get(".time") else None)
print(json.dumps(out))
"""
