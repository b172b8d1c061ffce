"""Reading: the columns of a file as a Source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pyarrow as arrow

from ...base.text import escape, unescape
from ...body import path_text
from ...body.body import FIRST_SIZE, open_body
from ...datasets import META
from ...errors import DsError, UnsupportedError
from ...tables.fields import described, entry_of, numbers_of, values_of
from ..base import Metadata, block_slices, value_size
from ..source import ReopenedSource, finished
from .containers import Container, IpcFile, ParquetFile, cut, guarded


class ArrowSource(ReopenedSource):
    """An open file; see `ds_format.drivers.base.Source`. Only the requested columns are read.

    Parameters
    ----------
    path : str, bytes, PathLike or Address
    skip_unsupported : bool
        Leave out columns of types that ds does not have, with a warning.

    Raises
    ------
    OSError
        As `open` would.
    FormatError
        If it is not such a file, is damaged or encrypted.
    UnsupportedError
        If two columns have the same name.
    """

    container: ClassVar[type[Container]]
    """The kind of the file."""

    def __init__(self, path: Any, *, skip_unsupported: bool = False):
        self.path = path_text(path)
        self.faults: dict[str, DsError] = {}
        try:
            self._file: Container | None = self.container(open_body(path, last=FIRST_SIZE))
            self._ends = np.cumsum([0, *self._file.sizes])
            self.meta = self._described(self._file)
        except DsError as error:
            raise error.at(path=self.path)
        if skip_unsupported:
            self._leave_out_faults()

    def _described(self, file: Container) -> Metadata:
        about, dim = described(file.schema)
        meta: Metadata = {}
        for i, field in enumerate(file.schema):
            key, properties = escape(field.name), {".dims": [dim], ".size": [int(self._ends[-1])]}
            try:
                entry = entry_of(field)
                meta[key] = {**properties, ".missing": file.may_be_missing(i), **entry}
            except UnsupportedError as error:
                self.faults[key] = error.at(path=self.path, variable=field.name)
                meta[key] = properties
        meta[META] = about
        return meta

    def _read(self, name: str, index: tuple[Any, ...] | None) -> Any:
        n = int(self._ends[-1])
        rows = range(n) if index is None else index[0]
        places = np.arange(rows.start, rows.stop, rows.step) if isinstance(rows, range) else np.atleast_1d(rows)
        of_place = np.searchsorted(self._ends[1:], places, side="right")
        groups = np.unique(of_place)
        sizes = self._ends[groups + 1] - self._ends[groups]
        with guarded():
            (column,) = cut(self._pieces(name, groups), self._kind(name), [int(sizes.sum())])
            if not np.array_equal(places, np.arange(len(column))):
                # groups that are not read leave gaps
                shifts = self._ends[groups] - (np.cumsum(sizes) - sizes)
                column = column.take(arrow.array(places - shifts[np.searchsorted(groups, of_place)]))
            values = self._values(name, column)
        return finished(values[0, ...] if isinstance(rows, int) else values)

    def _blocks(self, name: str, budget: int) -> Iterator[Any]:
        slices = block_slices(self.meta[name][".size"], value_size(self.meta[name][".type"]), budget)
        lengths = (part.stop - part.start for (part,) in slices)
        with guarded():
            for column in cut(self._pieces(name, range(len(self._ends) - 1)), self._kind(name), lengths):
                yield self._values(name, column)

    def _opened(self) -> Container:
        if self._file is None:
            raise ValueError(f"{self.path}: the file is closed")
        return self._file

    def _kind(self, name: str) -> Any:
        return self._opened().schema.field(unescape(name)).type

    def _pieces(self, name: str, groups: Any) -> Iterator[Any]:
        return self._opened().pieces(unescape(name), [int(i) for i in groups])

    def _values(self, name: str, column: Any) -> Any:
        """Return the values of a column, writable."""
        entry = self.meta[name]
        values = values_of(column, entry[".type"])
        if values.dtype.kind in "mM":
            return numbers_of(values, entry)
        data = np.require(np.ma.getdata(values), requirements=["W"])
        return np.ma.MaskedArray(data, np.ma.getmask(values)) if np.ma.is_masked(values) else data

    def close(self) -> None:
        """Release the file."""
        self._file = None


class ParquetSource(ArrowSource):
    """An open Parquet file."""

    container = ParquetFile


class IpcSource(ArrowSource):
    """An open Arrow file."""

    container = IpcFile
