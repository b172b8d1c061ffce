"""Lines ↔ documents: JSON objects, decoded exactly by any decoder, and their schemas.

If a manifest says `strict: true`, all documents of the collection have one schema. The schema of an object consists of
those of its members; the schema of an array is that of its first item. Integers match other numbers, null matches only
null.
"""

from __future__ import annotations

import importlib
import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from ..base.text import on_one_line
from ..errors import FormatError, UnsupportedError
from ..kernels.json.values import FAULTS, NUMBER_RANGE, VALID, big_number, check_text
from . import format
from .faults import ZdsWarning

Document = dict[str, Any]
_WORDS = {str: "a string", bool: "true or false", int: "a number", float: "a number", type(None): "null"}
INFINITE = {float("inf"), float("-inf")}


def decode_exactly(line: bytes | memoryview, path: str = "a document") -> Any:
    """Decode one JSON object with the standard library, after checking that it is one.

    Integers may have any size. A number that is too large for a float becomes infinite, with a warning that names
    `path`.

    Raises
    ------
    FormatError
        If it is not a JSON object, or is nested too deep.
    """
    status, error, _, _, flags = check_text(line)
    if status != VALID:
        raise FormatError(f"byte {error} of the line: {FAULTS[status]}")
    try:
        document = json.loads(bytes(line))
    except (ValueError, RecursionError) as problem:
        raise FormatError(f"the line cannot be decoded: {problem}") from None
    if flags & NUMBER_RANGE and has_infinity(document):
        message = on_one_line(f"{path}: a number is too large for a float and becomes infinite")
        warnings.warn(message, ZdsWarning, stacklevel=3)
    return document


def leaves_of(document: Document, max_depth: int | None = None) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Iterate over the paths and values of a document, without objects that have members.

    Parameters
    ----------
    document : dict
    max_depth : int, optional
        Keys in a path, at most. Objects at that depth are values.

    Examples
    --------
    >>> from ds_format.zds.documents import leaves_of
    >>> list(leaves_of({"a": {"b": 1, "c": {}}, "d": [2]}))
    [(('a', 'b'), 1), (('a', 'c'), {}), (('d',), [2])]
    """
    todo: list[tuple[tuple[str, ...], Iterator[tuple[str, Any]]]] = [((), iter(document.items()))]
    while todo:
        start, members = todo[-1]
        for key, value in members:
            path = (*start, key)
            if type(value) is dict and value and (max_depth is None or len(path) < max_depth):
                todo.append((path, iter(value.items())))
                break
            yield path, value
        else:
            todo.pop()


def has_infinity(value: Any) -> bool:
    """Return whether a float in a decoded document is infinite."""
    todo = [value]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            todo += value.values()
        elif isinstance(value, list):
            todo += value
        elif isinstance(value, float) and value in INFINITE:
            return True
    return False


class LineDecoder:
    """Decodes lines. Lines that `orjson` would round or refuse are decoded by the standard library.

    `orjson` is imported for the first line.

    Attributes
    ----------
    fast : callable or None
        `loads`, after its first use.
    """

    def __init__(self) -> None:
        self.fast: Callable[[Any], Any] | None = None

    @property
    def loads(self) -> Callable[[Any], Any]:
        """The decoder for lines without integers of more than 64 bits; `decode_exactly` without `orjson`."""
        if self.fast is None:
            try:
                self.fast = importlib.import_module("orjson").loads
            except ImportError:
                self.fast = decode_exactly
        return self.fast

    def one(self, line: bytes | memoryview, path: str = "a document") -> Document:
        """Decode a line.

        Parameters
        ----------
        line : bytes or memoryview
        path : str
            Path of the file, for warnings.

        Raises
        ------
        FormatError
            If it is not a JSON object.

        Examples
        --------
        >>> from ds_format.zds.documents import decoder
        >>> decoder.one(b'{"_id":"a","n":18446744073709551616}')
        {'_id': 'a', 'n': 18446744073709551616}
        """
        loads = self.fast or self.loads
        try:
            document = decode_exactly(line, path) if big_number(line) else loads(line)
        except FormatError:
            raise
        except ValueError:
            document = decode_exactly(line, path)
        if type(document) is not dict:
            raise FormatError("found no object in the line")
        return document

    def many(self, lines: list[bytes], block: bytes | None = None, path: str = "a document") -> list[Document]:
        """Decode lines; as `one`.

        Parameters
        ----------
        lines : list of bytes
        block : bytes, optional
            The bytes that consist of these lines. If given, large numbers are searched once for all lines.
        path : str
            Path of the file, for warnings.
        """
        loads = self.fast or self.loads
        if block is None or not big_number(block):
            try:
                return list(map(loads, lines))
            except ValueError:
                pass  # decoding line by line gives an error that names the line
        return [self.one(line, path) for line in lines]


decoder = LineDecoder()


def plain(value: object) -> object:
    """Return the JSON value for a value of another type: NumPy scalars and arrays become numbers and lists.

    Raises
    ------
    UnsupportedError
        If there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from ds_format.zds.documents import plain
    >>> plain(np.array([[1, 2], [3, 4]], "i2")), plain(np.float32(0.5))
    ([[1, 2], [3, 4]], 0.5)
    """
    kind = type(value)
    if kind.__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist") and hasattr(value, "dtype"):
        if hasattr(value, "mask"):
            raise UnsupportedError("a masked array cannot be in a document; fill it or make a list of it")
        if value.dtype.kind in "biufU":
            found: object = value.tolist()
            return found
        raise UnsupportedError(f"an array of {value.dtype} cannot be in a document")
    raise UnsupportedError(f"a value of type {kind.__qualname__} cannot be in a document")


def schema_of(value: Any) -> Any:
    """Return the schema of a value of a document.

    Returns
    -------
    dict, list or str
        For an object, an array, and other types, respectively.

    Examples
    --------
    >>> from ds_format.zds.documents import schema_of
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
    """Return a description of the first difference of two schemas; None if they match.

    Parameters
    ----------
    schema : dict, list or str
        The expected one; see `schema_of`.
    found : dict, list or str
    path : str
        Their position in the document, as a dotted path.

    Examples
    --------
    >>> from ds_format.zds.documents import difference, schema_of
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
