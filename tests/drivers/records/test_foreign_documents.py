"""Documents of other programs as variables."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.zds.archiving import pack
from ds_format.zds.store import ZDSStore
from tests.same import same_data

Masked: Any = np.ma.MaskedArray


def write(path: Path, values: list[Any], name: str = "v", collection: str = "default") -> Path:
    with ZDSStore.open(path, collection, mode="w") as store:
        for i, value in enumerate(values):
            store.put(f"k{i}", {} if value is ... else {name: value})
    return path


HELD = [
    ([1, 2], np.array([1, 2])),
    ([1, 1 << 63], np.array([1, 1 << 63], "u8")),
    ([1, 2.5], np.array([1, 2.5])),
    ([1, None, 3], Masked([1, 0, 3], [0, 1, 0])),
    ([..., 2.5], Masked([0, 2.5], [1, 0])),
    ([None, None], Masked([0.0, 0.0], True)),
    ([True, False], np.array([True, False])),
    (["a", "žluť"], np.array(["a", "žluť"], object)),
    ([1, "NaN", "-Infinity"], np.array([1, np.nan, -np.inf])),
    ([1.5, "NaN(7ff8000000000001)"], np.array([0x3FF8000000000000, 0x7FF8000000000001], "u8").view("f8")),
    ([1.5, "NaN(7fc00001)"], np.array([0x3FF8000000000000, 0x7FF8000020000000], "u8").view("f8")),
    (["NaN", "NaN"], np.array(["NaN", "NaN"], object)),
    (["NaN", "a"], np.array(["NaN", "a"], object)),
    ([[1, 2], [3, 4]], np.array([[1, 2], [3, 4]])),
    ([[1, 2], [3, 4.5]], np.array([[1, 2], [3, 4.5]])),
    ([[1, "NaN"], [3, 4]], np.array([[1, np.nan], [3, 4]])),
    ([[1, None], [3, 4]], Masked([[1, 0], [3, 4]], [[0, 1], [0, 0]])),
    ([[1.5], None], Masked([[1.5], [0]], [[0], [1]])),
    ([["a", "b"], ["c", "d"]], np.array([["a", "b"], ["c", "d"]], object)),
    ([[], []], np.zeros((2, 0))),
    ([[[], []]], np.zeros((1, 2, 0))),
]


@pytest.mark.parametrize(("values", "expected"), HELD, ids=range(len(HELD)))
def test_entries_of_one_kind(values: list[Any], expected: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "a.zds", values)
    found = ds.read(path)
    assert found["_id"].tolist() == [f"k{i}" for i in range(len(values))]
    assert same_data(found["v"], expected)
    ds.convert(path, tmp_path / "b.ds")
    assert same_data(ds.read(tmp_path / "b.ds")["v"], expected)
    ds.convert(tmp_path / "b.ds", tmp_path / "c.zds")
    again = ds.read(tmp_path / "c.zds")
    assert same_data(again["v"], expected) and again["_id"].tolist() == found["_id"].tolist()


REFUSED = [
    ([[1, 2], [1, 2, 3]], r"found the shapes \[2\], \[3\], expected one"),
    ([[], [1]], r"found the shapes \[0\], \[1\], expected one"),
    ([[0] * i for i in range(9)], r"found the shapes \[0\], \[1\], \[2\], \[3\], ..., expected one"),
    ([1, "a"], "found values of the types int, unicode, expected one type that holds all"),
    ([1, True], "found values of the types int, bool, expected one type"),
    ([1 << 70], "found values of the types int, expected one type"),
    ([1, 1 << 63, -1], "found values of the types int, expected one type"),
    ([0.5, (1 << 53) + 1], "found values of the types float64, int, expected one type"),
    ([[1, [2]]], "found values of type list of lists of different lengths, which a dataset cannot hold"),
    ([[{"a": 1}]], "found values of type list of objects, which a dataset cannot hold"),
    ([[1, "a"]], "found values of the types int, unicode, expected one"),
    ([{"a": 1}, 1], "found objects and other values"),
    ([{}, {}], "found empty objects"),
]


@pytest.mark.parametrize(("values", "message"), REFUSED, ids=range(len(REFUSED)))
def test_entries_that_are_no_variables(values: list[Any], message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.zds", values)
    with ds.open(path) as file:
        assert file["v"].shape is None
    assert ds.read(path, "_id")["_id"].tolist() == [f"k{i}" for i in range(len(values))]
    with pytest.raises(ds.UnsupportedError, match=f'a.zds: variable "v": {message}'):
        ds.read(path, "v")
    with pytest.raises(ds.UnsupportedError, match='variable "v": '):
        ds.convert(path, tmp_path / "b.ds")
    with pytest.warns(ds.LossWarning, match=f'variable "v": {message}.*; it is left out'):
        ds.convert(path, tmp_path / "b.ds", skip_unsupported=True)
    assert "v" not in ds.read(tmp_path / "b.ds")


def test_objects_are_groups(tmp_path: Path) -> None:
    path = write(tmp_path / "a.zds", [{"b": 1, "c": {"d": "x"}}, {"b": 2}, {}, None], "a")
    found = ds.read(path)
    assert list(found) == ["_id", "a/b", "a/c/d", "."]
    assert found["a/b"].tolist() == [1, 2, None, None]
    assert found["a/c/d"].tolist() == ["x", None, None, None]
    write(tmp_path / "b.zds", [{"b": 1}], "a")
    with ZDSStore.open(tmp_path / "b.zds", mode="a") as store:
        store.put("z", {"a/b": 5})
    with pytest.raises(ds.UnsupportedError, match='variable "a/b": found a member of an object, and a name with'):
        ds.read(tmp_path / "b.zds")


def test_numbers_of_documents_are_left_out(tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path / "a.zds", mode="w") as store:
        store.put_many({"_id": str(i), "v": i} for i in range(3))
    assert list(ds.read(tmp_path / "a.zds")) == ["v", "."]
    with ZDSStore.open(tmp_path / "a.zds", mode="a") as store:
        store.delete("1")
    assert ds.read(tmp_path / "a.zds")["_id"].tolist() == ["0", "2"]


def test_collections_are_groups(tmp_path: Path) -> None:
    write(tmp_path / "a", [1, 2], collection="train")
    assert list(ds.read(tmp_path / "a")) == ["_id", "v", "."]
    write(tmp_path / "a", [[1.5, 2.5]], collection="test")
    write(tmp_path / "a", [], collection="none")
    pack(tmp_path / "a", tmp_path / "a.zds")
    for path in (tmp_path / "a", tmp_path / "a.zds"):
        found = ds.read(path)
        assert list(found) == ["test/_id", "test/v", "train/_id", "train/v", "."]
        assert found["."]["test/v"][".dims"] == ["test/n", "test/v_2"]
        assert found["train/v"].tolist() == [1, 2]
        with ds.open(path) as file:
            assert file["test/v"][0, 1] == 2.5
        with pytest.raises(ds.MissingError, match='variable "x"'):
            ds.open(path)["x"]
    for suffix in (".nc", ".zds", ".json"):
        ds.convert(tmp_path / "a.zds", tmp_path / f"b{suffix}")
        assert ds.read(tmp_path / f"b{suffix}")["test/v"].tolist() == [[1.5, 2.5]]


def test_sidecars_of_collections(tmp_path: Path) -> None:
    ds.write(tmp_path / "b.zds", {"x": [1, 2], "c": 5, ".": {"x": {".dims": ["t"], "units": "K"}, ".": {"title": "T"}}})
    from_zds = ds.read(tmp_path / "b.zds")
    assert from_zds["c"] == 5
    write(tmp_path / "b.zds", [1], collection="more")
    found = ds.read(tmp_path / "b.zds")
    assert found["default/c"] == 5 and found["."]["default/x"] == {".dims": ["default/t"], "units": "K"} | {
        key: found["."]["default/x"][key] for key in (".size", ".type") if key in found["."]["default/x"]
    }
    assert ds.attrs(found) == {"default/title": "T"}


def test_empty_stores(tmp_path: Path) -> None:
    (tmp_path / "a" / "collections").mkdir(parents=True)
    assert ds.read(tmp_path / "a") == {".": {".": {}}}
    write(tmp_path / "b", [])
    assert ds.read(tmp_path / "b") == {".": {".": {}}}


def test_nothing_is_written(tmp_path: Path) -> None:
    path = write(tmp_path / "a", [1, 2])
    (path / "collections" / "default" / "meta" / "index.bin").unlink()
    before = sorted(path.rglob("*"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ds.read(path)
    assert sorted(path.rglob("*")) == before
