"""Selecting and splitting: as NumPy would, for all variables at once, and leaving nothing half done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format import MissingError, UnsupportedError, ops, validate

from ..same import same_data

SIZES = {"t": 3, "i": 4, "k": 2}


def example() -> dict[str, Any]:
    """Return variables of all kinds of data along the dimensions, in several orders."""
    dims: dict[str, list[str]] = {
        "a": ["t"],
        "b": ["i", "t"],
        "c": ["t", "k", "i"],
        "text": ["i"],
        "flags": ["k", "t"],
        "scalar": [],
        "none": ["i"],
    }
    dataset: dict[str, Any] = {}
    for key, names in dims.items():
        shape = tuple(SIZES[name] for name in names)
        dataset[key] = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    dataset["b"] = np.ma.MaskedArray(dataset["b"] / 2, dataset["b"] % 5 == 0)
    dataset["text"] = ["a", "bb", None, "d\0"]
    dataset["flags"] = dataset["flags"] % 3 == 0
    dataset["none"] = None
    dataset["."] = {key: {".dims": names, "units": key} for key, names in dims.items()}
    dataset["."]["only"] = {".dims": ["k", "i"], ".size": [2, 4], ".type": "int8"}
    dataset["."]["."] = {"title": "T"}
    return dataset


def indexes(n: int) -> st.SearchStrategy[Any]:
    """Draw an index of a dimension with `n` positions."""
    positions = st.integers(-n, n - 1)
    return st.one_of(
        positions,
        positions.map(np.int64),
        st.lists(positions, max_size=4),
        st.lists(positions, max_size=4).map(lambda item: np.array(item, np.int64)),
        st.lists(st.booleans(), min_size=n, max_size=n),
        st.slices(n),
    )


@pytest.mark.filterwarnings("ignore:.*leaves nothing")
@given(st.fixed_dictionaries({}, optional={name: indexes(n) for name, n in SIZES.items()}))
def test_select_takes_a_grid(sel: dict[str, Any]) -> None:
    dataset, before = example(), example()
    ops.select(dataset, sel)
    validate(dataset)
    for key in before:
        if key in (".", "none"):
            continue
        expected = before[key] if isinstance(before[key], np.ndarray) else np.array(before[key], object)
        names = before["."][key][".dims"]
        for axis in reversed(range(len(names))):
            item = sel.get(names[axis], slice(None))
            expected = expected[
                (*[slice(None)] * axis, np.array(item, int) if isinstance(item, list) and not item else item)
            ]
        if np.ndim(expected):
            assert same_data(dataset[key], expected), key
        else:
            missing = expected is None or expected is np.ma.masked
            assert ops.var(dataset, key) is np.ma.masked if missing else dataset[key] == expected, key
    assert dataset["none"] is None
    assert {key: entry.get("units") for key, entry in dataset["."].items() if key not in (".", "only")} == {
        key: key for key in before if key != "."
    }
    kept = [name for name in ("k", "i") if not isinstance(sel.get(name), (int, np.integer))]
    assert dataset["."]["only"][".dims"] == kept
    assert len(dataset["."]["only"][".size"]) == len(kept)


def test_select_does_not_keep_the_whole_in_memory_nor_share_it() -> None:
    whole = np.arange(12.0).reshape(3, 4)
    dataset: dict[str, Any] = {"x": whole, ".": {"x": {".dims": ["t", "i"], ".size": [3, 4]}}}
    ops.select(dataset, {"t": slice(1, 2)})
    assert dataset["x"].base is None and dataset["."]["x"] == {".dims": ["t", "i"], ".size": [1, 4]}
    dataset["x"][:] = -1
    assert whole.min() == 0


def test_select_without_metadata_and_by_keyword() -> None:
    dataset: dict[str, Any] = {"x": [1, 2, 3]}
    ops.select(dataset, range_={"x_1": (1, None)})
    assert same_data(dataset["x"], np.array([2, 3]))
    ops.select(dataset, at={"x": 2.9})
    assert dataset["x"] == 3 and dataset["."]["x"][".dims"] == []


def test_selectors_of_one_dimension_are_all_to_be_met() -> None:
    dataset: dict[str, Any] = {
        "t": np.arange(10.0),
        "x": np.arange(10),
        ".": {"t": {".dims": ["i"]}, "x": {".dims": ["i"]}},
    }
    ops.select(dataset, {"i": [8, 6, 5, 1]}, range_={"i": (-5, 99)}, between={"t": (None, 8.0)})
    assert dataset["x"].tolist() == [5, 6]


def test_select_at_finds_text_and_times() -> None:
    dataset: dict[str, Any] = {
        "name": np.array(["a", "b", "c"]),
        "t": np.array([0.0, 1.0, 2.0]),
        ".": {"name": {".dims": ["t"]}, "t": {".dims": ["t"], "units": "days since 2000-01-01"}},
    }
    one = ops.copy(dataset)
    ops.select(one, at={"name": "b"})
    assert one["t"] == 1
    ops.select(dataset, at={"t": "2000-01-02T10:00"})
    assert dataset["name"] == "b"


@pytest.mark.parametrize(
    ("sel", "error"),
    [
        ({"i": 4}, IndexError),
        ({"t": 0, "i": [0, 9]}, IndexError),
        ({"i": 1.5}, IndexError),
        ({"i": [True]}, IndexError),
    ],
)
def test_a_select_that_raises_changes_nothing(sel: dict[str, Any], error: type[Exception]) -> None:
    dataset = example()
    objects = dict(dataset)
    with pytest.raises(error, match='"i"'):
        ops.select(dataset, sel)
    assert all(dataset[key] is objects[key] for key in objects) and dataset["."] == example()["."]


def test_select_of_what_does_not_exist_obeys_the_mode() -> None:
    dataset = example()
    with ops.with_mode("soft"):
        ops.select(dataset, {"nope": 0}, at={"nope": 5})
    assert dataset["."] == example()["."]
    with ops.with_mode("strict"), pytest.raises(MissingError, match="nope"):
        ops.select(dataset, {"nope": 0})


def test_a_missing_scalar_that_is_selected_keeps_its_type() -> None:
    dataset: dict[str, Any] = {"x": np.ma.MaskedArray(np.zeros(2, "i2"), [True, False]), ".": {"x": {".dims": ["i"]}}}
    ops.select(dataset, {"i": 0})
    assert ops.var(dataset, "x") is np.ma.masked and ops.type(dataset, "x") == "int16"


def test_split_gives_what_select_gives() -> None:
    dataset = example()
    parts = ops.split(dataset, ["t", "k"])
    assert len(parts) == 6
    for at, part in zip(np.ndindex(3, 2), parts, strict=True):
        expected = example()
        ops.select(expected, dict(zip("tk", at, strict=True)))
        assert part["."] == expected["."]
        assert all(same_data(part[key], expected[key]) for key in part if key != ".")
    assert [*map(id, dataset.values())] == [*map(id, dict(dataset).values())]


def test_split_datasets_share_nothing() -> None:
    dataset = example()
    first, second, _ = ops.split(dataset, "t")
    first["text"][0] = "changed"
    first["b"][:] = -1
    first["."]["."]["title"] = "changed"
    assert second["text"][0] == "a" and second["."]["."] == {"title": "T"}
    assert dataset["."]["."] == {"title": "T"} and dataset["b"].min() > -1


def test_split_along_an_empty_dimension_gives_none() -> None:
    assert ops.split({"x": np.zeros((0, 2)), ".": {"x": {".dims": ["i", "j"]}}}, "i") == []


def test_data_that_are_not_possible_are_named() -> None:
    with pytest.raises(UnsupportedError, match='variable "bad"'):
        ops.select({"bad": [1, "a"], "x": [1, 2]}, {"x_1": 0})
