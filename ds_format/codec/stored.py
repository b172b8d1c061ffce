"""How the numbers of a variable lie in a file: `Stored`. It holds nothing open, and can be pickled.

Each format makes it from a header, or from an index of chunks. From it and the body of the file, values are
fetched (`slab_reading`), copied or compared, without the library that said where they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import FormatError

if TYPE_CHECKING:
    from .filters import ChunkFilter

MAX_COUNT = 2**62
"""Values along an axis, and chunks that a shape may have, written or not."""


class StoredChunks(NamedTuple):
    """Where the chunks lie that somebody wrote."""

    numbers: NDArray[np.int64]
    """(N,), in order: which chunk each is, counted through the shape in C order."""
    offsets: NDArray[np.uint64]
    """(N,): of their first bytes."""
    sizes: NDArray[np.uint64]
    """(N,): in bytes, at least 1."""
    masks: NDArray[np.uint32]
    """(N,): a bit for each filter that the chunk did not go through."""


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """How the values of a variable of numbers lie in a file."""

    dtype: np.dtype[Any]
    """In the order of the file."""
    shape: tuple[int, ...]
    offset: int | None = None
    """Of values in one piece, in bytes; None: they were not written, or are in chunks."""
    chunk: tuple[int, ...] | None = None
    """Shape of a chunk; None: values lie in one piece."""
    filters: tuple[ChunkFilter, ...] = ()
    fill: NDArray[Any] | None = None
    """Value of what was not written, without a dimension; None: it is not known."""
    chunks: StoredChunks | None = None
    """None: the index of chunks was not read yet."""
    has_all_masks: bool = False
    """Whether the masks are right for chunks at the edge as well, which may have gone through no filter at all."""

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
        """How many chunks the shape has along each axis, written or not."""
        return [-(-n // step) for n, step in zip(self.shape, self.chunk or (), strict=True)]

    def crossed(self, slices: tuple[slice, ...]) -> list[range]:
        """Return which chunks a slab crosses, along each axis."""
        return [range(s.start // n, -(-s.stop // n)) for s, n in zip(slices, self.chunk or (), strict=True)]

    def with_chunks(self, found: list[tuple[tuple[int, ...], int | None, int, int]]) -> Self | None:
        """Return the same with the places of its chunks; None if the shape has more than can be counted.

        Parameters
        ----------
        found : list of (first, offset, size, mask)
            Of each chunk, in any order: the position of its first value, where it lies, how many bytes it takes, and
            which filters it did not go through. One without an offset or a size was not written.

        Raises
        ------
        FormatError
            If a chunk is there twice. Which of both a library reads depends on how it is asked.
        """
        known = {each[0]: each for each in found}
        if len(known) != len(found):
            first = next(each[0] for each in found if known[each[0]] is not each)
            raise FormatError(f"the index of chunks has the chunk at {first} twice, expected each once")
        if max(math.prod(self.grid), *self.shape) > MAX_COUNT:
            return None
        written = [each for each in found if each[1] is not None and each[2]]
        firsts = np.array([each[0] for each in written], np.uint64).reshape(-1, len(self.shape))
        shape, chunk = np.array(self.shape, np.uint64), np.array(self.chunk or (), np.uint64)
        # the index of a damaged file may have some that are none of the shape
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
        places = StoredChunks(
            numbers[order],
            np.array([each[1] for each in written], np.uint64)[order],
            np.array([each[2] for each in written], np.uint64)[order],
            np.array([each[3] for each in written], np.uint32)[order],
        )
        return replace(self, chunks=places)
