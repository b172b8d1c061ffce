"""Records of other programs → variables along one dimension.

An entry with one type and shape in all records is a variable. Values that are absent or null are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...base.dtypes import LIMITS, type_of_integers
from ...base.text import escape
from ...codec.header import MAX_DIMS
from ...errors import UnsupportedError
from ..base import Metadata

DIM = "n"
"""The dimension of the records."""
INTEGER = "int"
"""Type of integers before the smallest ds type that holds all of them is chosen."""
WORD = "word"
"""Type of a string for NaN or infinity: it is a number if all other values are numbers."""
UNKNOWN = "values of type "
"""Prefix of the names of types that a dataset cannot hold."""
SHOWN = 4
"""Limit of shapes or types in a message."""


class Description(NamedTuple):
    """Type, shape and bounds of a value."""

    types: tuple[str, ...]
    """ds types, `INTEGER`, `WORD`, or `UNKNOWN` and a name; empty for an empty array."""
    shape: tuple[int, ...] = ()
    is_masked: bool = False
    """Whether a value in an array is missing."""
    low: int = 0
    high: int = 0
    """Bounds of the integers."""


class _Values:
    """The values that the records have under one name."""

    def __init__(self) -> None:
        self.types: dict[str, None] = {}
        self.shapes: dict[tuple[int, ...], None] = {}
        self.low = self.high = self.n = 0
        self.is_masked = False
        self.reason: str | None = None

    def add(self, found: Description) -> None:
        """Add a value."""
        self.low, self.high = min(self.low, found.low), max(self.high, found.high)
        self.is_masked |= found.is_masked
        self.types.update(dict.fromkeys(found.types))
        self.shapes[found.shape] = None

    def fault(self) -> str | None:
        """Return the reason if this cannot be a variable, else None."""
        if self.reason is not None:
            return self.reason
        unknown = [name for name in self.types if name.startswith(UNKNOWN)]
        if unknown:
            return f"found {unknown[0]}, which a dataset cannot hold"
        if len(self.shapes) > 1:
            shapes = [str(list(shape)) for shape in self.shapes]
            return f"found the shapes {', '.join(shapes[:SHOWN])}{', ...' * (len(shapes) > SHOWN)}, expected one"
        if self.type() is None:
            return f"found values of the types {', '.join(list(self.types)[:SHOWN])}, expected one type that holds all"
        if len(next(iter(self.shapes), ())) >= MAX_DIMS:
            return f"found more than {MAX_DIMS - 1} dimensions"
        return None

    def type(self) -> str | None:
        """Return the type that holds all values."""
        found = {*self.types}
        if WORD in found:
            found.remove(WORD)
            found.add("float64" if found and found <= {INTEGER, "float64"} else "unicode")
        if INTEGER not in found:
            return found.pop() if len(found) == 1 else None if found else "float64"
        found.remove(INTEGER)
        return type_of_integers(self.low, self.high, [name for name in LIMITS if found <= {name}])


class RecordSchema:
    """The entries of records.

    Parameters
    ----------
    scalars : mapping
        Python types of scalars → the names of their types.
    describe : callable
        Returns the description of any other value except None.
    """

    def __init__(self, scalars: Mapping[type, str], describe: Callable[[Any], Description]):
        self._scalars, self._describe = scalars, describe
        self._entries: dict[str, _Values] = {}

    def n(self, name: str) -> int:
        """Return the number of values of an entry."""
        return self._entries[name].n if name in self._entries else 0

    def forget(self, name: str) -> None:
        """Remove an entry, if there is one."""
        self._entries.pop(name, None)

    def add(self, name: str, value: Any) -> None:
        """Add an entry of a record."""
        entry = self._entries.get(name)
        if entry is None:
            entry = self._entries[name] = _Values()
        if value is None:
            return
        entry.n += 1
        scalar = self._scalars.get(type(value))
        if scalar is None:
            entry.add(self._describe(value))
            return
        entry.types[scalar] = None
        entry.shapes[()] = None
        if type(value) is int:
            entry.low, entry.high = min(entry.low, value), max(entry.high, value)

    def refuse(self, name: str, reason: str) -> None:
        """Mark an entry that cannot be a variable."""
        self._entries.setdefault(name, _Values()).reason = reason

    def metadata(self, n: int, path: str, key: str | None) -> tuple[Metadata, dict[str, UnsupportedError]]:
        """Return the metadata of n records.

        Parameters
        ----------
        n : int
        path : str
            For messages.
        key : str, optional
            An entry that is text in all records; it comes first.

        Returns
        -------
        Metadata
            Entries that cannot be variables have no `.size` and no `.type`.
        dict
            Key of each such entry → the error.
        """
        meta: Metadata = {}
        faults: dict[str, UnsupportedError] = {}
        if key is not None:
            meta[escape(key)] = {".dims": [DIM], ".size": [n], ".type": "unicode", ".missing": False}
        for name, entry in self._entries.items():
            if name == key:
                continue
            reason = entry.fault()
            if reason is not None:
                faults[escape(name)] = UnsupportedError(reason, path=path, variable=name)
                meta[escape(name)] = {".size": None, ".type": None}
                continue
            size = [n, *next(iter(entry.shapes), ())]
            dims = [DIM, *(f"{name}_{i}" for i in range(2, len(size) + 1))]
            is_missing = entry.is_masked or entry.n < n
            meta[escape(name)] = {".dims": dims, ".size": size, ".type": entry.type(), ".missing": is_missing}
        meta["."] = {}
        return meta, faults
