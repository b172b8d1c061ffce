"""The definitions of a classic file and its values → its layout, and the bytes of a small file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....body.body import OutputBody
from ....classic import composing
from ....classic.composing import DTYPES, NUMBERS, VERSIONS, ClassicLayout, Extent
from ....classic.format import NC_CHAR
from ....errors import UnsupportedError
from ....model.missing import default_fill
from ..records import Attributes, DimensionRecord, FileRecords, VariableRecord


def lay_out(records: FileRecords) -> ClassicLayout:
    """Return the header of a file, and the positions of its variables.

    Raises
    ------
    UnsupportedError
        If the format cannot hold it.
    """
    for each in records.variables.values():
        if any(records.dimensions[dim].is_unlimited for dim in each.dims[1:]):
            raise UnsupportedError("only the first dimension can be unlimited", variable=each.path)
    return composing.lay_out(*_parts(records))


Parts = tuple[int, list[DimensionRecord], Attributes, list[VariableRecord], tuple[bytes, ...]]


def _parts(records: FileRecords) -> Parts:
    return (
        VERSIONS[records.format],
        [*records.dimensions.values()],
        records.attributes[""],
        [*records.variables.values()],
        fills(),
    )


@cache
def fills() -> tuple[bytes, ...]:
    """Return the value that each type is filled with, as in a file."""
    found = [b"\0"] * len(DTYPES)
    for dtype, number in NUMBERS.items():
        if number != NC_CHAR:
            found[number] = np.array(default_fill(dtype), DTYPES[number]).tobytes()
    return tuple(found)


def compose_classic(records: FileRecords, values: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the bytes of a small file.

    Parameters
    ----------
    records : FileRecords
    values : dict
        Path of each variable → all its values, C-contiguous and in native byte order.
    """
    return composing.compose(*_parts(records), [*values.values()])


def stored(values: NDArray[Any], extent: Extent) -> NDArray[np.uint8]:
    """Return values as the bytes of the file, without padding."""
    return np.ascontiguousarray(values, extent.dtype).reshape(-1).view(np.uint8)


class SmallFile:
    """A small file in memory, with the methods of `OutputBody` that are needed."""

    def __init__(self, size: int):
        self.data = np.zeros(size, np.uint8)

    def write(self, offset: int, data: Any) -> None:
        """Write bytes."""
        raw = np.frombuffer(data, np.uint8)
        self.data[offset : offset + raw.size] = raw

    def write_ranges(self, offsets: NDArray[np.int64], size: int, data: Any) -> None:
        """Write ranges of equal sizes."""
        rows = np.frombuffer(data, np.uint8).reshape(-1, size)
        self.data[offsets[:, None] + np.arange(size)] = rows


def put(output: OutputBody | SmallFile, extent: Extent, start: int, data: Any) -> None:
    """Write bytes of a variable.

    Parameters
    ----------
    output : OutputBody or SmallFile
    extent : Extent
    start : int
        Bytes of the variable before them.
    data : buffer
        With padding, the whole variable or record is padded when its last byte is written.
    """
    view, size = memoryview(data).cast("B"), extent.size
    while view.nbytes:
        record, inside = divmod(start, size)
        first, n = extent.begin + record * extent.step, view.nbytes
        if extent.records == 1 or inside or n < size:
            n = min(size - inside, n)
            output.write(first + inside, view[:n])
            if inside + n == size and extent.padding:
                output.write(first + size, _pad(extent))
        elif extent.step == size:
            n -= n % size
            output.write(first, view[:n])
        else:
            count = n // size
            n = count * size
            rows = np.frombuffer(view[:n], np.uint8).reshape(count, size)
            if extent.padding:
                pad = np.frombuffer(_pad(extent), np.uint8)
                rows = np.concatenate([rows, np.broadcast_to(pad, (count, pad.size))], axis=1)
            offsets = first + np.arange(count, dtype=np.int64) * extent.step
            output.write_ranges(offsets, rows.shape[1], np.ascontiguousarray(rows))
        start += n
        view = view[n:]


def _pad(extent: Extent) -> bytes:
    return (extent.fill * extent.padding)[: extent.padding]
