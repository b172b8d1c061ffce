"""How much nested lists hold: a small pickle can have one list in another ten times, and that in the next one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import UnsupportedError

DEPTH = 200
"""Lists inside of one another."""
REPEATED = 1 << 20
"""Values that may come of repeated parts."""
PLAIN = (str, bytes, bool, int, float, type(None), np.generic)


def check(value: Any, *, arrays: bool) -> None:
    """Refuse nested lists that would become far more than they are.

    Parameters
    ----------
    value : object
        Anything; lists, tuples and dictionaries are gone through.
    arrays : bool
        Whether arrays may be in lists. Else only plain values may.

    Raises
    ------
    UnsupportedError
        If there is too much, or something else.
    """
    if type(value) in (list, tuple, dict):
        _Measure(arrays).size(value, 0)


class _Measure:
    def __init__(self, arrays: bool):
        self._arrays = arrays
        self._sizes: dict[int, int | None] = {}
        """Of what was gone through, by identity; None while that is not finished."""
        self._n = 0
        """Values, without repetitions."""

    def size(self, value: Any, depth: int) -> int:
        if type(value) not in (list, tuple, dict):
            return self._size_of_item(value)
        if id(value) not in self._sizes:
            if depth > DEPTH:
                raise UnsupportedError(f"found more than {DEPTH} lists inside of one another")
            self._sizes[id(value)] = None
            self._n += len(value)
            parts = value.values() if type(value) is dict else value
            self._sizes[id(value)] = sum(self.size(part, depth + 1) for part in parts)
        size = self._sizes[id(value)]
        if size is None:
            raise UnsupportedError("found a list that contains itself")
        if size > max(self._n, REPEATED):
            raise UnsupportedError(f"found lists that repeat their parts: {size} values")
        return size

    def _size_of_item(self, item: Any) -> int:
        if isinstance(item, PLAIN):
            return 1
        if not self._arrays:
            raise UnsupportedError(f"a list holds {type(item).__name__}; expected plain values")
        if isinstance(item, np.ndarray):
            self._n += item.size if id(item) not in self._sizes else 0
            self._sizes[id(item)] = item.size
            return item.size
        return 1
