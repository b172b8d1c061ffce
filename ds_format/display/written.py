"""A value, a name, dimensions → short text that neither a terminal nor a page obeys."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from typing import Any

import numpy as np

MAX_NAME = 100
"""Characters of a name, and of all dimensions of a variable."""
MAX_VALUE = 200
"""Characters of the value of an attribute."""
MAX_ITEMS = 20
"""Items of an array or list in an attribute that are shown."""

_limited = reprlib.Repr()
_limited.maxlist = _limited.maxtuple = _limited.maxdict = _limited.maxset = _limited.maxfrozenset = MAX_ITEMS
_limited.maxstring = _limited.maxother = _limited.maxlong = MAX_VALUE


def name(told: str) -> str:
    """Return a name on one line."""
    return cut(printable(told), MAX_NAME)


def value(found: Any, limit: int = MAX_VALUE) -> str:
    """Return the value of an attribute on one line; of long ones the beginning."""
    if isinstance(found, np.ndarray) and found.size > MAX_ITEMS:
        found = f"{found.dtype} array of shape {found.shape}"
    elif isinstance(found, (np.ndarray, np.generic)):
        found = found.tolist()
    shown = found[: limit + 1] if isinstance(found, str) else _limited.repr(found)
    return cut(printable(" ".join(shown[: limit + 1].split())), limit)


def sizes(dims: Iterable[tuple[str, int | None]], limit: int) -> str:
    """Return dimensions with their sizes."""
    return cut(", ".join(name(dim) if n is None else f"{name(dim)}: {n}" for dim, n in dims), limit)


def printable(shown: str) -> str:
    """Return text with escapes for control characters, which a terminal would obey, and for lone surrogates."""
    if shown.isprintable():
        return shown
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in shown[: MAX_VALUE + 1])


def cut(shown: str, limit: int) -> str:
    """Return text of so many characters at most."""
    return shown if len(shown) <= limit else shown[: limit - 3] + "..."
