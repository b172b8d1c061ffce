"""The lines of data.jsonl: scanning the file for documents, and reading all lines of a table in file order."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator

from ..base.progress import Advance
from ..body.body import PIECE_SIZE, Body
from ..errors import FormatError
from ..kernels.json.values import VALID, check_line
from ..kernels.zds import lines as kernel
from ..kernels.zds.zdx import Table
from . import format
from .documents import Document, decoder
from .faults import SHOWN, Faults

CACHED_SIZE = 1 << 18
"""Bytes that are read at once; few enough to stay in the cache until they are decoded."""
CHUNK = 4096
"""Number of ids that are decoded at once."""
LineFault = tuple[int, int, int, int]
"""A fault: its kind, offset and length of the line, and position of the fault, all in bytes of the file."""
ODD = frozenset({kernel.BLANK, kernel.CRLF, kernel.NO_NEWLINE, kernel.NUMBER_RANGE})
"""Kinds of faults that are only warnings in strict mode, too."""


def whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    r"""Iterate over blocks that end with a line feed, except perhaps the last one.

    Examples
    --------
    >>> from ds_format.zds.lines import whole_lines
    >>> list(whole_lines([b"a\nb", b"b", b"b\nc\nd"]))
    [b'a\n', b'bbb\nc\n', b'd']
    """
    pieces: list[bytes] = []
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if not end:
            pieces.append(block)
            continue
        pieces.append(block[:end])
        yield b"".join(pieces) if len(pieces) > 1 else pieces[0]
        pieces = [block[end:]] if end < len(block) else []
    if pieces:
        yield b"".join(pieces)


def last_line(file: Body) -> tuple[bytes, bool]:
    """Return the bytes after the last line feed of a file, and whether they are a JSON object, not torn."""
    start, tail = file.size, b""
    while start and b"\n" not in tail:
        before = max(start - PIECE_SIZE, 0)
        tail, start = file.read(before, start - before) + tail, before
    tail = tail[tail.rfind(b"\n") + 1 :]
    return tail, check_line(tail if len(tail) < file.size else tail.removeprefix(format.BOM))[0] == VALID


class Scan:
    """Adds the lines of a file to a table.

    Parameters
    ----------
    file : Body
        The file.
    table : Table, optional
        Positions of the lines before `start`.
    start : int
        Offset of the first line.
    updates : bool
        Whether lines may replace earlier ones with the same id. If so, this is not reported.

    Attributes
    ----------
    table : Table
    left_out : list of tuple
        Faults of the lines that are not documents.
    """

    def __init__(self, file: Body, table: Table | None = None, start: int = 0, updates: bool = False):
        self.table = Table() if table is None else table
        self.left_out: list[LineFault] = []
        self._file = file
        self._start = start
        self._line = 1
        self._n_before: int | None = None if start else 0
        self._silent = {kernel.ESCAPED_ID, kernel.SUPERSEDED} if updates else {kernel.ESCAPED_ID}
        self._counts: Counter[int] = Counter()

    def run(self, faults: Faults, advance: Advance | None = None) -> Table:
        """Add all lines, report faults, and return the table, in file order. `advance` gets the bytes of each block.

        Raises
        ------
        FormatError
            At the first fault, if the faults are strict.
        """
        base, size = self._start, self._file.size
        for data in whole_lines(self._file.blocks(base)):
            end = base + len(data)
            _, found = kernel.add_lines(self.table, data, base, whole=end == size)
            left_out = {fault[1] for fault in found if fault[0] not in kernel.REMARKS}
            for fault in found:
                if fault[0] not in self._silent and not (fault[0] == kernel.NO_NEWLINE and fault[1] in left_out):
                    self._report(fault, data, base, faults)
            self._scanned(data, base, left_out)
            self._line += data.count(b"\n")
            base = end
            if advance is not None:
                advance.add(len(data))
        self._end(faults)
        return self.table

    def _scanned(self, data: bytes, base: int, left_out: set[int]) -> None:
        """Receive a block of lines and its position, after its faults, and the positions of lines left out."""

    def _end(self, faults: Faults) -> None:
        """Report how many faults were not reported, and sort the table."""
        for kind, n in self._counts.items():
            if n > SHOWN:
                faults.report(self._file.name, f"{kernel.KINDS[kind]}: so have {n - SHOWN} more lines")
        self.table.sort()

    def _report(self, fault: LineFault, data: bytes, base: int, faults: Faults) -> None:
        kind, offset, length, place = fault
        if kind not in kernel.REMARKS:
            self.left_out.append(fault)
        self._counts[kind] += 1
        if self._counts[kind] > SHOWN:
            return
        line = self._line + self._lines_before() + data.count(b"\n", 0, offset - base)
        is_torn = kind not in kernel.REMARKS and not data.endswith(b"\n") and offset + length == self._file.size
        if is_torn:
            faults.report(self._file.name, f"a torn line of {length} bytes at the end, left out", line, offset)
        elif kind == kernel.SUPERSEDED:
            faults.report(self._file.name, f"{kernel.KINDS[kind]}, at byte {place}; the last one counts", line, offset)
        else:
            report = faults.note if kind in ODD else faults.report
            left_out = "" if kind in kernel.REMARKS else "; the line is left out"
            report(self._file.name, f"{kernel.KINDS[kind]}{left_out}", line, place)

    def _lines_before(self) -> int:
        """Return the number of lines before the first one. They are only counted for a message."""
        if self._n_before is None:
            self._n_before = line_numbers(self._file, [self._start])[self._start] - 1
        return self._n_before


def line_numbers(file: Body, places: list[int]) -> dict[int, int]:
    """Return the numbers of the lines that begin at the given positions, which must be sorted."""
    numbers: dict[int, int] = {}
    base, line = 0, 1
    for block in file.blocks() if places else ():
        end, done = base + len(block), 0
        for place in places[bisect_left(places, base) : bisect_left(places, end)]:
            line += block.count(b"\n", done, place - base)
            done = place - base
            numbers[place] = line
        line += block.count(b"\n", done)
        base = end
    return numbers


class StaleIndex(Exception):
    """An entry of an index leads to something other than the line of its id.

    Attributes
    ----------
    first : int
        Number of the first entry that may be wrong. All entries before it are right.
    """

    def __init__(self, message: str, first: int):
        super().__init__(message)
        self.message = message
        self.first = first


def line_blocks(table: Table, file: Body) -> Iterator[tuple[int, list[bytes], bytes]]:
    """Iterate over the lines of a table.

    Parameters
    ----------
    table : Table
        In file order, and without dead entries.
    file : Body

    Yields
    ------
    first : int
        The number of the entry of the first line.
    lines : list of bytes
        Without their line feeds.
    data : bytes
        The bytes that consist of these lines.

    Raises
    ------
    StaleIndex
        If an entry of the table is not the position of a line.
    """
    return _all_lines(table, file) if table.contiguous else _some_lines(table, file)


def _all_lines(table: Table, file: Body) -> Iterator[tuple[int, list[bytes], bytes]]:
    """Iterate over lines that fill the file from its start, without gaps."""
    first = place = 0
    for data in whole_lines(file.blocks(0, _size_of_blocks(file))):
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


def _size_of_blocks(file: Body) -> int:
    """Return how many bytes are read at once."""
    return file.batch if file.is_far else CACHED_SIZE


def _start_of(table: Table, i: int) -> int:
    """Return the start of the line of an entry; for the entry after the last, the end of the lines; otherwise -1."""
    if i >= len(table):
        return table.end if i == len(table) else -1
    return (table.entry(i) or (-1, 0))[0]


def _some_lines(table: Table, file: Body) -> Iterator[tuple[int, list[bytes], bytes]]:
    """Iterate over lines with gaps between them."""
    raw_offsets, raw_lengths, _ = table.in_file_order()
    offsets, lengths = array("Q", bytes(raw_offsets)), array("I", bytes(raw_lengths))
    ends = array("Q", map(int.__add__, offsets, lengths))
    first, n = 0, len(offsets)
    while first < n:
        last = max(bisect_left(ends, offsets[first] + _size_of_blocks(file)), first + 1)
        begin, stop = max(offsets[first] - 1, 0), min(ends[last - 1] + 1, file.size)
        data = file.read(begin, stop - begin)
        lines = []
        for i in range(first, last):
            line = line_at(data, begin, offsets[i], ends[i], file.size)
            if line is None:
                raise StaleIndex(f"entry {i} of the index leads to byte {offsets[i]}, where no line is", first)
            lines.append(line)
        yield first, lines, data
        first = last


def line_at(data: bytes, base: int, start: int, stop: int, size: int) -> bytes | None:
    r"""Return a line without its line feed, if the bytes from `start` to before `stop` are exactly one line.

    Parameters
    ----------
    data : bytes
        A part of the file. It contains one byte before the line and one after it, except at the ends of the file.
    base : int
        Position of this part in the file, in bytes.
    start, stop : int
        Position of the line in the file, in bytes, with or without its line feed.
    size : int
        Size of the file, in bytes.

    Examples
    --------
    >>> from ds_format.zds.lines import line_at
    >>> [line_at(b"\n{}\n", 0, start, stop, 4) for start, stop in ((1, 4), (2, 4), (1, 3))]
    [b'{}', None, b'{}']
    """
    if start and data[start - base - 1] != 10 and not (start == 3 and data[: 3 - base] == format.BOM[base:]):
        return None
    feed = data.find(b"\n", start - base)
    if feed < 0:
        feed = len(data)
        if stop != size:
            return None
    return data[start - base : feed] if stop - base in {feed, feed + 1} else None


def read_line(file: Body, offset: int, length: int) -> bytes | None:
    """Return the line at a position of a file, without its line feed; None if the bytes are not exactly one line."""
    start, stop = max(offset - 3, 0), min(offset + length + 1, file.size)
    return line_at(file.read(start, stop - start), start, offset, offset + length, file.size)


def scan_lines(table: Table, file: Body) -> Iterator[tuple[int, list[bytes]]]:
    """Iterate over lines, with the number of the entry of the first one; as `line_blocks`."""
    for first, found, _ in line_blocks(table, file):
        yield first, found


def scan_documents(table: Table, file: Body) -> Iterator[tuple[int, list[Document]]]:
    """Iterate over documents, with the number of the entry of the first one; as `line_blocks`.

    The `_id` of each is compared with the table.
    """
    for first, found, data in line_blocks(table, file):
        try:
            decoded = decoder.many(found, data, file.name)
            ids = [document[format.ID] for document in decoded]
        except (FormatError, KeyError, TypeError) as error:
            raise StaleIndex(f"a line after entry {first} of the index is not a document: {error}", first) from None
        if ids != table.ids(first, first + len(ids)):
            raise StaleIndex(f"a line after entry {first} does not have the {format.ID} in the index", first)
        yield first, decoded


def all_ids(table: Table) -> Iterator[str]:
    """Iterate over all ids of a table, in its order."""
    for start in range(0, table.n, CHUNK):
        yield from table.ids(start, start + CHUNK)
