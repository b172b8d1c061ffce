"""What is said of one difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

KINDS = ("dimension", "variable", "dimensions", "shape", "type", "attribute", "missing", "values")
"""What may differ, in the order in which it is told: see `Difference.kind`."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where two variables differ, and what they have there."""

    index: tuple[int, ...]
    """Position along each dimension."""
    coordinates: Mapping[str, Any]
    """Name of a dimension → value there of the variable of this name, where there is one; times as text."""
    a: Any
    """The value of A; None: missing."""
    b: Any
    size: Any = None
    """By how much they differ, if this is the place of the largest difference."""

    def report(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        told: dict[str, Any] = {"index": list(self.index), "coordinates": dict(self.coordinates)}
        told |= {"a": self.a, "b": self.b}
        return told if self.size is None else {**told, "size": self.size}


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between the datasets A and B.

    Examples
    --------
    >>> import ds_format as ds
    >>> [found] = ds.diff({"x": [1.0, 2.0, 3.0]}, {"x": [1.0, 2.5, 3.0]})
    >>> found.kind, found.variable, found.n, found.largest.index, found.largest.size
    ('values', 'x', 1, (1,), 0.5)
    """

    kind: str
    """`dimension`: it has another size, or only one dataset has it. `variable`: only one has it. `dimensions`: the
    names of those of a variable. `shape`, `type`: of a variable. `attribute`: its type or value, or only one has it.
    `missing`: values that are missing in one alone. `values`: those that differ."""
    variable: str | None = None
    """Its name; None for dimensions and attributes of the dataset."""
    name: str | None = None
    """Of the dimension or attribute."""
    only: str | None = None
    """`a` or `b`: which one has it at all; None: both."""
    a: Any = None
    """What A has: a size, a type, names, an attribute, or how many values are missing in A alone."""
    b: Any = None
    types: tuple[str, str] | None = None
    """Of an attribute, if they differ."""
    n: int | None = None
    """Values that differ, or are missing in one alone."""
    total: int | None = None
    """Values that were compared, missing ones included."""
    first: Place | None = None
    """The first of them."""
    largest: Place | None = None
    """Numbers that differ most, of those that differ by more than the tolerances."""
    relative: Place | None = None
    """Those that differ most in relation to the value of B; infinite where that is 0."""
    hint: str | None = None
    """What the variable may be called in the other dataset."""

    def report(self) -> dict[str, Any]:
        """Return what is known of it as JSON has it."""
        told: dict[str, Any] = {}
        for field in (one.name for one in fields(self)):
            value = getattr(self, field)
            if isinstance(value, Place):
                told[field] = plain(value.report())
            elif value is not None or field in self._sides():
                told[field] = plain(value)
        return told

    def _sides(self) -> tuple[str, ...]:
        """Return the sides of which something is told."""
        if self.kind in ("variable", "values"):
            return ()
        return ("a", "b") if self.only is None else (self.only,)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: arrays as lists, bytes as text."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, (list, tuple)) else value
