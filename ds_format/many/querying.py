"""Many files as rows of one table, for queries; see `tables.joined`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..base.text import escape, hint, keys_of, unescape
from ..body import Location, path_text
from ..datasets import META, attrs
from ..errors import DsError, MissingError, UnsupportedError
from ..model.selection import ALL, Selection
from ..tables.arrow import table
from ..tables.columns import Table
from ..tables.libraries import pyarrow
from ..tables.rows import TableRows, rows_of, shapes_in
from ..tables.sql import Parameters, run
from ..views.lazy import read_table
from ..views.subset import Input, open_subset
from .patterns import found_files
from .pieces import OpenFiles, fail, merge_pieces, name_of, no_collection, read_pieces, sizes_along
from .reading import contents

FILENAME = "filename"
"""The column with the path of each file."""
FIRST_ROWS = 1000
"""Rows of the first file that are read for the types of the columns."""


def dataset(
    paths: Input | Iterable[Input],
    dim: str | None = None,
    columns: str | Iterable[str] | None = None,
    *,
    threads: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
) -> Any:
    """Return many files as one dataset of pyarrow, which DuckDB, polars and pyarrow query.

    Rows of the files follow each other. A query reads only the columns that it names. If it has a filter on columns
    that are the same in all rows of a file, or on the coordinate, files without such rows are not read any more. Files
    are read again for each query, a thousand at a time.

    Parameters
    ----------
    paths : str, PathLike, file object, or iterable of these
        Files of any supported formats, or a pattern; as for `ds_format.open_many`.
    dim : str, optional
        The dimension of the rows. By default it is that of all variables of the first file with dimensions. Variables
        with other dimensions are left out.
    columns : str or iterable of str, optional
        Names of scalars and of attributes that become columns, too. `filename` is the path of each file. By default all
        scalars of the first file.
    threads, storage_options, store
        As for `ds_format.read_many`.

    Returns
    -------
    pyarrow.dataset.Dataset
        Its columns are those of the first file; see `ds_format.to_arrow` for their types.

    Raises
    ------
    DriverError
        If pyarrow is not installed.
    OSError, FormatError
        As for `ds_format.read`; of other files than the first one when they are queried.
    MissingError
        If the first file does not have the dimension, or a column.
    UnsupportedError
        In a query, if files cannot be merged, or a column has another type than in the first file.

    Examples
    --------
    >>> import ds_format as ds
    >>> for name in "ab":
    ...     ds.write(f"{name}.ds", {"x": [1, 2], "name": name, ".": {"x": {".dims": ["i"]}}})
    >>> reports = ds.dataset(["a.ds", "b.ds"])
    >>> reports.to_table(columns=["name", "x"]).to_pydict()
    {'name': ['a', 'a', 'b', 'b'], 'x': [1, 2, 1, 2]}
    """
    pyarrow("dataset", "pyarrow.dataset")
    from ..tables.joined import JoinedFiles

    files = found_files(paths, storage_options, store)
    reader = _Reader(files, dim, columns, threads)
    return JoinedFiles(reader.schema, len(files), reader.rows, reader.read, reader.constant, reader.dim)


class _Reader:
    """Reads columns of some of the files."""

    def __init__(self, files: Sequence[Location], dim: str | None, columns: Any, threads: int | None):
        self._files = files
        self._threads = threads
        with open_subset(files[0]) as first:
            meta, path = first.meta, first.path
        shapes = shapes_in(meta)
        scalars = [key for key, (names, _) in shapes.items() if not names]
        try:
            self.dim = next(iter(rows_of({k: row for k, row in shapes.items() if len(row[0]) == 1}, dim, False).sizes))
        except DsError as error:
            raise error.at(path=path)
        self._along = [key for key, (names, _) in shapes.items() if names == [self.dim]]
        self._counted = escape(self.dim) if escape(self.dim) in self._along else self._along[0]
        asked = scalars if columns is None else [*keys_of(columns)]
        known = {*scalars, *map(escape, attrs(meta[META])), FILENAME}
        for key in asked:
            if key not in known:
                wanted = [unescape(other) for other in known]
                raise MissingError(
                    f"found no scalar and no attribute of the dataset{hint(unescape(key), wanted)}",
                    path=path,
                    variable=unescape(key),
                )
        self._scalars = [key for key in asked if key in scalars]
        self._attributes = [key for key in asked if key not in scalars and key != FILENAME]
        self.constant = [unescape(key) for key in asked]
        self.names = [*map(unescape, self._along), *self.constant]
        self.rows: int = shapes[self._counted][1][0]
        first_rows = Selection(range_={self.dim: (0, FIRST_ROWS)}) if self.rows > FIRST_ROWS else ALL
        self.schema = self._table([0], self.names, first_rows)[0].schema

    def read(self, positions: Sequence[int], names: Sequence[str]) -> Any:
        """Return columns of some files, and the number of rows of each; see `tables.joined.Part`."""
        from ..tables.joined import Part

        table, sizes = self._table(positions, names)
        arrow, parts = pyarrow("dataset"), {}
        for name in names:
            expected = self.schema.field(name).type
            if name not in table.schema.names:  # an attribute of none of these files
                parts[name] = arrow.nulls(len(table), expected)
                continue
            column = table[name]
            try:
                if arrow.types.is_timestamp(expected) is not arrow.types.is_timestamp(column.type):
                    raise arrow.ArrowInvalid("there are times of another calendar")
                if column.type == arrow.float64() and expected != column.type:
                    raise arrow.ArrowInvalid("digits would be lost")
                parts[name] = column.cast(expected)
            except arrow.ArrowInvalid as error:
                message = f"found {column.type}, expected {expected} as in the first file: {error}"
                among = name_of([self._files[i] for i in positions])
                raise UnsupportedError(message, path=among, variable=name) from None
        fields = [self.schema.field(name) for name in names]
        return Part(arrow.table(parts, arrow.schema(fields, self.schema.metadata)), sizes)

    def _table(self, positions: Sequence[int], names: Sequence[str], rows: Selection = ALL) -> tuple[Any, list[int]]:
        """Return columns of some files as they are, and the number of rows of each."""
        paths = [self._files[i] for i in positions]
        wanted = [escape(name) for name in names]
        scalars = [key for key in self._scalars if key in wanted]
        attributes = [key for key in self._attributes if key in wanted]
        along = [key for key in self._along if key in wanted or key == self._counted]
        keys = [*along, *scalars]
        if len(paths) == 1 and not attributes and FILENAME not in wanted:
            alone = self._alone(paths[0], [key for key in keys if key in wanted], rows)
            if alone is not None:
                return pyarrow("dataset").table(alone), [len(alone)]
        with no_collection(), OpenFiles(partial(open_subset, selection=rows)) as files:
            found = contents(paths, self._threads)
            pieces = list(read_pieces(found, fail, files, keys, self.dim, attributes, stack=scalars))
            for piece in pieces:
                if self._counted not in piece.meta:
                    raise MissingError(
                        "variable not found, expected it in each file to count the rows",
                        path=path_text(piece.paths[0]),
                        variable=unescape(self._counted),
                    )
            sizes = sizes_along(pieces, self.dim)
            attributes = [key for key in attributes if any(key in one for p in pieces for one in p.dataset_attributes)]
            joined = merge_pieces(
                pieces,
                self.dim,
                jd=None,
                keys=keys,
                unpack=None,
                stack=[*map(unescape, scalars)],
                attributes=attributes,
            )
        if FILENAME in wanted and FILENAME not in joined:
            joined[FILENAME] = np.repeat(np.array([path_text(path) for path in paths], object), sizes)
            joined[META][FILENAME] = {".dims": [self.dim]}
        if self._counted not in wanted and len(joined) > 2:
            del joined[self._counted]
        return pyarrow("dataset").table(table(joined, self.dim)), sizes

    def _alone(self, path: Location, keys: list[str], selection: Selection) -> Table | None:
        """Return columns of one file, text without objects; or None if the shape of one is unusual."""
        with open_subset(path, selection, unpack=None) as file:
            shapes = shapes_in(file.meta)
            if any(shapes.get(key, ([""],))[0] not in ([self.dim], []) for key in (*keys, self._counted)):
                return None
            try:
                return read_table(file, TableRows({self.dim: shapes[self._counted][1][0]}, keys))
            except DsError as error:
                raise error.at(path=file.path)


def sql(query: str, parameters: Parameters = None, /, **tables: Any) -> Any:
    """Return the result of a query of SQL on datasets, files and tables.

    DuckDB runs the query. It can reach these tables only: no file, no network, no extension and no variable of the
    program.

    Parameters
    ----------
    query : str
    parameters : sequence or mapping, optional
        For `?` or `$1`, or `$name`, in the query.
    **tables
        Name in the query → dataset, or file or files as of `ds_format.dataset`, or what that returns, or a table of
        pandas, polars, pyarrow, DuckDB or another library with Arrow streams.

    Returns
    -------
    duckdb.DuckDBPyRelation
        Its methods `fetchall()`, `df()`, `pl()`, `to_arrow_table()` and others run the query. None for statements
        without a result.

    Raises
    ------
    DriverError
        If pyarrow or DuckDB are not installed.
    OSError, FormatError, MissingError, UnsupportedError
        As for `ds_format.dataset` and `ds_format.to_arrow`.
    duckdb.Error
        Errors of DuckDB about the query.

    Examples
    --------
    >>> import ds_format as ds
    >>> rain = {"rain": [0.0, 1.5, 4.5], ".": {"rain": {".dims": ["day"]}}}
    >>> ds.sql("select avg(rain) from t where rain > ?", [1], t=rain).fetchall()
    [(3.0,)]
    """
    found = {}
    for name, given in tables.items():
        if isinstance(given, Mapping):
            found[name] = table(given)
        elif isinstance(given, str | bytes | os.PathLike | list | tuple):
            found[name] = dataset(given)
        else:
            found[name] = given
    return run(query, found, parameters)
