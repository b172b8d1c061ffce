"""Parts of arrays: against NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given, strategies as st

from ds_format.drivers.slabs import read_part, slab_runs

SHAPES = st.lists(st.integers(0, 6), max_size=4).map(tuple)


@given(SHAPES, st.data())
def test_runs_cover_positions_in_order(shape: tuple[int, ...], data: st.DataObject) -> None:
    total = math.prod(shape)
    start = data.draw(st.integers(0, total))
    stop = data.draw(st.integers(start, total))
    array = np.arange(total).reshape(shape)
    found = [value for slices in slab_runs(shape, start, stop) for value in array[slices].ravel().tolist()]
    assert found == list(range(start, stop))


def test_runs_are_few() -> None:
    assert len(list(slab_runs((10, 10, 10), 0, 1000))) == 1
    assert len(list(slab_runs((10, 10, 10), 1, 999))) == 5


def items(size: int) -> st.SearchStrategy[Any]:
    """One item of an index: an int, a range of any step, or positions in any order."""
    if not size:
        return st.one_of(st.just(range(0)), st.just(np.zeros(0, np.int64)))
    position = st.integers(0, size - 1)
    return st.one_of(
        position,
        st.builds(
            lambda a, b, step: range(size)[min(a, b) : max(a, b) + 1 : step], position, position, st.integers(1, 4)
        ),
        st.builds(lambda a, b, step: range(size)[max(a, b) : None : -step], position, position, st.integers(1, 4)),
        st.lists(position, max_size=6).map(lambda positions: np.array(positions, np.int64)),
    )


def oracle(array: np.ndarray, index: tuple[Any, ...]) -> np.ndarray:
    for axis, item in enumerate(index):
        array = array.take([item] if isinstance(item, int) else np.asarray(item, np.int64), axis=axis)
    return array[tuple(0 if isinstance(item, int) else slice(None) for item in index)]


@given(SHAPES, st.sampled_from([1, 8, 20_000, 40_000_000]), st.data())
def test_parts_are_those_of_numpy(shape: tuple[int, ...], item_size: int, data: st.DataObject) -> None:
    array = np.arange(math.prod(shape)).reshape(shape)
    index = tuple(data.draw(items(size)) for size in shape)
    chunk = data.draw(st.none() | st.just([data.draw(st.integers(1, 4)) for _ in shape]))
    read = []

    def fetch(slices: tuple[slice, ...]) -> np.ndarray:
        assert all(s.step is None and 0 <= s.start <= s.stop for s in slices)
        read.append(array[slices].size)
        return array[slices]

    part = read_part(fetch, shape, index, item_size, chunk)
    want = oracle(array, index)
    assert np.array_equal(part, want) and np.shape(part) == want.shape
    # nothing beside what is wanted if that is dear to read
    if item_size == 40_000_000 and want.size:
        assert sum(read) == math.prod(len(np.unique(np.asarray(item))) for item in index)


def test_far_positions_are_read_alone() -> None:
    read = []

    def fetch(slices: tuple[slice, ...]) -> np.ndarray:
        read.append(slices)
        return np.zeros([s.stop - s.start for s in slices], "f8")

    read_part(fetch, (10**6, 10**6), (np.array([5, 999_999]), range(10**6)), 8, None)
    assert [slices[0] for slices in read] == [slice(5, 6), slice(999_999, 1_000_000)]


def test_a_sparse_selection_does_not_read_everything_at_once() -> None:
    largest = 0

    def fetch(slices: tuple[slice, ...]) -> np.ndarray:
        nonlocal largest
        largest = max(largest, slices[0].stop - slices[0].start)
        return np.zeros(slices[0].stop - slices[0].start, "f8")

    part = read_part(fetch, (10**8,), (range(0, 10**8, 1000),), 8, None)
    assert part.shape == (10**5,)
    assert largest * 8 <= 17 * 1024 * 1024
