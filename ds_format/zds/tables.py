"""Collections as tables of pandas and Arrow, tables as collections, and SQL over all collections by DuckDB.

DuckDB can read `data.jsonl` itself, two to three times as fast. Here it reads Arrow streams instead, for four reasons.
It would convert integers beyond 64 bits to floats, and texts that look like dates to dates. A folder and the archive
made of it must give the same results. The file also contains superseded and deleted lines. And a query without any
access to files cannot change one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias

from ..errors import MissingError, UnsupportedError
from ..tables.document_columns import Columns
from ..tables.document_rows import LabelledRows, frame_of, rows_of_frame, rows_of_stream
from ..tables.libraries import pyarrow
from ..tables.sql import Parameters, run
from .documents import Document, leaves_of
from .format import DEFAULT_COLLECTION, ID, is_name
from .query import Where, listed, paths_of
from .store import ZDSStore, columns_of
from .store_access import open_root, root_of

Mode: TypeAlias = Literal["w", "a"]


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
    fields = listed(fields)
    first = [ID] if fields is None else paths_of(fields)

    def documents() -> Iterator[Document]:
        with ZDSStore.open(path, collection, **options) as store:
            found = store.scan(fields=fields, where=where)
            yield from map(flat, found) if flatten else found

    return frame_of(documents(), [name for name in first if name == ID] if flatten else first)


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
    >>> import pandas
    >>> from ds_format.zds.tables import to_zds
    >>> from ds_format.zds.store import ZDSStore
    >>> to_zds(
    ...     pandas.DataFrame({"t": [pandas.Timestamp("2026-01-02"), None]}, index=["a", "b"]),
    ...     "times.zds",
    ... )
    >>> with ZDSStore.open("times.zds") as store:
    ...     list(store.scan())
    [{'_id': 'a', 't': '2026-01-02T00:00:00'}, {'_id': 'b'}]
    """
    _write(rows_of_frame(frame), path, collection, id_column, mode)


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
    pyarrow("to_arrow")
    if isinstance(source, ZDSStore) and collection in (None, source.name):
        return columns_of(source, fields, where, schema).table()
    path = source.path if isinstance(source, ZDSStore) else source
    with ZDSStore.open(path, DEFAULT_COLLECTION if collection is None else collection) as store:
        return columns_of(store, fields, where, schema).table()


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
    >>> import pyarrow
    >>> from ds_format.zds.tables import from_arrow
    >>> from ds_format.zds.store import ZDSStore
    >>> table = pyarrow.table({"sku": ["a1", "a2"], "price": [1.5, None]})
    >>> from_arrow(table, "stock.zds", id_column="sku")
    >>> with ZDSStore.open("stock.zds") as store:
    ...     list(store.scan())
    [{'_id': 'a1', 'sku': 'a1', 'price': 1.5}, {'_id': 'a2', 'sku': 'a2'}]
    """
    _write(rows_of_stream(table), path, collection, id_column, mode)


def sql(path: Any, query: str, parameters: Parameters = None) -> Any:
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
    return run(query, _tables(path, query), parameters)


def _tables(path: Any, query: str) -> Iterator[tuple[str, Columns]]:
    """Open the collections that a query names, or all if it names none, as in `SHOW TABLES`.

    They stay open as long as the relation lives.
    """
    with contextlib.closing(open_root(root_of(path), strict=None)) as place:
        names = list(filter(is_name, place.collections())) or [DEFAULT_COLLECTION]
    text = query.casefold()
    for name in [name for name in names if name.casefold().replace('"', '""') in text] or names:
        yield name, columns_of(ZDSStore.open(path, name))


def _place_of_ids(names: list[str], id_column: str | None) -> int:
    """Return the position in a row of the id: of the requested column, of `_id`, or of the label."""
    if id_column is None:
        id_column = ID
    elif id_column not in names:
        raise MissingError(f"no column {id_column!r}; columns are {', '.join(names)}")
    elif id_column != ID and ID in names:
        raise UnsupportedError(f"ids from column {id_column!r}, but there is a column {ID!r}, too")
    return names.index(id_column) + 1 if id_column in names else 0


def _write(table: LabelledRows, path: Any, collection: str, id_column: str | None, mode: Mode) -> None:
    """Write the rows of a table as documents. With the mode "a", they replace documents of the same ids."""
    if mode not in ("w", "a"):
        raise ValueError(f"mode {mode!r}: expected 'w' or 'a'")
    names, rows = table
    place = _place_of_ids(names, id_column)
    at = ""

    def documents() -> Iterator[Document]:
        nonlocal at
        seen = set()
        for i, row in enumerate(rows):
            given = row[place]
            if given is None or given == "" or given != given:
                raise UnsupportedError(f"row {i} has no id")
            id = str(given)
            if id in seen:
                raise UnsupportedError(f"row {i}: id {id!r} occurs twice")
            seen.add(id)
            at = f"document {id!r}: "
            document: Document = {ID: id}
            for name, value in zip(names, row[1:], strict=True):
                if value is not None and name != ID:
                    document[name] = value
            yield document
            at = ""

    with ZDSStore.open(path, collection, mode=mode) as store:
        try:
            store.put_many(documents())
        except UnsupportedError as error:
            raise UnsupportedError(at + error.message, path=error.path) from None
