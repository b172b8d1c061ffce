"""`ds select`: which part of a file is written, and the files that it makes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import netCDF4
import numpy as np
import pytest

from ds_format import drivers
from ds_format.api import conversion, files
from ds_format.cli import select_
from ds_format.model.selection import Selection

if TYPE_CHECKING:
    from .conftest import Run


META: dict[str, dict[str, Any]] = {
    ".": {},
    "temp": {".dims": ["time", "lat"], ".size": [3, 2], ".type": "float32"},
    "time": {".dims": ["time"], ".size": [3], ".type": "float64"},
    "\\.hidden": {".size": [2], ".type": "int8"},
}

Call = tuple[str, str, list[str] | None, dict[str, Any] | None]


class Whole:
    """A file of which no more than the metadata is known."""

    def __init__(self, path: str, **options: object):
        self.path = path
        self.meta = META

    def __enter__(self) -> Whole:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def part(self, selection: Selection) -> tuple[str, Any, Any]:
        return self.path, selection.variables, selection.sel


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """Collects what is written."""
    found: list[Call] = []

    def record(part: tuple[str, Any, Any], target: str, progress: object) -> None:
        source, variables, sel = part
        found.append((source, target, variables, sel or None))

    monkeypatch.setattr(select_, "open_subset", Whole)
    monkeypatch.setattr(conversion.Output, "of", lambda target, options: target)
    monkeypatch.setattr(select_, "convert_small", lambda source, output, progress: (False, None))
    monkeypatch.setattr(select_, "write_subset", record)
    return found


@pytest.mark.parametrize(
    ("line", "variables", "sel"),
    [
        ("select i o", None, None),
        ("i select o", None, None),
        ("select temp i o", ["temp"], None),
        ("select t* time i o", ["temp", "time"], None),
        ("select -tF t* time i o", ["time"], None),
        ("select .hidden i o", [".hidden"], None),
        ("select time: 0 i o", None, {"time": 0}),
        ("select time: -1 lat: { 0 1 } i o", None, {"time": -1, "lat": [0, 1]}),
        ("select temp time: { true false true } time i o", ["temp", "time"], {"time": [True, False, True]}),
        ("select t*: 0 i o", None, {"time": 0}),
        ("select time: { } i o", None, {"time": []}),
        ("select time: 0 time: 1 i o", None, {"time": 1}),
        ("select .hidden_1: 1 i o", None, {".hidden_1": 1}),
        ("select i o sel: { time: 0 }", None, {"time": 0}),
        ("select i o sel: {{ time: 0 }}", None, {"time": 0}),
        ("sel: { time: 0 } select lat: 1 i o", None, {"time": 0, "lat": 1}),
        ("select i o sel: { }", None, None),
        ("select i o sel: none", None, None),
        ("select -- i o", None, None),
    ],
)
def test_arguments(
    line: str, variables: list[str] | None, sel: dict[str, Any] | None, ds: Run, calls: list[Call]
) -> None:
    Path("i").touch()
    assert ds(*line.split()) == (0, "", "")
    assert calls == [("i", "o", variables, sel)]


def test_files_may_look_like_numbers(ds: Run, calls: list[Call]) -> None:
    assert ds("select", "2020", "nan").status == 0
    assert calls == [("2020", "nan", None, None)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("select time: a i o", "time: expected an index or an array of indexes, found a"),
        ("select time: 1.5 i o", "found 1.5"),
        ("select time: none i o", "found"),
        ("select time: true i o", "found true"),
        ("select time: { 0 true } i o", "found { 0 true }"),
        ("select time: { { 0 } } i o", "found { { 0 } }"),
        ("select time: {{ a: 1 }} i o", "found a: 1"),
        ("select { temp time } i o", "invalid type: expected a name, found { temp time }"),
        ("select i o sel: 5", "sel: invalid type"),
        ("select i o sel: { time: 0 5 }", "sel: invalid type"),
    ],
)
def test_other_words_are_refused(line: str, message: str, ds: Run, calls: list[Call]) -> None:
    result = ds(*line.split())
    assert (result.status, result.out, calls) == (1, "", [])
    assert message in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("line", ["select", "select i", "select time: 0 i", "select i o time: 0", "select -x i o"])
def test_usage_errors(line: str, ds: Run, calls: list[Call]) -> None:
    result = ds(*line.split())
    assert (result.status, calls) == (1, [])
    assert "\nUsage: ds select [OPTIONS] " in result.err


@pytest.mark.parametrize(("line", "what"), [("temp nope", 'variable "nope"'), ("-F temp t*", 'variable "t*"')])
@pytest.mark.filterwarnings("default")
def test_missing_names_by_mode(line: str, what: str, ds: Run, calls: list[Call]) -> None:
    words = line.split()
    assert ds("-t", "select", *words, "i", "o") == (0, "", "")
    for mode in ([], ["-m"]):
        assert ds(*mode, "select", *words, "i", "o") == (0, "", f"ds select: warning: {what} not found\n")
    assert len(calls) == 3
    assert ds("-s", "select", *words, "i", "o") == (1, "", f"ds select: i: {what} not found\n")
    assert ds("select", "-s", *words, "i", "o").status == 1
    assert len(calls) == 3


def test_skip_unsupported(ds: Run, calls: list[Call], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def opened(path: str, *, skip_unsupported: bool, **options: object) -> Whole:
        seen.append(skip_unsupported)
        return Whole(path)

    monkeypatch.setattr(select_, "open_subset", opened)
    for flags in ([], ["--skip-unsupported"]):
        assert ds("select", *flags, "i", "o").status == 0
        assert ds(*flags, "select", "i", "o").status == 0
    assert seen == [False, False, True, True]


def test_nobody_watches_without_a_terminal(ds: Run, calls: list[Call], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr(select_, "write_subset", lambda part, target, progress: seen.append(progress))
    assert ds("select", "i", "o").status == 0
    assert seen == [None]


def write_grid(path: str) -> None:
    """Write `x` along latitude, longitude and time."""
    axes: dict[str, tuple[Any, str]] = {
        "lat": (np.arange(-10.0, 11, 5), "degrees_north"),
        "lon": (np.arange(225.0, 316, 45), "degrees_east"),
        "time": (np.arange(3.0), "days since 1999-12-31"),
    }
    meta: dict[str, Any] = {name: {".dims": [name], "units": units} for name, (_, units) in axes.items()}
    x = np.arange(45.0).reshape(5, 3, 3)
    files.write(path, {"x": x, **{k: v[0] for k, v in axes.items()}, ".": {**meta, "x": {".dims": [*axes]}}})


@pytest.mark.parametrize("suffix", [".ds", ".nc"])
@pytest.mark.filterwarnings("always")
def test_values_far_from_all(suffix: str, ds: Run) -> None:
    path = f"in{suffix}"
    write_grid(path)
    told = f'{path}: variable "lat": no value is near 9999: the nearest is 10 degrees_north, and the largest gap'
    for command in (("cat", "lon", path), ("select", path, "out.ds"), ("stats", "x", path)):
        status, _, err = ds(*command, "at:", "{", "lat:", "9999", "}")
        assert status == 0 and err.startswith(f"ds {command[0]}: warning: {told}") and err.count("\n") == 1
        status, out, err = ds("-s", *command, "at:", "{", "lat:", "9999", "}")
        assert (status, out) == (1, "") and err.startswith(f"ds {command[0]}: {told}")
    assert ds("cat", "lon", path, "at:", "{", "lon:", "-100", "}") == (0, "lon\n270.000000\n", "")


@pytest.mark.filterwarnings("always")
def test_an_empty_selection_is_not_written(ds: Run, folder: Path) -> None:
    write_grid("in.ds")
    words = ["between:", "{", "time:", "{", "5", "9", "}", "}"]
    told = 'in.ds: the selection leaves nothing of dimension "time", which has size 3'
    assert ds("cat", "time", "in.ds", *words) == (0, "time\n", f"ds cat: warning: {told}\n")
    lines = [["select", "in.ds", "out.ds"], ["merge", "time", "in.ds", "in.ds", "out.ds"], ["set", "in.ds", "out.ds"]]
    lines[2][1:1] = ["none", "a:", "1"]
    for line in lines:
        words_first = [*words, *line]
        assert ds(*words_first) == (1, "", f"ds {line[0]}: {told}. To write it anyway, add --allow-empty\n")
        assert not (folder / "out.ds").exists()
        assert ds("--allow-empty", *words_first) == (0, "", "")
        assert files.read("out.ds")["time"].shape == (0,)
        (folder / "out.ds").unlink()
    status, _, err = ds("convert", *words, "in.ds", "out")
    assert status == 1 and told in err
    assert ds("convert", "--allow-empty", "--overwrite", *words, "in.ds", "out").status == 0
    assert files.read("out/in.ds")["time"].shape == (0,)


def test_inputs_of_a_merge_may_be_empty_not_all(ds: Run) -> None:
    write_grid("a.ds")
    d = files.read("a.ds")
    d["time"] = d["time"] + 10
    files.write("b.ds", d)
    words = ["between:", "{", "time:", "{", "11", "20", "}", "}"]
    assert ds("merge", "time", "a.ds", "b.ds", "out.ds", *words) == (0, "", "")
    assert files.read("out.ds")["time"].tolist() == [11, 12]
    line = ("merge", "time", "a.ds", "b.ds", "none.ds", "between:", "{", "lat:", "{", "90", "91", "}", "}")
    status, _, err = ds(*line)
    assert status == 1 and 'leaves nothing of dimension "lat"' in err


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ("2000-01 none", ["1.000000", "2.000000"]),
        ("none 1999-12", ["0.000000"]),
        ('none "1999"', ["0.000000"]),
        ("none 1999", ["0.000000", "1.000000", "2.000000"]),  # a number is one of days
    ],
)
def test_years_and_months(limits: str, expected: list[str], ds: Run) -> None:
    write_grid("in.ds")
    lines = "\n".join(["time", *expected, ""])
    assert ds("cat", "time", "in.ds", "between:", "{", "time:", "{", *limits.split(), "}", "}") == (0, lines, "")


def write_model(path: str) -> None:
    """Write `tas` with coordinates, bounds and other variables that attributes name."""
    meta: dict[str, Any] = {
        "tas": {
            ".dims": ["time", "y", "x"],
            "coordinates": "lat lon",
            "grid_mapping": "crs: x y",
            "cell_measures": "area: area",
            "ancillary_variables": "flag  nope",
        },
        "time": {".dims": ["time"], "bounds": "time_bnds", "climatology": "climate"},
        "time_bnds": {".dims": ["time", "two"]},
        "climate": {".dims": ["time", "two"]},
        "y": {".dims": ["y"], "formula_terms": "a: area b:flag"},
        "x": {".dims": ["x"]},
        "lat": {".dims": ["y", "x"], "bounds": "lat_bnds"},
        "lon": {".dims": ["y", "x"]},
        "lat_bnds": {".dims": ["y", "x", "two"]},
        "area": {".dims": ["y", "x"]},
        "flag": {".dims": ["time"]},
        "crs": {".dims": []},
        "other": {".dims": ["time"], "coordinates": "lat"},
        ".": {"coordinates": "lat crs"},
    }
    data = {name: np.zeros([2] * len(entry[".dims"])) for name, entry in meta.items() if name != "."}
    files.write(path, {**data, ".": meta})


@pytest.mark.parametrize("suffix", [".ds", ".nc"])
def test_coordinates_and_bounds_come_along(suffix: str, ds: Run) -> None:
    write_model(f"in{suffix}")
    assert ds("select", "--coords", "tas", f"in{suffix}", "out.ds") == (0, "", "")
    expected = {"tas", "time", "y", "x", "lat", "lon", "time_bnds", "climate", "lat_bnds", "."}
    assert set(files.read("out.ds")) == expected
    assert ds("select", "tas", f"in{suffix}", "out.ds") == (0, "", "")
    assert set(files.read("out.ds")) == {"tas", "."}
    assert ds("select", "--coords", f"in{suffix}", "out.ds") == (0, "", "")
    assert set(files.read("out.ds")) == set(files.read(f"in{suffix}"))


@pytest.mark.parametrize("suffix", [".ds", ".nc"])
def test_attributes_follow_renamed_variables(suffix: str, ds: Run) -> None:
    path = f"in{suffix}"
    write_model(path)
    pairs = "lat: lon lon: lat time_bnds: tb climate: c lat_bnds: lb area: a flag: f crs: map y: north"
    assert ds("rename", *pairs.split(), path, path) == (0, "", "")
    meta = files.read(path)["."]
    assert {name: meta["tas"][name] for name in meta["tas"] if not name.startswith(".")} == {
        "coordinates": "lon lat",
        "grid_mapping": "map: x north",
        "cell_measures": "area: a",
        "ancillary_variables": "f  nope",
    }
    assert (meta["time"]["bounds"], meta["time"]["climatology"]) == ("tb", "c")
    assert meta["north"]["formula_terms"] == "a: a b:f"
    assert meta["lon"]["bounds"] == "lb"
    assert meta["."]["coordinates"] == "lon map"


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
    opened.assert_called_once()
    assert opened.call_args.args == (path,)
    assert sorted(call.args[0] for call in found.call_args_list) == [path, "output.json"]


@pytest.mark.filterwarnings("ignore:.*left out")
def test_names_are_looked_for_among_what_is_not_left_out(netcdf: str, ds: Run) -> None:
    with netCDF4.Dataset(netcdf, "a") as file:
        file.setncattr("pair", np.zeros((), file.createCompoundType(np.dtype([("a", "i4")]), "pair").dtype))
        file.createVariable("pairs", file.cmptypes["pair"], ("lat",))
    assert ds("select", "--skip-unsupported", "temp", netcdf, "output.ds").status == 0
    assert ds("output.ds").out == "temp\n"
    assert ds("select", "--skip-unsupported", "pairs", netcdf, "other.ds").status == 1


def test_options_of_tables_are_those_of_the_output_or_else_of_the_input(ds: Run, folder: Path) -> None:
    (folder / "a.csv").write_text("old\n%\nx;y\nm;\n1,5;2\n")
    rest = ["skip:", "1", "comments:", "%"]
    assert ds("select", "a.csv", "b.ds", "decimal:", ",", "units:", "true", *rest).status == 0
    assert files.read("b.ds")["x"].tolist() == [1.5]
    reading = "{ decimal: , units: true skip: 1 comments: % }"
    assert ds("select", "a.csv", "b.csv", "units:", "true", "reading:", reading).err == ""
    assert (folder / "b.csv").read_bytes() == b"x,y\r\nm,\r\n1.5,2\r\n"
    assert ds("select", "b.csv", "c.csv", "units:", "true", "decimal:", ",", "excel:", "true").err == ""
    assert (folder / "c.csv").read_bytes() == b"\xef\xbb\xbfx;y\r\n;\r\nm;\r\n1.5;2\r\n"
    assert ds("select", "b.ds", "c.nc", "skip:", "1").err == 'ds select: b.ds: the format ds has no option "skip"\n'
    assert ds("select", "a.csv", "b.ds", "decimal:", ".,").status == 1
    words = ["--verify", "--overwrite", "to:", "ds", "a.csv", "out/", "reading:", reading]
    assert (done := ds("convert", *words)).status == 0, done.err
    assert files.read("out/a.ds")["x"].tolist() == [1.5]
    assert ds("convert", "--resume", "to:", "ds", "a.csv", "out/", "reading:", "{ skip: 2 }").status == 0
    assert files.read("out/a.ds")["x"].tolist() == ["m", "1,5"]
