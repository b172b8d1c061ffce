"""Samples of other programs → variables along one dimension.

An entry that has the same type and shape in all samples is a variable; where it is absent or nil, it is missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...codec.encode import type_of
from ...codec.header import MAX_DIMS
from ...datadings.format import KEY
from ...dataset import as_array
from ...errors import FormatError, UnsupportedError
from ...names import escape
from ..base import Metadata

DIM = "n"
"""The dimension of the records."""
INTEGER = "int"
"""Type of integers of msgpack, of which each sample has the smallest form."""
SHOWN = 4
"""Shapes or types that a message tells."""
EXACT = 1 << 53
"""Up to here float64 has all integers."""


class _Entry:
    """What the samples have under one name."""

    def __init__(self) -> None:
        self.types: dict[str, None] = {}
        self.shapes: dict[tuple[int, ...], None] = {}
        self.low = self.high = self.n = 0
        self.is_masked = False

    def add(self, value: Any) -> None:
        """Take one more value into account."""
        kind = type(value)
        if kind is int:
            self.low, self.high = min(self.low, value), max(self.high, value)
        name = _NAMES.get(kind)
        shape: tuple[int, ...] = ()
        if name is None:
            name, shape, is_masked = _described(value)
            self.is_masked |= is_masked
        self.n += 1
        self.types[name] = None
        self.shapes[shape] = None

    def fault(self) -> str | None:
        """Return why this is no variable, or None."""
        unknown = [name for name in self.types if name.startswith("values of type ")]
        if unknown:
            return f"found {unknown[0]}, which are none of a dataset"
        if len(self.shapes) > 1:
            shapes = [str(list(shape)) for shape in self.shapes]
            return f"found the shapes {', '.join(shapes[:SHOWN])}{', ...' * (len(shapes) > SHOWN)}, expected one"
        if self._type() is None:
            return f"found values of the types {', '.join(list(self.types)[:SHOWN])}, expected one type that holds all"
        if len(next(iter(self.shapes), ())) >= MAX_DIMS:
            return f"found more than {MAX_DIMS - 1} dimensions"
        return None

    def _type(self) -> str | None:
        """Return the type that holds all values."""
        found = {*self.types} - {INTEGER}
        if INTEGER not in self.types:
            return found.pop() if len(found) == 1 else None if found else "float64"
        for name in ("int64", "uint64"):
            limits = np.iinfo(name)
            if found <= {name} and limits.min <= self.low and self.high <= limits.max:
                return name
        return "float64" if found == {"float64"} and max(-self.low, self.high) <= EXACT else None

    def describe(self, n: int) -> dict[str, Any]:
        """Return the metadata of the variable."""
        shape = next(iter(self.shapes), ())
        return {".size": [n, *shape], ".type": self._type()}


_NAMES = {int: INTEGER, float: "float64", bool: "bool", str: "unicode", bytes: "str"}


def _described(value: Any) -> tuple[str, tuple[int, ...], bool]:
    """Return type and shape, and whether a value is missing, of anything but a number or string of msgpack."""
    kind = type(value).__name__
    if isinstance(value, (list, np.ndarray, np.generic)):
        try:
            array = as_array(value)
            return type_of(array).name, array.shape, isinstance(array, np.ma.MaskedArray)
        except UnsupportedError:
            kind = str(value.dtype) if isinstance(value, (np.ndarray, np.generic)) else kind
    return f"values of type {kind}", (), False


def infer(samples: Iterable[Any], n: int, path: str) -> tuple[Metadata, dict[str, UnsupportedError]]:
    """Return the metadata of n samples.

    Parameters
    ----------
    samples : iterable
        As they are decoded.
    n : int
    path : str
        For messages.

    Returns
    -------
    Metadata
        Entries that are no variables have no `.size` and no `.type`.
    dict
        Key of each such entry → why it is none.

    Raises
    ------
    FormatError
        If a sample is not a map; the message says which.
    """
    entries: dict[Any, _Entry] = {KEY: _Entry()} if n else {}
    for i, sample in enumerate(samples):
        if type(sample) is not dict:
            raise FormatError(f"sample {i}: found {type(sample).__name__}, expected a map", path=path)
        for name, value in sample.items():
            entry = entries.get(name)
            if entry is None:
                entry = entries[name] = _Entry()
            if value is not None:
                entry.add(value)
    return _metadata(entries, n, path)


def _metadata(entries: dict[Any, _Entry], n: int, path: str) -> tuple[Metadata, dict[str, UnsupportedError]]:
    meta: Metadata = {}
    faults: dict[str, UnsupportedError] = {}
    for name, entry in entries.items():
        text = name if isinstance(name, str) else repr(name)
        key = escape(text)
        if name == KEY:
            meta[key] = {".dims": [DIM], ".size": [n], ".type": "unicode", ".missing": False}
            continue
        reason = entry.fault() if isinstance(name, str) else "found a name that is no text"
        if reason is not None:
            faults[key] = UnsupportedError(reason, path=path, variable=text)
            meta[key] = {".size": None, ".type": None}
            continue
        found = entry.describe(n)
        dims = [DIM, *(f"{text}_{i}" for i in range(2, len(found[".size"]) + 1))]
        meta[key] = {".dims": dims, **found, ".missing": entry.is_masked or entry.n < n}
    meta["."] = {}
    return meta, faults
