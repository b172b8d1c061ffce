"""Reading: a CSV file as a Source; the type of a column.

A column has integers if all its cells are integers, else floats if all are numbers, else text. Numbers are written as
in Python, with blanks around them, signs, leading zeros, `1e5`, `nan`, `inf`. Underscores and digits other than ASCII
are not allowed, since they are more common in names. Integers are int64, or uint64 if they are too large, or else text,
so that no digit is lost. Empty cells are ignored. A column of empty cells is int64, and one without rows float64.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...base.text import escape
from ...body import path_text
from ...body.body import Body, Stream, open_whole
from ...errors import DsError, FormatError
from ...kernels.table.cells import Table, Wrong, first_row
from ..base import Metadata, value_size
from ..source import ArraySource, array_blocks

DTYPES = {"int64": "i8", "uint64": "u8", "float64": "f8", "unicode": "O"}
"""The types of columns, with their NumPy codes."""
DELIMITERS = ",;\t"
"""The separators of cells that reading finds."""
MARK = b"\xef\xbb\xbf"
"""A byte order mark."""
PIECE_SIZE = 1 << 20
"""Bytes read at once, or more if a row needs them."""


def delimiter_of(path: str) -> str:
    """Return the separator of cells, by the suffix of a file."""
    return "\t" if path.lower().endswith((".tsv", ".tab")) else ","


def found_delimiter(path: str, line: bytes) -> str:
    """Return the separator of cells of a file: that of its suffix, unless only others are in the line of names."""
    unquoted = b"".join(line.split(b'"')[::2])
    own = delimiter_of(path)
    counts = {one: unquoted.count(one.encode()) for one in DELIMITERS}
    return own if counts[own] else max(DELIMITERS, key=lambda one: (counts[one], one == own))


def _check_names(names: list[str]) -> None:
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            raise FormatError(f'line 1: found the name "{name}" of column {i + 1} twice')
        seen.add(name)


def _fault(body: Body, delimiter: str) -> FormatError:
    """Find the first row that is wrong, or that is not text."""
    try:
        return _wrong_row(body, delimiter)
    except UnicodeDecodeError:
        return _wrong_byte(body)


def _wrong_row(body: Body, delimiter: str) -> FormatError:
    """Find the first wrong row, line by line."""
    stream = io.BufferedReader(Stream(body), PIECE_SIZE)
    reader = csv.reader(io.TextIOWrapper(stream, encoding="utf-8-sig", newline=""), delimiter=delimiter, strict=True)
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


def _wrong_byte(body: Body) -> FormatError:
    """Find the first byte that is not UTF-8."""
    n = 0
    for line in io.BufferedReader(Stream(body), PIECE_SIZE):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            place = n + line.count(b"\r", 0, error.start) + 1
            return FormatError(f"line {place}: found the byte 0x{line[error.start]:02x}, expected UTF-8")
        n += 1 + line.removesuffix(b"\r\n").count(b"\r")
    return FormatError("the file has changed while it was read")


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

    Raises
    ------
    OSError
        As `open` would.
    FormatError
        If it is not a table; the message names the line.
    """

    meta: Metadata

    def __init__(self, path: Any):
        self.path = path_text(path)
        self.faults: dict[str, DsError] = {}
        self._numbers: dict[str, Any] = {}
        self._held: dict[str, Any] = {}
        self._body: Body | None = open_whole(path)
        try:
            self._names, self._first = self._read_names(self._body)
            self.meta = self._scan()
        except DsError as error:
            self.close()
            raise error.at(path=self.path)

    def _read_names(self, body: Body) -> tuple[list[str], int]:
        """Return the keys of the columns, and where the first row is."""
        self.delimiter = delimiter_of(self.path)
        start = len(MARK) if body.head(len(MARK)) == MARK else 0
        size = PIECE_SIZE
        while body.size > start:
            data = body.read(start, min(size, body.size - start))
            line = re.split(b"[\r\n]", bytes(data[:PIECE_SIZE]), maxsplit=1)[0]
            if not line:
                raise FormatError("line 1: found an empty line, expected the names of the columns")
            self.delimiter = found_delimiter(self.path, line)
            try:
                found = first_row(data, ord(self.delimiter), start + len(data) == body.size)
            except (Wrong, UnicodeDecodeError):
                raise _fault(body, self.delimiter) from None
            if found is not None:
                names, row_size = found
                _check_names(names)
                return [escape(name) for name in names], start + row_size
            size *= 2
        return [], start

    def _take(self, take: Callable[[Any, bool], int]) -> Iterator[None]:
        """Give the bytes of all rows to a function, which takes as many of them as it can, and yield in between."""
        body = self._opened()
        start, size = self._first, PIECE_SIZE
        while start < body.size:
            data = body.read(start, min(size, body.size - start))
            is_last = start + len(data) == body.size
            try:
                taken = take(data, is_last)
            except Wrong:
                raise _fault(body, self.delimiter) from None
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
        return Table(len(self._names), ord(self.delimiter), csv.field_size_limit())

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
