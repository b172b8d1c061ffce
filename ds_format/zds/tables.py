"""Collections as tables of pandas and Arrow, tables as collections, and SQL over all collections by DuckDB.

DuckDB can read `data.jsonl` itself, two to three times as fast. Here it reads Arrow streams instead, for four reasons.
It would convert integers beyond 64 bits to floats, and texts that look like dates to dates. A folder and the archive
made of it must give the same results. The file also contains superseded and deleted lines. And a query without any
access to files cannot change one.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from ..base.optional import library
from ..errors import MissingError, UnsupportedError
from .arrow_columns import EXACT, ROWS, Columns
from .documents import Document, leaves_of
from .format import DEFAULT_COLLECTION, ID, is_name
from .query import Where, paths_of
from .store import ZDSStore
from .store_access import open_root, root_of

Mode: TypeAlias = Literal["w", "a"]
SETTINGS = {"enable_external_access": "false", "python_enable_replacements": "false"}
"""No files, no network, no extensions, and no tables from variables of the program."""


def read_zds(
    path: Any,
    collection: str = DEFAULT_COLLECTION,
    fields: Iterable[str] | str | None = None,
    where: Where | None = None,
    *,
    flatten: bool = False,
    **options: Any,
) -> Any:
    """Return documents as a DataFrame of pandas.

    Row i is document i, in the order of the file. `_id` is the first column; `.set_index("_id")` makes it the index.
    Missing fields are NaN or None, as usual in pandas. Columns have the types that pandas chooses, with one exception:
    integers that float64 cannot represent exactly stay integers, in a column of objects.

    Parameters
    ----------
    path : str or PathLike
        A folder or an archive.
    collection : str
    fields : iterable of str or str, optional
        The columns, by dotted paths; see `query.projection`. By default all fields that occur.
    where : optional
        Condition for the documents; see `query.predicate`.
    flatten : bool
        Convert the members of objects to columns with dotted names. Otherwise objects stay objects.
    **options
        As for `ZDSStore.open`.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    DriverError
        If pandas is not installed.
    UnsupportedError
        If `flatten` gives two fields the same name.

    Examples
    --------
    >>> from ds_format.zds.tables import read_zds
    >>> from ds_format.zds.store import ZDSStore
    >>> with ZDSStore.open("people.zds", mode="w") as store:
    ...     store.put("ann", {"age": 30, "home": {"city": "Oslo"}})
    ...     store.put("bob", {"age": 8})
    >>> print(read_zds("people.zds", flatten=True))
       _id  age home.city
    0  ann   30      Oslo
    1  bob    8       NaN
    """
    pandas = library("pandas", "ds-format-cython[pandas]")
    names = None if fields is None else paths_of(fields)
    with ZDSStore.open(path, collection, **options) as store:
        documents = list(store.scan(fields=fields, where=where))
    if flatten:
        documents = [flat(document) for document in documents]
    if names is None or flatten:
        first = [ID] if names is None or ID in names else []
        names = list(dict.fromkeys([*first, *(name for document in documents for name in document)]))
    frame = pandas.DataFrame(documents, columns=names)
    for name in names:
        column = frame[name]
        if column.dtype == "float64" and (column.abs() >= EXACT).any():
            values = [document.get(name, float("nan")) for document in documents]
            if any(type(value) is int and abs(value) > EXACT for value in values):
                frame[name] = pandas.Series(values, dtype=object)
    return frame


def flat(document: Document) -> Document:
    """Return a document whose fields are the members of objects, with dotted names. Lists and empty objects stay.

    Raises
    ------
    UnsupportedError
        If two fields would have the same name.

    Examples
    --------
    >>> from ds_format.zds.tables import flat
    >>> flat({"_id": "a", "b": {"c": 1, "d": {"e": [2]}}})
    {'_id': 'a', 'b.c': 1, 'b.d.e': [2]}
    """
    found: Document = {}
    for path, value in leaves_of(document):
        name = ".".join(path)
        if name in found:
            raise UnsupportedError(f"document {document.get(ID)!r} has two fields {name!r} when flattened")
        found[name] = value
    return found


def to_zds(
    frame: Any, path: Any, collection: str = DEFAULT_COLLECTION, id_column: str | None = None, mode: Mode = "w"
) -> None:
    """Write a DataFrame of pandas as a collection, one document for each row.

    NaN, NaT, NA and None become missing fields. Times, dates and durations become ISO 8601 texts. Numbers of NumPy
    become those of Python. The index is only written if it is used for the ids.

    Parameters
    ----------
    frame : pandas.DataFrame
    path : str or PathLike
    collection : str
    id_column : str, optional
        Column whose values, as texts, become the ids. It is also written as a field. By default `_id`, or else the
        index.
    mode : {"w", "a"}
        Replace the collection, or add to it. A row whose id exists replaces the document.

    Raises
    ------
    DriverError
        If pandas is not installed.
    MissingError
        If the column does not exist.
    UnsupportedError
        If ids are missing, not allowed or occur twice, columns have the same name, or JSON cannot represent a value.
        With the mode "w", the old collection stays.

    Examples
    --------
    >>> from ds_format.base.optional import library
    >>> from ds_format.zds.tables import to_zds
    >>> from ds_format.zds.store import ZDSStore
    >>> pandas = library("pandas", "ds-format-cython[pandas]")
    >>> to_zds(
    ...     pandas.DataFrame({"t": [pandas.Timestamp("2026-01-02"), None]}, index=["a", "b"]),
    ...     "times.zds",
    ... )
    >>> with ZDSStore.open("times.zds") as store:
    ...     list(store.scan())
    [{'_id': 'a', 't': '2026-01-02T00:00:00'}, {'_id': 'b'}]
    """
    library("pandas", "ds-format-cython[pandas]")
    for axis, each in {"columns": frame.columns, "an index": frame.index}.items():
        if each.nlevels > 1:
            raise UnsupportedError(f"{axis} of several levels: reset_index or join their names first")
    names = list(map(str, frame.columns))
    if len(set(names)) < len(names):
        raise UnsupportedError(f"columns {', '.join(names)}: two have the same name")
    id_column = column_of_ids(names, id_column)
    ids = frame.index.to_series() if id_column is None else frame.iloc[:, names.index(id_column)]
    if ids.duplicated().any():
        raise UnsupportedError(f"id {ids[ids.duplicated()].iloc[0]!r} occurs twice")
    write(_documents_of_frame(frame, names, ids), path, collection, mode)


def _documents_of_frame(frame: Any, names: list[str], ids: Any) -> Iterator[Document]:
    for start in range(0, len(frame), ROWS):
        rows = frame.iloc[start : start + ROWS]
        columns = [_series_values(rows.iloc[:, i]) for i in range(len(names))]
        yield from documents_of(_series_values(ids.iloc[start : start + ROWS]), names, columns, start)


def _series_values(column: Any) -> list[Any]:
    """Return the values of a Series, with None for missing ones."""
    values: list[Any] = column.tolist()
    if column.dtype.kind not in "biuf":
        values = [iso(value) for value in values]
    gone = column.isna()
    if gone.any():
        values = [None if missing else value for value, missing in zip(values, gone.tolist(), strict=True)]
    return values


def to_arrow(
    source: Any,
    collection: str | None = None,
    fields: Iterable[str] | str | None = None,
    where: Where | None = None,
    schema: Any = None,
) -> Any:
    """Return documents as an Arrow table.

    Row i is document i, in the order of the file; a missing field is null. The collection is read twice, in batches:
    for the types, and for the values. With a schema it is read once.

    Parameters
    ----------
    source : ZDSStore, str or PathLike
        An open store, or the path of a folder or archive.
    collection : str, optional
        By default that of the store, or "default". Another one than that of the store is read from the disk.
    fields : iterable of str or str, optional
        The columns, by dotted paths; see `query.projection`. By default `_id` and all fields that occur.
    where : optional
        Condition for the documents; see `query.predicate`. Functions are called twice for each document.
    schema : pyarrow.Schema, optional
        The types of the columns. Their names are used as `fields` if these are not given. Values are cast if nothing is
        lost: texts to times, for example. By default the narrowest types that represent all values exactly: null,
        bool, int64, uint64, float64, string, lists and structs of these. Fields with several types become JSON texts.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    DriverError
        If pyarrow is not installed.
    UnsupportedError
        If a value does not have the type of its column in the schema.

    Warns
    -----
    ZdsWarning
        If fields become JSON texts.

    Examples
    --------
    >>> from ds_format.zds.tables import to_arrow
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

    Null becomes a missing field, also in structs. Times and dates become ISO 8601 texts. NaN is refused: it is not
    JSON, and not the same as null.

    Parameters
    ----------
    table : pyarrow.Table, or any object with `__arrow_c_stream__`
        Streams are read in batches.
    path : str or PathLike
    collection : str
    id_column : str, optional
        Column whose values, as texts, become the ids. It is also written as a field. By default `_id`, or else the
        numbers of the rows.
    mode : {"w", "a"}
        Replace the collection, or add to it.

    Raises
    ------
    DriverError
        If pyarrow is not installed.
    MissingError
        If the column does not exist.
    UnsupportedError
        If ids are missing, not allowed or occur twice, or JSON cannot represent a value. With the mode "w", the old
        collection stays.

    Examples
    --------
    >>> from ds_format.zds.tables import from_arrow
    >>> from ds_format.base.optional import library
    >>> from ds_format.zds.store import ZDSStore
    >>> table = library("pyarrow", "ds-format-cython[arrow]").table({
    ...     "sku": ["a1", "a2"],
    ...     "price": [1.5, None],
    ... })
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
    write(_documents_of_stream(arrow, reader, names, id_column), path, collection, mode)


def _documents_of_stream(arrow: Any, reader: Any, names: list[str], id_column: str | None) -> Iterator[Document]:
    """Iterate over the rows of a stream as documents."""
    done = 0
    for batch in reader:
        for start in range(0, batch.num_rows, ROWS):
            rows = batch.slice(start, ROWS)
            ids = range(done, done + len(rows)) if id_column is None else rows.column(id_column).to_pylist()
            columns = [_arrow_values(arrow.types, column) for column in rows.columns]
            yield from documents_of(ids, names, columns, done)
            done += len(rows)


def _arrow_values(types: Any, column: Any) -> list[Any]:
    values: list[Any] = column.to_pylist()
    kind = column.type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_string(kind):
        return values
    return [iso(value, nulls=False) for value in values]


def sql(path: Any, query: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None) -> Any:
    """Return the result of a query on a store.

    Each collection is a table of its name, with `_id` and all fields as columns. Objects are structs, and the types are
    those of `to_arrow`. Quote names that are not plain words or are keywords, such as `"my-data"` and `"default"`. Only
    the collections that the query names are read, in batches, in the state at the time of this call. The query cannot
    read other files, or write any.

    Parameters
    ----------
    path : str or PathLike
        A folder or an archive.
    query : str
    parameters : sequence or dict, optional
        For `?` or `$1`, or `$name`, in the query.

    Returns
    -------
    duckdb.DuckDBPyRelation
        Its methods `fetchall()`, `df()`, `arrow()` and others run the query. None for statements without a result.

    Raises
    ------
    DriverError
        If DuckDB or pyarrow are not installed.
    duckdb.Error
        Errors of DuckDB about the query.

    Examples
    --------
    >>> from ds_format.zds.tables import sql
    >>> from ds_format.zds.store import ZDSStore
    >>> with ZDSStore.open("people.zds", mode="w") as store:
    ...     store.put("ann", {"age": 30, "home": {"city": "Oslo"}})
    ...     store.put("bob", {"age": 8})
    >>> sql(
    ...     "people.zds", 'SELECT _id, home.city FROM "default" WHERE age > $age', {"age": 10}
    ... ).fetchall()
    [('ann', 'Oslo')]
    """
    duckdb = library("duckdb", "ds-format-cython[duckdb]")
    library("pyarrow", "ds-format-cython[duckdb]")
    connection = duckdb.connect(":memory:")
    for setting, value in SETTINGS.items():
        connection.execute(f"SET {setting} = {value}")
    for name, store in _stores(path, query):
        connection.register(name, Columns(store.scan))
    connection.execute("SET lock_configuration = true")
    found = connection.sql(query, params=parameters)
    if found is not None:
        weakref.finalize(found, connection.close)  # before DuckDB 2, relations do not keep their connection
    return found


def _named(names: Sequence[str], query: str) -> list[str]:
    """Return the names that occur in a query, or all names if none does, as in `SHOW TABLES`."""
    text = query.casefold()
    return [name for name in names if name.casefold().replace('"', '""') in text] or list(names)


def _stores(path: Any, query: str) -> Iterator[tuple[str, ZDSStore]]:
    """Open the collections that a query names. They stay open as long as the relation lives."""
    place = open_root(root_of(path), strict=None)
    with contextlib.closing(place):
        names = list(filter(is_name, place.collections()))
    for name in _named(names or [DEFAULT_COLLECTION], query):
        yield name, ZDSStore.open(path, name)


def column_of_ids(names: Sequence[str], id_column: str | None) -> str | None:
    """Return the column with the ids: the requested one, `_id`, or None.

    Raises
    ------
    MissingError
        If the column does not exist.
    UnsupportedError
        If another column is requested, and there is `_id`, too.

    Examples
    --------
    >>> from ds_format.zds.tables import column_of_ids
    >>> column_of_ids(["sku", "price"], "sku"), column_of_ids(["_id"], None), column_of_ids(["x"], None)
    ('sku', '_id', None)
    """
    if id_column is None:
        return ID if ID in names else None
    if id_column not in names:
        raise MissingError(f"no column {id_column!r}; columns are {', '.join(names)}")
    if id_column != ID and ID in names:
        raise UnsupportedError(f"ids from column {id_column!r}, but there is a column {ID!r}, too")
    return id_column


def documents_of(
    ids: Sequence[Any], names: Sequence[str], columns: Sequence[Sequence[Any]], first: int = 0
) -> Iterator[Document]:
    """Convert rows to documents.

    Parameters
    ----------
    ids : (N,) sequence
        Ids, which are converted to texts.
    names : (M,) sequence of str
        The columns. `_id` is ignored.
    columns : (M,) sequence of (N,) sequence
        Their values. None is a missing field.
    first : int
        Number of the first row, for messages.

    Raises
    ------
    UnsupportedError
        If a row has no id: None, NaN or an empty text.

    Examples
    --------
    >>> from ds_format.zds.tables import documents_of
    >>> list(documents_of([7, "b"], ["x", "y"], [[1, None], [None, "z"]]))
    [{'_id': '7', 'x': 1}, {'_id': 'b', 'y': 'z'}]
    """
    wanted = [(name, column) for name, column in zip(names, columns, strict=True) if name != ID]
    names = [name for name, _ in wanted]
    rows = zip(*(column for _, column in wanted), strict=True) if wanted else [()] * len(ids)
    for i, (given, row) in enumerate(zip(ids, rows, strict=True), first):
        if given is None or given == "" or given != given:
            raise UnsupportedError(f"row {i} has no id")
        document: Document = {ID: str(given)}
        for name, value in zip(names, row, strict=True):
            if value is not None:
                document[name] = value
        yield document


def iso(value: Any, nulls: bool = True) -> Any:
    """Return a value with dates, times and durations as ISO 8601 texts, in lists and objects, too.

    Other values that are not JSON are left to the writer, which converts those of NumPy and refuses others.

    Parameters
    ----------
    value : object
    nulls : bool
        Keep members of objects that are None.

    Examples
    --------
    >>> from datetime import date
    >>> from ds_format.zds.tables import iso
    >>> iso({"days": [date(2026, 1, 2)], "n": None})
    {'days': ['2026-01-02'], 'n': None}
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {key: iso(item, nulls) for key, item in value.items() if nulls or item is not None}
    if isinstance(value, list | tuple):
        return [iso(item, nulls) for item in value]
    if hasattr(value, "isoformat") and value == value:
        return value.isoformat()
    return value


def write(documents: Iterable[Document], path: Any, collection: str, mode: Mode) -> None:
    """Write the documents of a table.

    Parameters
    ----------
    documents : iterable of dict
    path : str or PathLike
    collection : str
    mode : {"w", "a"}
        Replace the collection, or add to it. A document whose id exists replaces the older one.

    Raises
    ------
    ValueError
        If the mode is another one.
    UnsupportedError
        If two documents have the same id, or JSON cannot represent a value.
    """
    if mode not in ("w", "a"):
        raise ValueError(f"mode {mode!r}: expected 'w' or 'a'")
    at = ""

    def followed() -> Iterator[Document]:
        nonlocal at
        seen = set()
        for i, document in enumerate(documents):
            if document[ID] in seen:
                raise UnsupportedError(f"row {i}: id {document[ID]!r} occurs twice")
            seen.add(document[ID])
            at = f"document {document[ID]!r}: "
            yield document
            at = ""

    with ZDSStore.open(path, collection, mode=mode) as store:
        try:
            store.put_many(followed())
        except UnsupportedError as error:
            raise UnsupportedError(at + error.message, path=error.path) from None
