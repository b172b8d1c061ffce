"""Collections as DataFrames of pandas, and DataFrames as collections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...base.optional import library
from ...errors import UnsupportedError
from ..documents import Document
from ..format import DEFAULT_COLLECTION, ID
from ..query import Where, paths_of
from ..store import ZDSStore
from .columns import ROWS
from .rows import Mode, column_of_ids, documents_of, iso, write
from .shapes import EXACT


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
    What a document lacks is what pandas has for it: NaN, or None. Columns become what pandas makes of such values,
    except that integers which no float64 holds exactly stay integers, in a column of objects.

    Parameters
    ----------
    path : str or PathLike
        A folder or an archive.
    collection : str
    fields : iterable of str or str, optional
        The columns, by dotted paths; see `query.projection`. By default all fields that occur.
    where : optional
        Which documents; see `query.predicate`.
    flatten : bool
        Make columns of the members of objects, with dotted names. Else objects stay objects.
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
        If two fields get the same name by `flatten`.

    Examples
    --------
    >>> from ds_format.zds.tables.pandas_ import read_zds
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
    """Return a document with the members of objects as fields with dotted names. Lists and empty objects stay.

    Raises
    ------
    UnsupportedError
        If two fields get the same name.

    Examples
    --------
    >>> from ds_format.zds.tables.pandas_ import flat
    >>> flat({"_id": "a", "b": {"c": 1, "d": {"e": [2]}}})
    {'_id': 'a', 'b.c': 1, 'b.d.e': [2]}
    """
    found: Document = {}
    for name, value in _leaves("", document):
        if name in found:
            raise UnsupportedError(f"document {document.get(ID)!r} has two fields {name!r} when flattened")
        found[name] = value
    return found


def _leaves(prefix: str, members: Document) -> Iterator[tuple[str, Any]]:
    todo = [(prefix, iter(members.items()))]
    while todo:
        prefix, rest = todo[-1]
        for key, value in rest:
            if type(value) is dict and value:
                todo.append((f"{prefix}{key}.", iter(value.items())))
                break
            yield prefix + key, value
        else:
            todo.pop()


def to_zds(
    frame: Any, path: Any, collection: str = DEFAULT_COLLECTION, id_column: str | None = None, mode: Mode = "w"
) -> None:
    """Write a DataFrame of pandas as a collection, one document for each row.

    NaN, NaT, NA and None become missing fields; times, dates and durations become ISO 8601 texts; numbers of NumPy
    become those of Python. The index is only written if it becomes the ids.

    Parameters
    ----------
    frame : pandas.DataFrame
    path : str or PathLike
    collection : str
    id_column : str, optional
        Whose values, as texts, become the ids; it stays a field. By default `_id`, or else the index.
    mode : {"w", "a"}
        Replace the collection, or add to it: a row whose id exists replaces the document.

    Raises
    ------
    DriverError
        If pandas is not installed.
    MissingError
        If there is no such column.
    UnsupportedError
        If ids are missing, not allowed or occur twice, columns have the same name, or JSON cannot hold a value. With
        the mode "w", the collection that was there stays.

    Examples
    --------
    >>> from ds_format.base.optional import library
    >>> from ds_format.zds.tables.pandas_ import to_zds
    >>> from ds_format.zds.store import ZDSStore
    >>> pandas = library("pandas", "ds-format-cython[pandas]")
    >>> to_zds(pandas.DataFrame({"t": [pandas.Timestamp("2026-01-02"), None]}, index=["a", "b"]), "times.zds")
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
    write(_documents(frame, names, ids), path, collection, mode)


def _documents(frame: Any, names: list[str], ids: Any) -> Iterator[Document]:
    for start in range(0, len(frame), ROWS):
        rows = frame.iloc[start : start + ROWS]
        columns = [_values(rows.iloc[:, i]) for i in range(len(names))]
        yield from documents_of(_values(ids.iloc[start : start + ROWS]), names, columns, start)


def _values(column: Any) -> list[Any]:
    """Return the values of a Series, None where there is none."""
    values: list[Any] = column.tolist()
    if column.dtype.kind not in "biuf":
        values = [iso(value) for value in values]
    gone = column.isna()
    if gone.any():
        values = [None if missing else value for value, missing in zip(values, gone.tolist(), strict=True)]
    return values
