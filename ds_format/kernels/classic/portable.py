"""The function of `slabs` for operating systems without POSIX calls."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files import ranges
from .arrays import decode


def read(
    fd: int,
    begin: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: np.dtype[Any],
    sentinels: NDArray[Any] | None,
    is_big: bool = True,
) -> tuple[NDArray[Any], bool]:
    """Return a part of a variable, and whether it contains a sentinel; see `slabs.read`."""
    if 0 in shape:
        return np.empty(shape, dtype), False
    axis, run = len(shape), dtype.itemsize
    while axis and strides[axis - 1] == run:
        axis -= 1
        run *= shape[axis]
    n = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize // run
    runs = np.empty((n, run), np.uint8)
    for part, index in zip(runs, np.ndindex(*shape[:axis]), strict=True):
        offset = begin + sum(i * stride for i, stride in zip(index, strides, strict=False))
        if ranges.read_at(fd, offset, part) < run:
            raise EOFError
    return decode(runs, 0, 0, shape, dtype, sentinels, is_big)
