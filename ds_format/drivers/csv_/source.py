"""Reading: a CSV file as a Source."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...base.names import escape, unescape
from ...body import open_file
from ...body.stamp import watched, watched_blocks
from ...errors import DsError, FormatError, MissingError
from ...model.index import take
from ..base import BLOCK_SIZE, Metadata, block_slices
from ..handle import Reopened
from .cells import DTYPES, Column, values_of
from .rows import delimiter_of, read_rows

DIMENSION = "i"
"""The dimension of all variables."""
HELD_SIZE = 64 * 1024 * 1024
"""Bytes of columns that are kept for the next call, which is likely to ask for one of them."""
STRING_SIZE = 100
"""Bytes that a string is reckoned to take in memory."""


class CsvSource(Reopened):
    """An open CSV file; see `ds_format.drivers.base.Source`.

    Only all cells of a column tell its type: to open a file is to read it once. To read a column reads it once more,
    and keeps those behind it, up to `HELD_SIZE` bytes; a column that is larger than that is not kept.

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
        self.path = os.fsdecode(path)
        self.faults: dict[str, DsError] = {}
        self._n = 0
        self._names: list[str] = []
        self._held: dict[str, Any] = {}
        self._fd, _ = open_file(path)
        self.delimiter = delimiter_of(self.path, self._fd)
        try:
            self.meta = self._scan()
        except DsError as error:
            self.close()
            raise error.at(path=self.path)

    def _scan(self) -> Metadata:
        rows = read_rows(self._fd, self.delimiter)
        names = next(rows, [[]])[0]
        columns = [Column() for _ in names]
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
        rows = read_rows(self._fd, self.delimiter)
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
        return self._n * (STRING_SIZE if self.meta[key][".type"] == "unicode" else 8)

    def _column(self, name: str) -> Any:
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

    def _known(self, name: str) -> None:
        if name not in self.meta or name == ".":
            raise MissingError("variable not found", path=self.path, variable=unescape(name))

    @watched
    def read(self, name: str, index: tuple[Any, ...] | None = None) -> Any:
        """Return one variable, or a part of it; see `Source.read`."""
        self._known(name)
        try:
            array = self._column(name)
        except DsError as error:
            raise error.at(path=self.path)
        part = array if index is None else take(array, index)
        masked = isinstance(part, np.ma.MaskedArray)
        if masked and not np.ma.getmaskarray(part).any():
            part, masked = np.ma.getdata(part), False
        return part.copy() if part.ndim or masked else part[()]

    @watched_blocks
    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Yield one variable in blocks; see `Source.blocks`."""
        self._known(name)
        item_size = STRING_SIZE if self.meta[name][".type"] == "unicode" else 8
        try:
            if self._column_size(name) <= HELD_SIZE:
                parts: Any = [self._column(name)]
            else:
                parts = (part[name] for _, part in self._parts([name]))
            for part in parts:
                for slices in block_slices(part.shape, item_size, budget):
                    yield part[slices].copy()
        except DsError as error:
            raise error.at(path=self.path)

    def close(self) -> None:
        """Release the file."""
        self._held = {}
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            self.close()
