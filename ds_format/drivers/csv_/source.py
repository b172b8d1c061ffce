"""Reading: a CSV file as a Source; rows of cells, and the type of a column.

A column has integers if all its cells are integers, else floats if all are numbers, else text. Numbers are written as
in Python, with blanks around them, signs, leading zeros, `1e5`, `nan`, `inf`. Underscores and digits other than ASCII
are not allowed, since they are more common in names. Integers are int64, or uint64 if they are too large, or else text,
so that no digit is lost. Empty cells are ignored. A column of empty cells is int64, and one without rows float64.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...base.dtypes import Type
from ...base.exact import exact_array
from ...base.text import escape
from ...body import path_text
from ...body.body import Body, Stream, open_whole
from ...errors import DsError, FormatError
from ..base import Metadata, value_size
from ..source import ArraySource, array_blocks
from ..strings import as_text

DTYPES = {"int64": "i8", "uint64": "u8", "float64": "f8", "unicode": "O"}
"""The types of columns, with their NumPy codes."""


class CellColumn:
    """The type of a column, inferred from its cells part by part.

    Attributes
    ----------
    missing : bool
        Whether a cell is empty.
    """

    def __init__(self) -> None:
        self.missing = False
        self._kind: type = int
        self._low = 0
        self._high = 0
        self._n = 0

    def add(self, cells: Sequence[str]) -> None:
        """Add the next cells."""
        self._n += len(cells)
        if "" in cells:
            self.missing = True
            cells = [cell for cell in cells if cell]
        if not cells or self._kind is str:
            return
        text = "".join(cells)
        if not text.isascii() or "_" in text:
            self._kind = str
            return
        if self._kind is int:
            try:
                integers = list(map(int, cells))
                self._low = min(self._low, min(integers))
                self._high = max(self._high, max(integers))
                return
            except ValueError:
                self._kind = float
        try:
            list(map(float, cells))
        except ValueError:
            self._kind = str

    @property
    def type(self) -> str:
        """The ds type of all cells so far."""
        if not self._n:
            return "float64"
        if self._kind is not int:
            return "float64" if self._kind is float else "unicode"
        if self._low >= -(1 << 63) and self._high < 1 << 63:
            return "int64"
        return "uint64" if self._low >= 0 and self._high < 1 << 64 else "unicode"


def values_of(cells: Sequence[str], type_name: str) -> Any:
    """Return the values of cells of a column of known type.

    Returns
    -------
    ndarray or MaskedArray
        (n,) values; masked if a cell is empty.

    Raises
    ------
    ValueError
        If a cell is not of the type.
    """
    mask = None
    if "" in cells:
        mask = np.array([not cell for cell in cells])
    if type_name == "unicode":
        values = np.array(cells, object)
    else:
        if mask is not None:
            cells = [cell or "0" for cell in cells]
        number: Any = float if type_name == "float64" else int
        try:
            values = exact_array(list(map(number, cells)), DTYPES[type_name])
        except OverflowError as error:
            raise ValueError(str(error)) from None
    return values if mask is None else np.ma.MaskedArray(values, mask, copy=False)


def cells_of(array: Any, ds_type: Type) -> list[str]:
    """Return the cells for the values of an array.

    Parameters
    ----------
    array : ndarray or MaskedArray
        (n,) values.
    ds_type : Type

    Raises
    ------
    UnsupportedError
        If a string cannot be written in UTF-8.
    """
    if ds_type.is_string:
        return [text or "" for text in as_text(array, "strict").tolist()]
    data, mask = np.ma.getdata(array), np.ma.getmask(array)
    # NumPy knows the shortest text of a single-precision number, Python that of all others
    cells: list[str] = data.astype("U").tolist() if ds_type.name == "float32" else list(map(str, data.tolist()))
    if mask is not np.ma.nomask:
        for i in np.flatnonzero(mask).tolist():
            cells[i] = ""
    return cells


CELLS_AT_ONCE = 1 << 14
"""Cells parsed at once: few enough to stay in the caches of a processor."""
ROWS = 64
"""Rows parsed at once, if they have very many cells."""
BUFFER_SIZE = 1 << 18
"""Bytes read at once."""

Row = list[str]


def delimiter_of(path: str, body: Body | None = None) -> str:
    """Return the separator of cells, by the suffix of a file, or else by its first line."""
    name = path.lower()
    if name.endswith((".tsv", ".tab")):
        return "\t"
    if body is None or name.endswith(".csv"):
        return ","
    line = body.head(BUFFER_SIZE).partition(b"\n")[0]
    return "\t" if b"\t" in line and b"," not in line else ","


def read_rows(body: Body, delimiter: str) -> Iterator[list[Row]]:
    """Yield the rows of a file: a list with the row of names, then lists of many rows with the same number of cells.

    A byte order mark is skipped. An empty line is a row with one empty cell if there is one column, and else no row. A
    file without bytes yields nothing.

    Parameters
    ----------
    body : Body
    delimiter : str

    Raises
    ------
    FormatError
        If the file is not UTF-8, a quoted cell does not end or goes on after its quote, a row has more or fewer cells
        than there are names, a name occurs twice, or a cell is longer than `csv.field_size_limit` allows.
    """
    try:
        reader = _reader(body, delimiter)
        names = next(reader, None)
        if names is None:
            return
        _check_names(names)
        yield [names]
        size = {len(names)}
        while rows := list(itertools.islice(reader, max(ROWS, CELLS_AT_ONCE // len(names)))):
            if set(map(len, rows)) != size:
                rows = [row or [""] for row in rows] if len(names) == 1 else [row for row in rows if row]
                if not rows:
                    continue
                if set(map(len, rows)) != size:
                    raise _wrong_row(body, delimiter)
            yield rows
    except csv.Error:
        raise _wrong_row(body, delimiter) from None
    except UnicodeDecodeError:
        raise _wrong_byte(body) from None


def _reader(body: Body, delimiter: str) -> Any:
    text = io.TextIOWrapper(io.BufferedReader(Stream(body), BUFFER_SIZE), encoding="utf-8-sig", newline="")
    return csv.reader(text, delimiter=delimiter, strict=True)


def _check_names(names: Row) -> None:
    if not names:
        raise FormatError("line 1: found an empty line, expected the names of the columns")
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            raise FormatError(f'line 1: found the name "{name}" of column {i + 1} twice')
        seen.add(name)


def _wrong_row(body: Body, delimiter: str) -> FormatError:
    """Find the first wrong row, line by line."""
    reader = _reader(body, delimiter)
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
    for line in io.BufferedReader(Stream(body), BUFFER_SIZE):
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

    Opening a file reads it once, because the type of a column depends on all of its cells. Reading a column reads the
    file again, and keeps the following columns, up to `HELD_SIZE` bytes. Larger columns are not kept.

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
        self._n = 0
        self._names: list[str] = []
        self._held: dict[str, Any] = {}
        self._body: Body | None = open_whole(path)
        self.delimiter = delimiter_of(self.path, self._body)
        try:
            self.meta = self._scan()
        except DsError as error:
            self.close()
            raise error.at(path=self.path)

    def _rows(self) -> Iterator[list[Row]]:
        if self._body is None:
            raise ValueError(f"{self.path}: the file is closed")
        return read_rows(self._body, self.delimiter)

    def _scan(self) -> Metadata:
        rows = self._rows()
        names = next(rows, [[]])[0]
        columns = [CellColumn() for _ in names]
        for part in rows:
            self._n += len(part)
            for column, cells in zip(columns, zip(*part, strict=True), strict=True):
                column.add(cells)
        self._names = [escape(name) for name in names]
        meta: Metadata = {}
        for key, column in zip(self._names, columns, strict=True):
            meta[key] = {".dims": [DIMENSION], ".size": [self._n], ".type": column.type, ".missing": column.missing}
        meta["."] = {}
        return meta

    def _parts(self, keys: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the values of some columns part by part, each with the number of the first row."""
        wanted = set(keys)
        places = {key: i for i, key in enumerate(self._names) if key in wanted}
        rows = self._rows()
        next(rows, None)
        start = 0
        for part in rows:
            found = {}
            for key, i in places.items():
                try:
                    found[key] = values_of([row[i] for row in part], self.meta[key][".type"])
                except (ValueError, IndexError):
                    raise self._changed() from None
            if start + len(part) > self._n:
                raise self._changed()
            yield start, found
            start += len(part)
        if start != self._n:
            raise self._changed()

    def _changed(self) -> FormatError:
        return FormatError("the file has changed while it was read", path=self.path)

    def _column_size(self, key: str) -> int:
        return self._n * value_size(self.meta[key][".type"])

    def _array(self, name: str) -> Any:
        """Return a whole column."""
        if name in self._held:
            return self._held[name]
        size = 0
        keys: list[str] = []
        for key in self._names[self._names.index(name) :]:
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
        self._held = {}
        self._body = None
