"""NumPy types of attributes: what `.dtypes` give back, in the kernel and beside it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format.codec.attributes import NUMERIC, from_json, to_json
from ds_format.errors import UnsupportedError
from ds_format.kernels.ds.plain import put_types


def typed(value: Any, spec: Any) -> Any:
    """Return what `from_json` makes of a value, by NumPy alone."""
    name, *shape = spec if type(spec) is list and spec else [spec]
    dtype = NUMERIC.get(name) if type(name) is str else None
    if dtype is None:
        return value
    try:
        array = np.array(value, dtype)
        if dtype.kind != "f" and array.tolist() != value:
            return value
        return array.reshape(shape) if type(spec) is list else array[()] if array.ndim == 0 else value
    except (TypeError, ValueError, OverflowError):
        return value


def facts(value: Any) -> tuple[Any, ...]:
    """Return all that tells one value from another."""
    if isinstance(value, (np.ndarray, np.generic)):
        flags = (value.flags.writeable, value.flags.aligned, value.flags.c_contiguous)
        return type(value), value.dtype, value.shape, flags, value.tobytes()
    return type(value), repr(value)


EDGES = [
    sign * (1 << bits) + more for sign in (1, -1) for bits in (0, 7, 8, 15, 16, 31, 32, 63, 64) for more in (-1, 0, 1)
]
SCALARS = st.one_of(
    st.sampled_from(EDGES),
    st.integers(-300, 300),
    st.floats(),
    st.sampled_from([1e300, -1e300, 3.4028235e38, 3.4028236e38, 1e-46, 70000.0, 10**400]),
    st.booleans(),
    st.none(),
    st.text(st.sampled_from("a1\0é\ud800"), max_size=3),
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.lists(st.floats(width=32), max_size=3))
NAMES = st.sampled_from([*NUMERIC, "complex64", "", None, 5, ["int8"]])
COUNTS = st.sampled_from([0, 1, 2, 3, -1, True, 2.0, None, "2"])
SPECS: st.SearchStrategy[Any] = (
    st.just([]) | NAMES | st.lists(COUNTS, max_size=3).flatmap(lambda shape: NAMES.map(lambda name: [name, *shape]))
)


@st.composite
def lists(draw: st.DrawFn) -> tuple[Any, Any]:
    """Draw a list of numbers, and its own shape."""
    values = draw(st.lists(st.sampled_from(EDGES), max_size=3) | st.lists(st.floats(), max_size=3))
    return values, [draw(st.sampled_from([*NUMERIC])), len(values)]


@given(lists() | st.tuples(VALUES, SPECS))
def test_any_value_as_any_type(given: tuple[Any, Any]) -> None:
    value, spec = given
    with warnings.catch_warnings(record=True) as expected_warnings:
        warnings.simplefilter("always")
        expected = typed(value, spec)
    with warnings.catch_warnings(record=True) as found_warnings:
        warnings.simplefilter("always")
        found = from_json({"a": value, "b": 1, ".dtypes": {"c": "int8", "a": spec}})
    assert list(found) == ["a", "b"]
    assert facts(found["a"]) == facts(expected)
    assert [str(one.message) for one in found_warnings] == [str(one.message) for one in expected_warnings]


@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize("swapped", [False, True])
def test_there_and_back(name: str, swapped: bool) -> None:
    dtype = NUMERIC[name].newbyteorder() if swapped else NUMERIC[name]
    array = np.array(["ab", "c"] if name == "str" else [0, 1], dtype)
    attributes = {"one": array[1], "list": array, "grid": array.reshape(1, 2), "point": array[1].reshape(())}
    found = from_json(to_json(attributes))
    assert {key: type(value) for key, value in found.items()} == {key: type(value) for key, value in attributes.items()}
    for key, value in attributes.items():
        np.testing.assert_array_equal(found[key], value, strict=not swapped and name != "str")


def test_what_the_kernel_takes() -> None:
    attributes = {"f": 0.5, "i": -128, "u": 2**63 - 1, "fs": [1.5, -0.0], "us": [255], "none": [], "plain": 5}
    specs = {"f": "float32", "i": "int8", "u": "uint64", "fs": ["float64", 2], "us": ["uint8", 1], "none": ["int64", 0]}
    assert put_types(attributes, {**specs, "absent": "int8"}, NUMERIC) == []
    assert [facts(value) for value in attributes.values()] == [
        *map(facts, (np.float32(0.5), np.int8(-128), np.uint64(2**63 - 1), np.array([1.5, -0.0]))),
        *map(facts, (np.array([255], "u1"), np.array([], "i8"), 5)),
    ]


def test_what_the_kernel_leaves() -> None:
    values = {
        "large": 128,
        "negative": -1,
        "wide": 2**64,
        "over": 1e39,
        "kind": 5,
        "bool": True,
        "text": "a",
        "half": 0.5,
    }
    names = ["int8", "uint32", "uint64", "float32", "float64", "int8", "str", "float16"]
    specs: dict[str, Any] = dict(zip(values, names, strict=True))
    lists = {"count": [[1], ["int8", 2]], "deep": [[[1]], ["int8", 1]], "mixed": [[1, 1.5], ["int8", 2]]}
    attributes = {**values, **{key: value for key, (value, _) in lists.items()}}
    before = dict(attributes)
    specs.update({key: spec for key, (_, spec) in lists.items()})
    assert put_types(attributes, specs, NUMERIC) == [*specs]
    assert attributes == before


def test_values_of_json_stay_and_others_are_named() -> None:
    given = {"text": "a", "list": [1, None, "b"], "object": {"a": (1, 2.5)}, "half": np.float16(0.5), "left out": True}
    expected = {"text": "a", "list": [1, None, "b"], "object": {"a": [1, 2.5]}, "half": 0.5}
    assert to_json(given, {"left out"}) == {**expected, ".dtypes": {"half": "float16"}}
    for value, kind in ((1j, "complex"), ([b"a"], "bytes"), (np.complex64(1), "dtype complex64"), ({1: 2}, "dict")):
        with pytest.raises(UnsupportedError, match=f'attribute ".x": a value of type {kind} is not supported'):
            to_json({"\\.x": value})
