"""Two attributes: whether they are the same, in type and value, or in value alone."""

from __future__ import annotations

from typing import Any

import numpy as np

LISTS = (list, tuple, np.ndarray)


def type_of(value: Any) -> str:
    """Return the type of an attribute, with sizes if it is an array.

    What Python and NumPy have is the same type where its values are: int and int64, a list of text and an array of it.

    Examples
    --------
    >>> type_of("K"), type_of(1.5), type_of(np.float32(1.5)), type_of([1, 2]), type_of(np.zeros((2, 3), "i2"))
    ('unicode', 'float64', 'float32', 'int64[2]', 'int16[2,3]')
    """
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind != "O":
        name = {"U": "unicode", "T": "unicode", "S": "str"}.get(value.dtype.kind, value.dtype.name)
        return f"{name}[{','.join(map(str, value.shape))}]" if value.ndim else name
    if isinstance(value, LISTS):
        kinds = {type_of(item) for item in value}
        return f"{kinds.pop() if len(kinds) == 1 else 'none' if not kinds else 'list'}[{len(value)}]"
    kinds_of_python = ((bool, "bool"), (int, "int64"), (float, "float64"), (str, "unicode"), (bytes, "str"))
    for kind, name in kinds_of_python:
        if isinstance(value, kind):
            return name
    return "none" if value is None else "object"


def same(left: Any, right: Any) -> bool:
    """Whether two attributes are the same: type and value, NaN included."""
    return type_of(left) == type_of(right) and _same_values(left, right)


def _same_values(left: Any, right: Any) -> bool:
    if isinstance(left, LISTS) and isinstance(right, LISTS):
        return len(left) == len(right) and all(map(_same_values, left, right))
    return _same_one(left, right)


def alike(left: Any, right: Any) -> bool:
    """Whether two attributes have the same value, whatever its type: one of another kind passes."""
    if isinstance(left, LISTS) or isinstance(right, LISTS):
        ours, theirs = (list(one) if isinstance(one, LISTS) else [one] for one in (left, right))
        return len(ours) == len(theirs) and all(map(alike, ours, theirs))
    if isinstance(left, (str, bytes)) or isinstance(right, (str, bytes)):
        return str(left) == str(right) or type(left) is not type(right)
    return _same_one(left, right)


def _same_one(left: Any, right: Any) -> bool:
    try:
        return bool(left == right or (left != left and right != right))
    except ValueError:
        return False
