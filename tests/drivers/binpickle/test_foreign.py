"""Objects of other programs as datasets."""

from __future__ import annotations

import datetime
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format import binpickle
from tests.binpickle.golden import FOLDER
from tests.same import same_data

from ...conftest import cases
from ...numpy_versions import NUMPY_2

Masked: Any = np.ma.MaskedArray
GOLDEN = sorted(FOLDER.rglob("*.bpk"))


def read(obj: Any, folder: Path, **options: Any) -> dict[str, Any]:
    binpickle.dump(obj, folder / "a.bpk", **options)
    return ds.read(folder / "a.bpk")


HELD: dict[str, tuple[Any, Any]] = {
    "bigendian": (np.array([1, 2], ">i2"), np.array([1, 2], "i2")),
    "fortran": (np.asfortranarray([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]])),
    "masked": (Masked([1, 2], [0, 1]), Masked([1, 2], [0, 1])),
    "fixed text": (np.array(["a", "žluť"]), np.array(["a", "žluť"], object)),
    "fixed bytes": (np.array([b"a", b"bc"]), np.array([b"a", b"bc"], object)),
    "objects": (np.array(["a", None], object), Masked(np.array(["a", ""], object), [0, 1])),
    "integer": (5, np.int64(5)),
    "list": ([1.5, None], Masked([1.5, 0], [0, 1])),
    "tuple": ((1, 2), np.array([1, 2])),
    "bytes": (b"a\0", b"a\0"),
    "none": (None, None),
    "records": (np.array([1, 2]).view(np.recarray), np.array([1, 2])),
    "no dimensions": (np.array(2.5), np.float64(2.5)),
}
if NUMPY_2:
    HELD["strings"] = np.array(["a", "b"], np.dtypes.StringDType()), np.array(["a", "b"], object)
    HELD["strings, missing"] = (
        np.array(["a", None], np.dtypes.StringDType(na_object=None)),
        Masked(np.array(["a", ""], object), [0, 1]),
    )


@pytest.mark.parametrize("codec", [None, "gz"])
@pytest.mark.parametrize("name", HELD)
def test_values_of_a_dict(name: str, codec: Any, tmp_path: Path) -> None:
    obj, expected = HELD[name]
    found = read({"x": obj}, tmp_path, codec=codec)
    assert list(found) == ["x", "."]
    assert same_data(found["x"], expected)
    assert same_data(read(obj, tmp_path, codec=codec)["data"], expected)
    ds.convert(tmp_path / "a.bpk", tmp_path / "b.ds")


def test_nested_dicts_are_groups(tmp_path: Path) -> None:
    found = read({"a": {"b": {"c": np.arange(2)}}, 5: [np.arange(2), np.arange(3)], ".x": 1}, tmp_path)
    assert list(found) == ["a/b/c", "5/0", "5/1", "\\.x", "."]


@pytest.mark.parametrize("unit", ["D", "h", "s", "ms", "us", "ns"])
def test_dates_are_numbers_with_units(unit: str, tmp_path: Path) -> None:
    dates = np.array(["2000-01-01", "NaT", "2001-06-07"], f"M8[{unit}]")
    found = read({"t": dates, "dt": dates - dates[0]}, tmp_path)
    units = {name: (ds.attrs(found, name) or {})["units"] for name in ("t", "dt")}
    assert units["t"] == f"{units['dt']} since 1970-01-01"
    assert found["t"].mask.tolist() == [False, True, False]
    julian = ds.read(tmp_path / "a.bpk", jd=True)
    assert julian["t"].compressed().tolist() == [2451544.5, 2452067.5]


REFUSED: dict[str, tuple[Any, str]] = {
    "complex": (np.zeros(2, "c8"), "dtype: found complex64"),
    "fields": (np.zeros(2, "i4,f4"), "dtype: found"),
    "months": (np.array(["2000-01"], "M8[M]"), r"dtype: found datetime64\[M\]"),
    "steps": (np.array([1], "M8[5s]"), r"dtype: found datetime64\[5s\]"),
    "mixed": (np.array(["a", 1], object), "found a value of type int, expected a string"),
    "kinds": ([1, "a"], "a list holds"),
    "lengths": ([[1], [1, 2]], "lengths"),
    "time": (datetime.time(1), "data of type time are not possible"),
    "set": ({1, 2}, "data of type set"),
    "large": (1 << 70, "int64 nor uint64"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_variable_is_named(name: str, tmp_path: Path) -> None:
    obj, message = REFUSED[name]
    binpickle.dump({"good": np.arange(2), "bad": obj}, tmp_path / "a.bpk")
    with ds.open(tmp_path / "a.bpk") as file:
        assert file["good"][:].tolist() == [0, 1]
    with pytest.raises(ds.UnsupportedError, match=f'a.bpk: variable "bad": .*{message}'):
        ds.read(tmp_path / "a.bpk")
    with pytest.warns(ds.LossWarning, match=f'variable "bad": .*{message}.*; it is left out'):
        ds.convert(tmp_path / "a.bpk", tmp_path / "b.ds", skip_unsupported=True)
    assert list(ds.read(tmp_path / "b.ds")) == ["good", "."]
    assert ds.verify(tmp_path / "a.bpk") == []


def test_objects_that_contain_themselves(tmp_path: Path) -> None:
    knot: dict[str, Any] = {"x": np.arange(2)}
    knot["a"] = knot["b"] = knot
    binpickle.dump(knot, tmp_path / "a.bpk")
    with pytest.warns(ds.LossWarning, match="for the second time"):
        ds.convert(tmp_path / "a.bpk", tmp_path / "b.ds", skip_unsupported=True)
    deep: dict[str, Any] = {}
    for _ in range(100):
        deep = {"g": deep}
    with pytest.raises(ds.UnsupportedError, match="more than 64 nested groups"):
        read(deep, tmp_path)


WRONG: dict[str, tuple[Any, str]] = {
    "two of one name": ({"a/b": 1, "a": {"b": 2}}, 'variable "a/b": two parts of the object have this name'),
    "key": ({".": {}, 5: 1}, "found the name 5"),
    "dot": ({".": {}, ".x": 1}, "found the name '.x'"),
    "metadata": ({".": {"x": 1}, "x": 1}, 'variable "x": metadata: found int, expected a dict'),
    "attributes": ({".": {".": 1}}, "metadata: found int, expected a dict"),
    "attribute": ({".": {"x": {"a": {1}}}, "x": 1}, 'variable "x": attribute "a": a value of type set'),
    "name": ({".": {"x": {5: 1}}, "x": 1}, 'variable "x": attribute 5: found a name that is not text'),
    "dims": ({".": {"x": {".dims": ["a", "b"]}}, "x": [1]}, 'variable "x": .dims'),
    "kind of dims": ({".": {"x": {".dims": 5}}, "x": [1]}, 'variable "x": .dims'),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_dataset_is_an_error(name: str, tmp_path: Path) -> None:
    obj, message = WRONG[name]
    with pytest.raises(ds.DsError, match=f"a.bpk: {message}"):
        read(obj, tmp_path)
    (problem,) = ds.verify(tmp_path / "a.bpk")
    assert problem.severity == "error"


def test_metadata_of_other_programs(tmp_path: Path) -> None:
    found = read({"x": np.arange(2), ".": {"x": {"units": "K"}, "y": {"a": 1}, ".": {"title": "T"}}}, tmp_path)
    assert list(found) == ["x", "y", "."] and found["y"] is None
    assert ds.attrs(found) == {"title": "T"} and ds.attrs(found, "x") == {"units": "K"}


def test_frames(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    index = pandas.DatetimeIndex(["2000-01-01", "2000-01-02"], name="time")
    frame = pandas.DataFrame(
        {"x": [1.5, np.nan], "n": pandas.array([1, None], "Int64"), "s": ["a", None], "b": [True, False]}, index
    )
    frame["c"] = pandas.Categorical(["u", "v"])
    found = read(frame, tmp_path)
    assert list(found) == ["time", "x", "n", "s", "b", "c", "."]
    assert all(entry[".dims"] == ["time"] for key, entry in found["."].items() if key != ".")
    assert found["n"].tolist() == [1, None] and found["n"].dtype == np.int64
    assert (found["s"].tolist(), found["c"].tolist(), found["b"].tolist()) == (["a", None], ["u", "v"], [True, False])
    assert np.isnan(found["x"][1]) and not np.ma.isMaskedArray(found["x"])
    assert ds.read(tmp_path / "a.bpk", jd=True)["time"].tolist() == [2451544.5, 2451545.5]
    ds.convert(tmp_path / "a.bpk", tmp_path / "b.nc")


def test_parts_of_frames(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([1, 2], name="x")
    assert list(read(series, tmp_path)) == ["x", "."]
    assert list(read(pandas.Series([1, 2]), tmp_path)) == ["data", "."]
    assert list(read(pandas.Index([5, 6]), tmp_path)) == ["index", "."]
    levels = pandas.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["k", None])
    found = read({"g": pandas.DataFrame({5: [1, 2]}, levels)}, tmp_path)
    assert list(found) == ["g/k", "g/index_1", "g/5", "."]
    assert found["."]["g/5"][".dims"] == ["g/index"]


def repeated(levels: int) -> list[Any]:
    found: list[Any] = [0] * 10
    for _ in range(levels):
        found = [found] * 10
    return found


def test_repeated_parts_do_not_fill_memory(tmp_path: Path) -> None:
    assert read({"x": repeated(3)}, tmp_path)["x"].shape == (10, 10, 10, 10)
    many = repeated(30)
    knot: list[Any] = [1]
    knot.append(knot)
    array = np.zeros(1000)
    for value, message in (
        (many, "repeat their parts"),
        (knot, "contains itself"),
        ([[array] * 1000], "a list holds arrays"),
    ):
        with pytest.raises(ds.UnsupportedError, match=f'variable "x": .*{message}'):
            read({"x": value}, tmp_path)
        with pytest.raises(ds.UnsupportedError, match=f'variable "x": .*{message}'):
            read({"x": value, ".": {}}, tmp_path)
        if value is not knot:
            with pytest.raises(ds.UnsupportedError, match="repeat their parts"):
                read({".": {".": {"a": [value] * 10_000}}}, tmp_path)


def test_own_types_are_refused_by_name(tmp_path: Path) -> None:
    binpickle.dump({"x": print}, tmp_path / "a.bpk")
    with pytest.raises(ds.UnsafeError, match=r"a.bpk: .*builtins.print is not loaded"):
        ds.read(tmp_path / "a.bpk")
    (problem,) = ds.verify(tmp_path / "a.bpk")
    assert "builtins.print" in problem.message


@cases("path", GOLDEN)
def test_golden_files_are_read_or_refused(path: Path) -> None:
    said = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ds.read(path)
        except (ds.DsError, OSError) as error:
            said = str(error)
        found = ds.verify(path)
    assert not said or str(path) in said
    assert not found or said
