"""Selecting documents (`where`) and their fields (`fields`).

Both are compiled once to a function, which is then called with each document.

A dotted path names a field: `a.b` is the member `b` of the object `a`, `tags.0` the first item of the list `tags`, and
`tags.-1` the last. Keys may contain dots themselves. If a path has several readings, the one with the longest first
key has priority: the key `a.b` is preferred to the member `b` of `a`.

Values are compared as in JSON: `true` is not 1, 1 and 1.0 are the same number, a text is never less than a number.
Values that cannot be compared do not match. This is not an error, because documents may differ in their types.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import Any, TypeAlias

from .documents import Document

Where: TypeAlias = "Mapping[str, Any] | str | Callable[[Document], Any] | Sequence[Where]"
Test: TypeAlias = Callable[[Any], bool]

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING"})()
"""Result of `finder` for a missing field. It is not a JSON value, so it equals none."""

INDEX = re.compile(r"-?[0-9]{1,18}")
SYMBOLS = {"==": "eq", "=": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
WORDS = re.compile(r"\s*([^\s=<>!]+)\s+(contains|startswith|in|not_in|exists)(?:\s+(.*))?", re.DOTALL)
COMPARISON = re.compile(r"\s*(.+?)\s*(==|!=|<=|>=|=|<|>)\s*(.*)", re.DOTALL)


def finder(path: str) -> Callable[[Any], Any]:
    """Return a function that returns the value at a dotted path.

    Parameters
    ----------
    path : str

    Returns
    -------
    callable
        `f(document) -> value`, or `MISSING`.

    Examples
    --------
    >>> from ds_format.zds.query import finder
    >>> find = finder("tags.0")
    >>> find({"tags": ["red", "blue"]}), find({"tags.0": 1, "tags": [2]}), find({"tags": "red"})
    ('red', 1, MISSING)
    """
    parts = path.split(".")
    n = len(parts)
    if n == 1:
        return lambda document: document.get(path, MISSING)
    keys = [[(".".join(parts[start:stop]), stop) for stop in range(n, start, -1)] for start in range(n)]
    indices = [int(part) if INDEX.fullmatch(part) else None for part in parts]

    def find(value: Any, start: int = 0) -> Any:
        if start == n:
            return value
        if type(value) is dict:
            for key, stop in keys[start]:
                if key in value:
                    found = find(value[key], stop)
                    if found is not MISSING:
                        return found
        elif type(value) is list:
            index = indices[start]
            if index is not None and -len(value) <= index < len(value):
                return find(value[index], start + 1)
        return MISSING

    return find


def projection(fields: Iterable[str] | str | None) -> Callable[[Document], Document] | None:
    """Return a function that extracts fields from a document.

    The keys of the result are the given paths, in that order, and its values are those at the paths. So each path
    becomes one column of a table. `_id` comes first, even if it is not given, unless `-_id` is among the fields.
    Missing fields are left out.

    Parameters
    ----------
    fields : iterable of str, str, or None
        Dotted paths, or one string with commas between them, as on a command line.

    Returns
    -------
    callable or None
        `f(document) -> dict`; None for whole documents.

    Examples
    --------
    >>> from ds_format.zds.query import projection
    >>> projection("a.b,c")({"_id": "x", "a": {"b": 1}, "d": 2})
    {'_id': 'x', 'a.b': 1}
    >>> projection(["c", "-_id"])({"_id": "x", "c": 3})
    {'c': 3}
    """
    if fields is None:
        return None
    finders = [(path, finder(path)) for path in paths_of(fields)]

    def project(document: Document) -> Document:
        found = {}
        for path, find in finders:
            value = find(document)
            if value is not MISSING:
                found[path] = value
        return found

    return project


def paths_of(fields: Iterable[str] | str) -> list[str]:
    """Return the keys of the result of a projection, in order, each once.

    Raises
    ------
    ValueError
        If a path is not a string, or is empty.

    Examples
    --------
    >>> from ds_format.zds.query import paths_of
    >>> paths_of(["b", "a.c", "b"]), paths_of("a,-_id")
    (['_id', 'b', 'a.c'], ['a'])
    """
    given: list[Any] = listed(fields) or []
    for path in given:
        if not isinstance(path, str) or not path:
            raise ValueError(f"field {path!r}: expected the name of a field, such as 'a' or 'a.b'")
    excluded = {"_id", "-_id"} if "-_id" in given else set()
    return [path for path in dict.fromkeys(["_id", *given]) if path not in excluded]


def listed(fields: Iterable[str] | str | None) -> list[str] | None:
    """Return the fields of a projection as a list, which can be used twice.

    Examples
    --------
    >>> from ds_format.zds.query import listed
    >>> listed("a, b"), listed(iter("ab")), listed(None)
    (['a', 'b'], ['a', 'b'], None)
    """
    if isinstance(fields, str):
        return [part.strip() for part in fields.split(",")]
    return None if fields is None else list(fields)


def predicate(where: Where | None) -> Callable[[Document], Any] | None:
    """Return a function that decides whether a document is selected.

    Parameters
    ----------
    where : dict, str, callable, sequence of these, or None
        A dict has conditions by dotted path, which must all be true: `{"age": 30}` for a value, or
        `{"age": {"ge": 30, "lt": 40}}` with the operators

        ==============  ===================================================================================
        eq, ne          equal, not equal; `ne` is also true if the field is missing
        lt, le, gt, ge  numbers with numbers, texts with texts, by code points
        in, not_in      equal to one of several values, to none of them; `not_in` is also true for missing fields
        exists          true: the document has the field, null or not; false: the field is missing
        contains        a list contains this item, a text this part
        startswith      a text begins with this one
        ==============  ===================================================================================

        Compare with a dict by `{"eq": {...}}`. For a text, see `parse`. A function gets the document, and returns
        whether it is selected. Several conditions must all be true.

    Returns
    -------
    callable or None
        `f(document) -> bool`; None if all documents are selected.

    Raises
    ------
    ValueError
        If an operator is unknown, or its operand is invalid.

    Examples
    --------
    >>> from ds_format.zds.query import predicate
    >>> documents = [
    ...     {"_id": "a", "age": 30, "tags": ["x"]},
    ...     {"_id": "b", "age": "old"},
    ...     {"_id": "c", "age": 8},
    ... ]
    >>> def ids(where):
    ...     return [document["_id"] for document in filter(predicate(where), documents)]
    >>> ids({"age": {"ge": 8, "lt": 30}}), ids({"tags": {"contains": "x"}}), ids("tags.0=x")
    (['c'], ['a'], ['a'])
    >>> ids(["age>=8", lambda document: document["_id"] < "b"])
    ['a']
    """
    if where is None:
        return None
    if callable(where):
        return where
    if isinstance(where, str):
        where = parse(where)
    if isinstance(where, Mapping):
        tests = [_condition(path, expected) for path, expected in where.items()]
    elif isinstance(where, Iterable):
        tests = [test for test in map(predicate, where) if test is not None]
    else:
        raise ValueError(f"where {where!r:.60}: expected a dict of conditions, a text such as 'age>=30', or a function")
    return _all(tests) if tests else None


def parse(text: str) -> dict[str, dict[str, Any]]:
    """Return the condition that a text describes, as `predicate` accepts it.

    Parameters
    ----------
    text : str
        `PATH OPERATOR VALUE` with one of `= == != < <= > >=` or, between spaces, `contains`, `startswith`, `in`,
        `not_in`; or `PATH exists`, `PATH exists false`. The value is JSON if possible, otherwise a text: `30` is a
        number, `"30"` and `Oslo` are texts. The path ends at the first operator; other paths need a dict.

    Raises
    ------
    ValueError
        If there is no operator, or no path before it.

    Examples
    --------
    >>> from ds_format.zds.query import parse
    >>> parse("a.b>=3"), parse("city = New York"), parse("k in [1, 2]"), parse("k exists")
    ({'a.b': {'ge': 3}}, {'city': {'eq': 'New York'}}, {'k': {'in': [1, 2]}}, {'k': {'exists': True}})
    """
    if word := WORDS.fullmatch(text):
        path, operator, value = word.groups()
        if value is None and operator != "exists":
            raise ValueError(f"condition {text!r}: nothing after {operator}")
        return {path: {operator: True if value is None else _value(value)}}
    if comparison := COMPARISON.fullmatch(text):
        path, symbol, value = comparison.groups()
        return {path: {SYMBOLS[symbol]: _value(value)}}
    raise ValueError(f"condition {text!r}: expected a field, an operator and a value, such as age>=30")


def _value(text: str) -> Any:
    """Return the JSON value of a text, or the text itself if it is not JSON."""
    text = text.strip()
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _all(tests: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    if len(tests) == 1:
        return tests[0]

    def hold(value: Any) -> bool:
        for test in tests:  # noqa: SIM110  # all() with a generator takes twice the time
            if not test(value):
                return False
        return True

    return hold


def _condition(path: Any, expected: Any) -> Callable[[Document], Any]:
    if not isinstance(path, str) or not path:
        raise ValueError(f"condition of {path!r}: expected the name of a field, such as 'a' or 'a.b'")
    operators = expected if isinstance(expected, Mapping) else {"eq": expected}
    if not operators:
        raise ValueError(f"condition of {path}: no operator; expected one of {', '.join(OPERATORS)}")
    tests = []
    for operator, operand in operators.items():
        if operator not in OPERATORS:
            raise ValueError(
                f"condition of {path}: no operator {operator!r}; expected one of {', '.join(OPERATORS)}"
                " (an object is compared by {'eq': {...}})"
            )
        try:
            tests.append(OPERATORS[operator](_operand(operand)))
        except TypeError as error:
            raise ValueError(f"condition of {path}: {operator}: {error}") from None
        except RecursionError:
            raise ValueError(f"condition of {path}: {operator}: the value is nested too deeply") from None
    find, test = finder(path), _all(tests)
    if "." not in path:
        return lambda document: test(document.get(path, MISSING))
    return lambda document: test(find(document))


def _operand(value: Any) -> Any:
    """Return an operand with the types of documents: NumPy's numbers as Python's, tuples and arrays as lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [_operand(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _operand(item) for key, item in value.items()}
    return value


def same(left: Any, right: Any) -> bool:
    """Return whether two values are the same in JSON, where `true` is not 1.

    Examples
    --------
    >>> from ds_format.zds.query import same
    >>> same(1, 1.0), same(1, True), same([{"a": 0}], [{"a": False}])
    (True, False, False)
    """
    todo = [(left, right)]
    for left, right in todo:
        if type(left) is bool or type(right) is bool:
            if left is not right:
                return False
        elif type(left) is list and type(right) is list:
            if len(left) != len(right):
                return False
            todo += zip(left, right)  # noqa: B905 - of the same length; `strict` takes time
        elif type(left) is dict and type(right) is dict:
            if left.keys() != right.keys():
                return False
            todo += [(value, right[key]) for key, value in left.items()]
        elif left != right:
            return False
    return True


def _eq(operand: Any) -> Test:
    if type(operand) is str or operand is None:
        return lambda value: bool(value == operand)
    return lambda value: same(value, operand)


def _not(make: Callable[[Any], Test]) -> Callable[[Any], Test]:
    def negated(operand: Any) -> Test:
        test = make(operand)
        return lambda value: not test(value)

    return negated


def _order(compare: Callable[[Any, Any], bool]) -> Callable[[Any], Test]:
    def make(operand: Any) -> Test:
        if type(operand) is str:
            return lambda value: type(value) is str and compare(value, operand)
        if type(operand) is int or type(operand) is float:
            return lambda value: (type(value) is int or type(value) is float) and compare(value, operand)
        raise TypeError(f"{operand!r:.60} cannot be ordered; expected a number or a text")

    return make


def _in(operand: Any) -> Test:
    if not isinstance(operand, Iterable) or isinstance(operand, str | Mapping):
        raise TypeError(f"{operand!r:.60}: expected a list of values")
    values = [_operand(value) for value in operand]
    simple = frozenset((type(value) is bool, value) for value in values if not isinstance(value, list | dict))
    nested = [value for value in values if isinstance(value, list | dict)]

    def test(value: Any) -> bool:
        if type(value) is list or type(value) is dict:
            return any(same(value, other) for other in nested)
        return (type(value) is bool, value) in simple

    return test


def _exists(operand: Any) -> Test:
    if type(operand) is not bool:
        raise TypeError(f"{operand!r:.60}: expected true or false")
    return lambda value: (value is not MISSING) is operand


def _contains(operand: Any) -> Test:
    def test(value: Any) -> bool:
        if type(value) is list:
            return any(same(item, operand) for item in value)
        return type(value) is str and type(operand) is str and operand in value

    return test


def _startswith(operand: Any) -> Test:
    if type(operand) is not str:
        raise TypeError(f"{operand!r:.60}: expected a text")
    return lambda value: type(value) is str and value.startswith(operand)


OPERATORS: dict[str, Callable[[Any], Test]] = {
    "eq": _eq,
    "ne": _not(_eq),
    "lt": _order(lt),
    "le": _order(le),
    "gt": _order(gt),
    "ge": _order(ge),
    "in": _in,
    "not_in": _not(_in),
    "exists": _exists,
    "contains": _contains,
    "startswith": _startswith,
}
"""Operator → function that makes a test from an operand."""
