"""Variables of many files as one array: what the concatenation of single files gives."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ds_format as ds
from ds_format.dataset import as_array, dims
from ds_format.errors import DsError, MissingError, ReplacedError, UnsupportedError
from ds_format.many import concatenation, reading
from ds_format.many.opening import ManyFiles
from ds_format.model.index import normalize, shape_of
from tests.descriptors import n_open

from .files_as_one import NAMES, SIZES, expected, make, opened, same, values, write


@pytest.mark.parametrize("at_once", [frozenset(), None])
def test_whole_variables(paths: list[str], at_once: Any) -> None:
    found = opened(paths, at_once=at_once)
    for name in NAMES:
        assert same(values(found, name), expected(paths, name, 1 if name == "x" else 0)), name
    assert same(values(found, "y"), make(0, 1)["y"])
    assert values(found, "site") == "here"
    assert found.meta["x"] == {".dims": ["y", "t"], ".size": [3, 15], ".type": "int16", ".missing": True}
    assert found.meta["."] == {"number": 0, "name": "file 0", "title": "all"}
    assert found.lengths.tolist() == SIZES


def indexes(shape: tuple[int, ...]) -> st.SearchStrategy[tuple[Any, ...]]:
    def item(n: int) -> st.SearchStrategy[Any]:
        lists = st.lists(st.integers(-n, n - 1), max_size=6).map(lambda found: np.array(found, np.int64))
        return st.one_of(st.integers(-n, n - 1), st.slices(n), lists)

    return st.tuples(*map(item, shape))


@pytest.fixture(scope="module", params=["batch", "large"])
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    paths = write(tmp_path_factory.mktemp("shared"), *(make(i, n) for i, n in enumerate(SIZES)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "BATCH", 3)
        if request.param == "large":
            patch.setattr(reading, "SMALL_SIZE", 8)
            patch.setattr("ds_format.drivers.ds.whole.WHOLE_SIZE", 8)
        yield {name: expected(paths, name, 1 if name == "x" else 0) for name in NAMES}, opened(paths)


@given(data=st.data())
def test_parts(shared: tuple[dict[str, Any], ManyFiles], data: st.DataObject) -> None:
    wholes, found = shared
    name = data.draw(st.sampled_from(NAMES))
    whole = wholes[name]
    index = normalize(data.draw(indexes(whole.shape)), whole.shape)
    part = whole
    for axis, item in enumerate(index):
        part = part.take(np.array([item] if isinstance(item, int) else item, np.int64), axis=axis)
    read = values(found, name, index)
    assert same(np.ma.asanyarray(as_array(read)).reshape(-1), np.ma.asanyarray(part).reshape(-1))
    assert np.shape(read) == shape_of(index)


def test_only_files_that_are_needed_are_opened(paths: list[str]) -> None:
    found = opened(paths)
    os.unlink(paths[1])
    x = found.lazy["x"]
    assert same(
        x.read((range(3), np.array([14, 0, 1, 9, 14]))), expected(paths[:1] + paths[2:], "x", 1)[:, [11, 0, 1, 6, 11]]
    )
    with pytest.raises(ReplacedError, match=r'f01\.ds: variable "x": the file was opened, and is not there any more'):
        x.read((0, 3))


def test_never_many_files_are_open(paths: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    most = 0

    def again(*args: Any, **options: Any) -> Iterator[Any]:
        nonlocal most
        for piece in reading.pieces(*args, **options):
            most = max(most, n_open(*paths))
            yield piece

    monkeypatch.setattr(concatenation, "pieces", again)
    values(opened(paths), "x")
    assert most <= 3
    assert not n_open(*paths)


@pytest.mark.parametrize("at_once", [frozenset(), None])
def test_a_new_dimension(tmp_path: Path, at_once: Any) -> None:
    datasets: list[dict[str, Any]] = [
        {
            "lat": [1.0, 2.0],
            "lat_bnds": [[0, 1], [1, 2]],
            "area": [[1, 2]],
            "crs": 0,
            "x": np.ma.MaskedArray([i, i + 1], [i == 1, False]),
            "when": i,
            "note": f"n{i}",
            ".": {
                "lat": {".dims": ["lat"], "bounds": "lat_bnds"},
                "lat_bnds": {".dims": ["lat", "two"]},
                "area": {".dims": ["one", "lat"]},
                "x": {".dims": ["lat"], "coordinates": "when area", "grid_mapping": "crs"},
            },
        }
        for i in range(3)
    ]
    found = opened(write(tmp_path, *datasets), "when", at_once=at_once)
    assert {key: dims(key, entry, len(entry[".size"])) for key, entry in found.meta.items() if key != "."} == {
        "lat": ["lat"],
        "lat_bnds": ["lat", "two"],
        "area": ["one", "lat"],
        "crs": [],
        "x": ["when", "lat"],
        "when": ["when"],
        "note": ["when"],
    }
    assert same(values(found, "x"), np.ma.stack([dataset["x"] for dataset in datasets]))
    assert same(values(found, "x", (np.array([2, 1, 2]), 0)), np.ma.MaskedArray([2, 1, 2], [False, True, False]))
    assert values(found, "note", (1,)) == "n1"
    assert values(found, "when").tolist() == [0, 1, 2]
    chosen = opened(write(tmp_path, *datasets), "n", stack=frozenset({"x", "when", "note", "area"}), at_once=at_once)
    assert chosen.meta["area"][".dims"] == ["n", "one", "lat"]


@pytest.mark.parametrize("at_once", [frozenset(), None])
@pytest.mark.parametrize(
    "suffixes", [(".ds", ".ds"), (".nc", ".ds"), (".ds", ".nc"), (".json", ".ds"), (".nc", ".json")]
)
def test_units_calendars_and_packing_become_those_of_the_first(
    tmp_path: Path, suffixes: tuple[str, str], at_once: Any
) -> None:
    first = {
        "time": np.array([0, 6], "f8"),
        "p": np.array([1, 2], "i2"),
        ".": {
            "time": {".dims": ["time"], "units": "hours since 2000-01-01", "calendar": "standard"},
            "p": {".dims": ["time"], "scale_factor": 0.5, "add_offset": 1.0, "units": "K", "long_name": "pressure"},
        },
    }
    second = {
        "time": np.array([0.5, 1.0]),
        "p": np.ma.MaskedArray(np.array([4, 8], "i2"), [False, True]),
        ".": {
            "time": {".dims": ["time"], "units": "days since 2000-01-01", "calendar": "proleptic_gregorian"},
            "p": {".dims": ["time"], "scale_factor": 0.25, "units": "K"},
        },
    }
    paths = [str(tmp_path / f"{i}{suffix}") for i, suffix in enumerate(suffixes)]
    for path, dataset in zip(paths, (first, second), strict=True):
        ds.write(path, dataset)
    found = opened(paths, "time", at_once=at_once)
    assert values(found, "time").tolist() == [0, 6, 12, 24]
    assert found.meta["time"]["units"] == "hours since 2000-01-01"
    assert values(found, "p").tolist() == [1.5, 2, 1, None]
    assert values(found, "p", (range(3, 1, -1),)).tolist() == [None, 1]
    assert "scale_factor" not in found.meta["p"]
    assert found.meta["p"]["units"] == "K"
    assert found.meta["p"][".type"] == "float64"
    assert found.meta["p"]["long_name"] == "pressure"
    assert values(found, "p", (2,)) == 1


def test_many_units_are_conversions_once_each(tmp_path: Path) -> None:
    units = ["days since 2000-01-01", "hours since 2000-01-01"]
    datasets = [
        {"time": [24.0 * i], "x": [i], ".": {"time": {".dims": ["t"], "units": units[i % 2]}, "x": {".dims": ["t"]}}}
        for i in range(6)
    ]
    found = opened(write(tmp_path, *datasets))
    time, x = found.lazy["time"], found.lazy["x"]
    assert isinstance(time, concatenation.Concatenation)
    assert isinstance(x, concatenation.Concatenation)
    assert (len(time.conversions), len(x.conversions)) == (3, 1)
    assert time.read().tolist() == [0, 1, 48, 3, 96, 5]


def test_attributes_as_variables(paths: list[str]) -> None:
    found = opened(paths, attributes=("number", "name"))
    assert found.meta["."] == {"title": "all"}
    assert values(found, "number").tolist() == np.repeat(np.arange(len(SIZES)), SIZES).tolist()
    assert values(found, "name", (range(2, 15, 12),)).tolist() == ["file 1", "file 7"]
    assert found.meta["name"] == {".dims": ["t"], ".size": [15], ".type": "unicode", ".missing": False}
    with pytest.raises(MissingError, match='attribute "nmae" of the dataset not found: did you mean name'):
        opened(paths, attributes=("nmae",))
    with pytest.raises(UnsupportedError, match='variable "x": both a variable and an attribute'):
        opened(paths, attributes=("x",), fills=True)


@pytest.mark.parametrize("headers", [{}, {"long_name": "own"}])
def test_attributes_of_headers_alike_or_not(tmp_path: Path, headers: dict[str, str]) -> None:
    given_attributes: list[dict[str, Any]] = [
        {"a": 1},
        {"a": 1},
        {},
        {"a": 2.5},
        {"a": 2.5},
        {"a": np.float32(0.1)},
        {},
    ]
    datasets = [
        {"t": [i], ".": {"t": {".dims": ["t"], **{k: v + str(i) for k, v in headers.items()}}, ".": attributes}}
        for i, attributes in enumerate(given_attributes)
    ]
    found = opened(write(tmp_path, *datasets), attributes=("a",), fills=True)
    wanted = [attributes.get("a") for attributes in given_attributes]
    assert values(found, "a").tolist() == [None if value is None else float(value) for value in wanted]
    with pytest.raises(MissingError, match=r'f02\.ds: attribute "a"'):
        opened(write(tmp_path, *datasets), attributes=("a",))


def test_what_a_file_lacks_is_filled(tmp_path: Path) -> None:
    datasets: list[dict[str, Any]] = [make(i, 2) for i in range(4)]
    for name in ("x", "s", "y"):
        del datasets[0][name], datasets[2][name]
    del datasets[3]["y"]
    paths = write(tmp_path, *datasets)
    each: list[Any] = [frozenset(), None]
    for at_once in each:
        found = opened(paths, fills=True, at_once=at_once)
        assert same(values(found, "y"), make(0, 2)["y"])
        assert found.meta["x"][".missing"] is True
        x = values(found, "x")
        assert x.mask[:, [0, 1, 4, 5]].all()
        assert same(x[:, 2:4], datasets[1]["x"])
        assert same(values(found, "x", (range(3), np.array([7, 0, 3])))[:, 0], datasets[3]["x"][:, 1])
        assert values(found, "s").tolist() == [None, None, "", "ž1", None, None, "", "ž3"]
        assert values(found, "s", (0,)) is np.ma.masked or values(found, "s", (0,)).mask
    datasets[1]["y"] = datasets[1]["y"] + 1
    datasets[3]["y"] = make(0, 2)["y"]
    with pytest.raises(UnsupportedError, match=r'f03\.ds: variable "y": other values than in .*f01\.ds'):
        opened(write(tmp_path, *datasets), fills=True)


def test_order_and_duplicates_are_kept(paths: list[str]) -> None:
    twice = [paths[4], paths[0], paths[4], paths[1]]
    found = opened(twice)
    assert values(found, "t").tolist() == [40, 0, 1, 40, 10, 11, 12]
    found = opened(twice, sortby="t")
    assert [values(found, name).tolist() for name in ("t", "flag")] == [
        [0, 1, 10, 11, 12, 40, 40],
        expected([paths[0], paths[1], paths[4], paths[4]], "flag").tolist(),
    ]
    assert opened(twice, sortby="number", attributes=("number",)).files.paths == [paths[i] for i in (0, 1, 4, 4)]
    for name in ("k", "site", "none"):
        with pytest.raises(UnsupportedError, match=f'variable "{name}": cannot sort by it, expected'):
            opened(twice, sortby=name)


def test_metadata_are_kept_once(tmp_path: Path) -> None:
    """However many files differ in size or units, what is kept of each is little."""
    paths = write(tmp_path, *(make(i, i % 3) for i in range(9)))
    inputs = [len({id(entry) for entry in opened(paths[:n]).meta.values()}) for n in (3, 9)]
    assert inputs[0] == inputs[1]


def test_no_variables(tmp_path: Path) -> None:
    found = opened(write(tmp_path, {}, {}))
    assert found.meta == {".": {}}
    assert not found.lazy and not found.held


def test_errors_travel() -> None:
    error = ReplacedError("replaced", path="a.ds", variable="x")
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, DsError)
    assert str(again) == str(error)
