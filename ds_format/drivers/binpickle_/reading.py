"""Postponed arrays → arrays: whole, in parts, and in blocks, read by position."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...binpickle import checksums
from ...binpickle.machine.postponed import PostponedArray
from ...binpickle.reader import BinPickleFile
from ...model.index import is_whole, split_axis, take
from ..base import block_slices
from ..slabs import Slices, read_part

SEEK_SIZE = 16 * 1024
"""Bytes read in the time that one more read takes."""
PIECE_SIZE = 1024 * 1024
"""Bytes that are read at once, where not all of them are wanted."""


class Arrays:
    """The arrays of an open file.

    What is encoded is decoded when it is wanted first, and stays in memory.

    Parameters
    ----------
    file : BinPickleFile
    """

    def __init__(self, file: BinPickleFile):
        self._file = file
        self._decoded: dict[int, Any] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
        self._decoded = {}

    def whole(self, array: PostponedArray) -> NDArray[Any]:
        """Return an array that may be changed, its checksum compared.

        Raises
        ------
        IntegrityError, TruncatedError, FormatError
            If the bytes are not those that were written; the message names file and entry.
        """
        if self._file.entries[array.number].steps:
            return self._decode(array).copy()
        return array.over(self._file.read_entry(array.number))

    def _decode(self, array: PostponedArray) -> NDArray[Any]:
        """Return an array of what is decoded, which others have, too."""
        with self._lock:
            if array.number not in self._decoded:
                self._decoded[array.number] = self._file.read_entry(array.number)
            return array.over(self._decoded[array.number])

    def part(self, array: PostponedArray, index: Sequence[Any]) -> NDArray[Any]:
        """Return the part of an array that a normalized index selects, which may be changed; all of it as `whole`.

        Raises
        ------
        IntegrityError, TruncatedError, FormatError
            As `whole`; a checksum is compared only if all is read.
        """
        if is_whole(index, array.shape):
            return self.whole(array)
        if self._file.entries[array.number].steps:
            return np.array(take(self._decode(array), index))
        stored = [index[array.axes.index(axis)] for axis in range(len(array.axes))]
        found = read_part(
            lambda slices: self._slab(array, slices), array.stored, stored, array.dtype.itemsize, chunk=None
        )
        kept = [axis for axis in array.axes if not isinstance(stored[axis], int)]
        return found.transpose(np.argsort(np.argsort(kept)))

    def blocks(self, array: PostponedArray, item_size: int, budget: int) -> Iterator[NDArray[Any]]:
        """Yield an array in blocks that may be changed, as `block_slices` says.

        Raises
        ------
        IntegrityError
            At the end, if its checksum differs.
        TruncatedError, FormatError
            As `whole`.
        """
        entry = self._file.entries[array.number]
        is_in_order = not entry.steps and array.axes == tuple(range(len(array.axes)))
        sum_ = checksums.new(self._file.header.version)
        for slices in block_slices(array.shape, item_size, budget):
            if entry.steps:
                yield self._decode(array)[slices].copy()
                continue
            block = self._slab(array, slices) if is_in_order else self._piece(array, slices)
            if is_in_order:
                sum_.update(block.reshape(-1).view(np.uint8))
            yield block
        if not entry.steps and not (is_in_order and sum_.result() == entry.checksum):
            self._file.verify_entry(array.number)

    def _piece(self, array: PostponedArray, slices: Slices) -> NDArray[Any]:
        stored = tuple(slices[array.axes.index(axis)] for axis in range(len(array.axes)))
        return self._slab(array, stored).transpose(array.axes)

    def _slab(self, array: PostponedArray, slices: Slices) -> NDArray[Any]:
        """Return a slab of the array as it is stored, in C order: slices of step 1, one for each dimension."""
        shape, dtype = array.stored, array.dtype
        out: NDArray[Any] = np.empty([part.stop - part.start for part in slices], dtype)
        if not out.size:
            return out
        index = [range(part.start, part.stop) for part in slices]
        axis = split_axis(index, shape, dtype.itemsize, SEEK_SIZE) if slices else 0
        inner = math.prod(shape[axis + 1 :]) * dtype.itemsize
        starts = np.zeros(1, np.int64)
        for n, part in zip(shape[:axis], index[:axis], strict=True):
            starts = (starts[:, None] * n + np.arange(part.start, part.stop)).reshape(-1)
        if not slices or out.shape[axis + 1 :] == shape[axis + 1 :]:
            first = starts * (shape[axis] * inner) + index[axis].start * inner if slices else starts
            self._file.fill(array.number, first, out.nbytes // len(starts), out.reshape(-1).view(np.uint8))
            return out
        rows = out.reshape(len(starts), len(index[axis]), *out.shape[axis + 1 :])
        for some, at, place in _pieces(starts * (shape[axis] * inner), index[axis], inner):
            n = at.stop - at.start
            bytes_ = np.empty(len(place) * n * inner, np.uint8)
            self._file.fill(array.number, place, n * inner, bytes_)
            block = bytes_.view(dtype).reshape(len(place), n, *shape[axis + 1 :])
            rows[some, at] = block[(slice(None), slice(None), *slices[axis + 1 :])]
        return out


def _pieces(starts: NDArray[np.int64], item: range, inner: int) -> Iterator[tuple[slice, slice, NDArray[np.int64]]]:
    """Cut what is read into pieces: which stretches, which positions of each, and where they begin in bytes."""
    step = max(1, min(len(item), PIECE_SIZE // inner))
    batch = max(1, PIECE_SIZE // (inner * len(item))) if step == len(item) else 1
    for i in range(0, len(starts), batch):
        for first in range(0, len(item), step):
            stop = min(first + step, len(item))
            yield slice(i, i + batch), slice(first, stop), starts[i : i + batch] + (item.start + first) * inner
