"""Documents as columns of Arrow, in batches, for every program that reads Arrow streams.

pyarrow, polars, pandas, DuckDB and others accept an object with `__arrow_c_stream__`. Documents may differ in their
fields, columns may not. So the documents are read twice: first for the types (`Shape`), then for the values. A row is a
document; a missing field is null. The type of a column represents every value of its field exactly:

============================  ======================================================
only null                     null
booleans                      bool
integers                      int64; uint64 if none is negative and one needs it
floats; integers among them   float64, if each integer is exact as one
texts                         string
lists                         list of the type of their items
objects                       struct of the types of their members
anything else                 string with the value as JSON
============================  ======================================================

"Anything else" means: fields with values of several types, integers beyond 64 bits, integers together with floats if
float64 cannot represent them, objects without members or with more than 1000 different ones, objects with a NUL in the
name of a member, which ends a name in Arrow, and values nested more than 32 levels deep.
"""

from __future__ import annotations

import functools
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from types import NoneType
from typing import Any, TypeVar

from ..base.optional import library
from ..base.text import on_one_line
from ..errors import UnsupportedError
from .documents import Document
from .faults import ZdsWarning
from .format import ID

ROWS = 2048
"""Documents in a batch. DuckDB processes the same number at a time."""
Item = TypeVar("Item")
MAX_MEMBERS = 1000
"""Maximum number of different members of a struct. If there are more, they are data and not names of columns."""
MAX_DEPTH = 32
"""Maximum depth of a type. Readers of Arrow data recurse, and not all of them limit the depth."""
EXACT = 1 << 53
"""float64 represents all integers up to this one."""
Convert = Callable[[Any], Any]


def chunks(items: Iterable[Item], n: int) -> Iterator[list[Item]]:
    """Iterate over lists of `n` items; the last may have fewer.

    Examples
    --------
    >>> from ds_format.zds.arrow_columns import chunks
    >>> list(chunks("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    iterator = iter(items)
    while chunk := list(islice(iterator, n)):
        yield chunk


class Columns:
    """Documents as a stream of Arrow batches. They are read again for each stream.

    Parameters
    ----------
    scan : callable
        `f() -> iterable of documents`; always the same ones.
    names : sequence of str, optional
        The columns. By default `_id` and all fields that occur.
    schema : pyarrow.Schema, optional
        Their types. Values are cast to them if nothing is lost. By default the types that the values need, see `Shape`.

    Examples
    --------
    >>> from ds_format.zds.arrow_columns import Columns
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
        """The schema, and for each column the function that converts its values, or None."""
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
            listed = ", ".join(texts[:10]) + ", ..." * (len(texts) > 10)
            message = f"no Arrow type holds all values of these fields; they become JSON texts: {listed}"
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
            If a value does not fit the given type of its column, or the name of a field contains a NUL.
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
    """Return values as an array of a type. Others are cast if nothing is lost, such as texts to times."""
    if is_given and _has_fractions(arrow.types, kind, values):
        raise arrow.ArrowInvalid("a number is not whole")
    try:
        return arrow.array(values, type=kind)
    except (arrow.ArrowException, OverflowError):
        return arrow.array(values).cast(kind)


def _has_fractions(types: Any, kind: Any, values: Iterable[Any]) -> bool:
    """Return whether numbers with fractions would become integers: pyarrow would truncate them silently."""
    if types.is_integer(kind):
        return any(type(value) is float and not value.is_integer() for value in values)
    if types.is_struct(kind):
        objects = [value for value in values if type(value) is dict]
        return any(_has_fractions(types, field.type, [each.get(field.name) for each in objects]) for field in kind)
    if types.is_nested(kind) and hasattr(kind, "value_type"):
        return _has_fractions(types, kind.value_type, chain.from_iterable(v for v in values if type(v) is list))
    return False


class Shape:
    """The types that occur among the values of a field, from which its Arrow type follows.

    Parameters
    ----------
    depth : int
        Number of objects and lists that contain the field.

    Examples
    --------
    >>> from ds_format.zds.arrow_columns import Shape
    >>> shape = Shape()
    >>> shape.add([1, None])
    >>> shape.add([2.5])
    >>> shape.is_text, sorted(kind.__name__ for kind in shape.kinds)
    (False, ['float', 'int'])
    """

    def __init__(self, depth: int = 0):
        self.depth = depth
        self.kinds: set[type] = set()
        self.low = self.high = 0
        self.items: Shape | None = None
        self.members: dict[str, Shape] = {}

    def add(self, values: Sequence[Any]) -> None:
        """Include more values. Null is ignored."""
        kinds = set(map(type, values))
        kinds.discard(NoneType)
        self.kinds |= kinds
        if int in kinds:
            integers = _of(values, int)
            self.low, self.high = min(self.low, min(integers)), max(self.high, max(integers))
        if len(self.kinds) > 1 or self.depth >= MAX_DEPTH:
            return
        if list in kinds:
            self.items = self.items or Shape(self.depth + 1)
            self.items.add(list(chain.from_iterable(_of(values, list))))
        if dict in kinds:
            _add_members(self.members, _of(values, dict), self.depth + 1)

    @property
    def is_text(self) -> bool:
        """Whether only text, as JSON, can represent all values."""
        kinds = self.kinds
        if kinds == {int}:
            return self.low < -1 << 63 or self.high >= 1 << (64 if self.low >= 0 else 63)
        if kinds == {int, float}:
            return max(-self.low, self.high) > EXACT
        if kinds == {dict}:
            is_struct = 0 < len(self.members) <= MAX_MEMBERS and self.depth < MAX_DEPTH
            return not is_struct or any("\0" in name for name in self.members)
        return len(kinds) > 1 or (list in kinds and self.depth >= MAX_DEPTH)

    def arrow_type(self, arrow: Any) -> Any:
        """Return the Arrow type.

        Parameters
        ----------
        arrow : module
            pyarrow.
        """
        if self.is_text:
            return arrow.string()
        if not self.kinds:
            return arrow.null()
        if list in self.kinds:
            return arrow.list_(self.items.arrow_type(arrow) if self.items else arrow.null())
        if dict in self.kinds:
            return arrow.struct([(name, shape.arrow_type(arrow)) for name, shape in self.members.items()])
        if float in self.kinds:
            return arrow.float64()
        if int in self.kinds:
            return arrow.uint64() if self.high >= 1 << 63 else arrow.int64()
        return arrow.bool_() if bool in self.kinds else arrow.string()

    def convert(self) -> Convert | None:
        """Return a function that converts a value for the Arrow type; None if values stay as they are."""
        if self.is_text:
            return _text
        if self.items is not None:
            return _items(self.items.convert())
        return _members({name: shape.convert() for name, shape in self.members.items()})

    def texts(self, name: str) -> list[str]:
        """Return the fields that become text although they have other types, for a message."""
        if self.is_text:
            return [f"{name} ({', '.join(sorted(kind.__name__ for kind in self.kinds))})"]
        inner = {f"{name}[]": self.items} if self.items else {f"{name}.{key}": at for key, at in self.members.items()}
        return [text for path, shape in inner.items() for text in shape.texts(path)]


def shapes_of(chunks: Iterable[Sequence[dict[str, Any]]]) -> dict[str, Shape]:
    """Return the shapes of all fields of documents, in order of appearance.

    Parameters
    ----------
    chunks : iterable of sequence of dict
        Documents. All columns of a chunk are processed together.

    Examples
    --------
    >>> from ds_format.zds.arrow_columns import shapes_of
    >>> shapes = shapes_of([[{"a": 1}, {"b": {"c": True}}], [{"a": "x"}]])
    >>> {name: shape.is_text for name, shape in shapes.items()}
    {'a': True, 'b': False}
    """
    shapes: dict[str, Shape] = {}
    for documents in chunks:
        _add_members(shapes, documents, 0)
    return shapes


def _add_members(shapes: dict[str, Shape], objects: Sequence[dict[str, Any]], depth: int) -> None:
    columns: dict[str, list[Any]] = {}
    for each in objects:
        for key, value in each.items():
            if key in columns:
                columns[key].append(value)
            else:
                columns[key] = [value]
    for key, values in columns.items():
        if key not in shapes:
            if depth and len(shapes) > MAX_MEMBERS:
                return
            shapes[key] = Shape(depth)
        shapes[key].add(values)


def _of(values: Sequence[Any], kind: type) -> list[Any]:
    return [value for value in values if type(value) is kind]


def _text(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _items(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda value: None if value is None else [convert(item) for item in value]


def _members(converts: dict[str, Convert | None]) -> Convert | None:
    needed = {name: convert for name, convert in converts.items() if convert is not None}
    if not needed:
        return None

    def convert_members(value: Any) -> Any:
        return value and value | {name: convert(value[name]) for name, convert in needed.items() if name in value}

    return convert_members
