"""What stands for buffers, and arrays over them, whose bytes stay in the file until somebody wants them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np


class Postponed(NamedTuple):
    """Stands for a buffer."""

    number: int
    """Of its entry in the index."""
    size: int
    """Bytes, more than 0."""


class PostponedArray(NamedTuple):
    """Stands for an array over a buffer."""

    number: int
    """Of the entry in the index."""
    dtype: np.dtype[Any]
    stored: tuple[int, ...]
    """Shape in the buffer, in C order."""
    axes: tuple[int, ...]
    """For each axis of the array, which one it is in the buffer."""

    def __hash__(self) -> int:
        raise TypeError("unhashable, as arrays are")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return tuple(self.stored[axis] for axis in self.axes)

    @property
    def size(self) -> int:
        """Values."""
        return math.prod(self.stored)

    def over(self, buffer: Any) -> np.ndarray[Any, Any]:
        """Return the array over the bytes of the buffer."""
        return np.ndarray(self.stored, self.dtype, buffer).transpose(self.axes)


class PostponedMasked(NamedTuple):
    """Stands for a masked array of two arrays."""

    data: PostponedArray
    mask: PostponedArray

    def __hash__(self) -> int:
        raise TypeError("unhashable, as arrays are")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of both."""
        return self.data.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the data."""
        return self.data.dtype
