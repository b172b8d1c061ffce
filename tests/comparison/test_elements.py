"""Which values of two arrays differ, and by how much, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ds_format.comparison.elements import Rule, distances, unequal

FLOATS = st.floats(-1e6, 1e6, allow_nan=False) | st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -0.0])
CODES = ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">f8", ">i4")


def places(*args: Any) -> list[int]:
    return unequal(*args).tolist()


@given(hnp.arrays("f8", 8, elements=FLOATS), hnp.arrays("f8", 8, elements=FLOATS), st.floats(0, 2), st.floats(0, 100))
def test_tolerances_are_those_of_numpy(a: Any, b: Any, rtol: float, atol: float) -> None:
    with np.errstate(invalid="ignore"):
        expected = np.flatnonzero(~np.isclose(a, b, rtol, atol, equal_nan=True)).tolist()
    assert places(a, b, Rule(rtol, atol)) == expected


@given(st.lists(st.integers(-100, 100), min_size=1), st.sampled_from(CODES), st.sampled_from(CODES))
def test_numbers_of_any_types_are_compared_by_value(values: list[int], one: str, other: str) -> None:
    a, b = np.abs(np.array(values)).astype(one), np.abs(np.array(values)).astype(other)
    assert places(a, b) == []
    b[-1] += 1
    assert places(a, b) == [len(values) - 1]
    assert distances(a, b).tolist() == [0] * (len(values) - 1) + [1]


def test_large_integers_are_no_floats() -> None:
    big = np.array([2**53 + 1, 2**63 - 1, 5], "i8")
    assert places(big, big.astype("f8")) == [0, 1]
    assert places(big.astype("f8"), big) == [0, 1]
    assert places(big, big.astype("u8")) == []
    assert places(np.array([-1], "i8"), np.array([2**64 - 1], "u8")) == [0]


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_distances_of_integers_are_exact(a: int, b: int) -> None:
    assert distances(np.array([a], "i8"), np.array([b], "i8")).tolist() == [abs(a - b)]


@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**64 - 1))
def test_distances_of_integers_with_and_without_sign(a: int, b: int) -> None:
    for found in (
        distances(np.array([a], "i8"), np.array([b], "u8")),
        distances(np.array([b], "u8"), np.array([a], "i8")),
    ):
        assert found.tolist() == [abs(a - b) if abs(a - b) < 2**64 else pytest.approx(abs(a - b))]


@pytest.mark.parametrize(
    ("integer", "number"), [(2**53 + 1, 2.0**53), (2**63 - 1, 2.0**63), (-(2**62) + 3, -(2.0**62))]
)
def test_what_differs_has_a_distance(integer: int, number: float) -> None:
    a, b = np.array([integer, 5], "i8"), np.array([number, 5.0])
    assert distances(a, b).tolist() == [abs(integer - int(number)), 0]
    assert distances(b, a).tolist() == [abs(integer - int(number)), 0]
    assert places(a, b) == places(b, a) == [0]


def test_zeros_and_nan() -> None:
    other_nan = np.array([0x7FF8000000000001], "u8").view("f8")
    a, b = np.array([0.0, np.nan, np.nan]), np.concatenate([[-0.0], other_nan, [1.0]])
    assert places(a, b) == [2]
    assert places(a, b, Rule(bits=True)) == [0, 1, 2]
    assert places(a, b.astype("f4")) == [2]


def test_booleans_have_no_tolerance() -> None:
    assert places(np.array([True, False]), np.array([True, True]), Rule(atol=5)) == [1]


def test_strings() -> None:
    a = np.array(["é", "b", "\udcff"], object)
    assert places(a, np.array(["é", "c", "\udcff"])) == [1]
    assert places(a, np.array([b"\xc3\xa9", b"b", b"\xff"], object)) == []
    assert places(a, np.array([b"\xc3\xa9", b"x", b"\xff"], object)) == [1]
    assert places(a, np.array([1, 2, 3])) == [0, 1, 2]
    assert places(a, np.array([1, 2, 3]), Rule(loose=True)) == []


@pytest.mark.parametrize("code", CODES)
def test_nothing_is_equal(code: str) -> None:
    assert places(np.zeros(0, code), np.zeros(0, code)) == []
