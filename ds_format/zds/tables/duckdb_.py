"""SQL over all collections of a store, by DuckDB.

DuckDB can read `data.jsonl` itself, two to three times as fast. It does not get the files, but streams of Arrow, for
four reasons: it would make floats of integers beyond 64 bits, and dates of texts that look like dates; a folder and the
archive made of it have to answer alike; superseded and deleted lines are in the file, too; and without any access to
files, a query cannot touch one.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...base.optional import library
from ..format import DEFAULT_COLLECTION, is_name
from ..store import ZDSStore
from ..workspace import open_place
from .columns import Columns

SETTINGS = {"enable_external_access": "false", "python_enable_replacements": "false"}
"""No files, no network, no extensions, and no variables of the program that look like tables."""


def sql(path: Any, query: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None) -> Any:
    """Return what a query finds in a store.

    Each collection is a table of its name, with `_id` and all fields as columns; objects are structs, and the types are
    those of `to_arrow`. Names that are no plain words stand in double quotes, such as `"my-data"` and `"default"`. Only
    the collections that the query names are read, in batches, as they were when the query was made. It can read no
    other files, and write none.

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
        It has `fetchall()`, `df()`, `arrow()` and more, each of which runs the query. None for statements that have no
        result.

    Raises
    ------
    DriverError
        If DuckDB or pyarrow are not installed.
    duckdb.Error
        What DuckDB has to say about the query.

    Examples
    --------
    >>> from ds_format.zds.tables.duckdb_ import sql
    >>> from ds_format.zds.store import ZDSStore
    >>> with ZDSStore.open("people.zds", mode="w") as store:
    ...     store.put("ann", {"age": 30, "home": {"city": "Oslo"}})
    ...     store.put("bob", {"age": 8})
    >>> sql("people.zds", 'SELECT _id, home.city FROM "default" WHERE age > $age', {"age": 10}).fetchall()
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
    """Return the names that a query has in it; all of them, if it has none, such as `SHOW TABLES`."""
    text = query.casefold()
    return [name for name in names if name.casefold().replace('"', '""') in text] or list(names)


def _stores(path: Any, query: str) -> Iterator[tuple[str, ZDSStore]]:
    """Open the collections that a query names. They stay open as long as the relation lives."""
    place = open_place(os.fspath(path), strict=None)
    with contextlib.closing(place):
        names = list(filter(is_name, place.collections()))
    for name in _named(names or [DEFAULT_COLLECTION], query):
        yield name, ZDSStore.open(path, name)
