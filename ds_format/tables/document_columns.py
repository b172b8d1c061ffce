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
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from types import NoneType
from typing import Any

from ..base.batches import batched
from ..base.dtypes import type_of_integers
from ..base.text import on_one_line
from ..errors import DsWarning, UnsupportedError
from .libraries import pyarrow

ROWS = 2048
"""Documents in a batch. DuckDB processes the same number at a time."""
MAX_MEMBERS = 1000
"""Maximum number of different members of a struct. If there are more, they are data and not names of columns."""
MAX_DEPTH = 32
"""Maximum depth of a type. Readers of Arrow data recurse, and not all of them limit the depth."""
USE = "Arrow"
"""The feature that needs pyarrow, for messages."""
Document = dict[str, Any]
Convert = Callable[[Any], Any]


class Columns:
    """Documents as a stream of Arrow batches. They are read again for each stream.

    Parameters
    ----------
    scan : callable
        `f() -> iterable of documents`; always the same ones.
    key : str
        The field with the id of a document, which is text.
    names : sequence of str, optional
        The columns. By default `key` and all fields that occur.
    schema : pyarrow.Schema, optional
        Their types. Values are cast to them if nothing is lost. By default the types that the values need, see `Shape`.
    warning : type of DsWarning
        The warning if fields become JSON texts.

    Examples
    --------
    >>> from ds_format.tables.document_columns import Columns
    >>> documents = [{"_id": "a", "x": 1}, {"_id": "b", "y": ["z"]}, {"_id": "c", "x": 2.5}]
    >>> Columns(lambda: documents, "_id").table().to_pydict()
    {'_id': ['a', 'b', 'c'], 'x': [1.0, None, 2.5], 'y': [None, ['z'], None]}
    """

    def __init__(
        self,
        scan: Callable[[], Iterable[Document]],
        key: str,
        names: Sequence[str] | None = None,
        schema: Any = None,
        warning: type[DsWarning] = DsWarning,
    ):
        self._scan = scan
        self._key = key
        self._names = names
        self._given = schema
        self._warning = warning

    @functools.cached_property
    def _types(self) -> tuple[Any, Sequence[Convert | None]]:
        """The schema, and for each column the function that converts its values, or None."""
        arrow = pyarrow(USE)
        if self._given is not None:
            return self._given, [None] * len(self._given)
        whole = Shape()
        whole.add([{self._key: ""}])  # the first column, also without documents
        for documents in batched(self._scan(), ROWS):
            whole.add(documents)
        names = list(whole.members) if self._names is None else self._names
        if unfit := [name for name in names if "\0" in name]:
            raise UnsupportedError(f"field {unfit[0]!r}: a NUL ends the name of an Arrow column")
        texts: list[str] = []
        kinds = [whole.members.get(name, Shape()).arrow_type(arrow, name, texts) for name in names]
        if texts:
            listed = ", ".join(texts[:10]) + ", ..." * (len(texts) > 10)
            message = f"no Arrow type holds all values of these fields; they become JSON texts: {listed}"
            warnings.warn(on_one_line(message), self._warning, stacklevel=2)
        fields = [(name, kind) for name, (kind, _) in zip(names, kinds, strict=True)]
        return arrow.schema(fields), [convert for _, convert in kinds]

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
        arrow, (schema, converts) = pyarrow(USE), self._types
        for documents in batched(self._scan(), ROWS):
            if self._given is None and not set().union(*documents) <= set(schema.names):
                raise UnsupportedError("documents with new fields came while the collection was being read")
            arrays = []
            for field, convert in zip(schema, converts, strict=True):
                values = [document.get(field.name) for document in documents]
                if convert is not None:
                    values = list(map(convert, values))
                arrays.append(self._array(arrow, field, values, documents))
            yield arrow.RecordBatch.from_arrays(arrays, schema=schema)

    def _array(self, arrow: Any, field: Any, values: list[Any], documents: list[Document]) -> Any:
        """Return values as an array of the type of a field. Others are cast if nothing is lost: texts to times."""
        kind = field.type
        try:
            if self._given is not None and _has_fractions(arrow.types, kind, values):
                raise arrow.ArrowInvalid("a number is not whole")
            try:
                return arrow.array(values, type=kind)
            except (arrow.ArrowException, OverflowError):
                return arrow.array(values).cast(kind)
        except (arrow.ArrowException, OverflowError) as error:
            reason = f"is not of type {kind}: {error}"
        if len(values) == 1:
            where = f"field {field.name!r} of document {documents[0].get(self._key)!r}"
            raise UnsupportedError(f"{where}: {values[0]!r:.60} {reason}")
        for value, document in zip(values, documents, strict=True):
            self._array(arrow, field, [value], [document])
        raise UnsupportedError(f"field {field.name!r} {reason}")

    def table(self) -> Any:
        """Return a `pyarrow.Table`. Errors are those of `batches`, which a stream makes errors of pyarrow."""
        return pyarrow(USE).Table.from_batches(self.batches(), self.schema)

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        reader = pyarrow(USE).RecordBatchReader.from_batches(self.schema, self.batches())
        return reader.__arrow_c_stream__(requested_schema)


def _has_fractions(types: Any, kind: Any, values: Iterable[Any]) -> bool:
    """Return whether numbers with fractions would become integers: pyarrow would truncate them silently."""
    if types.is_integer(kind):
        return any(type(value) is float and not value.is_integer() for value in values)
    if types.is_struct(kind):
        objects = _of(values, dict)
        return any(_has_fractions(types, field.type, [each.get(field.name) for each in objects]) for field in kind)
    if types.is_nested(kind) and hasattr(kind, "value_type"):
        return _has_fractions(types, kind.value_type, chain.from_iterable(_of(values, list)))
    return False


class Shape:
    """The types that occur among the values of a field, from which its Arrow type follows.

    Parameters
    ----------
    depth : int
        Number of objects and lists that contain the field. By default the values are documents.

    Examples
    --------
    >>> from ds_format.tables.document_columns import Shape
    >>> shape = Shape()
    >>> shape.add([{"a": 1}, {"b": {"c": True}}])
    >>> shape.add([{"a": 2.5}])
    >>> {name: sorted(kind.__name__ for kind in member.kinds) for name, member in shape.members.items()}
    {'a': ['float', 'int'], 'b': ['dict']}
    """

    def __init__(self, depth: int = -1):
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
            self._add_members(_of(values, dict))

    def _add_members(self, objects: Sequence[Document]) -> None:
        columns: defaultdict[str, list[Any]] = defaultdict(list)
        for each in objects:
            for key, value in each.items():
                columns[key].append(value)
        for key, values in columns.items():
            if key not in self.members:
                if self.depth >= 0 and len(self.members) > MAX_MEMBERS:
                    return
                self.members[key] = Shape(self.depth + 1)
            self.members[key].add(values)

    def arrow_type(self, arrow: Any, name: str, texts: list[str]) -> tuple[Any, Convert | None]:
        """Return the Arrow type, and a function that converts a value for it; None if values stay as they are.

        Parameters
        ----------
        arrow : module
            pyarrow.
        name : str
            The field.
        texts : list of str
            The fields that become text although they have other types are added, for a message.
        """
        if len(self.kinds) < 2 and not self.kinds & {int, float, list, dict}:
            return (arrow.null() if not self.kinds else arrow.bool_() if bool in self.kinds else arrow.string()), None
        if self.kinds <= {int, float}:
            names = ["float64"] if float in self.kinds else ["int64", "uint64"]
            if found := type_of_integers(self.low, self.high, names):
                return getattr(arrow, found)(), None
        elif self.kinds == {list} and self.items:
            kind, convert = self.items.arrow_type(arrow, f"{name}[]", texts)
            return arrow.list_(kind), _items(convert)
        elif self.kinds == {dict} and 0 < len(self.members) <= MAX_MEMBERS and "\0" not in "".join(self.members):
            inner = {key: shape.arrow_type(arrow, f"{name}.{key}", texts) for key, shape in self.members.items()}
            converts = {key: convert for key, (_, convert) in inner.items() if convert is not None}
            return arrow.struct([(key, kind) for key, (kind, _) in inner.items()]), _members(converts)
        texts.append(f"{name} ({', '.join(sorted(kind.__name__ for kind in self.kinds))})")
        return arrow.string(), _text


def _of(values: Iterable[Any], kind: type) -> list[Any]:
    return [value for value in values if type(value) is kind]


def _text(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _items(convert: Convert | None) -> Convert | None:
    return convert and (lambda value: value and [convert(item) for item in value])


def _members(converts: dict[str, Convert]) -> Convert | None:
    def convert_members(value: Any) -> Any:
        return value and value | {name: convert(value[name]) for name, convert in converts.items() if name in value}

    return convert_members if converts else None
