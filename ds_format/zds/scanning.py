"""The lines of a collection in file order, many at a time."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator

from ..errors import FormatError
from ..kernels.zds.zdx import Table
from . import format
from .documents import Document, decoder
from .lines import whole_lines
from .places import Region

BOM = b"\xef\xbb\xbf"
BLOCK_SIZE = 1 << 18
"""Bytes that are read at a time; few enough to stay in the cache until they are decoded."""


class StaleIndex(Exception):
    """An index leads to something that is not the line of its id.

    Attributes
    ----------
    first : int
        Up to which entry all was well.
    """

    def __init__(self, message: str, first: int):
        super().__init__(message)
        self.message = message
        self.first = first


def blocks(table: Table, region: Region) -> Iterator[tuple[int, list[bytes], bytes]]:
    """Iterate over the lines of a table.

    Parameters
    ----------
    table : Table
        In file order, and without dead entries.
    region : Region

    Yields
    ------
    first : int
        The number of the entry of the first line.
    lines : list of bytes
        Without their line feed.
    data : bytes
        What they are cut from.

    Raises
    ------
    StaleIndex
        If the table leads to what is not a line.
    """
    return _all_lines(table, region) if table.contiguous else _some_lines(table, region)


def _all_lines(table: Table, region: Region) -> Iterator[tuple[int, list[bytes], bytes]]:
    """Iterate over lines that fill the file from its start."""
    first = place = 0
    for data in whole_lines(region.blocks(0, BLOCK_SIZE)):
        if place + len(data) > table.end:
            data = data[: table.end - place]
        if not data:
            return
        lines = data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        place += len(data)
        if _start_of(table, first + len(lines)) != place:
            raise StaleIndex(f"the lines before byte {place} are not as the index says", first)
        yield first, lines, data
        first += len(lines)


def _start_of(table: Table, i: int) -> int:
    """Return where the line of an entry begins; of the one behind the last where the lines end; else -1."""
    if i >= len(table):
        return table.end if i == len(table) else -1
    return (table.entry(i) or (-1, 0))[0]


def _some_lines(table: Table, region: Region) -> Iterator[tuple[int, list[bytes], bytes]]:
    """Iterate over lines between which there is something else."""
    raw_offsets, raw_lengths, _ = table.in_file_order()
    offsets, lengths = array("Q", bytes(raw_offsets)), array("I", bytes(raw_lengths))
    ends = array("Q", map(int.__add__, offsets, lengths))
    first, n = 0, len(offsets)
    while first < n:
        last = max(bisect_left(ends, offsets[first] + BLOCK_SIZE), first + 1)
        begin, stop = max(offsets[first] - 1, 0), min(ends[last - 1] + 1, region.size)
        data = region.read(begin, stop)
        lines = []
        for i in range(first, last):
            line = line_at(data, begin, offsets[i], ends[i], region.size)
            if line is None:
                raise StaleIndex(f"entry {i} of the index leads to byte {offsets[i]}, where no line is", first)
            lines.append(line)
        yield first, lines, data
        first = last


def line_at(data: bytes, base: int, start: int, stop: int, size: int) -> bytes | None:
    r"""Return a line without its line feed, if the bytes from `start` to before `stop` are just one line.

    Parameters
    ----------
    data : bytes
        A part of the file that has one byte before and one behind the line, unless the file begins or ends there.
    base : int
        Where the part is in the file, in bytes.
    start, stop : int
        Where the line is in the file, in bytes, with the line feed at its end or without.
    size : int
        Of the file, in bytes.

    Examples
    --------
    >>> from ds_format.zds.scanning import line_at
    >>> [line_at(b"\n{}\n", 0, start, stop, 4) for start, stop in ((1, 4), (2, 4), (1, 3))]
    [b'{}', None, b'{}']
    """
    if start and data[start - base - 1] != 10 and not (start == 3 and data[: 3 - base] == BOM[base:]):
        return None
    feed = data.find(b"\n", start - base)
    if feed < 0:
        feed = len(data)
        if stop != size:
            return None
    return data[start - base : feed] if stop - base in {feed, feed + 1} else None


def lines(table: Table, region: Region) -> Iterator[tuple[int, list[bytes]]]:
    """Iterate over lines, with the number of the entry of the first one; as `blocks`."""
    for first, found, _ in blocks(table, region):
        yield first, found


def documents(table: Table, region: Region) -> Iterator[tuple[int, list[Document]]]:
    """Iterate over documents, with the number of the entry of the first one; as `blocks`.

    Each has the `_id` that the table says.
    """
    for first, found, data in blocks(table, region):
        try:
            decoded = decoder.many(found, data, region.path)
            ids = [document[format.ID] for document in decoded]
        except (FormatError, KeyError, TypeError) as error:
            raise StaleIndex(f"a line behind entry {first} of the index is no document: {error}", first) from None
        if ids != table.ids(first, first + len(ids)):
            raise StaleIndex(f"a line behind entry {first} has not the {format.ID} that the index says", first)
        yield first, decoded
