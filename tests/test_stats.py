"""Statistics against one line of NumPy each, and the same in bounded memory as in one piece."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as npst

from ds_format.errors import UnsupportedError
from ds_format.model import stats
from ds_format.model.stats import n_passes, summarize

CODES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
PARTS: list[list[float]] = [[16, 84], [2.5, 97.5], [0.5, 99.5]]


def in_pieces(array: Any, n: int = 3) -> Any:
    """Summarize an array from blocks that are not held."""
    edges = [array.size * i // n for i in range(n + 1)]
    blocks = [array[a:b] for a, b in itertools.pairwise(edges)]
    return summarize(lambda: blocks, stats.IN_MEMORY + 1)


def exact(found: Any) -> tuple[Any, ...]:
    """What must be the same however it was computed."""
    values = (found.count, found.min, found.max, found.median, *found.p68, *found.p95, *found.p99)
    return tuple("nan" if isinstance(value, float) and math.isnan(value) else value for value in values)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_statistics_are_those_of_numpy(code: str, n: int) -> None:
    draw = np.random.default_rng(n)
    array = (draw.normal(size=n) * 100).astype("i8").astype(code) if code != "?" else draw.normal(size=n) > 0
    numbers = array.astype("f8")
    for found in (summarize(lambda: [array], array.nbytes), in_pieces(array)):
        assert (found.count, found.min, found.max) == (n, array.min(), array.max())
        assert type(found.min) in (int, float)
        assert [found.mean, found.std] == pytest.approx([numbers.mean(), numbers.std()])
        assert found.median == pytest.approx(np.median(numbers))
        for interval, parts in zip((found.p68, found.p95, found.p99), PARTS, strict=True):
            assert interval == pytest.approx(tuple(np.percentile(numbers, parts)))


@given(
    st.sampled_from(CODES).flatmap(lambda code: npst.arrays(code, st.integers(0, 40))),
    st.integers(1, 5),
    st.booleans(),
)
def test_pieces_give_the_same(array: Any, n: int, masked: bool) -> None:
    if masked:
        array = np.ma.MaskedArray(array, np.arange(array.size) % 3 == 0)
    with np.errstate(all="ignore"):
        assert exact(in_pieces(array, n)) == exact(summarize(lambda: [array], array.nbytes))


def test_missing_values_and_nan_are_left_out() -> None:
    array = np.ma.MaskedArray([1.0, 9.0, np.nan, 3.0], [False, True, False, False])
    for found in (summarize(lambda: [array], 0), in_pieces(array)):
        assert (found.count, found.min, found.max, found.mean, found.median, found.std) == (3, 1.0, 3.0, 2.0, 2.0, 1.0)


@pytest.mark.parametrize(("values", "expected"), [([], None), ([np.nan, np.nan], "nan")])
def test_nothing_gives_nothing(values: list[float], expected: Any) -> None:
    array = np.array(values)
    for found in (summarize(lambda: [array], 0), in_pieces(array)):
        assert exact(found) == (len(values), *[expected] * 9)


def test_infinite_values() -> None:
    found: Any = summarize(lambda: [np.array([np.inf, 1.0, 2.0])], 0)
    assert (found.min, found.max, found.mean, found.median) == (1.0, math.inf, math.inf, 2.0)
    assert found.p68 == (pytest.approx(1.32), math.inf)
    assert math.isnan(found.std)
    assert summarize(lambda: [np.array([-np.inf, 1.0, 2.0])], 0).mean == -math.inf
    found = in_pieces(np.array([np.inf, 1.0, 2.0, -np.inf]))
    assert (found.median, found.p99) == (1.5, (-math.inf, math.inf))
    assert math.isnan(found.mean)


def test_wide_integers_do_not_overflow() -> None:
    array = np.array([-(2**63), 2**63 - 1, 7])
    for found in (summarize(lambda: [array], 0), in_pieces(array)):
        assert (found.min, found.max, found.median) == (-(2**63), 2**63 - 1, 7)
        assert found.p68[0] == pytest.approx(-(2**63) * 0.68)


def test_a_small_deviation_far_from_zero_survives() -> None:
    array = 1e9 + np.tile([0.0, 1.0], 5000)
    assert in_pieces(array, 7).std == pytest.approx(0.5)


def test_strings_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="numbers"):
        summarize(lambda: [np.array(["a"], object)], 0)


@pytest.mark.parametrize("code", ["i1", "u2", "f4", "i8", "f8"])
def test_each_pass_is_announced_and_reads_each_block_once(code: str) -> None:
    array = np.arange(100).astype(code)
    for size in (0, stats.IN_MEMORY, stats.IN_MEMORY + 1):
        read: list[None] = []

        def blocks(read: list[None] = read) -> Iterator[Any]:
            read.append(None)
            yield array

        summarize(blocks, size)
        assert len(read) == n_passes(size, array.itemsize)
