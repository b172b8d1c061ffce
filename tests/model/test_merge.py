"""Merging datasets in memory: what is joined, stacked or taken from the first, and what must fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format.model.merge_plan import MergeInput, plan_merge

from ..same import same_data
from ..strategies import arrays

FIRST_IS_KEPT = pytest.mark.filterwarnings("ignore:.*so only the first value is kept:ds_format.DsWarning")


def dataset(meta: dict[str, Any] | None = None, **variables: Any) -> dict[str, Any]:
    """Make a dataset from (dims, data) or (dims, data, attributes) of each variable."""
    entries = {
        name: {".dims": dims.split(), **(more[0] if more else {})} for name, (dims, _, *more) in variables.items()
    }
    return {**{name: data for name, (_, data, *_) in variables.items()}, ".": {**entries, ".": meta or {}}}


def masked(data: Any, mask: Any) -> Any:
    return np.ma.MaskedArray(data, mask)


@FIRST_IS_KEPT
@pytest.mark.filterwarnings("ignore:attributes of the dataset differ")
def test_along_a_dimension() -> None:
    a = dataset(
        {"title": "A", "old": 1}, t=("t", [1, 2]), x=("y t", [[1.0, 2.0], [3.0, 4.0]], {"u": "a"}), y=("y", [7, 8])
    )
    b = dataset({"title": "B"}, t=("t", [3]), x=("y t", [[5.0], [6.0]], {"u": "b", "v": 1}), y=("y", [9, 9]))
    merged = ds.merge([a, b], "t")
    assert same_data(merged["t"], np.array([1, 2, 3]))
    assert same_data(merged["x"], np.array([[1.0, 2.0, 5.0], [3.0, 4.0, 6.0]]))
    assert same_data(merged["y"], np.array([7, 8]))
    assert ds.attrs(merged) == {"title": "B", "old": 1}
    assert ds.attrs(merged, "x") == {"u": "b", "v": 1}
    assert ds.dims(merged, "x") == ["y", "t"]
    assert type(merged) is ds.Dataset


@FIRST_IS_KEPT
def test_what_lacks_the_dimension_along_a_new_one() -> None:
    a, b = (dataset(t=("t", [i]), y=("y", [i, i]), s=("", i, {"long_name": "s"})) for i in (1, 2))
    merged = ds.merge([a, b], "t", new="n")
    assert same_data(merged["y"], np.array([[1, 1], [2, 2]]))
    assert same_data(merged["s"], np.array([1, 2]))
    assert (ds.dims(merged, "y"), ds.dims(merged, "s")) == (["n", "y"], ["n"])
    only = ds.merge([a, b], "t", new="n", variables=["s"])
    assert same_data(only["y"], np.array([1, 1]))
    assert same_data(only["s"], np.array([1, 2]))


def test_along_a_dimension_that_is_new() -> None:
    a, b = dataset(x=("i", [1, 2]), s=("", "one")), dataset(x=("i", [3, 4]), z=("", 5))
    merged = ds.merge([a, b], "n")
    assert same_data(merged["x"], np.array([[1, 2], [3, 4]]))
    assert same_data(merged["s"], masked(np.array(["one", ""], object), [False, True]))
    assert same_data(merged["z"], masked([0, 5], [True, False]))
    some = ds.merge([a, b], "n", variables=["x"])
    assert (some["s"], some["z"]) == ("one", 5)


@FIRST_IS_KEPT
def test_what_a_dataset_lacks_is_missing() -> None:
    a = dataset(t=("t", [1, 2]), x=("t", [True, False]), s=("", 1))
    b = dataset(t=("t", [3, 4]), y=("t i", [["a"], ["b"]]))
    c = dataset(s=("", 2), other=("", 3))
    merged = ds.merge([a, b, c], "t")
    assert same_data(merged["t"], np.array([1, 2, 3, 4]))
    assert same_data(merged["x"], masked([True, False, False, False], [False, False, True, True]))
    assert same_data(
        merged["y"], masked(np.array([[""], [""], ["a"], ["b"]], object), [[True], [True], [False], [False]])
    )
    assert (merged["s"], merged["other"]) == (1, 3)


def test_masks_strings_and_empty_data_are_kept() -> None:
    a = dataset(x=("t", masked([1, 2], [True, False])), s=("t", np.array([b"a\0", b""], object)), e=("t", None))
    b = dataset(x=("t", [3]), s=("t", [b"c"]), e=("t", [1.5]))
    merged = ds.merge([a, b], "t")
    assert same_data(merged["x"], masked([0, 2, 3], [True, False, False]))
    assert same_data(merged["s"], np.array([b"a\0", b"", b"c"], object))
    assert same_data(merged["e"], masked([0.0, 0.0, 1.5], [True, True, False]))
    assert ds.merge([{"x": None}, {"x": None}], "t")["x"] is None
    assert ds.merge([], "t") == {".": {".": {}}}
    assert ds.merge([{}, {}], "t") == {".": {".": {}}}


@pytest.mark.parametrize(
    ("left", "right", "dtype"),
    [
        ("i1", "i8", "i8"),
        ("i8", "f4", "f8"),
        ("u1", "i1", "i2"),
        ("?", "i2", "i2"),
        (">f4", "<f4", "f4"),
        ("i1", ">f8", "f8"),
    ],
)
def test_types_are_promoted(left: str, right: str, dtype: str) -> None:
    merged = ds.merge([dataset(x=("t", np.ones(2, left))), dataset(x=("t", np.ones(1, right)))], "t")
    assert merged["x"].dtype == np.dtype(dtype)
    assert ds.type(merged, "x") == np.dtype(dtype).name


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        (("t i", np.zeros((1, 2))), ("i t", np.zeros((2, 1))), "incompatible dimensions"),
        (("t i", np.zeros((1, 2))), ("t i", np.zeros((1, 3))), r"incompatible sizes: found \[2\] and \[3\]"),
        (("t", np.zeros(1)), ("t", ["a"]), "types float64, unicode, which have no common type"),
        (("t", ["a"]), ("t", [b"a"]), "types unicode, str"),
    ],
)
def test_what_does_not_fit(left: Any, right: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f'variable "x": .*{message}'):
        ds.merge([dataset(x=left), dataset(x=right)], "t")
    with pytest.raises(ValueError, match='variable "x": incompatible'):
        ds.merge([dataset(x=("i", [1])), dataset(x=("i", [1, 2]))], "n")


def test_what_does_not_fit_within_one_dataset() -> None:
    uneven = dataset(x=("t", [1, 2]), y=("t", [1, 2, 3]))
    with pytest.raises(ValueError, match='variable "y": incompatible size of dimension "t" within one dataset'):
        ds.merge([uneven, uneven], "t")
    with pytest.raises(ValueError, match='variable "x": incompatible dimensions'):
        ds.merge([dataset(x=("i j", [[1]])), dataset(x=("j i", [[1]]))], "n")


def test_nothing_is_missing_where_all_is_covered() -> None:
    meta = {"x": {".size": [2], ".dims": ["t"], ".type": "int8", ".missing": False}}
    for dim in ("t", "new"):
        plans, merged = plan_merge([MergeInput(meta), MergeInput(meta, 3)], dim)
        assert [plan.missing for plan in plans] == [False]
        assert merged["x"][".missing"] is False


@pytest.mark.parametrize("arguments", [("x", "t"), ([1], "t"), ([], 5), ([], "t", 5)])
def test_arguments_of_wrong_types(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="invalid type"):
        ds.merge(*arguments)


def times(units: Any, values: Any = (0.0,), **attributes: Any) -> dict[str, Any]:
    return dataset(t=("t", np.array(values), {"units": units, **attributes}))


def test_times_in_different_units() -> None:
    pair = [times("days since 2000-01-01"), times("hours since 2000-01-02", [12.0])]
    merged = ds.merge(pair, "t")
    assert merged["t"].tolist() == [2451544.5, 2451546.0]
    assert ds.attrs(merged, "t") == {"units": "days since -4713-11-24 12:00 UTC", "calendar": "proleptic_gregorian"}
    assert ds.time(merged, "t") is True
    first = ds.merge(pair, "t", jd=False)
    assert first["t"].tolist() == [0.0, 1.5]
    assert ds.attrs(first, "t") == {"units": "days since 2000-01-01"}
    same = ds.merge([pair[0], pair[0]], "t")
    assert same["t"].tolist() == [0.0, 0.0]


def test_times_of_one_calendar_of_models_stay_in_it() -> None:
    """Its dates need not exist in the calendar of Julian dates: here 30 February."""
    pair = [
        times("days since 2000-01-01", [59.0], calendar="360_day"),
        times("hours since 2000-02-30", [24.0], calendar="360_Day"),
    ]
    merged = ds.merge(pair, "t")
    assert merged["t"].tolist() == [59.0, 60.0]
    assert ds.attrs(merged, "t") == {"units": "days since 2000-01-01", "calendar": "360_day"}
    assert not ds.time(merged, "t")
    leap = [
        times("days since 2001-02-29", calendar="all_leap"),
        times("days since 2001-02-28", [1.0], calendar="366_day"),
    ]
    assert ds.merge(leap, "t")["t"].tolist() == [0.0, 0.0]
    noleap = [times(f"days since 200{i}-01-01", calendar="noleap") for i in (1, 2)]
    assert ds.merge(noleap, "t")["t"].tolist() == [2451910.5, 2452275.5]


def test_times_that_cannot_be_counted_alike() -> None:
    leap = times("days since 2000-02-30", calendar="360_day")
    with pytest.raises(ValueError, match='variable "t"'):
        ds.merge([times("days since 2000-01-01"), leap], "t")


def test_packed_numbers_are_unpacked_if_they_are_packed_differently() -> None:
    a = dataset(x=("t", np.array([1, 2], "i2"), {"scale_factor": 0.5, "add_offset": 10.0, "units": "K"}))
    b = dataset(x=("t", masked(np.array([1, 2], "i2"), [False, True]), {"scale_factor": np.float32(2.0), "units": "K"}))
    alike = ds.merge([a, a], "t")
    assert same_data(alike["x"], np.array([1, 2, 1, 2], "i2"))
    assert ds.attr(alike, "scale_factor", var="x") == 0.5
    merged = ds.merge([a, b], "t")
    assert same_data(merged["x"], masked([10.5, 11.0, 2.0, 0.0], [False, False, False, True]))
    assert ds.attrs(merged, "x") == {"units": "K"}


def test_other_units_that_differ_are_warned_about() -> None:
    with pytest.warns(UserWarning, match="variable \"x\": merged although units differ: 'K', 'degC'"):
        ds.merge([dataset(x=("t", [1], {"units": u})) for u in ("K", "degC")], "t")


@given(st.data())
def test_merging_is_concatenation(data: st.DataObject) -> None:
    """The oracle is `np.ma.concatenate` for numbers; masks and objects value by value."""
    tail = data.draw(st.tuples(st.integers(0, 3)))
    axis = data.draw(st.integers(0, 1))
    parts = [
        data.draw(arrays((*tail[:axis], n, *tail[axis:]))) for n in data.draw(st.lists(st.integers(0, 3), min_size=1))
    ]
    kinds = {"O" if part.dtype.kind == "O" else "n" for part in parts}
    dims = ["i", "t"] if axis else ["t", "i"]
    try:
        merged = ds.merge([{"x": part, ".": {"x": {".dims": dims}}} for part in parts], "t")
    except ds.UnsupportedError:
        assert len(kinds) > 1 or kinds == {"O"}
        return
    flags = np.concatenate([np.ma.getmaskarray(part) for part in parts], axis)
    values = np.concatenate([np.ma.getdata(part) for part in parts], axis)
    assert same_data(merged["x"], np.ma.MaskedArray(values, flags) if flags.any() else values)


def test_merged_numbers_are_masked_arrays_with_a_full_mask(tmp_path: Path) -> None:
    meta = {"x": {".dims": ["t"]}, "flag": {".dims": ["t"]}, "name": {".dims": ["t"]}, "site": {".dims": ["k"]}}
    for i in range(2):
        x, text = np.arange(2) + 0.5 * i, np.array(["a", "b"], object)
        data = {"x": x, "flag": x > 0, "name": text, "site": np.arange(3), ".": meta}
        ds.write(tmp_path / f"{i}.ds", data)
    paths = sorted(tmp_path.glob("*.ds"))
    for merged in (ds.merge([ds.read(path) for path in paths], "t"), ds.readdir(tmp_path, merge="t")):
        for key in ("x", "flag"):
            assert merged[key].mask.tolist() == [False] * 4
        assert merged["x"].tolist() == [0, 1, 0.5, 1.5]
        assert type(merged["name"]) is np.ndarray
    assert type(ds.read_many(paths, dim="t")["x"]) is np.ndarray
    ds.merge_files("t", paths, tmp_path / "out.ds")
    assert type(ds.read(tmp_path / "out.ds")["x"]) is np.ndarray


def test_means_of_merged_floats_keep_their_type() -> None:
    merged = ds.merge([dataset(x=("t", np.ones(2, "f4")))] * 2, "t")
    by_group = ds.copy(merged)
    ds.group_by(by_group, "t", [0, 0, 1, 1], np.mean)
    assert by_group["x"].dtype == np.float32
    ds.apply(merged, np.mean, "t")
    assert merged["x"].dtype == np.float32
