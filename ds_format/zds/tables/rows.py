"""Rows of tables as documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from ...errors import MissingError, UnsupportedError
from ..documents import Document
from ..format import ID
from ..store import ZDSStore

Mode: TypeAlias = Literal["w", "a"]


def column_of_ids(names: Sequence[str], id_column: str | None) -> str | None:
    """Return the column that has the ids: the one that is asked for, or `_id`, or None.

    Raises
    ------
    MissingError
        If there is no such column.
    UnsupportedError
        If there is `_id` besides.

    Examples
    --------
    >>> from ds_format.zds.tables.rows import column_of_ids
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
    """Iterate over the documents that rows are.

    Parameters
    ----------
    ids : (N,) sequence
        Become texts.
    names : (M,) sequence of str
        The columns. What `_id` has is passed over.
    columns : (M,) sequence of (N,) sequence
        Their values. None is a field that the document lacks.
    first : int
        Number of the first row, for messages.

    Raises
    ------
    UnsupportedError
        If a row has no id: None, NaN or an empty text.

    Examples
    --------
    >>> from ds_format.zds.tables.rows import documents_of
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

    What else JSON does not know is left to the writer, which converts NumPy's values and refuses all others.

    Parameters
    ----------
    value : object
    nulls : bool
        Keep members of objects that are None.

    Examples
    --------
    >>> from datetime import date
    >>> from ds_format.zds.tables.rows import iso
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


def unique(documents: Iterable[Document]) -> Iterator[Document]:
    """Iterate over documents.

    Raises
    ------
    UnsupportedError
        If one has the id of another.

    Examples
    --------
    >>> from ds_format.zds.tables.rows import unique
    >>> list(unique([{"_id": "a"}, {"_id": "b"}]))
    [{'_id': 'a'}, {'_id': 'b'}]
    """
    seen = set()
    for i, document in enumerate(documents):
        if document[ID] in seen:
            raise UnsupportedError(f"row {i}: id {document[ID]!r} occurs twice")
        seen.add(document[ID])
        yield document


def write(documents: Iterable[Document], path: Any, collection: str, mode: Mode) -> None:
    """Write the documents of a table.

    Parameters
    ----------
    documents : iterable of dict
    path : str or PathLike
    collection : str
    mode : {"w", "a"}
        Replace the collection, or add to it: what has an id that exists replaces the document of that id.

    Raises
    ------
    ValueError
        If the mode is another one.
    UnsupportedError
        If two documents have the same id, or one holds what JSON cannot hold.
    """
    if mode not in ("w", "a"):
        raise ValueError(f"mode {mode!r}: expected 'w' or 'a'")
    at = ""

    def followed() -> Iterator[Document]:
        nonlocal at
        for document in unique(documents):
            at = f"document {document[ID]!r}: "
            yield document
            at = ""

    with ZDSStore.open(path, collection, mode=mode) as store:
        try:
            store.put_many(followed())
        except UnsupportedError as error:
            raise UnsupportedError(at + error.message, path=error.path) from None
