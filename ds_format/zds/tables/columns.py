"""Documents as columns of Arrow, in batches, for all who read Arrow streams.

An object with `__arrow_c_stream__` can be given to pyarrow, polars, pandas, DuckDB and others. Documents need not be
alike, columns must be: so they are read twice, first for the types (`shapes`), then for the values. Each row is one
document; what it lacks is null.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, TypeVar

from ...base.optional import library
from ...base.wording import on_one_line
from ...errors import UnsupportedError
from ..documents import Document
from ..faults import ZdsWarning
from ..format import ID
from .shapes import Convert, Shape, shapes_of

ROWS = 2048
"""Documents that become one batch. DuckDB works on as many at a time."""

Item = TypeVar("Item")


def chunks(items: Iterable[Item], n: int) -> Iterator[list[Item]]:
    """Iterate over lists of `n` items; the last may have fewer.

    Examples
    --------
    >>> from ds_format.zds.tables.columns import chunks
    >>> list(chunks("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    iterator = iter(items)
    while chunk := list(islice(iterator, n)):
        yield chunk


class Columns:
    """Documents that can be read again and again, as a stream of Arrow batches.

    Parameters
    ----------
    scan : callable
        `f() -> iterable of documents`; the same ones, each time.
    names : sequence of str, optional
        The columns. By default `_id` and all fields that occur.
    schema : pyarrow.Schema, optional
        Their types. Values are cast to them, if nothing is lost thereby. By default what `shapes` finds.

    Examples
    --------
    >>> from ds_format.zds.tables.columns import Columns
    >>> from ds_format.base.optional import library
    >>> documents = [{"_id": "a", "x": 1}, {"_id": "b", "y": ["z"]}, {"_id": "c", "x": 2.5}]
    >>> library("pyarrow", "ds-format-cython[arrow]").table(Columns(lambda: documents)).to_pydict()
    {'_id': ['a', 'b', 'c'], 'x': [1.0, None, 2.5], 'y': [None, ['z'], None]}
    """

    def __init__(self, scan: Callable[[], Iterable[Document]], names: Iterable[str] | None = None, schema: Any = None):
        self.scan = scan
        self.names = None if names is None else list(names)
        self._given = schema

    @functools.cached_property
    def _types(self) -> tuple[Any, list[Convert | None]]:
        """The schema, and for each column what has to be done to its values."""
        arrow = library("pyarrow", "ds-format-cython[arrow]")
        if self._given is not None:
            return self._given, [None] * len(self._given)
        found = shapes_of(chunks(self.scan(), ROWS))
        names = list(dict.fromkeys([ID, *found])) if self.names is None else self.names
        if unfit := [name for name in names if "\0" in name]:
            raise UnsupportedError(f"field {unfit[0]!r}: a NUL ends the name of an Arrow column")
        shapes = [(name, found.get(name, Shape())) for name in names]
        texts = [text for name, shape in shapes for text in shape.texts(name)]
        if texts:
            told = ", ".join(texts[:10]) + ", ..." * (len(texts) > 10)
            message = f"no Arrow type holds all values of these fields; they become JSON texts: {told}"
            warnings.warn(on_one_line(message), ZdsWarning, stacklevel=2)
        types = [arrow.string() if name == ID else shape.arrow_type(arrow) for name, shape in shapes]
        return arrow.schema(list(zip(names, types, strict=True))), [shape.convert() for _, shape in shapes]

    @property
    def schema(self) -> Any:
        """The columns and their types, a `pyarrow.Schema`."""
        return self._types[0]

    def batches(self) -> Iterator[Any]:
        """Iterate over record batches.

        Raises
        ------
        UnsupportedError
            If a value does not fit the type that was given for its column, or a field has no name that Arrow knows.
        """
        arrow, (schema, converts) = library("pyarrow", "ds-format-cython[arrow]"), self._types
        names = schema.names
        for documents in chunks(self.scan(), ROWS):
            if self._given is None and not set().union(*documents) <= set(names):
                raise UnsupportedError("documents with new fields came while the collection was being read")
            arrays = []
            for field, convert in zip(schema, converts, strict=True):
                values = [document.get(field.name) for document in documents]
                if convert is not None:
                    values = list(map(convert, values))
                arrays.append(_array(arrow, field, values, documents, self._given is not None))
            yield arrow.RecordBatch.from_arrays(arrays, schema=schema)

    def reader(self) -> Any:
        """Return a `pyarrow.RecordBatchReader`."""
        return library("pyarrow", "ds-format-cython[arrow]").RecordBatchReader.from_batches(self.schema, self.batches())

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.reader().__arrow_c_stream__(requested_schema)


def arrow_stream(store: Any, requested_schema: Any = None) -> Any:
    """Return the documents of a store as the C stream of Arrow; what its `__arrow_c_stream__` returns.

    Parameters
    ----------
    store : ZDSStore
        Or anything with a method `scan`.
    requested_schema : PyCapsule, optional
        As Arrow's protocol has it.

    Raises
    ------
    DriverError
        If pyarrow is not installed.

    Examples
    --------
    >>> from ds_format.zds.tables.columns import arrow_stream
    >>> from types import SimpleNamespace
    >>> arrow_stream(SimpleNamespace(scan=lambda: [{"_id": "a"}]))  # doctest: +ELLIPSIS
    <capsule object "arrow_array_stream" at ...>
    """
    return Columns(store.scan).__arrow_c_stream__(requested_schema)


def _array(arrow: Any, field: Any, values: list[Any], documents: list[Document], is_given: bool) -> Any:
    try:
        return _fit(arrow, field.type, values, is_given)
    except (arrow.ArrowException, OverflowError) as error:
        for value, document in zip(values, documents, strict=True):
            try:
                _fit(arrow, field.type, [value], is_given)
            except (arrow.ArrowException, OverflowError) as of_value:
                where = f"field {field.name!r} of document {document.get(ID)!r}"
                raise UnsupportedError(f"{where}: {value!r:.60} is not of type {field.type}: {of_value}") from None
        raise UnsupportedError(f"field {field.name!r} is not of type {field.type}: {error}") from None


def _fit(arrow: Any, kind: Any, values: list[Any], is_given: bool) -> Any:
    """Return values as an array of a type; others are cast if nothing is lost, such as texts to times."""
    if is_given and _has_fractions(arrow.types, kind, values):
        raise arrow.ArrowInvalid("a number is not whole")
    try:
        return arrow.array(values, type=kind)
    except (arrow.ArrowException, OverflowError):
        return arrow.array(values).cast(kind)


def _has_fractions(types: Any, kind: Any, values: Iterable[Any]) -> bool:
    """Return whether integers are wanted where others are: pyarrow would cut them off and say nothing."""
    if types.is_integer(kind):
        return any(type(value) is float and not value.is_integer() for value in values)
    if types.is_struct(kind):
        objects = [value for value in values if type(value) is dict]
        return any(_has_fractions(types, field.type, [each.get(field.name) for each in objects]) for field in kind)
    if types.is_nested(kind) and hasattr(kind, "value_type"):
        return _has_fractions(types, kind.value_type, chain.from_iterable(v for v in values if type(v) is list))
    return False
