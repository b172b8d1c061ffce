"""`Stored`: the positions of the numbers of a variable in a file. It is picklable, and holds no open file.

Each format makes it from a header, or from an index of chunks. With it and the body of a file, values are read
(`slab_reading`), copied or compared without the library that reported the positions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..base.dtypes import MAX_COUNT
from ..errors import FormatError

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
    """Fill value, of shape (), for values that were not written; None if it is unknown."""
    chunks: StoredChunks | None = None
    """None if the index of chunks was not read yet."""
    has_all_masks: bool = False
    """Whether the masks are also right for chunks at the edge, which may be stored without filters."""

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

    def with_chunks(self, entries: list[tuple[tuple[int, ...], int | None, int, int]]) -> Self | None:
        """Return a copy with the positions of its chunks, or None if the shape has more than `MAX_COUNT` chunks.

        Parameters
        ----------
        entries : list of (first, offset, size, mask)
            For each chunk, in any order: the position of its first value in the shape, the position of its first byte
            in the file, its bytes in the file, and the mask of filters that were skipped. A chunk without an offset or
            a size was not written.

        Raises
        ------
        FormatError
            If a chunk occurs twice, since libraries do not always read the same one.
        """
        by_position = {each[0]: each for each in entries}
        if len(by_position) != len(entries):
            first = next(each[0] for each in entries if by_position[each[0]] is not each)
            raise FormatError(f"the index of chunks has the chunk at {first} twice, expected each once")
        if max(math.prod(self.grid), *self.shape) > MAX_COUNT:
            return None
        written = [each for each in entries if each[1] is not None and each[2]]
        firsts = np.array([each[0] for each in written], np.uint64).reshape(-1, len(self.shape))
        shape, chunk = np.array(self.shape, np.uint64), np.array(self.chunk or (), np.uint64)
        # the index of a damaged file may have chunks outside of the shape
        inside = np.all((firsts < shape) & (firsts % chunk == 0), axis=1)
        if not inside.all():
            written, firsts = (
                [each for each, is_inside in zip(written, inside, strict=True) if is_inside],
                firsts[inside],
            )
        numbers = np.zeros(len(written), np.int64)
        for axis, n in enumerate(self.grid):
            numbers = numbers * n + (firsts[:, axis] // chunk[axis]).astype(np.int64)
        order = np.argsort(numbers)
        chunks = StoredChunks(
            numbers[order],
            np.array([each[1] for each in written], np.uint64)[order],
            np.array([each[2] for each in written], np.uint64)[order],
            np.array([each[3] for each in written], np.uint32)[order],
        )
        return replace(self, chunks=chunks)
