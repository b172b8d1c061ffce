"""The definitions of a classic file and its values → its layout, and the bytes of a small file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....body.body import OutputBody
from ....classic.composing import VERSIONS, AttributeToWrite, ClassicLayout, Extent, VariableToWrite, compose
from ....classic.format import CODES, NC_CHAR
from ....errors import UnsupportedError
from ..records import Attributes, FileRecords, VariableRecord


def lay_out(records: FileRecords) -> ClassicLayout:
    """Return the header of a file, and the positions of its variables.

    Raises
    ------
    UnsupportedError
        If the format cannot hold it.
    """
    ids = {path: i for i, path in enumerate(records.dimensions)}
    unlimited = next((i for i, each in enumerate(records.dimensions.values()) if each.is_unlimited), None)
    for each in records.variables.values():
        if unlimited in [ids[dim] for dim in each.dims[1:]]:
            raise UnsupportedError("only the first dimension can be unlimited", variable=each.path)
    return compose(
        VERSIONS[records.format],
        [(each.path, each.size) for each in records.dimensions.values()],
        unlimited,
        _new_attributes(records.attributes[""]),
        [_new_variable(each, ids) for each in records.variables.values()],
    )


def compose_classic(records: FileRecords, values: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the bytes of a small file.

    Parameters
    ----------
    records : FileRecords
    values : dict
        Path of each variable → all its values, in the shape of its dimensions.

    Raises
    ------
    UnsupportedError
        As for `lay_out`.
    """
    layout = lay_out(records)
    buffer = SmallFile(layout.size)
    buffer.write(0, layout.header)
    for array, extent in zip(values.values(), layout.extents, strict=True):
        put(buffer, extent, 0, stored(array, extent))
    return buffer.data.tobytes()


def stored(values: NDArray[Any], extent: Extent) -> NDArray[np.uint8]:
    """Return values as the bytes of the file, without padding."""
    return np.ascontiguousarray(values, extent.dtype).reshape(-1).view(np.uint8)


def _new_attributes(attributes: Attributes) -> list[AttributeToWrite]:
    # netCDF4 writes a NUL for empty text
    return [(name, value if form == "number" else value or b"\0") for name, (form, value, _) in attributes.items()]


def _new_variable(record: VariableRecord, ids: dict[str, int]) -> VariableToWrite:
    number = NC_CHAR if isinstance(record.type, str) else CODES.index(record.type.str[1:])
    return VariableToWrite(
        record.path, tuple(ids[dim] for dim in record.dims), _new_attributes(record.attributes), number
    )


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
