"""A body whose bytes are elsewhere: it counts requests, and remembers what it has fetched."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ds_format.body.body import FIRST_SIZE, Body

GAP = 256 * 1024
PIECE = 8 * 1024 * 1024


class FarBody(Body):
    """Counts requests, each of which would take long.

    Ranges that are announced are fetched at once, side by side. Those that are close are merged, long ones are divided.

    Parameters
    ----------
    data : bytes
    first : int
        Bytes that come with the first request.

    Attributes
    ----------
    requests : int
        Ranges that were fetched.
    rounds : int
        How often a reader waited.
    fetched : int
        Bytes of these ranges.
    """

    is_far = True
    gap = GAP
    batch = PIECE

    def __init__(self, data: bytes, first: int = FIRST_SIZE):
        self.name, self.size, self._data = "far", len(data), data
        self._is_known = np.zeros(len(data), np.bool_)
        self._file = self
        self._start = 0
        self.requests = self.rounds = self.fetched = 0
        self._fetch([(0, first)])

    def forget(self) -> None:
        """Start to count again, with what is known so far."""
        self._file.requests = self._file.rounds = self._file.fetched = 0

    def _fetch(self, spans: list[tuple[int, int]]) -> None:
        """Fetch spans, from their first byte up to their last one, without what is known."""
        file = self._file
        merged: list[tuple[int, int]] = []
        for start, stop in sorted((self._start + start, self._start + stop) for start, stop in spans):
            assert 0 <= start <= stop
            missing = np.flatnonzero(~file._is_known[start:stop])
            if not missing.size:
                continue
            start, stop = start + int(missing[0]), start + int(missing[-1]) + 1
            if merged and start - merged[-1][1] <= GAP:
                merged[-1] = merged[-1][0], max(stop, merged[-1][1])
            else:
                merged.append((start, stop))
        file.rounds += bool(merged)
        for start, stop in merged:
            file.requests += -(-(stop - start) // PIECE)
            file.fetched += stop - start
            file._is_known[start:stop] = True

    def announce(self, offsets: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
        assert offsets.dtype == sizes.dtype == np.int64
        assert (offsets + sizes <= self.size).all()
        self._fetch([*zip(offsets.tolist(), (offsets + sizes).tolist(), strict=True)])

    def read(self, offset: int, size: int) -> bytes:
        assert 0 <= offset <= offset + size <= self.size
        self._fetch([(offset, offset + size)])
        return self._data[self._start + offset : self._start + offset + size]

    def ranges(self, offsets: NDArray[np.int64], sizes: NDArray[np.int64], outs: list[Any]) -> None:
        self.announce(offsets, sizes)
        super().ranges(offsets, sizes, outs)

    def section(self, offset: int, size: int | None = None) -> Self:
        part = type(self).__new__(type(self))
        part.name, part._data, part._file = self.name, self._data, self._file
        part._start, part.size = self._start + offset, self.size - offset if size is None else size
        return part
