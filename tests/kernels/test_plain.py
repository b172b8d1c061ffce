"""Whether metadata fit plain arrays: judged in one compiled pass as by the code that tells what is wrong."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ds_format.dataset import Dataset, arrays_of, check_dims, checked, metadata_of
from ds_format.errors import UnsupportedError
from ds_format.kernels.ds.plain import plain_arrays

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
    return {key: (type(array), id(array) if array is not None else None) for key, array in arrays.items()}, id(meta)


def step_by_step(dataset: Any) -> Any:
    meta = metadata_of(dataset)
    arrays = arrays_of(dataset, meta)
    check_dims(arrays, meta)
    return arrays, meta


def check(dataset: Any) -> None:
    found, expected = outcome(lambda: checked(dataset)), outcome(lambda: step_by_step(dataset))
    if "." not in dataset:  # metadata of their own, each time
        found, expected = found[0], expected[0]
    assert found == expected


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


@pytest.mark.parametrize("data", [None, 1.5, "a", [1, 2], np.float64(1), np.ma.masked, np.array([None, "a"], object)])
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
