"""An open file → rows of cells, with every error placed in its line."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator
from typing import Any

from ...body import Opened
from ...errors import FormatError
from ...kernels.files import ranges

CELLS = 1 << 14
"""Cells parsed at once: few enough to stay in the caches of a processor."""
ROWS = 64
"""Rows parsed at once, if they have very many cells."""
BUFFER_SIZE = 1 << 18
"""Bytes read at once."""

Row = list[str]


class View(Opened, io.RawIOBase):
    """A file from its start on, with a position of its own, so that several can read it in turns."""

    def __init__(self, fd: int):
        self._fd = fd
        self._position = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes."""
        n = ranges.read_at(self._fd, self._position, buffer)
        self._position += n
        return n


def delimiter_of(path: str, fd: int = -1) -> str:
    """Return what separates the cells of a file: its suffix says so, or else the first line of the open file does."""
    name = path.lower()
    if name.endswith((".tsv", ".tab")):
        return "\t"
    if fd < 0 or name.endswith(".csv"):
        return ","
    first = bytearray(BUFFER_SIZE)
    line = bytes(first[: ranges.read_at(fd, 0, first)]).partition(b"\n")[0]
    return "\t" if b"\t" in line and b"," not in line else ","


def read_rows(fd: int, delimiter: str) -> Iterator[list[Row]]:
    """Yield the rows of a file: at first one list with the row of names, then lists of many rows, all of as many cells.

    A byte order mark is skipped. An empty line is a row with one empty cell if there is one column, and else no row. A
    file without bytes yields nothing.

    Parameters
    ----------
    fd : int
        File descriptor.
    delimiter : str

    Raises
    ------
    FormatError
        If the file is not UTF-8, a quoted cell does not end or goes on behind its quote, a row has more or fewer cells
        than there are names, a name occurs twice, or a cell is longer than `csv.field_size_limit` allows.
    """
    try:
        reader = _reader(fd, delimiter)
        names = next(reader, None)
        if names is None:
            return
        _check_names(names)
        yield [names]
        size = {len(names)}
        while rows := list(itertools.islice(reader, max(ROWS, CELLS // len(names)))):
            if set(map(len, rows)) != size:
                rows = [row or [""] for row in rows] if len(names) == 1 else [row for row in rows if row]
                if not rows:
                    continue
                if set(map(len, rows)) != size:
                    raise _wrong_row(fd, delimiter)
            yield rows
    except csv.Error:
        raise _wrong_row(fd, delimiter) from None
    except UnicodeDecodeError:
        raise _wrong_byte(fd) from None


def _reader(fd: int, delimiter: str) -> Any:
    text = io.TextIOWrapper(io.BufferedReader(View(fd), BUFFER_SIZE), encoding="utf-8-sig", newline="")
    return csv.reader(text, delimiter=delimiter, strict=True)


def _check_names(names: Row) -> None:
    if not names:
        raise FormatError("line 1: found an empty line, expected the names of the columns")
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            raise FormatError(f'line 1: found the name "{name}" of column {i + 1} twice')
        seen.add(name)


def _wrong_row(fd: int, delimiter: str) -> FormatError:
    """Find the first wrong row, line by line."""
    reader = _reader(fd, delimiter)
    expected = 0
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            reasons = {"unexpected end of data": "a quoted cell begins, and does not end"}
            return FormatError(f"line {line}: {reasons.get(str(error), str(error))}")
        if row is None:
            return FormatError("the file has changed while it was read")
        expected = expected or len(row)
        if row and len(row) != expected:
            return FormatError(f"line {line}: found {len(row)} cells, expected {expected}, one for each name")


def _wrong_byte(fd: int) -> FormatError:
    """Find the first byte that is not UTF-8."""
    n = 0
    for line in io.BufferedReader(View(fd), BUFFER_SIZE):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            place = n + line.count(b"\r", 0, error.start) + 1
            return FormatError(f"line {place}: found the byte 0x{line[error.start]:02x}, expected UTF-8")
        n += 1 + line.removesuffix(b"\r\n").count(b"\r")
    return FormatError("the file has changed while it was read")
