"""A body whose bytes are elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ds_format.body.body import Body


class FarBody(Body):
    """Counts requests, each of which would take long.

    Parameters
    ----------
    data : bytes
    """

    def __init__(self, data: bytes):
        self.name, self.size, self._data = "far", len(data), data
        self.requests = 0
        self.read_size = 0

    def read(self, offset: int, size: int) -> bytes:
        assert 0 <= offset <= offset + size <= self.size
        self.requests += 1
        self.read_size += size
        return self._data[offset : offset + size]

    def ranges(self, offsets: NDArray[np.int64], sizes: NDArray[np.int64], outs: list[Any]) -> None:
        requests = self.requests
        super().ranges(offsets, sizes, outs)
        self.requests = requests + 1

    def section(self, offset: int, size: int | None = None) -> Body:
        end = self.size if size is None else offset + size
        return FarBody(self._data[offset:end])
