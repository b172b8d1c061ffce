"""How much an object holds: a small pickle can have one list in another ten times, and that in the next one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.nesting import CONTAINERS, DEPTH
from ...binpickle.machine.postponed import PostponedArray, PostponedMasked
from ...errors import UnsupportedError

REPEATED = 1 << 20
"""Values that may come of repeated parts, in all."""
TIMES = 16
"""How often each part may be there, where that makes more."""
POSTPONED = (PostponedArray, PostponedMasked)
PLAIN = (str, bytes, bool, int, float, type(None), np.generic)


class Measure:
    """Counts what is made of an object: lists and values each time that they are in it, and also only once."""

    def __init__(self) -> None:
        self._sizes: dict[tuple[int, bool], int | str] = {}
        """Of lists, by identity, and whether arrays may be in them; or what is wrong with them."""
        self._arrays: dict[int, int] = {}
        """Values of arrays, by address; of those that are not in memory by the complement of their number."""
        self._held: list[Any] = []
        """What must not go, since others would get its identity."""
        self._n = self._total = 0
        """Lists and values, without repetitions and with them."""

    def check(self, value: Any, *, arrays: bool) -> None:
        """Refuse nested lists that would become far more than they are, alone or with all that was checked before.

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
        if type(value) in CONTAINERS:
            total = self._total + self._size(value, 0, arrays)
        elif isinstance(value, np.ndarray):
            total = self._total + self._size_of_array(value)
        else:
            return
        self._compare(total)
        self._total = total

    def check_array(self, number: int, size: int) -> None:
        """Count an array of `size` values that is buffer `number` of the file, and not in memory; as `check`."""
        total = self._total + self._known(~number, size)
        self._compare(total)
        self._total = total

    def _known(self, place: int, size: int) -> int:
        """Return the size of an array at some place, after it was counted there."""
        known = self._arrays.get(place, 0)
        if size > known:
            self._arrays[place] = size
            self._n += size - known
        return size

    def _compare(self, size: int) -> None:
        if size > REPEATED and size > TIMES * self._n:
            raise UnsupportedError(f"found lists that repeat their parts: {size} values")

    def _size(self, value: Any, depth: int, arrays: bool) -> int:
        key = id(value), arrays
        if key not in self._sizes:
            if depth > DEPTH:
                raise UnsupportedError(f"found more than {DEPTH} lists inside of one another")
            self._sizes[key] = "found a list that contains itself"
            self._held.append(value)
            self._n += 1
            size = 1
            try:
                for part in value.values() if type(value) is dict else value:
                    if type(part) in CONTAINERS:
                        size += self._size(part, depth + 1, arrays)
                    elif isinstance(part, PLAIN):
                        self._n += 1
                        size += 1
                    else:
                        size += self._other(part, arrays)
            except UnsupportedError as error:
                self._sizes[key] = error.message
                raise
            self._sizes[key] = size
        found = self._sizes[key]
        if isinstance(found, str):
            raise UnsupportedError(found)
        self._compare(found)
        return found

    def _other(self, item: Any, arrays: bool) -> int:
        if not arrays:
            found = "arrays" if isinstance(item, (np.ndarray, *POSTPONED)) else type(item).__name__
            raise UnsupportedError(f"a list holds {found}; expected plain values")
        return self._size_of_array(item) if isinstance(item, np.ndarray) else 1

    def _size_of_array(self, array: Any) -> int:
        """Return how many values an array has; of objects, with those that are inside of them."""
        size = self._known(array.ctypes.data, array.size)
        self._held.append(array)
        if array.dtype.kind == "O":
            nested = [part for part in np.ma.getdata(array).ravel().tolist() if type(part) in CONTAINERS]
            size += sum(self._size(part, 1, arrays=True) for part in nested)
        return size
