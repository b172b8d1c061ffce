"""Adler-32, held to that of the standard library."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format.kernels.common.checksums import adler32

EDGES = [0, 1, 31, 32, 33, 5535, 5536, 5537, 5552, 8191, 8192, 11072, 11073, 100_000]


@pytest.mark.parametrize("size", EDGES)
@pytest.mark.parametrize("start", [1, 0, 0xFFF0FFF0, 12345])
def test_sizes_at_the_edges(size: int, start: int) -> None:
    data: Any
    for data in (np.full(size, 255, np.uint8), (np.arange(size) * 7).astype(np.uint8)):
        assert adler32(data, start) == zlib.adler32(data, start)


@given(st.binary(max_size=300), st.binary(max_size=300), st.integers(0, 7))
def test_it_is_that_of_the_standard_library(first: bytes, second: bytes, shift: int) -> None:
    data = memoryview(first)[shift:]
    assert adler32(data) == zlib.adler32(data)
    assert adler32(second, adler32(data)) == zlib.adler32(bytes(data) + second)


def test_what_is_no_buffer() -> None:
    numbers: Any = np.arange(10.0)
    assert adler32(numbers) == zlib.adler32(numbers)
    for wrong in ("text", np.arange(10)[::2], None):
        with pytest.raises((TypeError, ValueError, BufferError)):
            adler32(wrong)  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        adler32(b"", -1)
