"""`ds info`."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import netCDF4
import numpy as np
import pytest

import ds_format
from ds_format import binpickle
from ds_format.datadings.writer import FileWriter
from ds_format.zds import ZDSStore

from ..formats import RECORDS, rows
from .conftest import Run

SAMPLE = Path(__file__).parents[2] / "examples" / "sample.nc"
TEMPERATURE = {
    "_FillValue": -32768,
    "units": "K",
    "long_name": "air temperature at 2 m",
    "scale_factor": 0.01,
    "add_offset": 273.15,
    "valid_range": [-8000, 6000],
}
EVIL = "\x1b[31mred\x1b]0;title\x07\n\tx\u202ey\x9b1m"


@pytest.fixture
def sample(folder: Path) -> Path:
    shutil.copy(SAMPLE, folder)
    return folder


def json_of(ds: Run, *words: str) -> dict:
    done = ds("info", "-j", *words)
    assert (done.status, done.err) == (0, "")
    return json.loads(done.out)


TITLES = rows(
    arrow=None,
    binpickle="BinPickle 1",
    csv=None,
    datadings="datadings",
    ds="ds-1.0",
    hdf5="HDF5",
    json="JSON",
    netcdf="netCDF-4",
    parquet=None,
    zarr="Zarr",
    zds="ZDS archive",
)
"""Suffix of a format that holds the sample → its name."""


@pytest.mark.usefixtures("sample")
class TestFormats:
    @pytest.mark.parametrize(
        ("name", "format", "words"),
        [
            ("old.ds", "ds 2.0.1", ["layout:", "2.0.1"]),
            *((f"x{suffix}", format, ["dim:", "time"] if suffix in RECORDS else []) for suffix, format in TITLES),
        ],
    )
    def test_the_same_dataset_in_each_format(self, name: str, format: str, words: list[str], ds: Run) -> None:
        if name.endswith(".h5"):
            pytest.importorskip("h5py")
        assert ds(*words, "select", "sample.nc", name).status == 0
        found, original = json_of(ds, name), json_of(ds, "sample.nc")
        assert (found["format"], original["format"]) == (format, "netCDF-4")
        files = [path for path in (Path(name), *Path(name).rglob("*")) if path.is_file()]
        assert found["size"] == sum(path.stat().st_size for path in files)
        assert found["dimensions"] == {
            "lat": {"size": 5, "unlimited": False},
            "lon": {"size": 8, "unlimited": False},
            "time": {"size": 14, "unlimited": True},
            "station": {"size": 3, "unlimited": False},
        }
        assert found["attributes"] == original["attributes"]
        assert found["variables"].keys() == original["variables"].keys()
        for key, variable in found["variables"].items():
            is_unpacked = key == "temperature" and name.endswith((".msgpack", ".zds"))  # which cannot keep a scale
            facts = () if is_unpacked else ("type", "packed", "attributes")
            assert not is_unpacked or (variable["type"], variable["packed"]) == ("float64", False)
            for fact in ("dims", "shape", "coordinate", "error", *facts):
                assert variable[fact] == original["variables"][key][fact], (key, fact)
            if variable["type"] not in ("str", "unicode"):
                assert variable["size"] == original["variables"][key]["size"] * (4 if is_unpacked else 1)
        is_unpacked = name.endswith((".msgpack", ".zds"))
        kept = {key: TEMPERATURE[key] for key in ("units", "long_name")} if is_unpacked else TEMPERATURE
        assert found["variables"]["temperature"]["attributes"] == kept
        assert found["variables"]["pressure"]["missing"] is True
        assert not found["variables"]["time"]["missing"]
        assert {key for key, one in found["variables"].items() if one["coordinate"]} == {"time", "lat", "lon"}

    @pytest.mark.parametrize(
        ("format", "name"),
        [
            ("NETCDF3_CLASSIC", "NetCDF classic"),
            ("NETCDF3_64BIT_OFFSET", "NetCDF 64-bit offset"),
            ("NETCDF3_64BIT_DATA", "NetCDF CDF-5"),
            ("NETCDF4_CLASSIC", "netCDF-4 classic model"),
            ("NETCDF4", "netCDF-4"),
        ],
    )
    def test_formats_of_netcdf(self, format: str, name: str, ds: Run) -> None:
        ds_format.write("x.nc", {"x": [1.0, 2.0]}, format=format)
        assert ds("info", "x.nc").out.startswith(f"x.nc: {name}, ")

    @pytest.mark.parametrize(("name", "format"), [("x.csv", "CSV"), ("x.tsv", "TSV")])
    def test_tables(self, name: str, format: str, ds: Run) -> None:
        ds_format.write(name, {"x": [1, 2], "s": ["a", "b"]})
        found = json_of(ds, name)
        assert found["format"] == format
        assert found["variables"]["x"]["shape"] == [2]

    def test_what_is_stored_is_told_of_the_file_alone(self, ds: Run) -> None:
        ds("select", "sample.nc", "x.ds")
        assert json_of(ds, "sample.nc")["variables"]["pressure"]["storage"]["compression"] == "zlib"
        assert json_of(ds, "x.ds")["variables"]["pressure"]["storage"] == {}
        assert "zlib" in ds("info", "sample.nc").out
        assert "zlib" not in ds("info", "x.ds").out


class TestContainers:
    def test_samples_of_another_program(self, folder: Path, ds: Run) -> None:
        with FileWriter("x.msgpack") as writer:
            for i in range(3):
                writer.write({"key": f"k{i}", "image": np.zeros((4, 4), "u1"), "label": i})
        found = json_of(ds, "x.msgpack")
        assert (found["samples"], found["first"]["key"]) == (3, "k0")
        assert found["first"]["entries"] == {"key": "str", "image": "uint8 [4, 4]", "label": "int"}
        assert "variables" not in found
        out = ds("info", "x.msgpack").out
        assert "samples: 3, " in out
        assert "first sample: key: str, image: uint8 [4, 4], label: int\n" in out

    def test_no_samples(self, folder: Path, ds: Run) -> None:
        with FileWriter("x.msgpack"):
            pass
        assert "samples: 0, 0 B in all; an index\n" in ds("info", "x.msgpack").out

    def test_a_folder_of_documents(self, folder: Path, ds: Run) -> None:
        for name in ("test", "train"):
            with ZDSStore.open("store", name, mode="a") as store:
                store.put("cat", {"legs": 4, "x": [1]})
        out = ds("info", "store").out
        assert out.startswith("store: ZDS folder, ")
        assert "collection: train: 1 document as lines, " in out
        assert "first document: _id: str, legs: int, x: list\n" in out
        found = json_of(ds, "store")["collections"]["test"]
        assert (found["documents"], found["layout"]) == (1, "jsonl")
        assert found["index"] == Path("store/collections/test/meta/index.bin").stat().st_size

    def test_an_object(self, folder: Path, ds: Run) -> None:
        binpickle.dump({"a": np.arange(5), "b": [1, "x"]}, "x.bpk")
        out = ds("info", "x.bpk").out
        assert "  dict 2 entries\n    'a': ndarray int64 (5,), 40 bytes, buffer 0\n" in out
        assert json_of(ds, "x.bpk")["object"] == json.loads(ds("inspect", "-j", "x.bpk").out)["object"]


class TestText:
    def test_the_screen(self, sample: Path, ds: Run) -> None:
        done = ds("info", "sample.nc")
        assert (done.status, done.err) == (0, "")
        lines = done.out.splitlines()
        assert lines[:4] == [
            "sample.nc: netCDF-4, 22.5 kB",
            "read without a library",
            "dimensions:",
            "  lat: 5, lon: 8, time: 14 (unlimited), station: 3",
        ]
        assert "  temperature   int16       84 B  (time: 14, station: 3)  may be missing, packed" in lines
        assert lines.index("coordinates:") < lines.index("variables:") < lines.index("attributes:")
        assert len(lines) < 30
        assert all(len(line) <= 80 for line in lines)

    def test_groups(self, folder: Path, ds: Run) -> None:
        with netCDF4.Dataset("g.nc", "w") as file:
            file.createDimension("time", None)
            file.title = "root"
            group = file.createGroup("fc")
            group.note = "of the group"
            group.createDimension("lev", 4)
            group.createVariable("lev", "f4", ("lev",))
            group.createVariable("t", "f4", ("time", "lev")).units = "K"
            file.createGroup("empty")
        out = ds("info", "g.nc").out
        _, told = out.split("group fc\n")
        assert "group empty\n" in out
        assert "  dimensions:\n    lev: 4\n  coordinates:\n    lev  float32  16 B  (lev: 4)\n" in told
        assert "    t  float32  0 B  (time: 0, lev: 4)\n        units: K\n" in told
        assert told.endswith("  attributes:\n    note: of the group\n")
        assert json_of(ds, "g.nc")["groups"] == ["fc", "empty"]

    def test_coordinates_are_those_that_others_name(self, folder: Path, ds: Run) -> None:
        meta = {
            "x": {".dims": ["i"], "coordinates": "lat nowhere"},
            "lat": {".dims": ["i"]},
            "g/x": {".dims": ["i"], "coordinates": "h"},
            "g/h": {".dims": ["i"]},
        }
        ds_format.write("x.ds", {**{name: [1.0] for name in meta}, ".": meta})
        found = json_of(ds, "x.ds")["variables"]
        assert {name for name, one in found.items() if one["coordinate"]} == {"lat", "g/h"}

    def test_a_thousand_variables(self, folder: Path, ds: Run) -> None:
        names = [f"v{i:04}" for i in range(1000)]
        meta = {name: {".dims": ["i"], "units": "K", "long_name": "long"} for name in names}
        ds_format.write("x.ds", {**{name: [1.0] for name in names}, ".": meta})
        lines = ds("info", "x.ds").out.splitlines()
        assert "  v0000  float64  8 B  (i: 1)  [K]" in lines
        assert lines[-2:] == ["  ... 800 more", "(cut: ds info -l shows all; ds attrs [VAR] FILE prints attributes)"]
        assert len(lines) < 210
        whole = ds("info", "-l", "x.ds").out
        assert whole.count("long_name: long\n") == 1000
        assert "cut" not in whole

    def test_long_values_are_cut_and_say_so(self, folder: Path, ds: Run) -> None:
        history = "word " * 100 + "\nanother line"
        ds_format.write("x.ds", {"x": 1, ".": {".": {"history": history, "many": list(range(40))}}})
        out = ds("info", "x.ds").out
        assert "  many: 0, 1, 2, 3, 4, 5, 6, 7, ... 40 in all\n" in out
        assert re.search(r"^  history: word .*\.\.\.$", out, re.MULTILINE)
        assert out.endswith("(cut: ds info -l shows all; ds attrs [VAR] FILE prints attributes)\n")
        whole = ds("info", "-l", "x.ds").out
        assert all(len(line) <= 80 for line in whole.splitlines())
        assert whole.count("word") == 100
        assert "      another line\n" in whole
        assert "38, 39" in whole

    def test_what_a_terminal_would_obey_is_told(self, folder: Path, ds: Run) -> None:
        ds_format.write(
            "x.ds", {EVIL: [1.0], ".": {EVIL: {".dims": [EVIL], EVIL: EVIL}, ".": {EVIL: [EVIL], "b": EVIL}}}
        )
        for words in (["x.ds"], ["-l", "x.ds"]):
            out = ds("info", *words).out
            assert r"\x1b[31mred\x1b]0;title\x07\n\tx\u202ey\x9b1m" in out
            assert all(char.isprintable() or char == "\n" for char in out)
        assert json_of(ds, "x.ds")["attributes"]["b"] == EVIL

    def test_floats_are_as_short_as_their_type(self, folder: Path, ds: Run) -> None:
        ds_format.write(
            "x.ds", {"x": [1.0], ".": {"x": {"_FillValue": np.float32(-9e33), "r": np.array([0.1, 2], "f4")}}}
        )
        assert "_FillValue: -9e+33; r: 0.1, 2.0\n" in ds("info", "x.ds").out


class TestErrors:
    def test_a_variable_that_is_wrong(self, folder: Path, ds: Run) -> None:
        ds_format.write("x.ds", {"x": [1.0], "y": [2]})
        path = folder / "x.ds"
        path.write_bytes(path.read_bytes().replace(b'"float64"', b'"flaat64"'))
        out = ds("info", "x.ds").out
        assert '      cannot be read: .type: found "flaat64", expected a type of the format\n' in out
        assert json_of(ds, "x.ds")["variables"]["x"]["error"].startswith(".type: ")
        assert json_of(ds, "x.ds")["variables"]["y"]["error"] is None

    def test_of_several_files_the_others_are_told(self, sample: Path, ds: Run) -> None:
        (sample / "broken.ds").write_text("no")
        done = ds("info", "broken.ds", "sample.nc", "nothing.nc", "sample.nc")
        assert done.status == 1
        assert done.out.count("sample.nc: netCDF-4") == 2
        assert done.err.splitlines() == [
            "ds info: broken.ds: not a ds file, but text: 'no'",
            "ds info: nothing.nc: File does not exist",
            "ds info: 2 of 4 files failed",
        ]
        done = ds("info", "-j", "--noindent", "broken.ds", "sample.nc")
        first, second = map(json.loads, done.out.splitlines())
        assert first == {"path": "broken.ds", "error": "broken.ds: not a ds file, but text: 'no'"}
        assert second["path"] == "sample.nc"

    def test_one_file(self, folder: Path, ds: Run) -> None:
        assert ds("info", "nothing.nc") == (1, "", "ds info: nothing.nc: File does not exist\n")
        assert ds("info").err.startswith("ds info: FILE is missing\n")
