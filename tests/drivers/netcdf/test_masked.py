"""Numbers of NetCDF files are masked arrays to whoever reads them, as with the netCDF4 library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ds_format as ds
from ds_format import drivers

PLAIN = ("text", "code", "none")
NUMBERS = {"time", "x", "packed", "flag", "empty"}

SCRIPT = """
import sys, json, numpy as np, ds_format as ds
found = {}
for options in {}, {"jd": True}, {"sel": {"time": 0}}:
    d = ds.read(sys.argv[1], ["time", "x", "packed", "some", "empty", "scalar"], **options)
    for name in set(d) - {"."}:
        data = d[name]
        mask, fill = repr(getattr(data, "mask", None)), str(getattr(data, "fill_value", None))
        found[name + str(options)] = [type(data).__name__, data.shape, str(data.dtype), mask, fill, data.tolist()]
print(json.dumps(found, sort_keys=True))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file in which no value is missing but one."""
    folder = tmp_path / "folder"
    folder.mkdir()
    ds.write(
        folder / "x.nc",
        {
            "time": np.arange(3),
            "x": np.arange(6.0).reshape(3, 2),
            "packed": np.arange(3, dtype="i2"),
            "flag": np.array([True, False, True]),
            "empty": np.zeros((0, 2)),
            "some": np.ma.MaskedArray(np.arange(3), [False, True, False]),
            "text": np.array(["a", "b", "c"], object),
            "code": np.array([b"a", b"b", b"c"], object),
            "scalar": 5.0,
            "none": None,
            ".": {
                "time": {".dims": ["time"], "units": "days since 2000-01-01"},
                "x": {".dims": ["time", "i"]},
                "packed": {".dims": ["time"], "scale_factor": 0.5},
                "flag": {".dims": ["time"]},
                "some": {".dims": ["time"]},
                "text": {".dims": ["time"]},
                "code": {".dims": ["time"]},
            },
        },
    )
    return folder / "x.nc"


def masked(found: dict[str, Any]) -> set[str]:
    """Return the names of masked arrays without a missing value, each of which can be filled as others can."""
    names = {key for key, data in found.items() if isinstance(data, np.ma.MaskedArray)} - {"some"}
    for key in names:
        assert found[key].mask is np.ma.nomask
        assert type(found[key].filled(1)) is np.ndarray
        assert found[key].filled().tolist() == found[key].tolist()
    assert not names.intersection(PLAIN)
    return names


def test_all_ways_of_reading(path: Path) -> None:
    for found in (
        ds.read(path),
        ds.read(path, unpack=False),
        ds.read(path, range_={"time": (0, 3)}),
        ds.from_netcdf(path),
        *ds.read_many([path]),
        *ds.readdir(path.parent),
    ):
        assert masked(found) == NUMBERS
        assert found["some"].tolist() == [0, None, 2]
        assert type(found["scalar"]) is np.float64


def test_merged_files(path: Path) -> None:
    assert masked(ds.read_many([path, path], dim="time")) == NUMBERS
    merged = ds.merge([ds.read(path), ds.read(path)], "time")
    for found in merged, ds.readdir(path.parent, merge="time"), ds.readdir(path.parent, merge="time", unpack=False):
        for key in NUMBERS:
            assert np.ma.getmaskarray(found[key]).shape == found[key].shape
            assert not np.any(found[key].mask)


def test_a_file_that_is_open(path: Path) -> None:
    with ds.open(path) as file:
        assert masked({name: file[name][...] for name in file}) == NUMBERS
        assert isinstance(file["x"][1:], np.ma.MaskedArray)
        assert type(file["x"][1, 1]) is np.float64
        assert all(isinstance(block, np.ma.MaskedArray) for block in file["x"].blocks(16))
        assert type(np.asarray(file["x"])) is np.ndarray


def test_julian_dates_are_plain(path: Path) -> None:
    found = ds.read(path, jd=True)
    assert type(found["time"]) is np.ndarray
    assert masked(found) == NUMBERS - {"time"}


def test_sources_are_plain(path: Path) -> None:
    source = drivers.open_source(path)
    assert type(source.read("x")) is np.ndarray
    assert [type(block) for block in source.blocks("x")] == [np.ndarray]
    source.close()


@pytest.mark.parametrize("suffix", ["ds", "nc", "json", "h5"])
def test_what_is_written_of_them_has_no_mask(path: Path, tmp_path: Path, suffix: str) -> None:
    ds.write(tmp_path / f"y.{suffix}", ds.read(path, ["x", "time", "flag"]))
    found = ds.read(tmp_path / f"y.{suffix}")
    assert found["x"].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert masked(found) == ({"x", "time", "flag"} if suffix == "nc" else set())
    if suffix == "nc":
        with netCDF4.Dataset(tmp_path / "y.nc") as file:
            assert "_FillValue" not in file["x"].ncattrs()


def test_arrays_are_those_of_the_reference(path: Path, reference_python: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    found = [
        subprocess.run([*python, str(script), str(path)], check=True, capture_output=True, text=True).stdout
        for python in ([sys.executable], [reference_python, "-I"])
    ]
    assert found[0] == found[1]
