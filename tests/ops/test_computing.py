"""Functions applied to slices and to groups: types are promoted, masks and metadata kept."""

from __future__ import annotations

import calendar
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from ds_format import MissingError, UnsupportedError, ops, validate

from ..same import same_data


def masked(data: Any, mask: Any) -> Any:
    return np.ma.MaskedArray(data, mask)


def of(data: Any, *dims: str) -> dict[str, Any]:
    return {"x": data, ".": {"x": {".dims": [*dims]}}}


@given(hnp.arrays("i4", hnp.array_shapes(min_dims=3, max_dims=3, max_side=4), elements=st.integers(-99, 99)), st.data())
def test_apply_is_a_reduction_of_numpy(array: Any, data: st.DataObject) -> None:
    names = ["a", "b", "c"]
    wanted = data.draw(st.sets(st.sampled_from(names), min_size=1))
    mask = data.draw(hnp.arrays(bool, array.shape))
    dataset: dict[str, Any] = of(masked(array, mask), *names)
    ops.apply(dataset, np.ma.mean, sorted(wanted, reverse=True))
    expected = np.ma.mean(masked(array, mask), axis=tuple(names.index(name) for name in wanted))
    assert np.array_equal(np.ma.getmaskarray(dataset["x"]), np.ma.getmaskarray(expected))
    assert np.allclose(np.ma.filled(dataset["x"], 0), np.ma.filled(expected, 0))
    assert dataset["."]["x"][".dims"] == [name for name in names if name not in wanted]
    validate(dataset)


def test_apply_gives_whole_variables_by_default() -> None:
    dataset: dict[str, Any] = {"x": [[1, 2], [3, 4]], "y": 5, "none": None}
    ops.apply(dataset, np.sum)
    assert dataset["x"] == 10 and dataset["y"] == 5 and dataset["none"] is None
    assert dataset["."]["x"] == {".dims": []}


def test_apply_puts_new_dimensions_at_the_place_of_the_first() -> None:
    dataset: dict[str, Any] = of(np.arange(24).reshape(2, 3, 4), "a", "b", "c")
    ops.apply(dataset, lambda x: np.outer(x, x)[:2], "b", ["p", "q"])
    assert ops.dims(dataset, "x", size=True) == {"a": 2, "p": 2, "q": 3, "c": 4}
    source = np.arange(24).reshape(2, 3, 4)
    assert same_data(dataset["x"][1, :, :, 2], np.outer(source[1, :, 2], source[1, :, 2])[:2])


def test_apply_promotes_types_over_slices() -> None:
    dataset: dict[str, Any] = of([[1, 2], [3, 4]], "t", "i")
    ops.apply(dataset, lambda x: 1 if x[0] == 1 else 2.5, "i")
    assert same_data(dataset["x"], np.array([1.0, 2.5]))


def test_apply_gives_masked_slices_and_keeps_masks() -> None:
    seen: list[Any] = []

    def total(x: Any) -> Any:
        seen.append(x)
        return np.ma.sum(x)

    dataset: dict[str, Any] = of(masked([[1, 2], [3, 4]], [[1, 1], [0, 1]]), "t", "i")
    ops.apply(dataset, total, "i")
    assert all(isinstance(x, np.ma.MaskedArray) for x in seen)
    assert same_data(dataset["x"], masked([0, 3], [1, 0]))


def test_apply_tells_the_position_of_the_slice() -> None:
    dataset: dict[str, Any] = of(np.zeros((2, 3, 2)), "a", "b", "c")
    ops.apply(dataset, lambda x, sel: 10 * sel["a"] + sel["c"], "b", with_sel=True)
    assert dataset["x"].tolist() == [[0, 1], [10, 11]]


def test_apply_makes_text() -> None:
    dataset: dict[str, Any] = of([[1, 2], [3, 4]], "t", "i")
    ops.apply(dataset, lambda x: "-".join(map(str, x)), "i")
    assert same_data(dataset["x"], np.array(["1-2", "3-4"], object))


@pytest.mark.parametrize(
    ("func", "error", "message"),
    [
        (lambda x: None, UnsupportedError, "returned None"),
        (lambda x: x[: int(x[0])], ValueError, "different shapes"),
        (lambda x: np.outer(x, x), ValueError, "2 dimensions"),
        (lambda x: 1j, UnsupportedError, "complex"),
    ],
)
def test_results_that_cannot_be_are_named_and_nothing_is_changed(
    func: Any, error: type[Exception], message: str
) -> None:
    dataset: dict[str, Any] = {
        "a": [1, 2],
        "x": [[1, 2], [2, 3]],
        ".": {"a": {".dims": ["i"]}, "x": {".dims": ["t", "i"]}},
    }
    with pytest.raises(error, match=f'variable "[ax]".*{message}'):
        ops.apply(dataset, func, "i")
    assert dataset == {"a": [1, 2], "x": [[1, 2], [2, 3]], ".": {"a": {".dims": ["i"]}, "x": {".dims": ["t", "i"]}}}


def test_apply_without_a_slice_is_an_error() -> None:
    with pytest.raises(UnsupportedError, match='variable "x": there is nothing'):
        ops.apply(of(np.zeros((0, 2)), "t", "i"), np.sum, "i")


def test_apply_to_variables_that_do_not_exist_obeys_the_mode() -> None:
    with ops.with_mode("soft"):
        ops.apply({}, np.sum, vars="x")
    with ops.with_mode("strict"), pytest.raises(MissingError, match="x: variable not found"):
        ops.apply({}, np.sum, vars="x")


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8), st.booleans(), st.data())
def test_group_by_is_a_loop_over_groups(groups: list[int], first: bool, data: st.DataObject) -> None:
    shape = (len(groups), 2) if first else (2, len(groups))
    mask = data.draw(hnp.arrays(bool, shape))
    source = masked(np.arange(np.prod(shape)).reshape(shape), mask)
    dataset: dict[str, Any] = of(source, *(("t", "i") if first else ("i", "t")))
    ops.group_by(dataset, "t", groups, np.ma.mean)
    axis = 0 if first else 1
    for n, group in enumerate(sorted(set(groups))):
        chosen = np.flatnonzero(np.array(groups) == group)
        expected = np.ma.asanyarray(np.ma.mean(source.take(chosen, axis=axis), axis=axis))
        found = np.ma.asanyarray(dataset["x"].take(n, axis=axis))
        assert same_data(found.astype(float), expected.astype(float))
    whole = np.ma.compressed(dataset["x"]) % 1 == 0
    assert dataset["x"].dtype == np.dtype("i8" if whole.all() else "f8")
    assert ops.dim(dataset, "t") == len(set(groups))


def test_group_by_keeps_missing_values_and_promotes() -> None:
    dataset: dict[str, Any] = of(masked([1, 2, 3, 4], [1, 1, 0, 0]), "t")
    ops.group_by(dataset, "t", [0, 0, 1, 1], np.mean)
    assert same_data(dataset["x"], masked([0, 3.5], [1, 0]))


INTEGERS = np.array([2001, 2001, 2002, 2004])


@pytest.mark.parametrize(
    ("source", "func", "wanted"),
    [
        # integers where all values are so exactly, of the type of the variable if that holds them
        (INTEGERS, lambda x: x[1:3] / 1, np.array([2001, 2002])),
        (INTEGERS.astype(">i2"), lambda x: x[1:3] / 1, np.array([2001, 2002], "i2")),
        (INTEGERS.astype("u1"), lambda x: -1.0, np.int64(-1)),
        (INTEGERS.astype("i1"), lambda x: 2.0**53 - 1, np.int64(2**53 - 1)),
        (INTEGERS.astype("u8"), lambda x: x.mean(where=x == 2004), np.uint64(2004)),
        (INTEGERS, lambda x: np.float32(-0.0), np.int64(0)),
        (INTEGERS, lambda x: [[2001.0, None]], masked([[2001, 0]], [[0, 1]])),
        (INTEGERS, lambda x: masked([np.nan, 1e300, 3.0], [1, 1, 0]), masked([0, 0, 3], [1, 1, 0])),
        (INTEGERS, lambda x: np.zeros((0, 2)), np.zeros((0, 2), int)),
        # else what the function gave
        (INTEGERS, lambda x: [2001.0, 0.5], np.array([2001, 0.5])),
        (INTEGERS, lambda x: np.array([2001, np.nan], "f4"), np.array([2001, np.nan], "f4")),
        (INTEGERS, lambda x: np.inf, np.float64(np.inf)),
        (INTEGERS, lambda x: 2.0**53, np.float64(2**53)),
        (INTEGERS, lambda x: np.float32(2**24), np.float32(2**24)),
        (INTEGERS, lambda x: 1e300, np.float64(1e300)),
        (INTEGERS, lambda x: x > 2001, INTEGERS > 2001),
        (INTEGERS.astype("i2"), np.sum, np.int64(8008)),
        (INTEGERS.astype("f4"), np.max, np.float32(2004)),
        (INTEGERS > 2001, np.sum, np.int64(2)),
        (INTEGERS > 2001, lambda x: 2.0, np.float64(2)),
        (np.array(["a", "b", "c", "d"]), lambda x: float(len(x)), np.float64(4)),
    ],
)
def test_integers_stay_integers_where_results_are(source: Any, func: Any, wanted: Any) -> None:
    dataset: dict[str, Any] = of(source, "t")
    ops.apply(dataset, func, newdims=["i", "j"])
    assert same_data(dataset["x"], wanted)


def test_groups_of_years_are_years() -> None:
    dataset: dict[str, Any] = {"year": INTEGERS.astype("i2"), "x": INTEGERS, ".": {"year": {".dims": ["t"]}}}
    dataset["."]["x"] = {".dims": ["t"]}
    ops.group_by(dataset, "t", [1, 1, 2, 2], np.mean)
    assert same_data(dataset["x"], np.array([2001, 2003]))
    assert same_data(dataset["year"], np.array([2001, 2003], "i2"))
    assert calendar.monthrange(dataset["year"][1], 2) == (5, 28)
    dataset["x"] = np.array([2001, 2004])
    ops.group_by(dataset, "t", [1, 1], np.mean)
    assert same_data(dataset["x"], np.array([2002.5]))
    assert same_data(dataset["year"], np.array([2002], "i2"))


def test_group_by_changes_sizes_in_metadata() -> None:
    dataset: dict[str, Any] = {"x": [1, 2, 3], ".": {"x": {".dims": ["t"], ".size": [3], ".type": "int64"}}}
    dataset["."]["only"] = {".dims": ["k", "t"], ".size": [2, 3]}
    ops.group_by(dataset, "t", ("b", "a", "b"), lambda x, axis: np.mean(x, axis=axis) / 4)
    assert dataset["."]["x"] == {".dims": ["t"], ".size": [2], ".type": "float64"}
    assert dataset["."]["only"][".size"] == [2, 2]


def test_group_by_of_nothing_calls_nothing() -> None:
    dataset: dict[str, Any] = of(np.zeros((0, 2)), "t", "i")
    ops.group_by(dataset, "t", [], np.mean)
    assert dataset["x"].shape == (0, 2)


@pytest.mark.parametrize(
    ("group", "func", "message"),
    [
        ([0, 1], np.mean, "found 2 values, expected 3"),
        ([0, None, 1], np.mean, "none missing"),
        ([[0, 1, 1]], np.mean, "one value for each"),
        ([0, 0, 1], lambda x, axis: x, "different shapes"),
        ([0, 1, 2], lambda x, axis: x, "make the shape"),
    ],
)
def test_groups_and_results_that_do_not_fit_are_refused(group: Any, func: Any, message: str) -> None:
    dataset: dict[str, Any] = of(np.arange(3), "t")
    with pytest.raises(ValueError, match=message):
        ops.group_by(dataset, "t", group, func)
    assert dataset["x"].tolist() == [0, 1, 2]
