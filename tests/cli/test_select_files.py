"""`ds select` on files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import Mock

import netCDF4
import numpy as np
import pytest

from ds_format import drivers
from ds_format.api import files

if TYPE_CHECKING:
    from .conftest import Run


@pytest.fixture
def netcdf(folder: Path) -> str:
    """A NetCDF file with a packed variable and a missing value."""
    with netCDF4.Dataset(folder / "input.nc", "w") as file:
        file.createDimension("time", None)
        file.createDimension("lat", 2)
        packed = file.createVariable("temp", "i2", ("time", "lat"), fill_value=-1)
        packed.set_auto_maskandscale(False)
        packed[:] = np.array([[1, 2], [-1, 4], [5, 6]])
        packed.scale_factor = np.float32(0.5)
    return "input.nc"


def test_netcdf_to_ds_and_back(netcdf: str, ds: Run) -> None:
    assert ds("select", "temp", netcdf, "output.ds") == (0, "", "")
    assert ds("select", "output.ds", "back.nc") == (0, "", "")
    for path in ("output.ds", "back.nc"):
        data = files.read(path, unpack=False)
        assert data["temp"].dtype == "i2"
        assert data["temp"].tolist() == [[1, 2], [None, 4], [5, 6]]
        assert ds("ls", path, "a:", "{", "scale_factor", "_FillValue", "}").out == "temp 0.500000 -1\n"
    assert ds("-l", "output.ds").out == "time: 3 lat: 2\ntemp int16 { time lat }\n"


def test_a_grid_of_indexes(netcdf: str, ds: Run) -> None:
    assert ds("select", "temp", "time:", "{", "0", "-1", "}", "lat:", "1", netcdf, "output.ds") == (0, "", "")
    assert files.read("output.ds", unpack=False)["temp"].tolist() == [2, 6]


@pytest.mark.parametrize("suffix", ["dat", "nc"])
def test_the_format_of_the_input_is_given(suffix: str, folder: Path, ds: Run) -> None:
    path = folder / f"table.{suffix}"
    path.write_text("time\tx\n0\t1.5\n1\t2.5\n")
    assert ds("select", str(path), "output.ds").status == 1
    for words in (["format:", "tsv", "select", "x", str(path)], ["select", "x", str(path)]):
        tail = [] if words[0] == "format:" else ["format:", ".TSV"]
        assert ds(*words, "output.ds", *tail) == (0, "", "")
        assert files.read("output.ds")["x"].tolist() == [1.5, 2.5]
    status, _, err = ds("select", str(path), "other.ds", "format:", "tvs")
    assert status == 1 and "did you mean tsv" in err
    assert ds("select", str(path), "other.ds", "format:", "1").status == 1
    assert not (folder / "other.ds").exists()


@pytest.mark.filterwarnings("default")
def test_what_ds_cannot_hold(netcdf: str, folder: Path, ds: Run) -> None:
    with netCDF4.Dataset(netcdf, "a") as file:
        pair = file.createCompoundType(np.dtype([("a", "i4"), ("b", "f8")]), "pair")
        file.createVariable("pairs", pair, ("lat",))
    status, _, err = ds("select", netcdf, "output.ds")
    assert status == 1
    assert "pairs" in err
    assert err.count("\n") == 1
    assert os.listdir(folder) == [netcdf]
    status, _, err = ds("select", "--skip-unsupported", netcdf, "output.ds")
    assert status == 0
    assert all(line.startswith("ds select: warning: ") for line in err.splitlines())
    assert "pairs" in err
    assert ds("output.ds").out == "temp\n"


def test_output_is_input(base: str, folder: Path, ds: Run) -> None:
    assert ds("select", "temperature", base, base) == (0, "", "")
    assert ds(base).out == "temperature\n"
    assert os.listdir(folder) == [base]


@pytest.mark.parametrize(
    "words", [["time:", "9"], ["time:", "{", "true", "false", "}"], ["-s", "nope"], ["-s", "nope:", "0"]]
)
def test_an_error_leaves_everything_as_it_was(words: list[str], base: str, folder: Path, ds: Run) -> None:
    before = (folder / base).read_bytes()
    shutil.copy(base, "output.ds")
    for target in ("output.ds", base):
        status, out, err = ds("select", *words, base, target)
        assert (status, out, err.count("\n")) == (1, "", 1)
        assert (folder / target).read_bytes() == before
    assert sorted(os.listdir(folder)) == [base, "output.ds"]


@pytest.mark.parametrize(
    ("source", "target", "named"),
    [
        ("nope.ds", "output.ds", "nope.ds"),
        ("nope.nc", "output.ds", "nope.nc"),
        ("base.ds", "output.xyz", "output.xyz"),
        ("base.ds", "output", "output"),
        ("folder.ds", "output.ds", "folder.ds"),
        ("base.ds", "folder.ds", "folder.ds"),
        ("base.ds", "nowhere/output.ds", "output.ds"),
        ("text.nc", "output.ds", "text.nc"),
        ("text.ds", "output.ds", "text.ds"),
    ],
)
def test_files_that_are_none(source: str, target: str, named: str, base: str, folder: Path, ds: Run) -> None:
    (folder / "folder.ds").mkdir()
    for name in ("text.nc", "text.ds"):
        (folder / name).write_text("hello")
    before = sorted(os.listdir(folder))
    status, out, err = ds("select", source, target)
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("ds select: ")
    assert named in err
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize("words", [[], ["temp"], ["temp", "time:", "0"]])
@pytest.mark.parametrize("suffix", ["nc", "ds"])
def test_the_input_is_opened_once(
    words: list[str], suffix: str, netcdf: str, ds: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"input.{suffix}"
    if suffix == "ds":
        files.write(path, files.read(netcdf))
    driver = drivers.load(drivers.find(path))
    load, opened, found = drivers.load, Mock(wraps=driver.open), Mock(wraps=drivers.find)
    monkeypatch.setattr(drivers, "load", lambda one: load(one)._replace(open=opened))
    monkeypatch.setattr(drivers, "find", found)
    monkeypatch.setattr(drivers, "meta", None)
    assert ds("select", *words, path, "output.json").status == 0
    opened.assert_called_once_with(path)
    assert sorted(call.args[0] for call in found.call_args_list) == [path, "output.json"]


@pytest.mark.filterwarnings("ignore:.*left out")
def test_names_are_looked_for_among_what_is_not_left_out(netcdf: str, ds: Run) -> None:
    with netCDF4.Dataset(netcdf, "a") as file:
        file.setncattr("pair", np.zeros((), file.createCompoundType(np.dtype([("a", "i4")]), "pair").dtype))
        file.createVariable("pairs", file.cmptypes["pair"], ("lat",))
    assert ds("select", "--skip-unsupported", "temp", netcdf, "output.ds").status == 0
    assert ds("output.ds").out == "temp\n"
    assert ds("select", "--skip-unsupported", "pairs", netcdf, "other.ds").status == 1
