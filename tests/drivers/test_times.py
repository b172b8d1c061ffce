"""Time variables are written in the units and the calendar that are asked for, as NetCDF and as HDF5."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.errors import UnsupportedError
from ds_format.timeaxis import JD_CALENDAR, JD_UNITS

from ..same import same_data

DAY = 2451545.0
"""2000-01-01 12:00."""
SUFFIXES = ["nc", "h5"]


def dataset(times: Any, **properties: Any) -> dict[str, Any]:
    return {"t": times, ".": {"t": {".dims": ["t"], ".time": True, **properties}}}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_julian_dates_stay(suffix: str, tmp_path: Path) -> None:
    times = np.array([DAY, np.nan])
    path = tmp_path / f"a.{suffix}"
    ds.write(path, dataset(times, units="days since 1970-01-01", long_name="time"))
    found = ds.read(path)
    assert same_data(found["t"], times)
    assert (ds.attrs(found, "t")) == {"units": JD_UNITS, "long_name": "time", "calendar": JD_CALENDAR}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_other_units_and_calendars(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    times = np.ma.MaskedArray([DAY, DAY + 1.5, 0], [False, False, True])
    ds.write(path, dataset(times), time_units="hours since 2000-01-01", calendar="standard")
    found = ds.read(path)
    assert same_data(found["t"], np.ma.MaskedArray([12.0, 48.0, 0], [False, False, True]))
    attributes = found["."]["t"]
    assert (attributes["units"], attributes["calendar"]) == ("hours since 2000-01-01", "standard")
    assert ".time" not in attributes


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_numbers_of_any_type_and_scalars(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    data = {"t": 2451545, "u": np.array([2451546], "f4"), ".": {"t": {".time": True}, "u": {".time": True}}}
    ds.write(path, data, time_units="days since 2000-01-01 12:00")
    found = ds.read(path)
    assert found["t"] == 0.0 and found["t"].dtype == found["u"].dtype == "f8"
    ds.write(path, data)
    assert ds.read(path)["u"].dtype == "f4"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_only_time_variables_change(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    data = {"x": np.array([DAY]), ".": {"x": {"units": "m", ".time": False}}}
    ds.write(path, data, time_units="days since 2000-01-01")
    assert ds.read(path)["x"].tolist() == [DAY]
    assert ds.read(path)["."]["x"]["units"] == "m"


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("times", "options"),
    [
        (np.array([DAY]), {"time_units": "parsecs since 2000-01-01"}),
        (np.array([DAY]), {"calendar": "none"}),
        (np.array(["2000-01-01"], object), {"time_units": "days since 2000-01-01"}),
    ],
)
def test_what_is_no_time(suffix: str, times: Any, options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=rf'a\.{suffix}: variable "t": '):
        ds.write(tmp_path / f"a.{suffix}", dataset(times), **options)
    assert list(tmp_path.iterdir()) == []


def test_julian_dates_of_hdf5_are_known_again(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.h5", dataset(np.array([DAY])))
    assert ds.read(tmp_path / "a.h5")["."]["t"][".time"] is True
