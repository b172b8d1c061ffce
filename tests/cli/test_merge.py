"""`ds merge`: an output or a dimension that was forgotten, and which existing files are replaced."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

from ds_format.api import files

from .conftest import Run

JANUARY = "days since 2000-01-01"


def month(path: str, times: list[float], units: str = JANUARY, **coordinates: object) -> bytes:
    """Write `x` along `time`, with the coordinate `time`, and return the bytes of the file."""
    d = {
        "x": np.array(times) * 10.0,
        "time": np.array(times, np.float64),
        ".": {"x": {".dims": ["time"]}, "time": {".dims": ["time"], "units": units}},
    }
    files.write(path, {**d, **coordinates})
    return Path(path).read_bytes()


def bare(path: str, n: int) -> bytes:
    """Write `x` along `time`, without a coordinate."""
    files.write(path, {"x": np.arange(float(n)), ".": {"x": {".dims": ["time"]}}})
    return Path(path).read_bytes()


@pytest.mark.parametrize("suffix", [".ds", ".nc", ".json"])
def test_a_forgotten_output_is_not_replaced(suffix: str, ds: Run) -> None:
    names = [f"{name}{suffix}" for name in "abc"]
    last = [month(name, [31.0 * i, 31.0 * i + 1]) for i, name in enumerate(names)][-1]
    status, out, err = ds("merge", "time", *names)
    assert (status, out) == (1, "")
    assert err.startswith(f'ds merge: c{suffix}: the file exists, and has no value of "time" in common with the inputs')
    assert err.endswith("is OUTPUT missing? Add --overwrite to replace the file\n") and err.count("\n") == 1
    assert Path(names[-1]).read_bytes() == last
    assert ds("merge", "--overwrite", "time", *names) == (0, "", "")
    assert files.read(names[-1])["time"].tolist() == [0, 1, 31, 32]


@pytest.mark.parametrize(
    "options", ["", "jd: true", "time_units: 'hours since 1990-01-01'", "range: { time: { 1 2 } }"]
)
def test_the_same_command_can_be_repeated(options: str, ds: Run) -> None:
    month("a.nc", [0, 1.25])
    month("b.nc", [0, 1 / 3], "days since 2000-02-01")
    line = ["merge", "time", "a.nc", "b.nc", "out.nc", *shlex.split(options)]
    assert ds(*line) == (0, "", "")
    first = files.read("out.nc")["time"].tolist()
    assert ds(*line) == (0, "", "")
    assert files.read("out.nc")["time"].tolist() == first


def test_files_accumulate_in_place(ds: Run, folder: Path) -> None:
    month("all.nc", [0, 1])
    for day in (2, 3):
        month("day.nc", [day])
        assert ds("merge", "time", "all.nc", "day.nc", str(folder / "all.nc")) == (0, "", "")
    assert files.read("all.nc")["time"].tolist() == [0, 1, 2, 3]


def test_a_single_input_is_a_copy(ds: Run) -> None:
    month("a.ds", [0, 1])
    month("b.ds", [5, 6])
    assert ds("merge", "time", "a.ds", "b.ds") == (0, "", "")
    assert files.read("b.ds")["time"].tolist() == [0, 1]


def test_without_a_coordinate_the_length_tells(ds: Run) -> None:
    bare("a.ds", 2)
    bare("b.ds", 3)
    for n in (1, 3):
        last = bare("c.ds", n)
        status, _, err = ds("merge", "time", "a.ds", "b.ds", "c.ds")
        assert status == 1 and 'is not longer along "time" than an input' in err
        assert Path("c.ds").read_bytes() == last
    bare("c.ds", 5)
    assert ds("merge", "time", "a.ds", "b.ds", "c.ds") == (0, "", "")
    bare("none.ds", 0)
    for _ in range(2):
        assert ds("merge", "time", "a.ds", "none.ds", "out.ds") == (0, "", "")


def test_stacks_can_be_repeated(ds: Run) -> None:
    bare("a.ds", 2)
    bare("b.ds", 2)
    for _ in range(2):
        assert ds("merge", "run", "a.ds", "b.ds", "runs.ds") == (0, "", "")
    last = bare("c.ds", 2)
    assert ds("merge", "run", "a.ds", "b.ds", "c.ds").status == 1
    assert Path("c.ds").read_bytes() == last


def test_a_coordinate_in_some_of_the_files_only(ds: Run) -> None:
    month("a.ds", [0, 1])
    bare("b.ds", 2)
    bare("long.ds", 9)
    for inputs in (["a.ds", "b.ds"], ["b.ds", "a.ds"]):
        status, _, err = ds("merge", "time", *inputs, "long.ds")
        assert status == 1 and "has no value" in err
    month("out.ds", [1, 7])
    assert ds("merge", "time", "b.ds", "a.ds", "out.ds") == (0, "", "")


def test_text_as_coordinate(ds: Run) -> None:
    for name, value in (("a", "Oslo"), ("b", "Rome"), ("c", "Wien")):
        files.write(f"{name}.ds", {"site": [value], ".": {"site": {".dims": ["site"]}}})
    assert ds("merge", "site", "a.ds", "b.ds", "c.ds").status == 1
    for _ in range(2):
        assert ds("merge", "site", "a.ds", "b.ds", "out.ds") == (0, "", "")


def test_an_output_that_is_no_dataset(ds: Run) -> None:
    month("a.ds", [0])
    month("b.ds", [1])
    Path("c.ds").write_bytes(b"notes")
    status, _, err = ds("merge", "time", "a.ds", "b.ds", "c.ds")
    assert status == 1 and "cannot be compared with the inputs" in err
    assert Path("c.ds").read_bytes() == b"notes"
    Path("new.ds").touch()
    assert ds("merge", "time", "a.ds", "b.ds", "new.ds") == (0, "", "")


def test_a_file_is_no_dimension(ds: Run) -> None:
    for i in range(3):
        month(f"mon{i}.nc", [i])
    month("mon.nc", [0])
    Path("plain").write_bytes(b"")
    for dim in ("mon0.nc", "nowhere.DS", "plain"):
        before = Path("mon2.nc").read_bytes()
        status, _, err = ds("merge", dim, "mon1.nc", "mon2.nc")
        assert status == 1
        assert err == f'ds merge: DIM is missing: expected the name of a dimension, found the file name "{dim}"\n'
        assert Path("mon2.nc").read_bytes() == before


def test_a_dimension_of_a_similar_name(ds: Run) -> None:
    month("a.ds", [0])
    month("b.ds", [1])
    status, _, err = ds("merge", "tiem", "a.ds", "b.ds", "out.ds")
    assert status == 1
    assert err == 'ds merge: dimension "tiem" not found: did you mean time? To create it, add `new: tiem`\n'
    assert not Path("out.ds").exists()
    assert ds("merge", "tiem", "a.ds", "b.ds", "out.ds", "new:", "tiem") == (0, "", "")
    assert files.read("out.ds")["x"].shape == (2, 1)
    assert ds("merge", "run", "a.ds", "b.ds", "runs.ds") == (0, "", "")


def field(path: str, time: float, **changes: object) -> None:
    """Write a field with a scalar time, as models write them."""
    d = {
        "tas": np.full((2, 3), time),
        "lat": np.array([0.0, 1.0]),
        "lon": np.array([5.0, 6.0, np.nan]),
        "lat_bnds": np.array([[-0.5, 0.5], [0.5, 1.5]]),
        "height": np.array(2.0),
        "time": np.array(time),
    }
    meta = {
        "tas": {".dims": ["lat", "lon"], "coordinates": "height time"},
        "lat": {".dims": ["lat"], "bounds": "lat_bnds"},
        "lon": {".dims": ["lon"]},
        "lat_bnds": {".dims": ["lat", "bnds"]},
        "time": {".dims": [], "units": JANUARY},
    }
    files.write(path, {**d, **changes, ".": meta})


@pytest.mark.parametrize("suffix", [".ds", ".nc"])
def test_fields_with_a_scalar_time(suffix: str, ds: Run) -> None:
    names = [f"{name}{suffix}" for name in "abc"]
    field(names[0], 0)
    field(names[1], 1)
    field(names[2], 2, height=np.array(10.0))
    for _ in range(2):
        assert ds("merge", "time", *names[:2], f"out{suffix}") == (0, "", "")
    d = files.read(f"out{suffix}")
    assert d["tas"].shape == (2, 2, 3) and d["time"].tolist() == [0, 1]
    assert d["lat"].tolist() == [0, 1] and d["lat_bnds"].shape == (2, 2) and d["height"].shape == ()
    assert d["."]["time"][".dims"] == ["time"] and d["."]["lon"][".dims"] == ["lon"]
    assert ds("merge", "time", *names, f"all{suffix}") == (0, "", "")
    assert files.read(f"all{suffix}")["height"].tolist() == [2, 2, 10]
    assert ds("merge", "time", *names[:2], names[2]).status == 1
    assert ds("merge", "run", *names[:2], f"runs{suffix}") == (0, "", "")
    assert files.read(f"runs{suffix}")["lat"].shape == (2, 2)


@pytest.mark.filterwarnings("always")
def test_different_packings_are_said(ds: Run) -> None:
    for name, scale in (("a", 0.1), ("b", 0.1), ("c", 0.5)):
        meta = {".dims": ["time"], "scale_factor": scale, ".netcdf": {"packed": True}}
        files.write(f"{name}.nc", {"x": np.array([10, 20], np.int16), ".": {"x": meta}})
    assert ds("merge", "time", "a.nc", "b.nc", "same.nc") == (0, "", "")
    told = 'ds merge: warning: out.nc: variable "x": packed differently in the inputs: written as float64\n'
    assert ds("merge", "time", "a.nc", "c.nc", "out.nc") == (0, "", told)
    assert files.read("out.nc")["x"].tolist() == [1, 2, 5, 10]
