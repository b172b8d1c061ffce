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
    if isinstance(value, dict):
        return {key: schema_of(item) for key, item in value.items() if key != format.ID}
    if isinstance(value, list | tuple):
        return [schema_of(item) for item in value[:1]]
    word = _WORDS.get(type(value)) or next((word for kind, word in _WORDS.items() if isinstance(value, kind)), None)
    return schema_of(plain(value)) if word is None else word


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
    if isinstance(schema, dict) and isinstance(found, dict):
        for key in [*schema, *(key for key in found if key not in schema)]:
            where = f"{path}.{key}" if path else key
            if key not in found or key not in schema:
                return f"{where}: " + ("not found" if key not in found else "not expected")
            inner = difference(schema[key], found[key], where)
            if inner is not None:
                return inner
        return None
    if isinstance(schema, list) and isinstance(found, list):
        return difference(schema[0], found[0], f"{path}.0") if schema and found else None
    return None if schema == found else f"{path or 'document'}: found {_word(found)}, expected {_word(schema)}"


def _word(schema: Any) -> str:
    return "an object" if isinstance(schema, dict) else "an array" if isinstance(schema, list) else str(schema)
