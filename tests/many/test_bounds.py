"""Bounds of times are converted with the units of their coordinate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds

STARTS = [0, 31, 60]
EXPECTED = np.add.outer(np.concatenate([np.arange(3.0) + start for start in STARTS]), [0.0, 1.0])
JULIAN = EXPECTED + 2451544.5


def month(number: int, attribute: str = "bounds") -> dict[str, Any]:
    """Make a dataset whose bounds have no units of their own."""
    days = np.arange(3.0)
    units = f"days since 2000-{number:02}-01"
    return {
        "time": days + 0.5,
        "time_bnds": np.stack([days, days + 1], axis=1),
        ".": {
            "time": {".dims": ["time"], "units": units, attribute: "time_bnds"},
            "time_bnds": {".dims": ["time", "nv"]},
        },
    }


@pytest.fixture(params=[(".ds", "bounds"), (".ds", "climatology"), (".nc", "bounds")], ids=str)
def months(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    """Write three files, each counting time from its own month."""
    suffix, attribute = request.param
    paths = [tmp_path / f"{number}{suffix}" for number in (1, 2, 3)]
    for number, path in enumerate(paths, 1):
        ds.write(path, month(number, attribute))
    return paths


def test_in_memory(months: list[Path]) -> None:
    for merged in (
        ds.read_many(months, dim="time"),
        ds.merge([ds.read(path) for path in months], "time"),
        ds.readdir(months[0].parent, merge="time"),
    ):
        np.testing.assert_allclose(merged["time_bnds"], JULIAN)
        np.testing.assert_allclose(merged["time"], JULIAN.mean(axis=1))
        assert "units" not in (ds.attrs(merged, "time_bnds") or {})


def test_into_a_file(months: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "all.ds"
    ds.merge_files("time", months, output)
    merged = ds.read(output)
    is_julian = merged["."]["time"]["units"].startswith("days since -4713")
    shift = 2451544.5 if is_julian else 0
    np.testing.assert_allclose(merged["time_bnds"], EXPECTED + shift)


def test_as_julian_dates(months: list[Path]) -> None:
    np.testing.assert_allclose(ds.read(months[1], jd=True)["time_bnds"], JULIAN[3:6])
    np.testing.assert_allclose(ds.read(months[1], "time_bnds", jd=True)["time_bnds"], JULIAN[3:6])


def test_open_many(months: list[Path]) -> None:
    xr = pytest.importorskip("xarray")
    days = [np.datetime64("2000-01-01") + np.timedelta64(int(day), "D") for day in EXPECTED[:, 0]]
    opened = ds.open_many(months, "time")
    assert isinstance(opened, xr.Dataset)
    found = opened["time_bnds"].values[:, 0]
    if found.dtype.kind == "f":
        found = np.datetime64("2000-01-01") + found.astype("timedelta64[D]")
    np.testing.assert_array_equal(found.astype("datetime64[D]"), np.array(days))


def test_units_differ_where_a_file_lacks_bounds() -> None:
    first = month(1)
    del first["time_bnds"], first["."]["time_bnds"], first["."]["time"]["bounds"]
    merged = ds.merge([first, month(2), month(3)], "time", jd=False)
    assert merged["."]["time"]["units"] == "days since 2000-01-01"
    assert merged["."]["time_bnds"]["units"] == "days since 2000-02-01"
    np.testing.assert_allclose(merged["time_bnds"][3:, 0], EXPECTED[3:, 0] - 31)
