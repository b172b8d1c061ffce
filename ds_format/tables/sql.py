"""SQL over tables by DuckDB, which can reach nothing else: no file, no network, no extension, no variable."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .libraries import duckdb, pyarrow

SETTINGS = {"enable_external_access": "false", "python_enable_replacements": "false", "lock_configuration": "true"}
"""The last one keeps the others as they are."""
Tables = Mapping[str, Any] | Iterable[tuple[str, Any]]
Parameters = Sequence[Any] | Mapping[str, Any] | None


def run(query: str, tables: Tables, parameters: Parameters = None) -> Any:
    """Return the result of a query on tables.

    Parameters
    ----------
    query : str
    tables : mapping, or iterable of its items
        Name → dataset or table of pyarrow, data frame of pandas or polars, or another object with an Arrow stream.
    parameters : sequence or mapping, optional
        For `?` or `$1`, or `$name`, in the query.

    Returns
    -------
    duckdb.DuckDBPyRelation
        Its methods `fetchall()`, `df()`, `pl()`, `to_arrow_table()` and others run the query. None for statements
        without a result.

    Raises
    ------
    DriverError
        If DuckDB is not installed.
    duckdb.Error
        Errors of DuckDB about the query.
    """
    connection = duckdb().connect(":memory:")
    pyarrow("SQL")
    for name, table in dict(tables).items():
        connection.register(name, table)
    for setting, value in SETTINGS.items():
        connection.execute(f"SET {setting} = {value}")
    found = connection.sql(query, params=parameters)
    if found is not None:
        weakref.finalize(found, connection.close)  # before DuckDB 2, relations do not keep their connection
    return found
