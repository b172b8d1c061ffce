"""Formats that cannot keep a scale get unpacked values; times can be text by ISO 8601."""

from __future__ import annotations

import csv
import warnings
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from pyarrow import feather, parquet

import ds_format as ds
from ds_format import drivers
from ds_format.api import creation
from ds_format.cli import main
from ds_format.datadings.reader import MsgpackReader
from ds_format.drivers.base import LossWarning
from ds_format.errors import DriverError, IntegrityError, UnsupportedError
from ds_format.many.converting.task import compare
from ds_format.views.subset import open_subset
from ds_format.zds.store import ZDSStore

from ..formats import FOR_OTHERS, RECORDS

pytestmark = pytest.mark.filterwarnings("ignore::ds_format.drivers.base.LossWarning")

FORMS = [*FOR_OTHERS, ".tsv"]
PARENTS = {"units": "degrees_north", "scale_factor": 0.01, "bounds": "lat_bnds"}


def month(path: Path, scale: float = 0.1, hours: int = 0) -> Path:
    """Make a NetCDF file of packed temperatures, one of them missing, and a packed coordinate with bounds."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", 3)
        file.createDimension("two", 2)
        file.set_auto_maskandscale(False)
        columns: dict[str, Any] = {
            "time": ("i4", ("time",), None, np.arange(3) * 6 + hours, {"units": "hours since 2000-01-01"}),
            "t": ("i2", ("time",), -999, [-15, 30, -999], {"scale_factor": scale, "valid_min": np.int16(-400)}),
            "u": ("i1", ("time",), None, [-1, 0, 1], {"_Unsigned": "true", "add_offset": 0.5}),
            "lat": ("i2", ("time",), None, [1, 2, 3], PARENTS),
            "lat_bnds": ("i2", ("time", "two"), None, [[0, 1], [1, 2], [2, 3]], {}),
        }
        for name, (code, dims, fill, values, attributes) in columns.items():
            variable = file.createVariable(name, code, dims, fill_value=fill)
            variable.setncatts(attributes)
            variable.set_auto_maskandscale(False)
            variable[:] = values
    return path


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    return month(tmp_path / "packed.nc")


def values(path: Path, name: str = "t") -> list[Any]:
    """Return values as they are in a file, as programs without scales see them."""
    if path.suffix == ".msgpack":
        with MsgpackReader(path) as reader:
            return [np.asarray(sample[name]).tolist() for sample in reader]
    if path.suffix == ".zds":
        with ZDSStore.open(path) as store:
            return [document[name] for document in store.scan()]
    if path.suffix in (".arrow", ".parquet"):
        return [*(feather if path.suffix == ".arrow" else parquet).read_table(path)[name].to_pylist()]
    rows = csv.DictReader(path.read_text().splitlines(), delimiter="," if path.suffix == ".csv" else "\t")
    return [float(row[name]) if row[name] else None for row in rows]


def write_raw(source: Path, target: Path, names: list[str]) -> None:
    ds.write(target, ds.read(source, names, unpack=False))


def convert(source: Path, target: Path, names: list[str]) -> None:
    ds.convert(source, target, names)


def select(source: Path, target: Path, names: list[str]) -> None:
    assert main(["select", *names, str(source), str(target)]) == 0


def merge(source: Path, target: Path, names: list[str]) -> None:
    convert(source, source.with_suffix(".json"), names)  # which keeps the scale
    ds.merge_files("time", [source.with_suffix(".json")], target)


@pytest.mark.parametrize("write", [write_raw, convert, select, merge])
@pytest.mark.parametrize("suffix", FORMS)
def test_what_stands_in_a_file_is_what_netcdf_says(suffix: str, write: Any, packed: Path, tmp_path: Path) -> None:
    target = tmp_path / f"a{suffix}"
    write(packed, target, ["t", "u", "lat"])
    with netCDF4.Dataset(packed) as file:
        for name in ("t", "u", "lat"):
            assert values(target, name) == file[name][:].tolist()
    found, expected = ds.read(target), ds.read(packed)
    assert found["t"].tolist() == expected["t"].tolist()
    if suffix in RECORDS:
        assert ds.attrs(found, "lat") == ds.attrs(expected, "lat")
        assert ds.attrs(found, "t") == ds.attrs(expected, "t")


@pytest.mark.parametrize("suffix", RECORDS)
def test_bounds_are_unpacked_as_their_coordinate_also_alone(suffix: str, packed: Path, tmp_path: Path) -> None:
    expected = ds.read(packed)["lat_bnds"].tolist()
    for i, names in enumerate([None, ["lat_bnds"]]):
        ds.convert(packed, tmp_path / f"{i}{suffix}", names)
        assert values(tmp_path / f"{i}{suffix}", "lat_bnds") == expected == [[0, 0.01], [0.01, 0.02], [0.02, 0.03]]


@pytest.mark.parametrize("suffix", RECORDS)
def test_two_months_with_two_scales_in_one_container(suffix: str, tmp_path: Path) -> None:
    parts = []
    for i, scale in enumerate((0.1, 0.5)):
        source = month(tmp_path / f"{i}.nc", scale)
        ds.convert(source, tmp_path / f"{i}{suffix}")
        parts.append(str(tmp_path / f"{i}{suffix}"))
    assert [values(Path(part))[:2] for part in parts] == [[-1.5, 3.0], [-7.5, 15.0]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ds.merge_files("time", [tmp_path / "0.nc", tmp_path / "1.nc"], tmp_path / f"all{suffix}")
    assert values(tmp_path / f"all{suffix}") == [-1.5, 3.0, None, -7.5, 15.0, None]


def test_other_formats_keep_the_scale(packed: Path, tmp_path: Path) -> None:
    for name, driver in drivers.FORMATS.items():
        if driver.unpack is None or name == "hdf5":
            continue
        path = tmp_path / f"a{driver.suffixes[0]}"
        ds.convert(packed, path)
        assert np.ma.getdata(ds.read(path, unpack=False)["t"])[:2].tolist() == [-15, 30]


@pytest.mark.parametrize("suffix", FORMS)
def test_integers_that_no_file_of_netcdf_packed_stay_as_read_leaves_them(suffix: str, tmp_path: Path) -> None:
    d = {"t": np.array([1, 2], "i2"), ".": {"t": {".dims": ["i"], "scale_factor": 0.5}}}
    ds.write(tmp_path / "a.ds", d)
    assert ds.read(tmp_path / "a.ds")["t"].tolist() == [1, 2]
    ds.convert(tmp_path / "a.ds", tmp_path / f"a{suffix}")
    assert values(tmp_path / f"a{suffix}") == [1, 2]


def test_a_folder_is_verified_against_unpacked_values(packed: Path, tmp_path: Path) -> None:
    month(tmp_path / "other.nc", 0.5)
    paths = [packed, tmp_path / "other.nc"]
    for to in (".msgpack", ".zds", ".csv"):
        names = ["t", "time"] if to == ".csv" else None
        given: list[dict[str, Any]] = [{}, {"times": "iso"}]
        for options in given:
            done = ds.convert_many(
                paths, tmp_path / f"out{to}", to=to, variables=names, verify=True, overwrite=True, **options
            )
            assert [one.status for one in done] == ["converted", "converted"]
    ds.convert(packed, tmp_path / "a.zds")
    with open_subset(tmp_path / "other.nc") as part, pytest.raises(IntegrityError, match='"t": value 0 diff'):
        compare(part, str(tmp_path / "a.zds"))


def test_blocks_are_cut_to_the_size_of_what_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(creation, "BLOCK_SIZE", 80)
    entry = {".dims": ["i"], ".size": [25], ".type": "int8", "scale_factor": 0.5, ".netcdf": {"packed": True}}
    coding = creation.Coding({"x": entry}, drivers.FORMATS["zds"])
    found = list(coding.blocks("x", [np.arange(25, dtype="i1")]))
    assert [len(block) for block in found] == [10, 10, 5]
    assert np.concatenate(found).tolist() == (np.arange(25) / 2).tolist()


def written(path: Path, times: Any, **properties: Any) -> list[str | None]:
    """Write times as text, and return the text."""
    d = {"time": times, ".": {"time": {".dims": ["time"], **properties}}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is lost
        warnings.simplefilter("ignore", LossWarning)
        ds.write(path, d, times="iso")
    found: list[str | None] = ds.read(path)["time"].tolist()
    return found


@pytest.mark.parametrize("suffix", FORMS)
@pytest.mark.parametrize(
    ("times", "properties", "expected"),
    [
        ([0, 6], {"units": "hours since 2000-01-01"}, ["2000-01-01T00:00:00", "2000-01-01T06:00:00"]),
        ([2451545.25], {".time": True}, ["2000-01-01T18:00:00"]),
        ([0.1, np.nan], {"units": "hours since 2000-01-01"}, ["2000-01-01T00:06:00", None]),
        (np.ma.array([7, 8], mask=[True, False]), {"units": "days since 2000-01-01"}, [None, "2000-01-09T00:00:00"]),
        (
            [0, 59],
            {"units": "days since 2000-01-01", "calendar": "360_day"},
            ["2000-01-01T00:00:00", "2000-02-30T00:00:00"],
        ),
        (
            [0, 1],
            {"units": "days since 1900-02-28", "calendar": "julian"},
            ["1900-02-28T00:00:00", "1900-02-29T00:00:00"],
        ),
        ([0, 1], {"units": "days since 1582-10-04"}, ["1582-10-04T00:00:00", "1582-10-15T00:00:00"]),
        (np.array([0.1], "f4"), {"units": "days since 2000-01-01"}, ["2000-01-01T02:24:00"]),
        ([0, 0.5], {"units": "seconds since 2000-01-01"}, ["2000-01-01T00:00:00.000", "2000-01-01T00:00:00.500"]),
        ([10**9 + 1], {"units": "nanoseconds since 2000-01-01"}, ["2000-01-01T00:00:01.000000001"]),
        ([59.9999999], {"units": "minutes since 2000-01-01"}, ["2000-01-01T00:59:59.999994"]),
    ],
    ids=[
        "hours",
        "julian",
        "nan",
        "missing",
        "360_day",
        "julian_calendar",
        "reform",
        "float32",
        "milliseconds",
        "nanoseconds",
        "microseconds",
    ],
)
def test_times_as_text(suffix: str, times: Any, properties: Any, expected: Any, tmp_path: Path) -> None:
    assert written(tmp_path / f"a{suffix}", np.ma.asanyarray(times), **properties) == expected


@pytest.mark.parametrize("suffix", RECORDS)
def test_text_has_no_units_and_keeps_an_unusual_calendar(suffix: str, tmp_path: Path) -> None:
    for calendar, kept in (("standard", {}), ("noleap", {"calendar": "noleap"}), ("julian", {"calendar": "julian"})):
        path = tmp_path / f"{calendar}{suffix}"
        written(path, [1], units="days since 2000-01-01", calendar=calendar, axis="T", _FillValue=np.int64(-1))
        assert ds.attrs(ds.read(path), "time") == {"axis": "T", **kept}


@pytest.mark.parametrize("suffix", RECORDS)
def test_bounds_of_times_are_text_too(suffix: str, tmp_path: Path) -> None:
    d = {
        "time": np.array([0, 1]),
        "b": np.array([[0, 1], [1, 2]]),
        ".": {
            "time": {".dims": ["time"], "units": "days since 2000-01-01", "bounds": "b"},
            "b": {".dims": ["time", "n"]},
        },
    }
    ds.write(tmp_path / "a.nc", d)
    for i, names in enumerate([None, ["b"]]):
        ds.convert(tmp_path / "a.nc", tmp_path / f"{i}{suffix}", names, times="iso")
        assert ds.read(tmp_path / f"{i}{suffix}")["b"][1].tolist() == ["2000-01-02T00:00:00", "2000-01-03T00:00:00"]


def test_packed_times_as_text(tmp_path: Path) -> None:
    entry = {".dims": ["t"], "units": "days since 2000-01-01", "scale_factor": 0.5, ".netcdf": {"packed": True}}
    ds.write(tmp_path / "a.csv", {"t": np.array([1, 2], "i2"), ".": {"t": entry}}, times="iso")
    assert ds.read(tmp_path / "a.csv")["t"].tolist() == ["2000-01-01T12:00:00", "2000-01-02T00:00:00"]


def test_the_loss_names_the_units(packed: Path, tmp_path: Path) -> None:
    with pytest.warns(LossWarning, match='units of times \\("time": hours since 2000-01-01; `times: iso`, in Python'):
        ds.convert(packed, tmp_path / "a.csv", ["time", "t"])
    with pytest.warns(LossWarning) as caught:
        ds.convert(packed, tmp_path / "a.csv", ["time", "t"], times="iso")
    assert "units of times" not in str(caught[0].message)


def test_times_that_cannot_be_decoded_stay(tmp_path: Path) -> None:
    d: dict[str, Any] = {"t": [1], ".": {"t": {".dims": ["t"], "units": "months since 2000-01-01"}}}
    with pytest.warns(UserWarning, match=r'a.zds: variable "t": .*"months".* stays as it is'):
        ds.write(tmp_path / "a.zds", d, times="iso")
    assert ds.read(tmp_path / "a.zds")["t"].tolist() == [1]
    d["."]["t"]["units"] = "days since 2000-01-01"
    d["t"] = [9e36]
    with pytest.raises(UnsupportedError, match=r'a.csv: variable "t": found the time 9e\+36, which is more than'):
        ds.write(tmp_path / "a.csv", d, times="iso")
    assert not (tmp_path / "a.csv").exists()


def test_options_that_contradict_each_other(packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"times": "epoch"}, "times: found 'epoch', expected \"iso\""),
        ({"times": "iso", "calendar": "noleap"}, "which has no units: leave out time_units and calendar"),
    ]
    for options, message in cases:
        with pytest.raises(DriverError, match=message):
            ds.convert(packed, tmp_path / "a.zds", **options)
        words = [word for name, value in options.items() for word in (f"{name}:", value)]
        assert main([*words, "select", "time", str(packed), str(tmp_path / "a.zds")]) == 1
        assert message in capsys.readouterr().err
    with pytest.raises(DriverError, match='format netcdf has no option "times"'):
        ds.convert(packed, tmp_path / "a.nc", times="iso")


def test_the_command_line_writes_text_and_repeats(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = month(tmp_path / "other.nc", hours=18)
    for _ in range(2):
        words = ["merge", "time", str(packed), str(other), str(tmp_path / "a.zds"), "times:", "iso"]
        assert main(words) == 0, capsys.readouterr().err
    found = ds.read(tmp_path / "a.zds")["time"]
    assert found[[0, 3]].tolist() == ["2000-01-01T00:00:00", "2000-01-01T18:00:00"]
