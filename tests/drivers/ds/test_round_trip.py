"""What is written is read again: any dataset, in every way to write and to read."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format.api.conversion import convert
from ds_format.codec.encode import properties_of
from ds_format.codec.header import ALIGNMENT
from ds_format.drivers import open_source
from ds_format.drivers.ds.sink import DsSink as create
from ds_format.model.index import normalize, shape_of

from ...same import same_data, same_metadata
from ...strategies import arrays, datasets, grid, indexes


def check(written: dict[str, Any], found: dict[str, Any]) -> None:
    assert written.keys() == found.keys()
    for key, data in written.items():
        if key != ".":
            assert same_data(data, found[key]), key
            assert same_metadata(written["."][key], found["."][key]), key
    assert same_metadata(written["."]["."], found["."]["."])


@given(datasets(), st.booleans())
def test_a_dataset_comes_back(dataset: dict[str, Any], atomic: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, again = Path(folder) / "a.ds", Path(folder) / "b.ds"
        ds.write(path, dataset, atomic=atomic)
        found = ds.read(path)
        check(dataset, found)
        check(dataset, ds.read(path, mmap=True))
        ds.write(again, found)
        assert again.read_bytes() == path.read_bytes()
        convert(path, again)
        check(dataset, ds.read(again))


@given(datasets())
def test_a_dataset_comes_back_from_the_older_format(dataset: dict[str, Any]) -> None:
    meta = dataset["."]
    for key in [key for key in dataset if dataset[key] is None]:
        del dataset[key], meta[key]
    for key in [key for key in dataset if key.startswith("\\.")]:
        del dataset[key], meta[key]
    for entry in meta.values():
        for key in [key for key in entry if key.startswith("\\.")]:
            del entry[key]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.ds"
        ds.write(path, dataset, version="2.0.1")
        assert path.read_bytes().startswith(b"{")
        check(dataset, ds.read(path))


@given(arrays(), st.integers(1, 400), st.booleans())
def test_a_variable_comes_back_from_blocks(array: Any, budget: int, may_miss: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, again = Path(folder) / "a.ds", Path(folder) / "b.ds"
        ds.write(path, {"x": array})
        properties = properties_of(array, None)
        properties[".missing"] = properties[".missing"] or may_miss
        sink = create(
            again, {"w": {".size": [3], ".type": "int8"}, "x": properties, "y": {".size": [], ".type": "int8"}}
        )
        with ds.open(path) as file:
            sink.write("w", [np.arange(3, dtype="i1")])
            sink.write("x", file["x"].blocks(budget))
            sink.write("y", [np.array(7, "i1")])
            sink.commit()
        found = ds.read(again)
        assert same_data(found["x"], array)
        assert found["w"].tolist() == [0, 1, 2]
        assert found["y"] == 7


@pytest.mark.parametrize("n", [1, 13, 64, 1000])
def test_numbers_behind_room_for_a_mask_are_aligned(n: int, tmp_path: Path) -> None:
    """Room that was left for nothing: no value is missing in the end."""
    entry = {".size": [2 * n], ".type": "float64"}
    sink = create(tmp_path / "a.ds", {"w": {".size": [3], ".type": "int8"}, "x": entry, "y": entry})
    sink.write("w", [np.arange(3, dtype="i1")])
    for key in "xy":
        sink.write(key, [np.zeros(n), np.ones(n)])
    sink.commit()
    source: Any = open_source(tmp_path / "a.ds")
    assert [(source.header.body + source.variable(key).offset) % ALIGNMENT for key in "xy"] == [0, 0]
    source.close()
    assert ds.read(tmp_path / "a.ds")["y"].tolist() == [0.0] * n + [1.0] * n


@pytest.mark.filterwarnings("ignore:.*leaves nothing")
@given(st.data(), st.booleans())
def test_a_part_of_a_variable(data: st.DataObject, mmap: bool) -> None:
    array = data.draw(arrays())
    index = data.draw(indexes(array.shape))
    expected = grid(np.ma.getdata(array), index)
    if isinstance(array, np.ma.MaskedArray):
        expected = np.ma.MaskedArray(expected, grid(np.ma.getmaskarray(array), index))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.ds"
        ds.write(path, {"x": array})
        with ds.open(path, mmap=mmap) as file:
            assert same_data(file["x"][index], expected)
        sel = {f"x_{axis + 1}": item for axis, item in enumerate(index)}
        dataset = ds.read(path, sel=sel)
        assert same_data(dataset["x"], expected)
        assert dataset["."]["x"][".size"] == list(np.shape(dataset["x"]))
        convert(path, Path(folder) / "b.ds", sel=sel)
        assert same_data(ds.read(Path(folder) / "b.ds")["x"], expected)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", ["f8", ">i2", "?", "text"])
def test_large_variables_in_parts_and_blocks(kind: str, masked: bool, tmp_path: Path) -> None:
    n = 1_300_003
    array: Any = np.arange(n) % 251
    array = np.array([str(i) for i in array], object) if kind == "text" else array.astype(kind)
    if masked:
        array = np.ma.MaskedArray(array, np.arange(n) % 3 == 1)
    ds.write(tmp_path / "a.ds", {"x": array})
    assert same_data(ds.read(tmp_path / "a.ds")["x"], array)
    with ds.open(tmp_path / "a.ds") as file:
        for index in (slice(524_287, 524_290), slice(0, n, 400_001), [n - 1, 5, 5], slice(n - 10, None), 1_048_577):
            expected = array[index]
            assert same_data(file["x"][index], expected), index
        found = np.ma.concatenate(list(file["x"].blocks(1 << 20)))
    assert same_data(found if masked else np.ma.getdata(found), array)
    convert(tmp_path / "a.ds", tmp_path / "b.ds")
    assert same_data(ds.read(tmp_path / "b.ds")["x"], array)


@pytest.mark.parametrize("kind", ["f4", "?", "text"])
def test_large_blocks_begin_at_any_bit_and_some_have_nothing_missing(kind: str, tmp_path: Path) -> None:
    steps = [3, 700_001, 2, 6, 1_048_583, 1, 12]
    n = sum(steps)
    values: Any = np.arange(n) % 7 == 0 if kind == "?" else np.arange(n).astype("f4")
    values = np.array(["a", ""], object)[np.arange(n) % 2] if kind == "text" else values
    edges = np.cumsum([0, *steps]).tolist()
    mask = np.arange(n) % 3 == 1
    mask[edges[2] : edges[4]] = False
    array = np.ma.MaskedArray(values, mask)
    sink = create(tmp_path / "a.ds", {"x": properties_of(array, None), "y": {".size": [], ".type": "int8"}})
    sink.write("x", [array[first:last] for first, last in itertools.pairwise(edges)])
    sink.write("y", [np.array(7, "i1")])
    sink.commit()
    assert same_data(ds.read(tmp_path / "a.ds")["x"], array)
    assert ds.read(tmp_path / "a.ds")["y"] == 7


def test_shape_of_a_normalized_index() -> None:
    assert shape_of(normalize((0, slice(1, 3), [0, 0, 1]), (2, 5, 2))) == (2, 3)


@pytest.mark.parametrize("masked", [False, True])
def test_parts_and_blocks_of_the_older_format(masked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    array: Any = np.arange(600_000.0).reshape(600, 1000)
    if masked:
        array = np.ma.MaskedArray(array, np.arange(600_000).reshape(600, 1000) % 3 == 0)
    ds.write(tmp_path / "a.ds", {"x": array, "s": np.array(["a", "ž"], object)}, version="2.0.1")
    with ds.open(tmp_path / "a.ds") as file:
        whole: list[Any] = []
        monkeypatch.setattr("ds_format.drivers.ds.parts.decode_variable", lambda *arguments: whole.append(arguments))
        assert same_data(file["x"][5, ::7], array[5, ::7])
        blocks = list(file["x"].blocks(100_000))
    assert not whole
    assert len(blocks) > 10
    assert same_data(np.ma.concatenate(blocks) if masked else np.concatenate(blocks), array)
