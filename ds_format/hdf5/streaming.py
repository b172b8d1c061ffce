"""A large HDF5 file: values are written as they arrive, and the metadata, which have their addresses, at the end."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base import threads
from ..base.batches import batched
from ..body.body import OutputBody
from ..kernels.hdf5.compose import compose_strings, compose_tree
from .composing import STRING_SIZE, NewObject, compose_file

SUPERBLOCK_SIZE = 48

PIECE_SIZE = 1024 * 1024
"""Bytes of the chunks that a thread compresses at a time, at least."""

REFERENCE = np.dtype(f"V{STRING_SIZE}")


class OutputStream:
    """The end of a file being written.

    Parameters
    ----------
    file : OutputBody
    """

    def __init__(self, file: OutputBody):
        self.file = file
        self.end = SUPERBLOCK_SIZE

    def reserve(self, size: int) -> int:
        """Return the address of bytes that will be written."""
        address, self.end = self.end, self.end + size + -size % 8
        return address

    def append(self, data: Any) -> int:
        """Write bytes, and return their address."""
        address = self.reserve(len(data))
        self.file.write(address, data)
        return address

    def references(self, strings: list[bytes]) -> NDArray[Any]:
        """Write strings, and return references to them of the dtype `REFERENCE`."""
        collections, found = compose_strings(strings, self.end)
        self.append(collections)
        return np.frombuffer(found, REFERENCE)

    def complete(self, objects: Sequence[NewObject]) -> None:
        """Write the metadata.

        Raises
        ------
        NotCovered
            If the library must write the file.
        """
        data = memoryview(compose_file(objects, self.end - SUPERBLOCK_SIZE))
        self.file.write(0, data[:SUPERBLOCK_SIZE])
        self.file.write(self.end, data[SUPERBLOCK_SIZE:])


class StreamedRun:
    """Values that lie side by side.

    Parameters
    ----------
    stream : OutputStream
    size : int
        Bytes of all of them.
    """

    def __init__(self, stream: OutputStream, size: int):
        self._address = self._next = stream.reserve(size)
        self._file = stream.file

    def add(self, values: NDArray[Any]) -> None:
        """Write (N,) values as in the file after those already written."""
        data = values.view(np.uint8)
        self._file.write(self._next, data)
        self._next += data.size

    def finish(self) -> int:
        """Return the address of the values."""
        return self._address


class _Rows(NamedTuple):
    """Values of whole rows of chunks."""

    first: int
    """Their first index along the first axis."""
    array: NDArray[Any]
    """Has the rank of the variable."""


class StreamedChunks:
    """Values in chunks.

    A row of chunks, which have the same position along the first axis, is compressed, in threads, as soon as its values
    are complete. Values that fill whole rows are not copied.

    Parameters
    ----------
    stream : OutputStream
    shape : tuple of int
    chunk : tuple of int
    dtype : dtype
        In the file.
    encode : callable
        Makes what is stored of the (N,) uint8 bytes of a chunk.
    fill : scalar
        Value beyond the edge.
    """

    def __init__(
        self,
        stream: OutputStream,
        shape: tuple[int, ...],
        chunk: tuple[int, ...],
        dtype: np.dtype[Any],
        encode: Callable[[Any], Any],
        fill: Any,
    ):
        self._found: list[tuple[tuple[int, ...], int, int]] = []
        """First indices of each chunk, its bytes in the file, and its address."""
        self._stream, self._shape, self._chunk, self._encode = stream, shape, chunk, encode
        self._fill = np.full((), fill, dtype)
        self._inner, self._total = math.prod(shape[1:]), math.prod(shape)
        self._written = 0
        self._row: NDArray[Any] | None = None

    def add(self, values: NDArray[Any]) -> None:
        """Compress the rows that (N,) values complete, and keep the others."""
        length, total = self._chunk[0] * self._inner, self._total
        while len(values):
            start = self._written - self._written % length
            end = min(start + length, total)
            if self._written == start and len(values) >= end - start:
                stop = self._written + len(values)
                n = len(values) if stop == total else stop - stop % length - start
                self._write(start, values[:n])
            else:
                n = min(len(values), end - self._written)
                if self._row is None:
                    self._row = np.empty(min(length, total), values.dtype)
                self._row[self._written - start :][:n] = values[:n]
                if self._written + n == end:
                    self._write(start, self._row[: end - start])
            values = values[n:]
            self._written += n

    def finish(self) -> int | None:
        """Write the index of chunks, and return its address; None if there are none, as of text without characters."""
        if not self._found:
            return None
        address = self._stream.reserve(0)
        tree, root = compose_tree(self._chunk, self._fill.itemsize, self._found, address)
        self._found.clear()
        self._stream.append(tree)
        return root

    def _write(self, start: int, values: NDArray[Any]) -> None:
        rows = _Rows(start // self._inner, values.reshape(-1, *self._shape[1:]))

        def work(places: Sequence[tuple[int, ...]]) -> list[Any]:
            return [self._encode(self._bytes(rows, place)) for place in places]

        batches = [*self._batches(rows)]
        for places, done in zip(batches, threads.results(work, batches), strict=True):
            address = self._stream.append(done[0] if len(done) == 1 else b"".join(done))
            for place, size in zip(places, map(len, done), strict=True):
                offsets = tuple([i * n for i, n in zip(place, self._chunk, strict=True)])
                self._found.append((offsets, size, address))
                address += size

    def _batches(self, rows: _Rows) -> Iterator[list[tuple[int, ...]]]:
        """Yield the places of all chunks of rows, counted in chunks, as many as a thread compresses at a time."""
        stops = [rows.first + len(rows.array), *self._shape[1:]]
        axes = [range(math.ceil(stop / n)) for stop, n in zip(stops, self._chunk, strict=True)]
        places = itertools.product(axes[0][rows.first // self._chunk[0] :], *axes[1:])
        return batched(places, max(PIECE_SIZE // (math.prod(self._chunk) * rows.array.itemsize), 1))

    def _bytes(self, rows: _Rows, place: tuple[int, ...]) -> NDArray[np.uint8]:
        """Return the bytes of a whole chunk, with fill values beyond the edge of the variable."""
        starts = [i * n for i, n in zip(place, self._chunk, strict=True)]
        starts[0] -= rows.first
        part = rows.array[tuple([slice(start, start + n) for start, n in zip(starts, self._chunk, strict=True)])]
        if part.shape != self._chunk:
            whole = np.full(self._chunk, self._fill)
            whole[tuple([slice(0, n) for n in part.shape])] = part
            part = whole
        return np.ascontiguousarray(part).reshape(-1).view(np.uint8)
