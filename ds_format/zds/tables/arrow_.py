"""Collections as Arrow tables, and Arrow tables as collections."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from ...base.optional import library
from ...errors import UnsupportedError
from ..documents import Document
from ..format import DEFAULT_COLLECTION, ID
from ..query import Where, paths_of
from ..store import ZDSStore
from .columns import ROWS, Columns
from .rows import Mode, column_of_ids, documents_of, iso, write


def to_arrow(
    source: Any,
    collection: str | None = None,
    fields: Iterable[str] | str | None = None,
    where: Where | None = None,
    schema: Any = None,
) -> Any:
    """Return documents as an Arrow table.

    Row i is document i, in the order of the file; what it lacks is null. The collection is read twice, in batches: for
    the types, and for the values. With a schema once.

    Parameters
    ----------
    source : ZDSStore, str or PathLike
        An open store, or the path of a folder or archive.
    collection : str, optional
        By default that of the store, or "default". Another one than that of the store is read as it is on the disk.
    fields : iterable of str or str, optional
        The columns, by dotted paths; see `query.projection`. By default `_id` and all fields that occur.
    where : optional
        Which documents; see `query.predicate`. Functions are called twice for each document.
    schema : pyarrow.Schema, optional
        The types of the columns, whose names are taken as `fields` if these are not given. Values are cast, if nothing
        is lost thereby: texts to times, for example. By default the narrowest types that hold all values exactly: null,
        bool, int64, uint64, float64, string, lists and structs of these. Fields of several kinds become JSON texts.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    DriverError
        If pyarrow is not installed.
    UnsupportedError
        If a value is not of the type that the schema gives to its column.

    Warns
    -----
    ZdsWarning
        If fields become JSON texts.

    Examples
    --------
    >>> from ds_format.zds.tables.arrow_ import to_arrow
    >>> from ds_format.zds.store import ZDSStore
    >>> with ZDSStore.open("people.zds", mode="w") as store:
    ...     store.put("ann", {"age": 30})
    ...     store.put("bob", {"tags": ["x"]})
    >>> to_arrow("people.zds").to_pylist()
    [{'_id': 'ann', 'age': 30, 'tags': None}, {'_id': 'bob', 'age': None, 'tags': ['x']}]
    """
    library("pyarrow", "ds-format-cython[arrow]")
    if schema is not None and fields is None:
        fields = [*schema.names, *([] if ID in schema.names else ["-" + ID])]
    names = None if fields is None else paths_of(fields)
    if schema is not None and names != schema.names:
        raise ValueError(f"schema with the fields {schema.names}: expected {names}, as in fields")
    with _opened(source, collection) as store:
        columns = Columns(lambda: store.scan(fields=fields, where=where), names, schema)
        return library("pyarrow", "ds-format-cython[arrow]").Table.from_batches(columns.batches(), columns.schema)


@contextlib.contextmanager
def _opened(source: Any, collection: str | None) -> Iterator[Any]:
    if isinstance(source, ZDSStore):
        if collection in (None, source.name):
            yield source
            return
        source = source.path
    with ZDSStore.open(source, DEFAULT_COLLECTION if collection is None else collection) as store:
        yield store


def from_arrow(
    table: Any, path: Any, collection: str = DEFAULT_COLLECTION, id_column: str | None = None, mode: Mode = "w"
) -> None:
    """Write an Arrow table as a collection, one document for each row.

    Null becomes a missing field, in structs, too. Times and dates become ISO 8601 texts. NaN is no JSON and is refused:
    it is not the same as null.

    Parameters
    ----------
    table : pyarrow.Table, or any object with `__arrow_c_stream__`
        Streams are read in batches.
    path : str or PathLike
    collection : str
    id_column : str, optional
        Whose values, as texts, become the ids; it stays a field. By default `_id`, or else the numbers of the rows.
    mode : {"w", "a"}
        Replace the collection, or add to it.

    Raises
    ------
    DriverError
        If pyarrow is not installed.
    MissingError
        If there is no such column.
    UnsupportedError
        If ids are missing, not allowed or occur twice, or JSON cannot hold a value. With the mode "w", the collection
        that was there stays.

    Examples
    --------
    >>> from ds_format.zds.tables.arrow_ import from_arrow
    >>> from ds_format.base.optional import library
    >>> from ds_format.zds.store import ZDSStore
    >>> table = library("pyarrow", "ds-format-cython[arrow]").table({"sku": ["a1", "a2"], "price": [1.5, None]})
    >>> from_arrow(table, "stock.zds", id_column="sku")
    >>> with ZDSStore.open("stock.zds") as store:
    ...     list(store.scan())
    [{'_id': 'a1', 'sku': 'a1', 'price': 1.5}, {'_id': 'a2', 'sku': 'a2'}]
    """
    arrow = library("pyarrow", "ds-format-cython[arrow]")
    reader = table.to_reader() if isinstance(table, arrow.Table) else arrow.RecordBatchReader.from_stream(table)
    names = list(reader.schema.names)
    if len(set(names)) < len(names):
        raise UnsupportedError(f"columns {names}: two have the same name")
    id_column = column_of_ids(names, id_column)
    write(_documents(arrow, reader, names, id_column), path, collection, mode)


def _documents(arrow: Any, reader: Any, names: list[str], id_column: str | None) -> Iterator[Document]:
    """Iterate over the rows of a stream as documents."""
    done = 0
    for batch in reader:
        for start in range(0, batch.num_rows, ROWS):
            rows = batch.slice(start, ROWS)
            ids = range(done, done + len(rows)) if id_column is None else rows.column(id_column).to_pylist()
            columns = [_values(arrow.types, column) for column in rows.columns]
            yield from documents_of(ids, names, columns, done)
            done += len(rows)


def _values(types: Any, column: Any) -> list[Any]:
    values: list[Any] = column.to_pylist()
    kind = column.type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_string(kind):
        return values
    return [iso(value, nulls=False) for value in values]
