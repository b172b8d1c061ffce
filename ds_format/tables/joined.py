"""Many files as one dataset of pyarrow, which DuckDB, polars and pyarrow query.

Only the columns that a query names are read. If its filter names columns that are the same in all rows of a file, or
the coordinate along the rows, these are read first, and files without a row for the filter are not read any more.
pyarrow decides which they are: it simplifies the filter with what is known of each file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from pyarrow import ArrowInvalid, RecordBatch, RecordBatchReader, Schema, Table, compute, dataset, fs, schema

ROWS = 1 << 20
"""Rows that are read at a time, unless a file has more."""
FILES = 1024
"""Maximum number of files that are read at a time."""


class Part(NamedTuple):
    """Columns of some files."""

    table: Table
    sizes: Sequence[int]
    """Rows of each file."""


class QueryResult:
    """The result of a query, with the methods of `pyarrow.dataset.Scanner`. It can be read once.

    A Scanner would read ahead in threads of pyarrow, which hang if the program ends before the query.
    """

    def __init__(
        self, whole: Schema, part: Schema, parts: Iterator[Table], of_query: Callable[[Table], dataset.Scanner]
    ):
        self.dataset_schema = whole
        self.projected_schema = of_query(part.empty_table()).projected_schema.with_metadata(whole.metadata)
        self._batches = (batch for rows in parts for batch in of_query(rows).to_table().to_batches())

    def to_batches(self) -> Iterator[RecordBatch]:
        """Iterate over batches, which are read when they are asked for."""
        return self._batches

    def to_reader(self) -> RecordBatchReader:
        """Return the batches as a reader, which is a stream."""
        return RecordBatchReader.from_batches(self.projected_schema, self._batches)

    def to_table(self) -> Table:
        """Return all rows."""
        return self.to_reader().read_all()

    def count_rows(self) -> int:
        """Return the number of rows."""
        return sum(batch.num_rows for batch in self._batches)

    def head(self, num_rows: int) -> Table:
        """Return the first rows."""
        found, left = [], num_rows
        while left > 0 and (batch := next(self._batches, None)) is not None:
            found.append(batch.slice(0, left))
            left -= len(batch)
        return Table.from_batches(found, self.projected_schema)

    def take(self, indices: Any) -> Table:
        """Return the rows at some positions."""
        return self.to_table().take(indices)


class JoinedFiles(dataset.InMemoryDataset):  # type: ignore[misc]  # pyarrow has no types
    """Rows of many files, one after another. Files are read again for each query.

    Parameters
    ----------
    columns : pyarrow.Schema
    number : int
        Number of files.
    rows : int
        Rows of one of them, to estimate how many files are read at a time.
    read : callable
        Called with positions of files and names of columns; returns a Part of that schema.
    constant : collection of str
        Columns that have one value in each file.
    coordinate : str
        The column along the rows.
    """

    def __init__(
        self,
        columns: Schema,
        number: int,
        rows: int,
        read: Callable[[Sequence[int], Sequence[str]], Part],
        constant: Sequence[str],
        coordinate: str,
    ):
        super().__init__(columns.empty_table())
        self._number = number
        self._step = min(max(ROWS // max(rows, 1), 1), FILES)
        self._read = read
        self._constant = constant
        self._coordinate = coordinate
        self.error: Exception | None = None
        """The error of reading that ended the last query. Libraries cite it in errors of their own."""

    def scanner(self, columns: Any = None, filter: Any = None, **options: Any) -> QueryResult:  # noqa: A002
        """Return a scan of some columns, and of the rows for which a filter is true; see pyarrow."""
        named = self._named(filter)
        wanted = self.schema.names if columns is None else columns
        if isinstance(columns, dict):
            wanted = {name for expression in columns.values() for name in self._named(expression)}
        names = [name for name in self.schema.names if name in wanted or name in named] or self.schema.names[:1]
        part = schema([self.schema.field(name) for name in names])

        def of_query(rows: Table) -> dataset.Scanner:
            of_part = {**options, "use_threads": False}  # threads would hold the values for longer than the result
            return dataset.InMemoryDataset(rows).scanner(columns=columns, filter=filter, **of_part)

        return QueryResult(self.schema, part, self._parts(names, named, filter), of_query)

    def count_rows(self, filter: Any = None, **options: Any) -> int:  # noqa: A002
        """Return the number of rows for which a filter is true."""
        return self.scanner([], filter, **options).count_rows()

    def _named(self, expression: Any) -> set[str]:
        """Return the columns that an expression names: it cannot be bound to a schema without them."""
        if expression is None:
            return set()
        return {name for i, name in enumerate(self.schema.names) if not _binds(expression, self.schema.remove(i))}

    def _parts(self, names: Sequence[str], named: set[str], rows: Any) -> Iterator[Table]:
        self.error = None
        try:
            files = range(self._number) if rows is None else self._remaining(named, rows)
            for start in range(0, len(files), self._step):
                yield self._read(files[start : start + self._step], names).table
        except Exception as error:
            self.error = error
            raise

    def _remaining(self, named: set[str], rows: Any) -> Sequence[int]:
        """Return the files that can have rows for which a filter is true."""
        constant = [name for name in self._constant if name in named]
        asked = [*constant, *({self._coordinate} & named)]
        if not asked:
            return range(self._number)
        format, place = dataset.IpcFileFormat(), fs.LocalFileSystem()
        facts = [fact for start in range(0, self._number, self._step) for fact in self._facts(start, asked, constant)]
        fragments = [format.make_fragment(str(i), place, partition_expression=fact) for i, fact in enumerate(facts)]
        known = dataset.FileSystemDataset(fragments, self.schema, format, place)
        return [int(fragment.path) for fragment in known.get_fragments(rows)]

    def _facts(self, start: int, asked: Sequence[str], constant: Sequence[str]) -> Iterator[Any]:
        """Yield an expression for each of some files that is true for all of its rows."""
        table, sizes = self._read(range(start, min(start + self._step, self._number)), asked)
        ends = np.cumsum(sizes)
        firsts = ends - sizes
        values = {name: table[name].take(np.minimum(firsts, max(len(table) - 1, 0))) for name in constant if len(table)}
        for i, (first, size) in enumerate(zip(firsts.tolist(), sizes, strict=True)):
            fact = compute.scalar(size > 0)
            for name in asked if size else ():
                column = compute.field(name)
                if name in values:
                    value = values[name][i]
                    fact &= column == value if value.is_valid else column.is_null()
                elif not (rows := table[name].slice(first, size)).null_count:
                    ends_of = compute.min_max(rows)
                    fact &= (column >= ends_of["min"]) & (column <= ends_of["max"])
            yield fact


def _binds(expression: Any, columns: Schema) -> bool:
    """Return whether a schema has all columns of an expression."""
    try:
        dataset.InMemoryDataset(columns.empty_table()).scanner(columns={"": expression})
    except ArrowInvalid:
        return False
    return True


def _on_all_rows(method: str) -> Callable[..., Any]:
    def on_all_rows(self: JoinedFiles, *arguments: Any, **options: Any) -> Any:
        return getattr(dataset.InMemoryDataset(self.to_table()), method)(*arguments, **options)

    return on_all_rows


for _method in ("filter", "get_fragments", "join", "join_asof", "replace_schema", "sort_by"):
    setattr(JoinedFiles, _method, _on_all_rows(_method))  # pyarrow does these without `scanner`
