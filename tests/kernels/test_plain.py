"""The arrays of a dataset are found as step by step."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format.datasets import Dataset, arrays_of, check_dims, checked
from ds_format.errors import UnsupportedError
from ds_format.kernels.ds.plain import plain_arrays

from ..same import same_data
from ..strategies import datasets, usual_datasets

odd = st.sampled_from([
    None,
    [],
    ["x"],
    ["x", "x"],
    ("x",),
    "x",
    ["x", "y"],
    [1],
    [["x"]],
    np.array(["x"]),
    {"x": 1},
    "",
    1,
    True,
])


def outcome(call: Any) -> Any:
    try:
        arrays, meta = call()
    except (UnsupportedError, TypeError, AttributeError) as error:
        return type(error), str(error)
    return arrays, id(meta)


def step_by_step(dataset: Any) -> Any:
    arrays, meta = arrays_of(dataset)
    check_dims(arrays, meta)
    return arrays, meta


def check(dataset: Any) -> None:
    found, expected = outcome(lambda: checked(dataset)), outcome(lambda: step_by_step(dataset))
    if not isinstance(found[0], dict):
        assert found == expected
        return
    assert [*found[0]] == [*expected[0]]
    for key, array in found[0].items():
        assert array is expected[0][key] or (not np.ndim(dataset[key]) and same_data(array, expected[0][key]))
    if "." in dataset:  # without it, both have metadata of their own
        assert found[1] == expected[1]


@given(datasets() | usual_datasets(), st.data())
def test_datasets_are_judged_as_step_by_step(dataset: dict[str, Any], data: st.DataObject) -> None:
    for kind in (dict, Dataset):
        check(kind(dataset))
    changed = data.draw(st.sampled_from([*dataset]))
    if changed == ".":
        dataset["."] = data.draw(odd)
    else:
        dataset["."] = {**dataset["."], changed: data.draw(odd | odd.map(lambda names: {".dims": names}))}
    check(dataset)


@pytest.mark.parametrize("names", [["a"], ["a", "b", "c"], ["a", "a"], ["b", "a"]])
def test_names_that_do_not_fit(names: list[str]) -> None:
    dataset = {"x": np.zeros((2, 3)), "y": np.zeros((2, 3)), ".": {"x": {".dims": names}, "y": {".dims": ["a", "b"]}}}
    assert plain_arrays(dataset) is None
    with pytest.raises(UnsupportedError, match=r"dimension names|has size"):
        checked(dataset)


@pytest.mark.parametrize("data", ["a", b"a", np.float64(1), np.bool_(1), np.array(["a", "b"], object)])
def test_strings_and_scalars_become_arrays(data: Any) -> None:
    found = plain_arrays({"x": data, ".": {"x": {".dims": ["t"] * np.ndim(data)}}})
    assert found is not None
    assert same_data(found["x"], np.array(data, None if isinstance(data, np.generic) else object))
    assert plain_arrays({"x": data, ".": {"x": {".dims": ["a", "b"]}}}) is None


def test_what_is_plain() -> None:
    arrays = {
        "x": np.zeros((2, 3)),
        "y": np.ma.MaskedArray([1, 2], [True, False]),
        "z": np.array(["a"]),
        "n": np.array(1),
    }
    meta = {"x": {".dims": ["a", "b"]}, "y": {".dims": ["a"]}, "absent": {".dims": 5}, ".": {".dims": 5}}
    found = plain_arrays({**arrays, ".": meta})
    assert found is not None
    assert [*found] == [*arrays]
    assert all(found[key] is array for key, array in arrays.items())


@pytest.mark.parametrize(
    "data", [None, 1.5, [1, 2], np.ma.masked, np.array([None, "a"], object), np.datetime64("2000")]
)
def test_what_is_not(data: Any) -> None:
    assert plain_arrays({"x": np.arange(2), "y": data, ".": {}}) is None
    assert plain_arrays({"x": np.arange(2), ".": data}) is None
    assert plain_arrays({"x": np.arange(2), ".": {"x": data}}) is None


def test_a_dict_with_an_order_of_its_own() -> None:
    dataset = OrderedDict({"x": np.arange(2), "y": np.arange(2), ".": {}})
    dataset.move_to_end("x")
    assert [*checked(dataset)[0]] == ["y", "x"]


def test_no_dataset() -> None:
    with pytest.raises(TypeError, match="expected a dict"):
        plain_arrays([])  # type: ignore[arg-type]
