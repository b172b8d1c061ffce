"""Chunks: where their values go, and the checksum, against one line of NumPy each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from ds_format.kernels.common.checksums import fletcher32
from ds_format.kernels.hdf5.chunks import put_chunks, shuffle, unshuffle

from .. import oracles
from .inputs import at_any_address

WIDTHS = (1, 2, 4, 8)
shapes = hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=7) | st.tuples(st.integers(1, 400))


@st.composite
def parts(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], NDArray[np.int64]]:
    """Draw the shapes of a chunk and of an array, and a part that is within both."""
    chunk = draw(shapes)
    target = tuple(draw(st.sampled_from([n, n, 1, n + 2])) for n in chunk)
    counts = [
        draw(st.sampled_from([min(n, m), draw(st.integers(0, min(n, m)))])) for n, m in zip(chunk, target, strict=True)
    ]
    start = [draw(st.integers(0, n - count)) for n, count in zip(chunk, counts, strict=True)]
    at = [draw(st.integers(0, n - count)) for n, count in zip(target, counts, strict=True)]
    return chunk, target, np.array([*start, *counts, *at], np.int64)


def place(chunk: Any, shape: Any, target: Any, target_shape: Any, part: Any, size: int, *form: bool) -> Any:
    """Put one chunk that is not compressed to its place; `form`: whether values are swapped, and shuffled."""
    swapped, shuffled = form
    sizes, masks, parts = np.array([len(chunk)]), np.zeros(1, np.uint32), np.array([part], np.int64)
    return put_chunks(chunk, sizes, masks, parts, shape, target, target_shape, size, swapped, shuffled, None, None)[0]


@given(parts(), st.integers(1, 9), st.booleans(), st.booleans(), st.integers(0, 7))
def test_place(given: Any, size: int, shuffled: bool, swapped: bool, shift: int) -> None:
    chunk_shape, target_shape, part = given
    rank = len(chunk_shape)
    swapped &= size in WIDTHS
    dtype = np.dtype(f"u{size}" if size in WIDTHS else f"V{size}")
    values = np.random.default_rng(rank).integers(0, 256, np.prod(chunk_shape) * size, np.uint8).view(dtype)
    values = values.reshape(chunk_shape)
    stored = oracles.swap(values) if swapped else values
    data = at_any_address(oracles.shuffle(stored) if shuffled else stored, shift)
    target = np.zeros(target_shape, dtype)
    expected = target.copy()
    start, counts, at = part.reshape(3, rank).tolist()
    expected[tuple(slice(a, a + n) for a, n in zip(at, counts, strict=True))] = values[
        tuple(slice(a, a + n) for a, n in zip(start, counts, strict=True))
    ]
    room = target.reshape(-1).view(np.uint8)
    assert place(data, np.array(chunk_shape), room, np.array(target_shape), part, size, swapped, shuffled) == 1
    assert target.tobytes() == expected.tobytes()


@given(st.binary(max_size=300) | st.integers(4000, 70000).map(lambda n: np.arange(n).tobytes()), st.integers(1, 20))
def test_shuffle_and_unshuffle(data: bytes, size: int) -> None:
    n = len(data) // size * size
    shuffled = oracles.shuffle(np.frombuffer(data[:n], f"V{size}")).tobytes() + data[n:] if n else data
    assert shuffle(data, size) == shuffled
    target = np.empty(len(data), np.uint8)
    unshuffle(shuffled, target, size)
    assert target.tobytes() == data


@pytest.mark.parametrize(
    ("chunk", "shape", "target", "target_shape", "part", "size"),
    [
        (8, [8], 8, [8], [1, 8, 0], 1),
        (8, [8], 8, [8], [0, 8, 1], 1),
        (8, [8], 8, [8], [-1, 1, 0], 1),
        (8, [8], 8, [8], [0, 1, -1], 1),
        (8, [8], 8, [8], [0, -1, 0], 1),
        (8, [8], 8, [8], [0, 9, 0], 1),
        (8, [8], 8, [8], [2**62, 2**62, 0], 1),
        (8, [8], 7, [8], [0, 8, 0], 1),
        (8, [8], 8, [8], [0, 8, 0], 3),
        (8, [8], 8, [8], [0, 8, 0], 0),
        (8, [8], 8, [8], [0, 8], 1),
        (8, [8, 1], 8, [8], [0, 8, 0], 1),
        (8, [], 8, [], [], 1),
        (8, [2**62, 2**62], 8, [2**62, 2**62], [0, 2**62, 0, 2**62, 0, 0], 1),
        (8, [-8], 8, [-8], [0, 0, 0], 1),
        (8, [8, *[1] * 32], 8, [8, *[1] * 32], [0] * 99, 1),
    ],
)
def test_what_does_not_fit_is_refused(
    chunk: int, shape: list[int], target: int, target_shape: list[int], part: list[int], size: int
) -> None:
    room = np.zeros(target, np.uint8)
    with pytest.raises(ValueError, match=r"\d"):
        place(
            np.ones(chunk, np.uint8),
            np.array(shape, np.int64),
            room,
            np.array(target_shape, np.int64),
            np.array(part, np.int64),
            size,
            False,
            False,
        )
    assert not room.any()


@pytest.mark.parametrize(("source", "target", "size"), [(8, 7, 2), (8, 8, 0), (8, 8, -1)])
def test_what_cannot_be_unshuffled_is_refused(source: int, target: int, size: int) -> None:
    with pytest.raises(ValueError, match=r"\d"):
        unshuffle(np.ones(source, np.uint8), np.ones(target, np.uint8), size)


def test_values_of_no_bytes_are_not_shuffled() -> None:
    with pytest.raises(ValueError, match="size: found 0"):
        shuffle(b"abc", 0)


@given(st.binary(max_size=40) | st.integers(0, 3000).map(lambda n: b"\xff" * n))
def test_checksum(data: bytes) -> None:
    assert fletcher32(data) == oracles.fletcher32(data)
