"""Bounds of times are converted with the units of their coordinate."""

from __future__ import annotations

import shutil
import subprocess
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


NETCDF = (".nc", "bounds")
of_netcdf = pytest.mark.parametrize("months", [NETCDF], ids=str, indirect=True)
"""For programs and libraries that read no ds files."""


@pytest.fixture(params=[(".ds", "bounds"), (".ds", "climatology"), NETCDF], ids=str)
def months(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    """Write three files, each counting time from its own month."""
    suffix, attribute = request.param
    paths = [tmp_path / f"{number}{suffix}" for number in (1, 2, 3)]
    for number, path in enumerate(paths, 1):
        ds.write(path, month(number, attribute))
    return paths


def test_in_memory(months: list[Path]) -> None:
    for merged, expected in (
        (ds.read_many(months, dim="time"), EXPECTED),
        (ds.merge([ds.read(path) for path in months], "time"), JULIAN),
        (ds.readdir(months[0].parent, merge="time"), JULIAN),
    ):
        np.testing.assert_allclose(merged["time_bnds"], expected)
        np.testing.assert_allclose(merged["time"], expected.mean(axis=1))
        assert "units" not in (ds.attrs(merged, "time_bnds") or {})


def test_into_a_file(months: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "all.ds"
    ds.merge_files("time", months, output)
    np.testing.assert_allclose(ds.read(output)["time_bnds"], EXPECTED)


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


def packed(start: int, scale: float) -> dict[str, Any]:
    """Make a dataset of packed times and latitudes, whose bounds have no packing of their own."""
    times = np.arange(3, dtype="i2")
    return {
        "time": 2 * times + 1,
        "time_bnds": np.stack([2 * times, 2 * times + 2], axis=1),
        "lat": np.array([1, 3], "i2"),
        "lat_bnds": np.array([[0, 2], [2, 4]], "i2"),
        ".": {
            "time": {
                ".dims": ["time"],
                "units": "days since 2000-01-01",
                "bounds": "time_bnds",
                "scale_factor": scale,
                "add_offset": float(start),
            },
            "time_bnds": {".dims": ["time", "nv"]},
            "lat": {".dims": ["lat"], "units": "degrees_north", "bounds": "lat_bnds", "scale_factor": 0.5},
            "lat_bnds": {".dims": ["lat", "nv"]},
        },
    }


@pytest.mark.parametrize("options", [{"format": "NETCDF3_CLASSIC"}, {"format": "NETCDF4"}], ids=str)
def test_packing_holds_for_bounds(tmp_path: Path, options: dict[str, Any]) -> None:
    paths = [tmp_path / "0.nc", tmp_path / "1.nc"]
    ds.write(paths[0], packed(0, 0.5), **options)
    ds.write(paths[1], packed(31, 0.5), **options)
    ds.convert(paths[0], tmp_path / "0.ds")
    for path in (paths[0], tmp_path / "0.ds"):
        with ds.open(path) as opened:
            lazy = opened["lat_bnds"][:]
        np.testing.assert_array_equal(lazy, [[0, 1], [1, 2]])
        found = ds.read(path)
        np.testing.assert_array_equal(found["lat_bnds"], [[0, 1], [1, 2]])
        np.testing.assert_array_equal(found["time_bnds"], EXPECTED[:3])
        np.testing.assert_array_equal(ds.read(path, jd=True)["time_bnds"], JULIAN[:3])
        np.testing.assert_array_equal(ds.read(path, unpack=False)["lat_bnds"], [[0, 2], [2, 4]])
        assert ds.read(path)["."]["lat_bnds"][".type"] == "float64"
    np.testing.assert_array_equal(ds.read(paths[0], "lat_bnds")["lat_bnds"], [[0, 1], [1, 2]])
    merged = ds.read_many(paths, dim="time")
    np.testing.assert_array_equal(merged["time_bnds"], EXPECTED[:6])
    with pytest.warns(UserWarning, match="packed differently"):
        ds.merge_files("time", paths, tmp_path / "all.ds")
    np.testing.assert_array_equal(ds.read(tmp_path / "all.ds")["time_bnds"], EXPECTED[:6])


def test_bounds_alone(months: list[Path]) -> None:
    merged = ds.read_many(months, ["time_bnds"], dim="time")
    np.testing.assert_allclose(merged["time_bnds"], EXPECTED)
    assert merged["."]["time_bnds"]["units"] == "days since 2000-01-01"


@of_netcdf
def test_same_as_xarray(months: list[Path]) -> None:
    xr = pytest.importorskip("xarray")
    pytest.importorskip("dask")
    with xr.open_mfdataset(months, combine="nested", concat_dim="time") as expected:
        found = ds.open_many(months, "time")
        np.testing.assert_array_equal(found["time"].values, expected["time"].values)
        np.testing.assert_array_equal(found["time_bnds"].values, expected["time_bnds"].values)


@of_netcdf
@pytest.mark.skipif(shutil.which("cdo") is None, reason="needs cdo")
def test_same_as_cdo(months: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "cdo.nc"
    # cdo keeps bounds only with a variable along time
    for number, path in enumerate(months, 1):
        dataset = month(number)
        dataset["."]["time"].update({"standard_name": "time", "calendar": "standard"})
        ds.write(path, {**dataset, "x": np.arange(3.0), ".": {**dataset["."], "x": {".dims": ["time"]}}})
        subprocess.run(
            ["cdo", "-s", "setreftime,2000-01-01,00:00:00,1day", str(path), str(output)], check=True, timeout=60
        )
        expected = ds.read(output)
        found = ds.read(path, jd=True)
        assert "2000" in expected["."]["time"]["units"]
        np.testing.assert_allclose(found["time_bnds"] - 2451544.5, expected["time_bnds"])


@of_netcdf
@pytest.mark.skipif(not (shutil.which("ncrcat") and shutil.which("ncks")), reason="needs ncks and ncrcat")
def test_same_as_ncrcat(months: list[Path], tmp_path: Path) -> None:
    records = [tmp_path / f"records{i}.nc" for i in range(len(months))]
    for path, record in zip(months, records, strict=True):
        subprocess.run(["ncks", "-O", "--mk_rec_dmn", "time", str(path), str(record)], check=True, timeout=60)
    output = tmp_path / "joined.nc"
    subprocess.run(["ncrcat", "-O", *map(str, records), str(output)], check=True, timeout=60)
    joined = tmp_path / "joined.ds"
    ds.merge_files("time", months, joined)
    expected, found = ds.read(output, jd=True), ds.read(joined, jd=True)
    np.testing.assert_allclose(found["time"], expected["time"])
    np.testing.assert_allclose(found["time_bnds"], expected["time_bnds"])


def test_an_attribute_of_the_dataset_is_no_parent(tmp_path: Path) -> None:
    path = tmp_path / "x.ds"
    meta = {"bounds": "x", "units": "days since 2000-01-01"}
    ds.write(path, {"x": [1.0], ".": {"x": {".dims": ["t"]}, ".": meta}})
    assert ds.read(path, jd=True)["x"].tolist() == [1.0]


@pytest.mark.parametrize("suffix", [".nc", ".h5", ".json"])
def test_written_in_other_units(months: list[Path], tmp_path: Path, suffix: str) -> None:
    output = tmp_path / f"all{suffix}"
    options: dict[str, Any] = {"time_units": "days since 2000-01-01", "calendar": "standard"}
    ds.write(output, ds.read_many(months, dim="time"), **options)
    found = ds.read(output)
    np.testing.assert_allclose(found["time"], EXPECTED.mean(axis=1))
    np.testing.assert_allclose(found["time_bnds"], EXPECTED)
    ds.merge_files("time", months, output, **options)
    np.testing.assert_allclose(ds.read(output)["time_bnds"], EXPECTED)
    ds.convert(months[1], output, jd=True, **options)
    np.testing.assert_allclose(ds.read(output)["time_bnds"], EXPECTED[3:6])
