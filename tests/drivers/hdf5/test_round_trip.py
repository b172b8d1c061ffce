"""Any dataset comes back from HDF5 as it was: whole, in blocks, and in parts."""

from __future__ import annotations

import math
import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

import ds_format as ds
from ds_format.api.conversion import convert
from ds_format.codec.encode import properties_of
from ds_format.drivers import hdf5

from ...same import same_data, same_metadata
from ...strategies import arrays, datasets, grid, indexes

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*which means missing to other programs"),
    pytest.mark.usefixtures("writer"),
]


def without_dims_of_scalars(meta: dict[str, Any], data: Any) -> dict[str, Any]:
    """Where there are no dimensions it makes no difference whether they are named; reading names none: `[]`."""
    return {key: value for key, value in meta.items() if key != ".dims" or (data is not None and np.ndim(data))}


def check(written: dict[str, Any], found: dict[str, Any]) -> None:
    assert written.keys() == found.keys()
    for key, data in written.items():
        if key != ".":
            assert same_data(data, found[key]), key
            mine, theirs = (without_dims_of_scalars(each["."][key], data) for each in (written, found))
            assert same_metadata(mine, theirs), key
    assert same_metadata(written["."]["."], found["."]["."])


NAMES = ["", ".", "a/", "/a", "a//b", "a/./b", "a\0b", "\ud800", "x/y", "x", "_nc4_non_coord_t", "%", "%x"]


@given(datasets())
@example({**{name: i for i, name in enumerate(NAMES) if name != "."}, ".": {**{n: {} for n in NAMES}, ".": {}}})
@example({"x": None, ".": {"x": dict.fromkeys(["", "a/b", "ds_format", "CLASS", "\0"], 1), ".": {"x/y": 1, "x": {}}}})
@example({"x": np.arange(2), ".": {"x": {".dims": ["x"], "CLASS": "DIMENSION_SCALE", "NAME": 5}, ".": {}}})
@example({"x": np.arange(2), ".": {"x": {"CLASS": "IMAGE", "NAME": 5}, ".": {"a": np.array(["b", "c"])}}})
@example({"t": 5, "x": np.arange(2), ".": {"t": {}, "x": {".dims": ["t"]}, ".": {}}})
@example({"x": np.zeros((2, 2)), "y": 1, ".": {"x": {".dims": ["", "y/z"]}, "y": {}, ".": {}}})
@example({"x": np.zeros((2, 2)), ".": {"x": {".dims": ["n", "n"], "_FillValue": 0, "missing_value": np.nan}, ".": {}}})
@example({".": {".": {"a": -math.nan, "b": [math.nan, -0.0], "c": struct.unpack("d", b"\1" + b"\xff" * 7)[0]}}})
@example({"x": np.ma.masked_equal([5, 7], 5), ".": {"x": {"_FillValue": 7}, ".": {}}})
@example({"x": np.ma.masked_equal([5.0, 9.969209968386869e36], 5), ".": {"x": {}, ".": {}}})
def test_a_dataset_comes_back(dataset: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, again, plain = (Path(folder) / name for name in ("a.h5", "b.h5", "c.ds"))
        ds.write(path, dataset)
        check(dataset, ds.read(path))
        ds.write(again, ds.read(path))
        check(dataset, ds.read(again))
        convert(path, again)
        check(dataset, ds.read(again))
        convert(path, plain)
        convert(plain, again)
        check(dataset, ds.read(again))


@given(arrays(), st.integers(1, 400), st.sampled_from([True, False, None]))
def test_a_variable_comes_back_from_blocks(array: Any, budget: int, may_miss: bool | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, again = Path(folder) / "a.h5", Path(folder) / "b.h5"
        ds.write(path, {"x": array})
        properties = properties_of(array, None)
        if may_miss is None:
            del properties[".missing"]
        else:
            properties[".missing"] = properties[".missing"] or may_miss
        sink = hdf5.create(again, {"x": properties, "y": {".size": [], ".type": "int8"}})
        source = hdf5.open(path)
        sink.write("x", source.blocks("x", budget))
        sink.write("y", [np.array(7, "i1")])
        sink.commit()
        source.close()
        found = ds.read(again)
        assert same_data(found["x"], array)
        assert found["y"] == 7


@pytest.mark.filterwarnings("ignore:.*leaves nothing")
@given(st.data())
def test_a_part_of_a_variable(data: st.DataObject) -> None:
    array = data.draw(arrays())
    index = data.draw(indexes(array.shape))
    expected = grid(np.ma.getdata(array), index)
    if isinstance(array, np.ma.MaskedArray):
        expected = np.ma.MaskedArray(expected, grid(np.ma.getmaskarray(array), index))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.h5"
        ds.write(path, {"x": array})
        with ds.open(path) as file:
            assert same_data(file["x"][index], expected)
        convert(path, Path(folder) / "b.h5", sel={f"x_{axis + 1}": item for axis, item in enumerate(index)})
        assert same_data(ds.read(Path(folder) / "b.h5")["x"], expected)


def test_a_number_for_missing_values_that_turns_up_later(tmp_path: Path) -> None:
    default = 9.969209968386869e36
    blocks = [
        np.ma.MaskedArray([[1.0, 2.0]], [[True, False]]),
        np.ma.MaskedArray([[3.0, default], [4.0, 5.0]], [[True, False], [False, True]]),
        np.ma.MaskedArray([[-default, 1.0]], [[False, True]]),
    ]
    meta = {"x": {".size": [4, 2], ".type": "float64", ".missing": True}, ".": {}}
    sink = hdf5.create(tmp_path / "a.h5", meta)
    sink.write("x", blocks)
    sink.commit()
    assert same_data(ds.read(tmp_path / "a.h5")["x"], np.ma.concatenate(blocks))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "?"])
def test_all_values_and_missing_ones(dtype: str, tmp_path: Path) -> None:
    limits = np.iinfo(dtype) if dtype != "?" else None
    values = np.array([False, True]) if limits is None else np.arange(limits.min, limits.max + 1).astype(dtype)
    array = np.ma.MaskedArray(np.append(values, values[:1]), np.arange(len(values) + 1) == len(values))
    ds.write(tmp_path / "a.h5", {"x": array})
    assert same_data(ds.read(tmp_path / "a.h5")["x"], array)
    assert ds.read(tmp_path / "a.h5")["."]["x"] == {".size": [len(array)], ".type": np.dtype(dtype).name}
