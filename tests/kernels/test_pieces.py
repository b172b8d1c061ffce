"""Bytes, cut into pieces."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ds_format.kernels.datadings.pieces import cut


@given(sizes=st.lists(st.integers(0, 40)), origin=st.integers(0, 1 << 62))
def test_pieces_are_slices(sizes: list[int], origin: int) -> None:
    spans = list(accumulate(sizes, initial=origin))
    data = bytes(i % 251 for i in range(sum(sizes)))
    pieces = [data[start - origin : stop - origin] for start, stop in pairwise(spans)]
    assert cut(data, spans) == cut(memoryview(data), spans) == pieces


@pytest.mark.parametrize(
    ("spans", "reason"),
    [
        ([], "no spans"),
        ([5, 9, 8, 15], "piece 1 goes from byte 4 to 3"),
        ([5, 4, 15], "piece 0 goes from byte 0 to -1"),
        ([5, 10, 16], "piece 1 goes from byte 5 to 11 of 10"),
        ([5, 10], "the pieces end at byte 5 of 10"),
        ([5], "the pieces end at byte 0 of 10"),
    ],
)
def test_wrong_spans(spans: list[int], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        cut(bytes(10), spans)


def test_integers_that_are_none() -> None:
    with pytest.raises(OverflowError):
        cut(b"", [0, 1 << 64])
    with pytest.raises(TypeError):
        cut(b"", [0, None])  # type: ignore[list-item]
