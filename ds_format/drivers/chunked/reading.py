"""Chunks of a file → an array, in several threads which hold no lock."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base import parallel
from ...body.body import Body
from ...errors import FormatError
from ...kernels.hdf5 import chunks
from .filters import decode
from .index import Table
from .layout import Layout

PIECE_SIZE = 1024 * 1024
"""Bytes that a thread works on before it looks for others, about; a multiple of all sizes of values."""

ROOM_SIZE = 128 * 1024 * 1024
"""Bytes that all threads may have in memory together beside the array: each has a chunk twice, inflated and not."""


def read_chunks(file: Body, layout: Layout, table: Table, shape: list[int]) -> NDArray[Any]:
    """Return a slab in native byte order.

    Parameters
    ----------
    file : Body
    layout : Layout
    table : Table
    shape : list of int
        Of the slab.

    Raises
    ------
    OSError
        As the system says.
    FormatError
        If a chunk is damaged.
    """
    array = np.empty(shape, layout.dtype.newbyteorder("="))
    target, sizes = array.reshape(-1).view(np.uint8), np.array(shape, np.int64)
    chunk_shape, rank = np.array(layout.chunk, np.int64), len(shape)
    swapped, size = not layout.dtype.isnative, layout.chunk_size

    def work(first: int, last: int) -> None:
        room = np.empty(max(each.size for each in table.places[first:last]), np.uint8)
        for i in range(first, last):
            found, part = table.places[i], table.parts[i]
            if found.offset is None:
                _fill(array, layout, part, rank)
                continue
            stored = room[: found.size]
            try:
                file.read_into(found.offset, stored)
                decoded = decode(stored, layout.filters, found.mask, size)
            except FormatError as error:
                where = f"the chunk of {found.size} bytes at {found.offset} of the file"
                raise type(error)(f"{where}: {error.message}") from error
            chunks.place(
                decoded.data, chunk_shape, target, sizes, part, layout.dtype.itemsize, decoded.is_shuffled, swapped
            )

    largest = size + max(each.size for each in table.places)
    parallel.each(work, len(table.places), max(PIECE_SIZE // size, 1), max(ROOM_SIZE // largest, 1))
    return array


def read_run(file: Body, layout: Layout, offset: int, shape: list[int]) -> NDArray[Any]:
    """Return a slab that lies in one piece from `offset` on, in native byte order; see `read_chunks`."""
    array = np.empty(shape, layout.dtype)
    target = array.reshape(-1).view(np.uint8)

    def work(first: int, last: int) -> None:
        part = target[first:last]
        file.read_into(offset + first, part)
        if not layout.dtype.isnative:
            part.view(layout.dtype).byteswap(inplace=True)

    parallel.each(work, target.size, PIECE_SIZE)
    return array.view(layout.dtype.newbyteorder("="))


def read_nothing(layout: Layout, shape: list[int]) -> NDArray[Any]:
    """Return a slab of which nobody wrote a value."""
    array = np.empty(shape, layout.dtype.newbyteorder("="))
    array[...] = layout.fill
    return array


def _fill(array: NDArray[Any], layout: Layout, part: NDArray[np.int64], rank: int) -> None:
    where = zip(part[2 * rank :].tolist(), part[rank : 2 * rank].tolist(), strict=True)
    array[tuple(slice(start, start + n) for start, n in where)] = layout.fill
