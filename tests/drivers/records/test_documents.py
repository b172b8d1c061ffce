"""A dataset as documents, and back."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.drivers.records import source
from ds_format.drivers.records.columns import array_of_documents, values_for_documents, values_for_samples
from ds_format.drivers.records.zds import InOrder
from ds_format.testing import require_same
from ds_format.zds.archiving import unpack
from ds_format.zds.store import ZDSStore
from tests.same import same_data

Masked: Any = np.ma.MaskedArray
SAMPLE = Path(__file__).parents[3] / "examples" / "sample.nc"
TABLE: dict[str, Any] = {
    "name": np.array(["a", "b", "ž"], object),
    "t": np.array([1, 2, 3], "i2"),
    "x": Masked([[1.5, np.inf], [np.nan, 4.5], [5.5, 6.5]], [[0, 0], [0, 1], [1, 1]]),
    "names": Masked(np.array([["p", "NaN"], ["r", "s"], ["", "u"]], object), [[0, 0], [1, 0], [0, 0]]),
    "flag": Masked([True, False, True], [0, 1, 0]),
    "late": np.arange(6, dtype=">u4").reshape(2, 3),
    "single": np.array([0.1, -np.nan, 1e30], "f4"),
    "raw": np.array([b"\xff\0", b"", b"a"], object),
    "wind/speed": np.array([1, 1 << 63, (1 << 64) - 1], "u8"),
    "grid": np.arange(2.0),
    "none": None,
    ".": {
        **{name: {".dims": ["t"]} for name in ("name", "t", "flag", "single", "raw", "wind/speed")},
        **{name: {".dims": ["t", "y"]} for name in ("x", "names")},
        "late": {".dims": ["y", "t"], "units": "K"},
        "grid": {".dims": ["y"]},
        "none": {},
        ".": {"title": "T", "n": np.int16(3)},
    },
}


def lines(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return archive.read("collections/default/meta/data.jsonl").decode().splitlines()


def documents(path: Path) -> list[dict[str, Any]]:
    with ZDSStore.open(path) as store:
        return list(store.scan())


def test_documents_are_plain(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.zds", TABLE, key="t")
    text = ",".join(lines(tmp_path / "a.zds")).replace('{"_id"', '\n{"_id"')
    assert text == (
        '\n{"_id":"1","name":"a","t":1,"x":[1.5,"Infinity"],"names":["p","NaN"],"flag":true,"late":[0,3],"single":0.1,'
        '"raw":"ÿ\\u0000","wind":{"speed":1}},'
        '\n{"_id":"2","name":"b","t":2,"x":["NaN",null],"names":[null,"s"],"flag":null,"late":[1,4],"single":"-NaN",'
        '"raw":"","wind":{"speed":9223372036854775808}},'
        '\n{"_id":"3","name":"ž","t":3,"x":[null,null],"names":["","u"],"flag":true,"late":[2,5],"single":1e+30,'
        '"raw":"a","wind":{"speed":18446744073709551615}}'
    )
    assert ds.verify(tmp_path / "a.zds") == []
    require_same(TABLE, ds.read(tmp_path / "a.zds"))


def test_what_is_the_same_for_all_stands_in_a_ds_file(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.zds", TABLE)
    unpack(tmp_path / "a.zds", tmp_path / "a")
    found = ds.read(tmp_path / "a" / "collections" / "default" / "meta" / "dataset.ds")
    assert found["x"].shape == (0, 2) and found["late"].shape == (2, 0) and found["grid"].tolist() == [0, 1]
    assert found["."]["."][".records"]["n"] == 3


def test_folders_are_read(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.zds", TABLE)
    unpack(tmp_path / "a.zds", tmp_path / "a")
    require_same(TABLE, ds.read(tmp_path / "a"))
    require_same(TABLE, ds.read(str(tmp_path / "a")))
    assert ds.verify(tmp_path / "a") == []
    ds.convert(tmp_path / "a", tmp_path / "b.zds")
    assert lines(tmp_path / "b.zds") == lines(tmp_path / "a.zds")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ds.DriverError, match="empty: a folder that is not a dataset in ds or Zarr or ZDS"):
        ds.read(tmp_path / "empty")


def test_documents_in_any_order(tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path / "a.zds", mode="w") as store:
        store.put_many({"_id": f"k{i}", "v": i} for i in range(10))
    with ZDSStore.open(tmp_path / "a.zds") as store:
        found = InOrder(store)
        first, second = found.take(range(5)), found.take(range(3))
        assert [next(first)["v"], next(second)["v"], next(first)["v"]] == [0, 0, 1]
        assert [document["v"] for document in second] == [1, 2]
        assert [document["v"] for document in first] == [2, 3, 4]
        for numbers in (range(5, 7), range(3, 5), [9, 0], range(5, 10), range(10), range(10, 10), range(8, 10)):
            assert [document["v"] for document in found.take(numbers)] == list(numbers)


def test_the_sample_file_comes_back_byte_by_byte(tmp_path: Path) -> None:
    ds.write(tmp_path / "plain.nc", ds.read(SAMPLE))  # unpacked
    ds.convert(tmp_path / "plain.nc", tmp_path / "a.zds", dim="station")
    ds.convert(tmp_path / "a.zds", tmp_path / "a.ds")
    ds.convert(tmp_path / "plain.nc", tmp_path / "b.ds")
    assert (tmp_path / "a.ds").read_bytes() == (tmp_path / "b.ds").read_bytes()
    assert len(lines(tmp_path / "a.zds")) == 3


@pytest.mark.parametrize("held", [0, 1, 60, 1 << 20])
def test_little_memory(held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ds.write(tmp_path / "a.zds", TABLE)
    monkeypatch.setattr(source, "CACHE_SIZE", held)
    monkeypatch.setattr(source, "BLOCK_LENGTH", 2)
    ds.convert(tmp_path / "a.zds", tmp_path / "b.ds")
    require_same(TABLE, ds.read(tmp_path / "b.ds"))


@pytest.mark.parametrize("data", [{}, {"a": 1}, {"a": np.zeros((0, 2))}, {"a": None}, {"a": np.zeros((2, 0))}])
def test_nothing_to_make_documents_of(data: dict[str, Any], tmp_path: Path) -> None:
    ds.write(tmp_path / "a.zds", data)
    found = ds.read(tmp_path / "a.zds")
    assert found.keys() == {*data, "."}
    assert all(same_data(found[name], data[name]) for name in data)
    assert ds.verify(tmp_path / "a.zds") == []


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a/b", "a/c/d", "e"], {"a": {"b": 1, "c": {"d": 1}}, "e": 1}),
        (["a", "a/b"], {"a": 1, "a/b": 1}),
        (["/a", "b/c"], {"/a": 1, "b/c": 1}),
        (["_id/b"], {"_id/b": 1}),
    ],
)
def test_groups_are_objects(names: list[str], expected: dict[str, Any], tmp_path: Path) -> None:
    data = {name: [1] for name in names}
    ds.write(tmp_path / "a.zds", data)
    assert documents(tmp_path / "a.zds") == [{"_id": "0", **expected}]
    assert ds.read(tmp_path / "a.zds").keys() == {*names, "."}


def test_ids(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.zds", {"_id": ["x", "y"], "v": [1, 2]})
    assert lines(tmp_path / "a.zds") == ['{"_id":"x","v":1}', '{"_id":"y","v":2}']
    assert ds.read(tmp_path / "a.zds")["_id"].tolist() == ["x", "y"]
    ds.write(tmp_path / "b.zds", {"s": np.array([0.1, 2], "f4")}, key="s")
    assert [document["_id"] for document in documents(tmp_path / "b.zds")] == ["0.1", "2.0"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": "z"}, 'no variable has the dimension "z"'),
        ({"key": "z"}, 'variable "z": expected a variable of one value for each record'),
        ({"key": "x"}, 'variable "x": expected a variable of one value for each record'),
        ({"key": "flag"}, 'variable "flag": record 1: no value, expected a key'),
        ({"key": "same"}, 'variable "same": found the key .1. for the second time'),
        ({"key": "name"}, 'variable "name": .ž. cannot be the id of a document'),
        ({"key": "raw"}, 'variable "raw": the key .* is not UTF-8'),
    ],
)
def test_refusals(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    meta = {**TABLE["."], "same": {".dims": ["t"]}}
    with pytest.raises(ds.UnsupportedError, match=f"a.zds: {message}"):
        ds.write(tmp_path / "a.zds", {**TABLE, "same": [1, 1, 1], ".": meta}, **options)
    assert not list(tmp_path.iterdir())


def test_names_that_documents_use(tmp_path: Path) -> None:
    with pytest.raises(ds.UnsupportedError, match='variable "_id": the entry "_id" of a record is its key'):
        ds.write(tmp_path / "a.zds", {"x": [1.0], "_id": [1]})


def test_a_folder_stays(tmp_path: Path) -> None:
    (tmp_path / "b.zds").mkdir()
    with pytest.raises(IsADirectoryError, match=r"b.zds"):
        ds.write(tmp_path / "b.zds", {"x": [1]})


def test_a_sidecar_of_other_data_is_not_used(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.zds", {"a": [1, 2], ".": {"a": {".dims": ["t"], "units": "K"}}})
    unpack(tmp_path / "a.zds", tmp_path / "a")
    with ZDSStore.open(tmp_path / "a", mode="a") as store:
        store.put("1", {"a": 7})
    with pytest.warns(UserWarning, match=r"dataset.ds: does not belong to the data of"):
        found = ds.read(tmp_path / "a")
    assert found["a"].tolist() == [1, 7] and ds.attrs(found, "a") == {}


def test_a_damaged_sidecar_is_reported(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.zds", TABLE)
    unpack(tmp_path / "a.zds", tmp_path / "a")
    meta = tmp_path / "a" / "collections" / "default" / "meta" / "dataset.ds"
    meta.write_bytes(meta.read_bytes().replace(b'"axes": {"name": 0', b'"axes": {"name": 7'))
    with pytest.raises(ds.FormatError, match=r'dataset.ds: variable "name": .records: found the axis 7'):
        ds.read(tmp_path / "a")
    [problem] = ds.verify(tmp_path / "a")
    assert "axis 7" in problem.message


def test_values_that_do_not_fit_are_told(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.zds", {"a": np.arange(10000, 20000)})
    unpack(tmp_path / "a.zds", tmp_path / "a")
    path = tmp_path / "a" / "collections" / "default" / "meta" / "data.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"a":10002', b'"a":"abc"'))
    with pytest.raises(
        ds.FormatError, match=r"a: variable \"a\": document '2': found 'abc', expected a value of type int64"
    ):
        ds.read(tmp_path / "a")
    [problem] = ds.verify(tmp_path / "a")
    assert problem.variable == "a"


def test_times_in_other_units(tmp_path: Path) -> None:
    times = {"t": [2451545.0, 2451546.0], ".": {"t": {".dims": ["t"], ".time": True}}}
    ds.write(tmp_path / "a.zds", times, time_units="hours since 2000-01-01", calendar="standard")
    assert [document["t"] for document in documents(tmp_path / "a.zds")] == [12.0, 36.0]
    assert ds.read(tmp_path / "a.zds", jd=True)["t"].tolist() == [2451545.0, 2451546.0]


NANS = np.array([0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8000000000001, 0xFFF0000000000002], "u8").view("f8")
SINGLES = np.array([0x7FC00000, 0xFFC00000, 0x7FC00001, 0xFF800002, 0x00000001, 0x3DCCCCCD], "u4").view("f4")


@pytest.mark.parametrize("array", [NANS, SINGLES, np.array([-0.0, 5e-324, 1.7976931348623157e308])])
def test_floats_to_the_bit(array: Any) -> None:
    values = json.loads(json.dumps(values_for_documents(array), allow_nan=False))
    found = array_of_documents(values, array.dtype.name, (), str)
    assert found.tobytes() == array.tobytes()


def test_arrays_stay_as_they_are() -> None:
    array = np.ma.MaskedArray(np.array(["a", "b"], object), [True, False])
    assert values_for_documents(array) == [None, "b"] == values_for_samples(array)[0]
    assert array.data.tolist() == ["a", "b"]


WRONG: list[tuple[list[Any], str, tuple[int, ...], str]] = [
    ([1, 300], "int8", (), "1: found 300, expected a value of type int8"),
    ([1.5], "int8", (), "0: found 1.5, expected a value of type int8"),
    ([True], "int8", (), "0: found True, expected"),
    ([1], "bool", (), "0: found 1, expected"),
    (["x"], "float64", (), "0: found 'x', expected"),
    (["NaN(0000000000000000)"], "float64", (), "found 'NaN"),
    (["NaN"], "int64", (), "0: found 'NaN', expected"),
    ([[1, 2], [3]], "int8", (2,), r"1: found a list, expected values of type int8 in the shape \[2\]"),
    ([[1, [2]]], "int8", (2,), "0: found a list, expected"),
    ([5], "int8", (2,), "0: found 5, expected"),
    ([[1]], "int8", (), "0: found a list, expected"),
    ([{}], "bool", (), "0: found an object, expected"),
    ([1e300], "float32", (), "0: found 1e[+]300, expected"),
    ([(1 << 53) + 1], "float64", (), "0: found 9007199254740993, expected"),
    ([(1 << 24) + 1], "float32", (), "0: found 16777217, expected"),
    ([10**400], "float64", (), "0: found 1000"),
    (["Ā"], "str", (), "0: found 'Ā', expected a value of type str"),
    ([1], "unicode", (), "0: found 1, expected"),
]


@pytest.mark.parametrize(("values", "type_name", "shape", "message"), WRONG, ids=range(len(WRONG)))
def test_values_of_another_type(values: list[Any], type_name: str, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(ds.FormatError, match=message):
        array_of_documents(values, type_name, shape, str)
