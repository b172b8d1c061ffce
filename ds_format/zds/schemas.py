"""The shape of documents, where a manifest says `strict: true`: all documents of the collection have the same.

The schema of an object is that of its members, that of an array is that of its first item. Integers go with other
numbers, and null goes with null alone.
"""

from __future__ import annotations

from typing import Any

from . import format
from .documents import plain

_WORDS = {str: "a string", bool: "true or false", int: "a number", float: "a number", type(None): "null"}


def schema_of(value: Any) -> Any:
    """Return the schema of a value of a document.

    Returns
    -------
    dict, list or str
        Of an object, of an array, and the name of another kind.

    Examples
    --------
    >>> from ds_format.zds.schemas import schema_of
    >>> schema_of({"_id": "a", "x": 1, "tags": ["red"]})
    {'x': 'a number', 'tags': ['a string']}
    """
    schemas: Any = [None]
    todo: list[tuple[Any, Any, Any]] = [(value, schemas, 0)]
    while todo:
        value, owner, place = todo.pop()
        if isinstance(value, dict):
            owner[place] = inner = {key: None for key in value if key != format.ID}
            todo += [(value[key], inner, key) for key in inner]
        elif isinstance(value, list | tuple):
            owner[place] = first = [None][: len(value)]
            todo += [(item, first, 0) for item in value[:1]]
        else:
            word = _WORDS.get(type(value)) or _word_of(value)
            owner[place] = word
            if word is None:
                todo.append((plain(value), owner, place))
    return schemas[0]


def _word_of(value: Any) -> str | None:
    return next((word for kind, word in _WORDS.items() if isinstance(value, kind)), None)


def difference(schema: Any, found: Any, path: str = "") -> str | None:
    """Return where a schema differs from another one, in words; None if it does not.

    Parameters
    ----------
    schema : dict, list or str
        What is expected; see `schema_of`.
    found : dict, list or str
    path : str
        Where in the document they are, as a dotted path.

    Examples
    --------
    >>> from ds_format.zds.schemas import difference, schema_of
    >>> difference(schema_of({"x": 1}), schema_of({"x": "1"}))
    'x: found a string, expected a number'
    >>> difference(schema_of({"x": 1}), schema_of({"x": 1.5}))
    """
    todo = [(schema, found, path)]
    while todo:
        schema, found, path = todo.pop()
        if schema is None or found is None:
            return f"{path}: " + ("not found" if found is None else "not expected")
        if isinstance(schema, dict) and isinstance(found, dict):
            keys = [*schema, *(key for key in found if key not in schema)]
            inner = [(schema.get(key), found.get(key), f"{path}.{key}" if path else key) for key in keys]
            todo += reversed(inner)
        elif isinstance(schema, list) and isinstance(found, list):
            if schema and found:
                todo.append((schema[0], found[0], f"{path}.0"))
        elif schema != found:
            return f"{path or 'document'}: found {_word(found)}, expected {_word(schema)}"
    return None


def _word(schema: Any) -> str:
    return "an object" if isinstance(schema, dict) else "an array" if isinstance(schema, list) else str(schema)
