"""Station reports: ordinary ones, as users have them, and plain ones, of numbers without gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .data import Data, of_arrays

HOURS = 24
ORDINARY, EQUAL, OWN, ALL_OWN = "ordinary", "equal", "own", "all own"
"""Kinds of reports: the first, and by their metadata three plain ones."""
VARIABLES: dict[str, tuple[str, str, str, list[float], str]] = {
    "temperature": ("f4", "K", "air_temperature", [180.0, 340.0], "time: mean"),
    "dew_point": ("f4", "K", "dew_point_temperature", [180.0, 320.0], "time: mean"),
    "pressure": ("f8", "Pa", "surface_air_pressure", [50000.0, 110000.0], "time: point"),
    "humidity": ("f4", "1", "relative_humidity", [0.0, 1.2], "time: mean"),
    "wind_speed": ("f4", "m s-1", "wind_speed", [0.0, 90.0], "time: mean"),
    "wind_direction": ("i2", "degree", "wind_from_direction", [0, 360], "time: mean"),
    "precipitation": ("f4", "kg m-2", "precipitation_amount", [0.0, 500.0], "time: sum"),
    "visibility": ("i4", "m", "visibility_in_air", [0, 100000], "time: minimum"),
}
"""Name → dtype, units, standard name, valid range, cell method. Reports also have the time."""


def report(i: int, headers: str) -> Data:
    """Return a plain report of one station for one day.

    Parameters
    ----------
    i : int
        Number of the report, on which its values depend.
    headers : {"equal", "own", "all own"}
        Metadata that differ between reports: none; attributes of the dataset, as in most archives; or attributes of
        each variable, too.
    """
    hours = np.arange(HOURS, dtype=np.float64)
    data: Data = {"time": hours + HOURS * i}
    meta: dict[str, dict[str, Any]] = {
        "time": {
            ".dims": ["time"],
            "units": "hours since 2000-01-01 00:00:00",
            "calendar": "standard",
            "standard_name": "time",
            "long_name": "time of observation",
            "axis": "T",
        }
    }
    for name, (dtype, units, standard, valid, method) in VARIABLES.items():
        low, high = valid
        data[name] = (low + (high - low) * (0.5 + 0.4 * np.sin(hours / 4 + i))).astype(dtype)
        meta[name] = {
            ".dims": ["time"],
            "units": units,
            "standard_name": standard,
            "long_name": f"{standard.replace('_', ' ')} at the station",
            "valid_range": valid,
            "cell_methods": method,
        }
        if headers == "all own":
            meta[name]["instrument"] = f"sensor {1000 + 8 * i} of {name}"
    n = 0 if headers == "equal" else i
    meta["."] = {
        "title": "Hourly surface observations",
        "institution": "National Weather Service",
        "Conventions": "CF-1.8",
        "station": f"{10000 + n}",
        "station_name": f"Station number {n}",
        "latitude": round(-60 + n * 0.06, 3),
        "longitude": round(-180 + n * 0.18, 3),
        "elevation": 10 + n,
        "source": "surface observation",
        "history": f"2020-01-01T00:00:00Z received; 2020-01-02T{n % 24:02}:{n % 60:02}:00Z checked, version {n}",
    }
    return {**data, ".": meta}


def station(i: int, kind: str) -> Data:
    """Return a report of a kind: ordinary, plain, or one of MORE."""
    return six(i, MORE[kind]) if kind in MORE else ordinary(i) if kind == ORDINARY else report(i, kind)


SCALARS = ["station_id", "latitude", "longitude"]
"""Of an ordinary report: they get the dimension where reports are merged."""
WEATHER = ("rain", "light snow", "fog", "")


def ordinary(i: int) -> Data:
    """Return the report of an ordinary station: with gaps, packed numbers, text, flags and scalars.

    Parameters
    ----------
    i : int
        Number of the report, on which its values depend.
    """
    data = report(i, "own")
    meta = data["."]
    hours = np.arange(HOURS)
    for name in ("temperature", "dew_point"):
        data[name] = np.ma.MaskedArray(data[name], hours % 5 == i % 5)
        meta[name]["_FillValue"] = np.float32(-999)
    pressure = (hours * 3 + i % 1000).astype("i2")
    data["pressure"] = np.ma.MaskedArray(pressure, hours % 7 == i % 7)
    del meta["pressure"]["valid_range"]
    meta["pressure"] |= {
        "_FillValue": np.int16(-32767),
        "scale_factor": np.float64(0.1),
        "add_offset": np.float64(1000),
        ".netcdf": {"packed": True},
    }
    data["station_id"] = b"ST%010d" % i
    data["weather"] = np.array([WEATHER[(i + hour) % 4].encode() for hour in range(HOURS)], object)
    data["is_checked"] = (hours + i) % 3 == 0
    data["latitude"], data["longitude"] = np.float64(-60 + i % 2000 * 0.06), np.float64(-180 + i % 2000 * 0.18)
    meta |= {
        "station_id": {".dims": [], "cf_role": "timeseries_id"},
        "weather": {".dims": ["time"], "long_name": "present weather"},
        "is_checked": {".dims": ["time"], "long_name": "whether somebody has checked the report"},
        "latitude": {".dims": [], "units": "degrees_north"},
        "longitude": {".dims": [], "units": "degrees_east"},
    }
    return data


SIX = ("temperature", "dew_point", "humidity", "wind_speed", "precipitation", "radiation")
MORE = {
    "six plain variables": (),
    "six and a float32 with gaps": ("gaps",),
    "six and 24 texts": ("weather",),
    "six and a scalar byte string": ("station_id",),
    "six and a packed int16 with gaps": ("pressure",),
    "six and 24 booleans": ("is_checked",),
    "six and all of these": ("gaps", "weather", "station_id", "pressure", "is_checked"),
}
"""Words → what a report has beyond six plain variables of float32."""


def six(i: int, more: Sequence[str]) -> Data:
    """Return a report of six plain float32 variables and some variables of an ordinary one, to compare their costs."""
    data = ordinary(i)
    hours, gaps = np.arange(HOURS), data["temperature"]
    arrays = {name: (0.6 + 0.5 * np.sin(hours / 4 + i + k)).astype("f4") for k, name in enumerate(SIX)}
    meta = {name: {**data["."]["humidity"], "standard_name": name} for name in SIX}
    arrays |= {name: gaps if name == "gaps" else data[name] for name in more}
    return of_arrays(arrays, {"gaps": data["."]["temperature"], **data["."], **meta})
