"""What other programs see of the files: h5py, netCDF4 and xarray."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ds_format as ds
from ds_format.drivers.hdf5 import HDF5Warning
from ds_format.errors import UnsupportedError

from ...same import same_data, same_value
from .files import read_all, var, write_all

pytestmark = pytest.mark.usefixtures("writer")


def dataset() -> dict[str, Any]:
    return {
        "time": np.arange(2.0),
        "lat": np.array(["a", "ž", "c"], object),
        "t": np.ma.masked_equal(np.arange(6, dtype="f4").reshape(2, 3), 4),
        "count": np.ma.masked_equal(np.arange(2, dtype="i2"), 1),
        "land": np.array([True, False, True]),
        "raw": np.array([b"x", b"yz"], object),
        "nothing": None,
        "scalar": 5,
        "time_bounds": np.zeros((2, 2)),
        "g/x": np.arange(3),
        "g/y": np.zeros((3, 2)),
        ".": {
            "time": {".dims": ["time"], "units": "days since 2000-01-01"},
            "lat": {".dims": ["lat"], "names": ["one", "two"]},
            "t": {".dims": ["time", "lat"], "units": "K", "valid_max": 400, "flags": np.array([1, 2], "i1")},
            "count": {".dims": ["time"], "_FillValue": -9},
            "land": {".dims": ["lat"]},
            "raw": {".dims": ["time"]},
            "time_bounds": {".dims": ["time", "bound"]},
            "g/x": {".dims": ["g/level"]},
            "g/y": {".dims": ["g/level", "time"]},
            ".": {"title": "T", "g/note": "of g"},
        },
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    ds.write(tmp_path / "a.h5", dataset())
    return tmp_path / "a.h5"


def test_for_h5py(path: Path) -> None:
    with h5py.File(path) as file:
        assert sorted(file) == sorted({name.partition("/")[0] for name in dataset() if name != "."} | {"bound"})
        assert file.attrs["title"] == "T" and file["g"].attrs["note"] == "of g"
        assert [dim[0].name for dim in file["t"].dims] == ["/time", "/lat"]
        assert [dim[0].name for dim in file["g/y"].dims] == ["/g/level", "/time"]
        assert file["t"].dtype == "<f4" and file["t"].attrs["units"] == "K"
        assert file["t"].attrs["valid_max"].dtype == "f4" and file["t"].attrs["flags"].tolist() == [1, 2]
        assert file["lat"].asstr()[:].tolist() == ["a", "ž", "c"]
        assert file["raw"][:].tolist() == [b"x", b"yz"]
        assert file["land"][:].tolist() == [True, False, True]
        assert file["count"].attrs["_FillValue"].dtype == "i2"
        assert file["count"][:].tolist() == [0, -9]
        assert file["bound"].id.get_storage_size() == 0


def test_for_netcdf(path: Path) -> None:
    with netCDF4.Dataset(path) as file:
        sizes = {name: dimension.size for name, dimension in file.dimensions.items()}
        assert sizes == {"time": 2, "lat": 3, "bound": 2}
        assert file["g"].dimensions.keys() == {"level"}
        assert file["t"].dimensions == ("time", "lat") and file["g"]["y"].dimensions == ("level", "time")
        assert file.title == "T" and file["g"].note == "of g"
        assert same_data(file["t"][:], dataset()["t"])
        assert same_data(file["count"][:], dataset()["count"])
        assert file["lat"][:].tolist() == ["a", "ž", "c"] and file["lat"].names == ["one", "two"]
        assert file["raw"][:].tolist() == ["x", "yz"]
        assert file["land"][:].tolist() == [1, 0, 1]
        assert file["scalar"][...] == 5


def test_for_xarray(path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    with xarray.open_dataset(path, engine="netcdf4") as found:
        assert found["t"].dims == ("time", "lat")
        assert str(found["time"].values[1])[:10] == "2000-01-02"
        assert np.isnan(found["t"].values[1, 1]) and found["t"].values[1, 2] == 5
        assert found["t"].attrs["units"] == "K"


def test_for_the_netcdf_driver_of_this_package(path: Path, tmp_path: Path) -> None:
    (tmp_path / "a.nc").write_bytes(path.read_bytes())
    found = ds.read(tmp_path / "a.nc")
    for name in ("time", "t", "count", "time_bounds", "g/x"):
        assert same_data(found[name], dataset()[name]), name


def test_compression(tmp_path: Path) -> None:
    data = {"x": np.zeros((100, 100)), "s": 5, "z": np.zeros((0, 2)), "t": np.array(["a"] * 50, object)}
    for options, expected in {
        ("gzip", None): {"compression": "gzip", "level": 4},
        ("gzip", 9): {"compression": "gzip", "level": 9},
        ("lzf", None): {"compression": "lzf"},
    }.items():
        ds.write(tmp_path / "a.h5", data, compression=options[0], level=options[1])
        found = ds.read(tmp_path / "a.h5")
        assert all(same_data(found[name], value) for name, value in data.items())
        record = found["."]["x"][".hdf5"]
        assert {key: value for key, value in record.items() if key != "chunks"} == expected
        assert ".hdf5" not in found["."]["s"] and ".hdf5" not in found["."]["z"]
    with pytest.raises(UnsupportedError, match=r'a\.h5: found the compression "szip", expected one of gzip, lzf'):
        ds.write(tmp_path / "a.h5", data, compression="szip")


RECORDS = [
    {"chunks": [3, 2], "compression": "gzip", "level": 1, "shuffle": True, "fletcher32": True},
    {"chunks": [7, 2], "maxshape": [None, 4]},
    {"endian": "big"},
    {"enum": {"A": 0, "B": 1}, "chunks": [2, 2], "endian": "big"},
]


@pytest.mark.parametrize("record", RECORDS, ids=["filters", "growing", "big", "enum"])
def test_storage_is_restored(record: dict[str, Any], tmp_path: Path) -> None:
    data = np.arange(12, dtype="i4").reshape(3, 4)
    meta = {"x": var(["a", "b"], [3, 4], "int32", hdf5=record), ".": {}}
    write_all(tmp_path / "a.h5", meta, {"x": [data[:1], data[1:]]})
    found, values = read_all(tmp_path / "a.h5")
    assert found["x"][".hdf5"] == record
    assert same_data(values["x"], data)
    ds.convert(tmp_path / "a.h5", tmp_path / "b.h5", sel={"a": [0]})
    assert ds.read(tmp_path / "b.h5")["x"].tolist() == [[0, 1, 2, 3]]
    if "maxshape" in record:
        with netCDF4.Dataset(tmp_path / "a.h5") as file:
            assert file.dimensions["a"].isunlimited() and not file.dimensions["b"].isunlimited()


def test_text_has_no_checksums_of_chunks(tmp_path: Path) -> None:
    text = np.array(["a", "", "bc"], object)
    for record in ({"fletcher32": True}, {"fletcher32": True, "shuffle": True, "compression": "gzip", "chunks": [2]}):
        ds.write(tmp_path / "a.h5", {"x": text, ".": {"x": {".dims": ["i"], ".hdf5": record}}})
        assert same_data(ds.read(tmp_path / "a.h5")["x"], text)


@pytest.mark.parametrize(
    "record",
    [
        *({"chunks": chunks} for chunks in ([0, 1], [1], ["a", "b"], 5)),
        *({"maxshape": maxshape} for maxshape in ([1, 1], [None], ["a", None])),
        *(
            {"enum": members}
            for members in ({"A": 2**40}, {"A": 2**70}, {"A": 1, "B": 1}, {"": 1}, {"A": "b"}, [1], {})
        ),
        {"compression": "none", "level": "high", "shuffle": 1, "fletcher32": "yes", "endian": 5},
        {"compression": "gzip", "level": 99},
        5,
    ],
    ids=str,
)
def test_wrong_records_harm_nothing(record: Any, tmp_path: Path) -> None:
    data = np.arange(6, dtype="i4").reshape(3, 2)
    meta = {
        "x": var(["a", "b"], [3, 2], "int32", hdf5=record),
        ".": {".hdf5": {"groups": [5, ""], "dimensions": {"": 1}}},
    }
    write_all(tmp_path / "a.h5", meta, {"x": [data]})
    assert same_data(read_all(tmp_path / "a.h5")[1]["x"], data)


def test_dimensions_without_variables_and_groups_without_anything(tmp_path: Path) -> None:
    record = {"dimensions": {"n": 3, "g/m": 0}, "groups": ["empty", "g"]}
    write_all(tmp_path / "a.h5", {".": {".hdf5": record, "g/a": 1}}, {})
    found, _ = read_all(tmp_path / "a.h5")
    assert found == {".": {".hdf5": {"dimensions": {"n": 3, "g/m": 0}, "groups": ["empty"]}, "g/a": 1}}
    with netCDF4.Dataset(tmp_path / "a.h5") as file:
        assert file.dimensions["n"].size == 3 and sorted(file.groups) == ["empty", "g"]


def test_a_changed_attribute_goes_before_the_marker(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file["t"].attrs["valid_max"] = np.float32(500)
        file["t"].attrs["units"] = "degC"
        del file["count"].attrs["_FillValue"]
    found = ds.read(path)
    assert same_value(found["."]["t"]["valid_max"], np.float32(500))
    assert found["."]["t"]["units"] == "degC"
    assert found["count"].tolist() == [0, -9]


def test_present_values_that_others_take_for_missing_are_told(tmp_path: Path) -> None:
    data = {"x": np.array([1, -9, -9]), ".": {"x": {"_FillValue": -9}}}
    with pytest.warns(
        HDF5Warning, match=r'a\.h5: variable "x": 2 present values equal -9, which means missing to other'
    ):
        ds.write(tmp_path / "a.h5", data)
    assert same_data(ds.read(tmp_path / "a.h5")["x"], data["x"])


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"x": np.zeros(2, "c8")}, r'variable "x": dtype: found complex64'),
    ({"x": np.array(["\ud800"], object)}, r"variable \"x\": the text '\\ud800' cannot be encoded in utf-8"),
    ({"x": np.zeros(2), ".": {"x": {"a": {1, 2}}}}, r'variable "x": attribute "a": a value of type set'),
    ({".": {".": {"a": object()}}}, r'a\.h5: attribute "a": a value of type object'),
    ({"x": 1, ".": {"x": {"a": np.ma.masked_equal([1], 1)}}}, r'attribute "a": a value of type'),
]
CONTRADICTING: list[tuple[dict[str, Any], str]] = [
    ({"x": var(["n"], [3], "complex64")}, r'a\.h5: variable "x": the type "complex64"'),
    ({"x": var(["n"], [3, 2], "int8")}, r'a\.h5: variable "x": found 1 dimensions'),
    ({"x": var(["n"], [3], "int8"), "y": var(["n"], [4], "int8")}, r'variable "y": dimension "n": found the size 4'),
]
MISFITS: list[tuple[dict[str, Any], str]] = [
    ({"x": [np.ma.masked_equal([1.0, 2.0], 2)]}, "found missing values, expected none"),
    ({"x": [np.array(["a", "b"])]}, "found values of type <U1, expected float32"),
    ({"s": [np.array([1, 2])]}, "found a value of type int, expected a string"),
]


@pytest.mark.parametrize(("data", "message"), REFUSED)
def test_what_is_refused(data: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=message):
        ds.write(tmp_path / "a.h5", data)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("meta", "message"), CONTRADICTING)
def test_metadata_that_contradict_themselves(meta: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=message):
        write_all(tmp_path / "a.h5", {**meta, ".": {}}, {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("blocks", "message"), MISFITS)
def test_values_that_are_not_what_the_metadata_say(blocks: dict[str, Any], message: str, tmp_path: Path) -> None:
    meta = {"x": var(["n"], [2], "float32", missing=False), "s": var(["n"], [2], "unicode"), ".": {}}
    with pytest.raises(UnsupportedError, match=message):
        write_all(tmp_path / "a.h5", meta, blocks)
    assert list(tmp_path.iterdir()) == []


def test_large_attributes(tmp_path: Path) -> None:
    attributes = {"text": "ž" * 100_000, "numbers": np.arange(50_000.0), "lists": [[i] for i in range(30_000)]}
    ds.write(tmp_path / "a.h5", {"x": 1, ".": {"x": attributes, ".": {f"a{i}": np.int16(i) for i in range(100)}}})
    found = ds.read(tmp_path / "a.h5")["."]
    assert all(same_value(found["x"][name], value) for name, value in attributes.items())
    assert list(found["."]) == [f"a{i}" for i in range(100)]
