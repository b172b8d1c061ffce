"""The two kinds of files with columns of Arrow: rows are in groups, and a column of a group is read alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import pyarrow as arrow
from pyarrow import ipc, parquet

from ...base import signatures
from ...body.body import Body, Stream
from ...errors import DsError, FormatError

PIECE_ROWS = 1 << 16
"""Rows of a Parquet file that are decoded at a time."""


@contextmanager
def guarded() -> Iterator[None]:
    """Turn errors of the library about a file, which have many types, into one of this package."""
    try:
        yield
    except (DsError, MemoryError):
        raise
    except OSError as error:
        if error.errno is not None:
            raise
        raise FormatError(f"the pyarrow library: {_shown(error)}") from error
    except (arrow.ArrowException, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise FormatError(f"the pyarrow library: {_shown(error)}") from error


def _shown(error: Exception) -> str:
    return " ".join(str(error).split())


class Container(ABC):
    """An open file.

    Attributes
    ----------
    schema : pyarrow.Schema
    sizes : sequence of int
        Rows of each group.
    """

    title: ClassVar[str]
    mark: ClassVar[bytes]
    """Its first bytes."""
    schema: Any
    sizes: Sequence[int]

    def __init__(self, body: Body):
        first = body.head(signatures.N)
        if not first:
            raise FormatError("the file is empty")
        if not bytes(first).startswith(self.mark):
            raise FormatError(f"not {self.title}, but {signatures.describe(first)}")
        self._body = body
        with guarded():
            self._open()

    def _stream(self) -> Any:
        return arrow.PythonFile(Stream(self._body), mode="r")

    @abstractmethod
    def _open(self) -> None:
        """Read the metadata."""

    @abstractmethod
    def may_be_missing(self, i: int) -> bool:
        """Return whether the column `i` may have a null, without reading values."""

    @abstractmethod
    def pieces(self, name: str, groups: Sequence[int]) -> Iterator[Any]:
        """Yield arrays of a column of some groups of rows, one after another. Nothing else is read."""


class ParquetFile(Container):
    """A Parquet file: https://parquet.apache.org/docs/file-format/."""

    title = "Parquet"
    mark = signatures.PARQUET

    def _open(self) -> None:
        self._file = parquet.ParquetFile(self._stream())
        metadata = self._file.metadata
        self.schema = self._file.schema_arrow
        self.sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]

    def may_be_missing(self, i: int) -> bool:
        """See `Container`."""
        field = self.schema.field(i)
        if not field.nullable:
            return False
        metadata = self._file.metadata
        paths = [self._file.schema.column(k).path for k in range(metadata.num_columns)]
        if paths.count(field.name) != 1:
            return True
        k = paths.index(field.name)
        found = [metadata.row_group(g).column(k).statistics for g in range(metadata.num_row_groups)]
        return any(one is None or not one.has_null_count or one.null_count for one in found)

    def pieces(self, name: str, groups: Sequence[int]) -> Iterator[Any]:
        """See `Container`."""
        batches = self._file.iter_batches(PIECE_ROWS, row_groups=groups, columns=[name], use_threads=False)
        for batch in batches if groups else ():
            yield batch.column(batch.schema.get_field_index(name))


class IpcFile(Container):
    """A file of record batches: https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format."""

    title = "an Arrow file"
    mark = signatures.ARROW

    def _open(self) -> None:
        self.schema = ipc.open_file(self._stream()).schema
        self.sizes = []
        if self.schema:
            # a batch has its number of rows next to its values, so the smallest column is read
            file = self._only(min(range(len(self.schema)), key=lambda i: _width(self.schema.field(i).type)))
            self.sizes = [file.get_batch(i).num_rows for i in range(file.num_record_batches)]

    def _only(self, i: int) -> Any:
        """Return the file with one of its columns."""
        return ipc.open_file(self._stream(), options=ipc.IpcReadOptions(included_fields=[i], use_threads=False))

    def may_be_missing(self, i: int) -> bool:
        """See `Container`."""
        return bool(self.schema.field(i).nullable)

    def pieces(self, name: str, groups: Sequence[int]) -> Iterator[Any]:
        """See `Container`."""
        file = self._only(self.schema.get_field_index(name))
        for i in groups:
            column = file.get_batch(i).column(0)
            column.validate(full=True)  # the library trusts positions of text
            yield column


def _width(kind: Any) -> int:
    try:
        return int(kind.bit_width)
    except ValueError:  # text and lists
        return 1 << 16


def cut(pieces: Iterable[Any], kind: Any, lengths: Iterable[int]) -> Iterator[Any]:
    """Yield the values of arrays in columns of other lengths, one after another, without copying them.

    Parameters
    ----------
    pieces : iterable of pyarrow.Array
    kind : pyarrow.DataType
    lengths : iterable of int

    Yields
    ------
    pyarrow.ChunkedArray

    Raises
    ------
    FormatError
        If there are fewer values.
    """
    rest = iter(pieces)
    held = arrow.chunked_array([], kind)
    for n in lengths:
        while len(held) < n:
            piece = next(rest, None)
            if piece is None:
                raise FormatError(f"found {len(held)} values, expected {n} or more")
            held = arrow.chunked_array([*held.chunks, piece], kind)
        yield held.slice(0, n)
        held = held.slice(n)
