"""Documents ↔ rows of other programs: data frames of pandas, and streams of Arrow batches.

A row is a tuple of a label and the values. Labels are the index of a frame, or the numbers of the rows in a
stream. None is a missing field. Dates, times and durations become texts, since documents are JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from types import NoneType
from typing import Any, TypeAlias

from ..base.dtypes import EXACT
from ..base.optional import library
from ..errors import UnsupportedError
from .document_columns import ROWS, Document
from .libraries import check_names, pyarrow

LabelledRows: TypeAlias = tuple[list[str], Iterator[tuple[Any, ...]]]
"""Names of the columns; rows."""
PANDAS = "ds-format-cython[pandas]"
"""The package to install for data frames."""
PLAIN = {NoneType, str, bool, int, float}
"""Types of values that are the same in documents."""


def frame_of(documents: Iterable[Document], first: Sequence[str]) -> Any:
    """Return documents as a DataFrame of pandas.

    Parameters
    ----------
    documents : iterable of dict
        Row i is document i. Missing fields are NaN or None, as usual in pandas. Columns have the types that pandas
        chooses, but integers that float64 cannot represent exactly stay integers, in a column of objects.
    first : sequence of str
        The first columns, which no document need have. All fields follow.

    Raises
    ------
    DriverError
        If pandas is not installed; then no document is read.

    Examples
    --------
    >>> from ds_format.tables.document_rows import frame_of
    >>> print(frame_of([{"x": 1, "y": "a"}, {"y": "b"}], ["y"]))
       y    x
    0  a  1.0
    1  b  NaN
    """
    pandas = library("pandas", PANDAS)
    documents = list(documents)
    names = list(dict.fromkeys([*first, *(name for document in documents for name in document)]))
    frame = pandas.DataFrame(documents, columns=names)
    for name in names:
        column = frame[name]
        if column.dtype == "float64" and (column.abs() >= EXACT).any():
            values = [document.get(name, float("nan")) for document in documents]
            if any(type(value) is int and abs(value) > EXACT for value in values):
                frame[name] = pandas.Series(values, dtype=object)
    return frame


def rows_of_frame(frame: Any) -> LabelledRows:
    """Return the rows of a DataFrame of pandas. Missing values of all types are None.

    Raises
    ------
    DriverError
        If pandas is not installed.
    UnsupportedError
        If columns or the index have several levels, or columns have the same name.
    """
    library("pandas", PANDAS)
    for axis, each in {"columns": frame.columns, "an index": frame.index}.items():
        if each.nlevels > 1:
            raise UnsupportedError(f"{axis} of several levels: reset_index or join their names first")
    names = list(map(str, frame.columns))
    check_names(names)
    return names, _rows_of_frame(frame)


def _rows_of_frame(frame: Any) -> Iterator[tuple[Any, ...]]:
    for start in range(0, len(frame), ROWS):
        rows = frame.iloc[start : start + ROWS]
        columns = [rows.index.to_series(), *(rows.iloc[:, i] for i in range(rows.shape[1]))]
        yield from zip(*map(_present, columns), strict=True)


def _present(column: Any) -> list[Any]:
    """Return the values of a Series, with None for missing ones."""
    values, gone = _plain(column.tolist()), column.isna().tolist()
    return [None if missing else value for value, missing in zip(values, gone, strict=True)] if any(gone) else values


def rows_of_stream(stream: Any) -> LabelledRows:
    """Return the rows of an Arrow stream, which is read in batches. Members of structs that are null are left out.

    Parameters
    ----------
    stream : object
        It has the method `__arrow_c_stream__`.

    Raises
    ------
    DriverError
        If pyarrow is not installed.
    UnsupportedError
        If two columns have the same name.
    """
    reader = pyarrow("from_arrow").RecordBatchReader.from_stream(stream)
    check_names(reader.schema.names)
    return reader.schema.names, _rows_of_stream(reader)


def _rows_of_stream(reader: Any) -> Iterator[tuple[Any, ...]]:
    numbers = count()
    for batch in reader:
        for start in range(0, batch.num_rows, ROWS):
            rows = batch.slice(start, ROWS)
            columns = [_plain(column.to_pylist(), nulls=False) for column in rows.columns]
            yield from zip(islice(numbers, len(rows)), *columns, strict=True)


def _plain(values: list[Any], nulls: bool = True) -> list[Any]:
    return values if PLAIN.issuperset(map(type, values)) else [iso(value, nulls) for value in values]


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
    >>> from ds_format.tables.document_rows import iso
    >>> iso({"days": [date(2026, 1, 2)], "n": None})
    {'days': ['2026-01-02'], 'n': None}
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {key: iso(item, nulls) for key, item in value.items() if nulls or item is not None}
    if isinstance(value, list | tuple):
        return [iso(item, nulls) for item in value]
    return value.isoformat() if hasattr(value, "isoformat") and value == value else value
