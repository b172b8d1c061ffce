"""Two variables, block by block: how many values differ, where first, where most."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ds_format.comparison import values
from ds_format.comparison.elements import EXACT, Rule
from ds_format.comparison.values import pairs, tally
from ds_format.errors import IntegrityError

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
    monkeypatch.setattr(values, "STEP", 4)
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
