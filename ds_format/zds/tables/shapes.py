"""What the values of a field were, over all documents, and the Arrow type that holds each of them exactly.

============================  ======================================================
nothing but null              null
booleans                      bool
integers                      int64; uint64 if none is negative and one needs it
floats; integers among them   float64, if each integer is exact as one
texts                         string
lists                         list of what their items were
objects                       struct of what their members were
anything else                 string with the value as JSON
============================  ======================================================

"Anything else" are fields of several kinds, integers beyond 64 bits, integers that no float64 holds beside floats,
objects with more than 1000 different members or with none at all or with a NUL in a name, which ends a name in Arrow,
and what lies more than 32 levels deep.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from types import NoneType
from typing import Any

MAX_MEMBERS = 1000
"""More different members than this are data, not the names of columns."""
MAX_DEPTH = 32
"""Readers of Arrow data recurse, and not all of them bound it."""
EXACT = 1 << 53
"""Up to here float64 holds all integers."""

Convert = Callable[[Any], Any]


class Shape:
    """What the values of a field were.

    Parameters
    ----------
    depth : int
        How many objects and lists it lies in.

    Examples
    --------
    >>> from ds_format.zds.tables.shapes import Shape
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
        """Look at more values; null means nothing."""
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
        """Whether no Arrow type but text, as JSON, holds all values."""
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
        """Return a function that makes of a value what the Arrow type takes; None if nothing has to be done."""
        if self.is_text:
            return _text
        if self.items is not None:
            return _items(self.items.convert())
        return _members({name: shape.convert() for name, shape in self.members.items()})

    def texts(self, name: str) -> list[str]:
        """Return which fields become text though they are none, with their kinds, for a message."""
        if self.is_text:
            return [f"{name} ({', '.join(sorted(kind.__name__ for kind in self.kinds))})"]
        inner = {f"{name}[]": self.items} if self.items else {f"{name}.{key}": at for key, at in self.members.items()}
        return [text for path, shape in inner.items() for text in shape.texts(path)]


def shapes_of(chunks: Iterable[Sequence[dict[str, Any]]]) -> dict[str, Shape]:
    """Return what the fields of documents were, in the order in which they came.

    Parameters
    ----------
    chunks : iterable of sequence of dict
        Documents; of each chunk all columns are made at once.

    Examples
    --------
    >>> from ds_format.zds.tables.shapes import shapes_of
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
