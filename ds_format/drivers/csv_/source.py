"""Reading: a CSV file as a Source; the type of a column.

A column has integers if all its cells are integers, else floats if all are numbers, else text. Numbers are written as
in Python, with blanks around them, signs, leading zeros, `1e5`, `nan`, `inf`. Underscores and digits other than ASCII
are not allowed, since they are more common in names. The character before decimals can be a comma. Integers are int64,
or uint64 if they are too large, or else text, so that no digit is lost. A number beyond float64 is an error. Empty
cells are ignored. A column of empty cells is int64, and one without rows float64.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...base.text import escape, unescape
from ...body import path_text
from ...body.body import Body, open_whole
from ...errors import DriverError, DsError, FormatError
from ...kernels.table.cells import Table, Wrong, first_row
from ..base import Metadata, value_size
from ..source import ArraySource, array_blocks

DTYPES = {"int64": "i8", "uint64": "u8", "float64": "f8", "unicode": "O"}
"""The types of columns, with their NumPy codes."""
DELIMITERS = ",;\t"
"""The separators of cells that reading finds."""
RESERVED = '"+-\r\n\0'
"""Characters that neither separate cells nor begin comments."""
FAULTS = {
    "encoding": "",  # these have details
    "size": "",
    "quote": "a quoted cell begins, and does not end",
    "quoted": "found text after the quote that ends a cell; quotes in a quoted cell are doubled",
    "zero": "found NUL outside of quotes, expected text in UTF-8",
    "range": "found a number beyond those of float64",
    "type": "the file has changed while it was read",
}
"""Why a row is damaged, by the names that the kernel has for it."""
MARK = b"\xef\xbb\xbf"
"""A byte order mark."""
PIECE_SIZE = 1 << 20
"""Bytes read at once, or more if a row needs them."""


ROW_SIZE = 1 << 20
"""Bytes of a row in which separators are counted."""
LINE_SIZE = 1 << 12
"""Bytes read at once of a line that is skipped."""


def delimiter_of(path: str, decimal: str) -> str:
    """Return the separator of cells, by the suffix of a file and the character before decimals."""
    return "\t" if path.lower().endswith((".tsv", ".tab")) else ";" if decimal == "," else ","


def found_delimiter(own: str, head: bytes) -> str:
    """Return the separator of cells of a file: that of its suffix, unless only others are among the names.

    The first bytes are those of the names, which can have the end of a line in quotes.
    """
    unquoted = b"".join(head.split(b'"')[::2])
    names = re.split(b"[\r\n]", unquoted, maxsplit=1)[0]
    counts = {one: names.count(one.encode()) for one in DELIMITERS}
    return own if counts.get(own) else max(DELIMITERS, key=lambda one: (counts[one], one == own))


def check_characters(path: str, decimal: Any, **others: Any) -> None:
    """Check the characters with a meaning in a table, None for those that it does not have.

    Raises
    ------
    DriverError
        If one of them could also be a part of a number, a quote or the end of a line, or if two are the same.
    """
    if decimal not in (".", ","):
        raise DriverError(f'decimal: found {decimal!r}, expected "." or ","', path=path)
    taken = {decimal: "decimal"}
    for name, value in others.items():
        if value is None:
            continue
        if not isinstance(value, str) or len(value) != 1 or not value.isascii() or value.isalnum() or value in RESERVED:
            expected = "one character of ASCII, but no letter, digit, sign, quote or end of a line"
            raise DriverError(f"{name}: found {value!r}, expected {expected}", path=path)
        if value in taken:
            raise DriverError(f"{name}: found {value!r}, which is also the {taken[value]}", path=path)
        taken[value] = name


def _check_names(line: int, names: list[str]) -> None:
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            raise FormatError(f'line {line}: found the name "{name}" of column {i + 1} twice')
        seen.add(name)


def _line_at(body: Body, end: int) -> int:
    """Return the number of the line that has a position."""
    n, last = 1, b""
    for start in range(0, end, PIECE_SIZE):
        data = bytes(body.read(start, min(PIECE_SIZE, end - start)))
        n += data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n") - (last + data[:1] == b"\r\n")
        last = data[-1:]
    return n


def _place(body: Body, at: int, column: int) -> str:
    """Return the words for a position. Column 0 is that of a line without cells."""
    return f"line {_line_at(body, at)}" + (f", column {column}" if column else "")


def _after_line(body: Body, start: int) -> int:
    """Return where the line after the one at `start` begins."""
    while start < body.size:
        data = bytes(body.read(start, min(LINE_SIZE, body.size - start)))
        found = re.search(b"[\r\n]", data)
        if found is not None:
            at = start + found.start()
            return at + (2 if body.read(at, min(2, body.size - at)) == b"\r\n" else 1)
        start += len(data)
    return start


DIMENSION = "i"
"""The dimension of all variables."""
HELD_SIZE = 64 * 1024 * 1024
"""Bytes of columns that are kept for the next call, which is likely to ask for one of them."""


class CsvSource(ArraySource):
    """An open CSV file; see `ds_format.drivers.base.Source`.

    Opening a file reads it once, because the type of a column depends on all of its cells. Its numbers are kept, up to
    `HELD_SIZE` bytes. Reading another column reads the file again, and keeps the following columns, up to as many
    bytes. Larger columns are not kept.

    Parameters
    ----------
    path : str, bytes or PathLike
    decimal : str
        The character before decimals: `.` or `,`.
    delimiter : str, optional
        The separator of cells, one character of ASCII. By default it is found, see `found_delimiter`.
    comments : str, optional
        The character at the start of lines that are skipped. By default no line is, because cells can begin with any
        character. Lines within a quoted cell, or that begin with a quote, are no comments.
    skip : int
        Lines before the names that are skipped.
    units : bool
        Whether the line below the names has units. They become attributes.

    Raises
    ------
    OSError
        As `open` would.
    DriverError
        If an option has an invalid value.
    FormatError
        If it is not a table; the message names the line and the column.
    """

    meta: Metadata

    def __init__(
        self,
        path: Any,
        *,
        decimal: str = ".",
        delimiter: str | None = None,
        comments: str | None = None,
        skip: Any = 0,
        units: bool = False,
    ):
        self.path = path_text(path)
        self.faults: dict[str, DsError] = {}
        self._numbers: dict[str, Any] = {}
        self._held: dict[str, Any] = {}
        check_characters(self.path, decimal, delimiter=delimiter, comments=comments)
        if isinstance(skip, bool) or not isinstance(skip, int) or skip < 0:
            raise DriverError(f"skip: found {skip!r}, expected a number of lines", path=self.path)
        self._decimal, self._comment = decimal, (comments or "").encode()
        self._body: Body | None = open_whole(path)
        try:
            self._read_names(self._body, delimiter, skip)
            self._units = self._read_units(self._body) if units else [""] * len(self._names)
            self.meta = self._scan()
        except DsError as error:
            self.close()
            raise error.at(path=self.path)

    def _read_names(self, body: Body, delimiter: str | None, skip: int) -> None:
        """Set the separator of cells, the keys of the columns, and where the first row is."""
        self.delimiter = delimiter or delimiter_of(self.path, self._decimal)
        start = len(MARK) if body.head(len(MARK)) == MARK else 0
        for i in range(skip):
            if start == body.size:
                raise FormatError(f"found {i} lines, expected more than the {skip} to skip")
            start = _after_line(body, start)
        self._names: list[str] = []
        self._first = self._after_comments(body, start)
        if self._first == body.size:
            return
        head = bytes(body.read(self._first, min(ROW_SIZE, body.size - self._first)))
        line = _line_at(body, self._first)
        if head[:1] in b"\r\n":
            raise FormatError(f"line {line}: found an empty line, expected the names of the columns")
        if delimiter is None:
            self.delimiter = found_delimiter(self.delimiter, head)
            if self.delimiter == self._decimal:
                raise FormatError(
                    f'line {line}: found names separated by "{self.delimiter}", which is also the decimal'
                )
        names, end = self._row(body, self._first)
        _check_names(line, names)
        self._names, self._first = [escape(name) for name in names], end

    def _read_units(self, body: Body) -> list[str]:
        """Return the units of the columns, which are in a line below the names."""
        start = self._after_comments(body, self._first)
        if start == body.size:
            return [""] * len(self._names)
        units, self._first = self._row(body, start)
        if len(units) != len(self._names):
            raise self._count_fault(body, start, len(units), min(len(units), len(self._names) + 1))
        return units

    def _after_comments(self, body: Body, start: int) -> int:
        """Return where the first line is that is no comment."""
        while self._comment and start < body.size and body.read(start, 1) == self._comment:
            start = _after_line(body, start)
        return start

    def _row(self, body: Body, start: int) -> tuple[list[str], int]:
        """Return the cells of a row, and where it ends."""
        size = PIECE_SIZE
        while True:
            data = body.read(start, min(size, body.size - start))
            try:
                found = first_row(data, ord(self.delimiter), csv.field_size_limit(), start + len(data) == body.size)
            except Wrong as wrong:
                raise self._fault(body, start, wrong) from None
            if found is not None:
                return found[0], start + found[1]
            size *= 2

    def _fault(self, body: Body, start: int, wrong: Wrong) -> FormatError:
        """Return the error for a fault in the bytes from a position on."""
        fault, column, at = wrong.args
        at += start
        if fault == "count":
            try:
                found = first_row(body.read(at, min(ROW_SIZE, body.size - at)), ord(self.delimiter), 1 << 62, True)
            except Wrong:
                found = None
            return self._count_fault(body, at, len(found[0]) if found else column, column)
        reason = FAULTS[fault]
        if fault == "encoding":
            reason = f"found the byte 0x{body.read(at, 1)[0]:02x}, expected UTF-8"
        elif fault == "size":
            reason = f"found more than {csv.field_size_limit()} characters, which `csv.field_size_limit` allows"
        return FormatError(f"{_place(body, at, column)}: {reason}")

    def _count_fault(self, body: Body, at: int, n: int, column: int) -> FormatError:
        names = [unescape(key) for key in self._names]
        advice = "; `comments: '#'` skips lines that begin with #" if names[0].startswith("#") else ""
        message = f"found {n} cells, expected {len(names)}, one for each name{advice}"
        return FormatError(f"{_place(body, at, column)}: {message}")

    def _take(self, take: Callable[[Any, bool], int]) -> Iterator[None]:
        """Give the bytes of all rows to a function, which takes as many of them as it can, and yield in between."""
        body = self._opened()
        start, size = self._first, PIECE_SIZE
        while start < body.size:
            data = body.read(start, min(size, body.size - start))
            is_last = start + len(data) == body.size
            try:
                taken = take(data, is_last)
            except Wrong as wrong:
                raise self._fault(body, start, wrong) from None
            yield
            if is_last and not taken:
                return
            start += taken
            size = PIECE_SIZE if taken else 2 * size

    def _opened(self) -> Body:
        if self._body is None:
            raise ValueError(f"{self.path}: the file is closed")
        return self._body

    def _table(self) -> Table:
        comment = self._comment[0] if self._comment else 0
        return Table(len(self._names), ord(self.delimiter), csv.field_size_limit(), ord(self._decimal), comment)

    def _scan(self) -> Metadata:
        meta: Metadata = {}
        self._n = 0
        if self._names:
            table = self._table()
            for _ in self._take(table.infer):
                if table.n_rows * 8 * len(self._names) > HELD_SIZE:
                    table.release()
            self._n = table.n_rows
            for i, key in enumerate(self._names):
                type_name, is_missing, values, mask = table.column(i)
                meta[key] = {".dims": [DIMENSION], ".size": [self._n], ".type": type_name, ".missing": is_missing}
                if self._units[i]:
                    meta[key]["units"] = self._units[i]
                if values is not None and len(values) == 8 * self._n:
                    array = np.frombuffer(values, DTYPES[type_name])
                    flags = None if mask is None else np.frombuffer(mask, np.bool_)
                    self._numbers[key] = array if flags is None else np.ma.MaskedArray(array, flags, copy=False)
        meta["."] = {}
        return meta

    def _parts(self, keys: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the values of some columns part by part, each with the number of the first row."""
        body, table = self._opened(), self._table()
        asked = [key if key in keys else None for key in self._names]
        table.begin([None if key is None else self.meta[key][".type"] for key in asked])
        found: dict[str, Any] = {}
        rows = 0

        def take(data: Any, is_last: bool) -> int:
            nonlocal found, rows
            # more rows are left to the next call
            most = min(1 + len(data) * self._n // (body.size - self._first), self._n - start)
            values = [None if key is None else np.empty(most, DTYPES[self.meta[key][".type"]]) for key in asked]
            masks = [
                np.zeros(most, np.bool_) if key is not None and self.meta[key][".missing"] else None for key in asked
            ]
            taken, rows = table.fill(data, is_last, values, masks, most)
            found = {
                key: array[:rows] if mask is None else np.ma.MaskedArray(array[:rows], mask[:rows], copy=False)
                for key, array, mask in zip(asked, values, masks, strict=True)
                if key is not None and array is not None
            }
            return taken

        start = 0
        for _ in self._take(take):
            yield start, found
            start += rows
        if start != self._n:
            raise FormatError("the file has changed while it was read")

    def _column_size(self, key: str) -> int:
        return self._n * value_size(self.meta[key][".type"])

    def _array(self, name: str) -> Any:
        """Return a whole column."""
        found = self._numbers.get(name, self._held.get(name))
        if found is not None:
            return found
        size = 0
        keys: list[str] = []
        for key in self._names[self._names.index(name) :]:
            if key not in self._numbers:
                size += self._column_size(key)
                if keys and size > HELD_SIZE:
                    break
                keys.append(key)
        self._held = {}
        arrays = {key: self._empty(key) for key in keys}
        for start, part in self._parts(keys):
            for key, values in part.items():
                arrays[key][start : start + len(values)] = values
        if self._column_size(name) <= HELD_SIZE:
            self._held = arrays
        return arrays[name]

    def _empty(self, key: str) -> Any:
        values = np.empty(self._n, DTYPES[self.meta[key][".type"]])
        return np.ma.MaskedArray(values, np.zeros(self._n, np.bool_)) if self.meta[key][".missing"] else values

    def _blocks(self, name: str, budget: int) -> Iterator[Any]:
        if self._column_size(name) <= HELD_SIZE:
            yield from super()._blocks(name, budget)
            return
        for _, part in self._parts([name]):
            yield from array_blocks(part[name], budget)

    def close(self) -> None:
        """Release the file."""
        self._numbers = self._held = {}
        self._body = None
