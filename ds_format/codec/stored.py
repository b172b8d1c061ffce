"""`Stored`: the positions of the numbers of a variable in a file. It is picklable, and holds no open file.

Each format makes it from a header, or from an index of chunks. With it and the body of a file, chunks are read
(`slab_reading`), and values are copied or compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .pipeline import ChunkFilter


class StoredChunks(NamedTuple):
    """Positions of the chunks that were written."""

    numbers: NDArray[np.int64]
    """(N,), sorted: number of each chunk, counted through the shape in C order."""
    offsets: NDArray[np.uint64]
    """(N,): position of the first byte of each chunk in the file."""
    sizes: NDArray[np.uint64]
    """(N,): bytes of each chunk in the file, at least 1."""
    masks: NDArray[np.uint32]
    """(N,): for each chunk, one bit per filter that was skipped."""


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """Type, shape and positions of the values of a numeric variable in a file."""

    dtype: np.dtype[Any]
    """In the byte order of the file."""
    shape: tuple[int, ...]
    offset: int | None = None
    """Position of contiguous values in bytes; None if they were not written, or are in chunks."""
    chunk: tuple[int, ...] | None = None
    """Shape of a chunk; None if values are contiguous."""
    filters: tuple[ChunkFilter, ...] = ()
    fill: NDArray[Any] | None = None
    """Fill value, of shape (), for chunks that were not written; None if values are contiguous."""
    chunks: StoredChunks | None = None
    """None if the index of chunks was not read yet."""

    @property
    def size(self) -> int:
        """Bytes of all values in memory."""
        return self.dtype.itemsize * math.prod(self.shape)

    @property
    def chunk_size(self) -> int:
        """Bytes of a chunk in memory."""
        return self.dtype.itemsize * math.prod(self.chunk or ())

    @property
    def grid(self) -> list[int]:
        """Number of chunks along each axis, written or not."""
        return [-(-n // step) for n, step in zip(self.shape, self.chunk or (), strict=True)]

    def crossed(self, slices: tuple[slice, ...]) -> list[range]:
        """Return the positions of the chunks that a slab crosses along each axis, in units of chunks."""
        return [range(s.start // n, -(-s.stop // n)) for s, n in zip(slices, self.chunk or (), strict=True)]
