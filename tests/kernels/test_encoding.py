"""What is done to values before they are compressed, against one line of NumPy each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format.kernels.hdf5.chunks import round_floats


def bits_of(size: int) -> Any:
    return lambda value: int(np.array(value, f"f{size}").view(f"u{size}"))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, ...]:
    size = draw(st.sampled_from([4, 8]))
    width, n = (23, 256) if size == 4 else (52, 2048)
    values = draw(
        st.lists(st.integers(0, 2 ** (8 * size) - 1) | st.floats(width=32 if size == 4 else 64).map(bits_of(size)))
    )
    exponents = [value >> width & n - 1 for value in values]
    starts = np.arange(n, dtype=f"u{size}") << np.asarray(width, f"u{size}")
    below, above = np.zeros((2, n), np.uint8)
    for exponent in {*exponents} - {0, n - 1}:
        starts[exponent] += draw(st.integers(0, 2**width - 1))
        below[exponent], above[exponent] = draw(st.integers(0, width)), draw(st.integers(0, width))
    kept = draw(st.lists(st.sampled_from(values), max_size=2)) if values else []
    return size, values, starts, below, above, kept


@given(cases())
def test_round_floats(case: tuple[Any, ...]) -> None:
    size, values, starts, below, above, kept = case
    width, sign = (23, 1 << 31) if size == 4 else (52, 1 << 63)
    infinity = (sign - 1) >> width << width
    expected = []
    for value in values:
        exponent = (value & sign - 1) >> width
        zeros = int((above if value & sign - 1 >= starts[exponent] else below)[exponent])
        rounded = (value + (1 << zeros >> 1)) >> zeros << zeros
        is_kept = not zeros or value in kept or rounded in kept or rounded & sign - 1 >= infinity
        expected.append(value if is_kept else rounded)
    target = np.empty(len(values), f"u{size}")
    round_floats(np.array(values, f"u{size}"), target, starts, below, above, np.array(kept, f"u{size}"))
    assert target.tolist() == expected


def test_round_floats_in_place() -> None:
    values = np.array([1.25, -1.26, 3.0], np.float32)
    starts, zeros = np.arange(256, dtype=np.uint32) << np.uint32(23), np.full(256, 22, np.uint8)
    bits = values.view(np.uint32)
    round_floats(bits, bits, starts, zeros, zeros, bits[:0])
    assert values.tolist() == [1.5, -1.5, 3.0]


def test_what_round_floats_refuses() -> None:
    values, starts, zeros = np.zeros(2, np.uint32), np.zeros(256, np.uint32), np.zeros(256, np.uint8)
    with pytest.raises(ValueError, match="found space for 1 values, expected 2"):
        round_floats(values, values[:1], starts, zeros, zeros, values)
    with pytest.raises(ValueError, match="found 255, 256 and 256 exponents"):
        round_floats(values, values, starts[1:], zeros, zeros, values)
    with pytest.raises(ValueError, match="found 24 zeros, expected at most 23"):
        round_floats(values, values, starts, zeros, zeros + 24, values)
