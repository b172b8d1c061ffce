"""Which values of two arrays differ, and by how much, against NumPy.

Two variables, block by block: how many values differ, where first, where most.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from ds_format.comparison import values
from ds_format.comparison.values import EXACT, Rule, distances, pairs, tally, unequal
from ds_format.errors import IntegrityError

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


CUTS = st.lists(st.integers(0, 40), max_size=4)


def cut(array: Any, at: list[int]) -> list[Any]:
    return [array[start:stop] for start, stop in pairwise([0, *sorted(at), array.size])]


@given(CUTS, CUTS, st.lists(st.integers(0, 39), max_size=5), st.lists(st.integers(0, 39), max_size=3))
def test_blocks_of_any_size(ours: list[int], theirs: list[int], changed: list[int], gone: list[int]) -> None:
    a = np.ma.MaskedArray(np.arange(40.0) + 1)
    b = a.copy()
    for n, i in enumerate(changed):
        b[i] += n + 1
    b[gone] = np.ma.masked
    found = tally(pairs(cut(a, ours), cut(b, theirs)), EXACT)
    differ = [i for i in range(40) if i not in gone and b.data[i] != a.data[i]]
    assert (found.n, found.differing, found.missing_a, found.missing_b) == (40, len(differ), 0, len({*gone}))
    assert (found.first.position if found.first else None) == (differ[0] if differ else None)
    assert (found.first_missing.position if found.first_missing else None) == (min(gone) if gone else None)
    if differ:
        sizes = {i: b.data[i] - a.data[i] for i in differ}
        assert found.largest is not None
        assert found.largest.size == max(sizes.values()) == sizes[found.largest.position]
        assert found.relative is not None
        assert found.relative.size == max(size / b.data[i] for i, size in sizes.items())


def test_positions_beyond_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "BLOCK_LENGTH", 4)
    a = np.zeros(30, "i4")
    b = a.copy()
    b[[7, 22]] = 1, -9
    found = tally(pairs([a], [b]), EXACT)
    assert (found.first, found.largest) == ((7, 0, 1, None), (22, 0, -9, 9))
    assert found.relative is not None
    assert found.relative.size == 1.0
    assert tally(pairs([a], [b]), Rule(atol=8)).differing == 1
    assert tally(pairs([a], [b]), Rule(atol=9)).differs is False


def test_nan_has_no_size() -> None:
    a, b = np.array([np.nan, 1.0, 2.0]), np.array([1.0, np.nan, 3.0])
    found = tally(pairs([a], [b]), EXACT)
    assert found.differing == 3
    assert found.largest is not None
    assert (found.largest.position, found.largest.size) == (2, 1.0)
    assert tally(pairs([a[:2]], [b[:2]]), EXACT).largest is None


def test_both_missing_is_the_same_whatever_lies_below() -> None:
    a, b = np.ma.MaskedArray([1, 2], [True, False]), np.ma.MaskedArray([9, 2], [True, False])
    assert not tally(pairs([a], [b]), EXACT).differs


def test_the_first_may_be_enough() -> None:
    read = []

    def blocks() -> Any:
        for i in range(5):
            read.append(i)
            yield np.full(3, float(i == 1))

    found = tally(pairs(blocks(), [np.zeros(15)]), EXACT, first=True)
    assert found.differs
    assert read == [0, 1]


@pytest.mark.parametrize(("n", "word"), [(5, "fewer"), (9, "more")])
def test_variables_of_different_lengths(n: int, word: str) -> None:
    with pytest.raises(IntegrityError, match=f"found {word} values"):
        tally(pairs([np.zeros(7)], [np.zeros(n)]), EXACT)
