"""Variables: data are taken in without a loss, types changed where values fit, and nothing walks over all names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format import Dataset, MissingError, UnsupportedError, ops

from .. import strategies
from ..numpy_versions import needs_numpy_2
from ..same import same_data

NUMBERS = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def masked(data: Any, mask: Any) -> Any:
    return np.ma.MaskedArray(data, mask)


def put(value: Any) -> Any:
    """Return what is in a dataset after setting a variable."""
    dataset: dict[str, Any] = {}
    ops.var(dataset, "x", value)
    return dataset["x"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([[1, None], [3, 4]], masked(np.array([[1, 0], [3, 4]]), [[0, 1], [0, 0]])),
        ([True, None], masked([True, False], [0, 1])),
        ([2**64 - 1, 0], np.array([2**64 - 1, 0], np.uint64)),
        ([None, None], masked(np.zeros(2), True)),
        (["a\0", "b"], np.array(["a\0", "b"], object)),
        ([["a", None], ["b", "cc"]], masked(np.array([["a", ""], ["b", "cc"]]), [[0, 1], [0, 0]])),
        (np.array(["a", None], object), masked(np.array(["a", "b"], object), [0, 1])),
        ([np.ones(2, "f4"), np.zeros(2, "f4")], np.array([[1, 1], [0, 0]], "f4")),
        ([masked([1, 2], [0, 1]), np.array([3, 4])], masked([[1, 2], [3, 4]], [[0, 1], [0, 0]])),
        ([1, np.ma.masked], masked([1, 0], [0, 1])),
        ([np.int16(1), None], masked(np.array([1, 0], np.int16), [0, 1])),
        ([np.str_("a"), "bb"], np.array(["a", "bb"])),
    ],
)
def test_data_keep_shape_type_and_mask(value: Any, expected: Any) -> None:
    assert same_data(put(value), expected)
    assert same_data(ops.var({"x": value}, "x"), expected)


def test_a_missing_scalar_keeps_its_type() -> None:
    dataset: dict[str, Any] = {"x": put(masked(np.int32(5), True))}
    assert ops.type(dataset, "x") == "int32"
    assert ops.var(dataset, "x") is np.ma.masked


@pytest.mark.parametrize("value", ["a\0", b"a\0"])
def test_text_scalars_keep_a_nul_at_the_end(value: Any) -> None:
    assert put(value) == value
    assert ops.var({"x": value}, "x") == value


@given(strategies.arrays())
def test_arrays_stay_what_they_are(array: Any) -> None:
    dataset: dict[str, Any] = {}
    ops.var(dataset, "x", array)
    if array.ndim:
        assert same_data(dataset["x"], array) and same_data(ops.var(dataset, "x"), array)
    else:
        found = ops.var(dataset, "x")
        value = found.item() if isinstance(found, np.generic) else found
        assert found is np.ma.masked if np.ma.is_masked(array) else repr(value) == repr(array.item())
    assert ops.type(dataset, "x") == ops.type({"x": array}, "x")


@needs_numpy_2
def test_arrays_of_numpy_strings_can_be_used() -> None:
    dataset: dict[str, Any] = {"x": np.array(["a", "bb", "c"], np.dtypes.StringDType())}
    assert ops.var(dataset, "x") is dataset["x"] and ops.type(dataset, "x") == "unicode"
    ops.select(dataset, {"x_1": [0, 1]})
    assert dataset["x"].tolist() == ["a", "bb"]
    ops.type(dataset, "x", "str")
    assert dataset["x"].tolist() == [b"a", b"bb"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1j, "complex"),
        ([1, True], "bool, int"),
        (["a", 1], "int, str"),
        (["a", b"b"], "bytes, str"),
        ([2**64], "uint64"),
        ([2**64 - 1, -1], "uint64|exactly"),
        (np.array(["a", b"b"], object), "bytes, str"),
        (np.array(["a", 1], object), "int, str"),
        ([[1, 2], [3]], "different lengths"),
        ([np.ones(2), None], "arrays and missing"),
        (range(3), "range"),
    ],
)
def test_what_no_type_can_hold_is_refused_by_name(value: Any, message: str) -> None:
    dataset: dict[str, Any] = {"x": 1}
    with pytest.raises(UnsupportedError, match=f'^variable "x": .*({message})'):
        ops.var(dataset, "x", value)
    assert dataset == {"x": 1}


def test_size_and_type_follow_the_data_where_given() -> None:
    dataset: dict[str, Any] = {"x": np.zeros(3), ".": {"x": {".size": [3], ".type": "float64", "units": "m"}}}
    ops.var(dataset, "x", ["a", "b"])
    assert dataset["."] == {"x": {".size": [2], ".type": "unicode", "units": "m"}}
    ops.var(dataset, "x", None)
    assert dataset["."] == {"x": {".size": None, ".type": "unicode", "units": "m"}}
    assert ops.size(dataset, "x") == []


@given(st.sampled_from(NUMBERS), st.sampled_from(NUMBERS), st.data())
def test_numbers_are_converted_whole_or_not_at_all(old: str, new: str, data: st.DataObject) -> None:
    limits = np.iinfo(old) if "int" in old else None
    numbers = (
        st.floats(width=32 if old == "float32" else 64)
        if limits is None
        else st.integers(int(limits.min), int(limits.max))
    )
    values = data.draw(st.lists(numbers, max_size=5))
    mask = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    before = masked(np.array(values, old), mask)
    dataset: dict[str, Any] = {"x": before}
    try:
        ops.type(dataset, "x", new)
    except UnsupportedError:
        assert dataset == {"x": before} and dataset["x"] is before
        return
    after = dataset["x"]
    assert after.dtype == new and np.array_equal(np.ma.getmaskarray(after), np.array(mask, bool))
    for theirs, ours in zip(before.compressed().tolist(), after.compressed().tolist(), strict=True):
        if "int" in new:
            assert int(theirs) == ours
        elif np.isfinite(theirs):
            assert ours == np.dtype(new).type(theirs)
        else:
            assert repr(ours) == repr(theirs)


@pytest.mark.parametrize(
    ("value", "name", "message"),
    [
        ([1, 300], "uint8", "300 does not fit uint8"),
        ([1, -1], "uint64", "-1 does not fit uint64"),
        (np.array([2**63], np.uint64), "int64", "9223372036854775808 does not fit int64"),
        ([1.0, np.nan], "int32", "nan does not fit int32"),
        ([2.0**63], "int64", "9.223372036854776e.18 does not fit int64"),
        ([np.inf], "bool", "inf does not fit bool"),
        ([1e300], "float32", "1e.300 does not fit float32"),
        (["300"], "int8", "300 does not fit int8"),
        (["1e300"], "float32", "1e.300 does not fit float32"),
        (["1.5"], "int8", "'1.5' is not a number of type int8"),
        ([b"\xff"], "unicode", r"b'\\xff' is not UTF-8"),
    ],
)
def test_values_that_do_not_fit_are_refused(value: Any, name: str, message: str) -> None:
    dataset: dict[str, Any] = {"x": value}
    with pytest.raises(UnsupportedError, match=f'^variable "x": {message}'):
        ops.type(dataset, "x", name)
    assert dataset == {"x": value}


@pytest.mark.parametrize("name", ["str", "unicode"])
@pytest.mark.parametrize(
    "value", [[1, -2], [0.1, 1e300], np.array([0.1], "f4"), [True, False], 5, masked([1, 2], [0, 1])]
)
def test_numbers_become_text_that_reads_back(value: Any, name: str) -> None:
    dataset: dict[str, Any] = {"x": value}
    old = ops.type(dataset, "x")
    ops.type(dataset, "x", name)
    assert ops.type(dataset, "x") == name
    if old not in (None, "bool"):
        ops.type(dataset, "x", old)
        assert same_data(dataset["x"], value)


def test_text_and_bytes_become_each_other() -> None:
    dataset: dict[str, Any] = {"x": ["žluť", None]}
    ops.type(dataset, "x", "str")
    assert same_data(dataset["x"], masked(np.array(["žluť".encode(), b""]), [0, 1]))
    ops.type(dataset, "x", "unicode")
    assert same_data(dataset["x"], masked(np.array(["žluť", ""]), [0, 1]))


def test_converting_to_the_same_type_copies_nothing() -> None:
    data = np.arange(3)
    dataset: dict[str, Any] = {"x": data}
    ops.type(dataset, "x", "int64")
    assert dataset["x"] is data


def test_copy_shares_arrays_and_copies_metadata() -> None:
    dataset: dict[str, Any] = {"x": np.arange(3), "l": [1, 2], ".": {"x": {".dims": ["i"], "a": [1]}}}
    other = ops.copy(dataset)
    assert type(other) is Dataset
    assert other["x"] is dataset["x"] and isinstance(other["l"], np.ndarray)
    other["."]["x"]["a"].append(2)
    other["."]["x"][".dims"][0] = "j"
    assert dataset["."] == {"x": {".dims": ["i"], "a": [1]}}


def test_with_mode_restores_after_an_exception() -> None:
    with pytest.raises(MissingError), ops.with_mode("strict"):
        ops.var({}, "x")
    with pytest.warns(UserWarning, match="x: variable not found"):
        assert ops.var({}, "x") is None


class Sealed(dict[str, Any]):
    """A dict that cannot be walked over."""

    def __iter__(self) -> Any:
        raise AssertionError("walks over all names")

    keys = values = items = __iter__


ACCESSORS: tuple[Callable[[dict[str, Any]], Any], ...] = (
    lambda d: ops.var(d, "x"),
    lambda d: ops.var(d, "x", 5),
    lambda d: ops.type(d, "x"),
    lambda d: ops.type(d, "x", "int8"),
    lambda d: ops.size(d, "x"),
    lambda d: ops.dims(d, "x"),
    lambda d: ops.dims(d, "x", size=True),
    lambda d: ops.dims(d, "x", ["j"]),
    lambda d: ops.meta(d, "x"),
    lambda d: ops.attrs(d, "x"),
    lambda d: ops.attr(d, "a", var="x"),
    lambda d: ops.attr(d, "a", 5, var="x"),
    lambda d: ops.rm_attr(d, "a", "x"),
    lambda d: ops.rename_attr(d, "a", "b", "x"),
    lambda d: ops.time(d, "x"),
    lambda d: ops.time(d, "x", True),
    lambda d: ops.rm(d, "x"),
    lambda d: ops.require(d, "var", "x"),
    lambda d: ops.require(d, "attr", "a", "x"),
)


@pytest.mark.parametrize("access", ACCESSORS, ids=map(str, range(len(ACCESSORS))))
def test_what_asks_for_one_variable_does_not_walk_over_all(access: Callable[[dict[str, Any]], Any]) -> None:
    access(Sealed({"x": np.arange(3), ".": Sealed({"x": {".dims": ["i"], "a": 1}})}))
