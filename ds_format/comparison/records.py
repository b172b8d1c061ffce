"""Differences as data, and as readable lines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..base.text import aligned, visible

KINDS = ("dimension", "variable", "dimensions", "shape", "type", "attribute", "missing", "values")
"""Types of differences in the order of the output; see `Difference.kind`."""


@dataclass(frozen=True, slots=True)
class Place:
    """Position of a difference, and the values there."""

    index: tuple[int, ...]
    """Position along each dimension."""
    coordinates: Mapping[str, Any]
    """Name of a dimension → value of its coordinate there, if there is one; times as text."""
    a: Any
    """The value of A; None: missing."""
    b: Any
    size: Any = None
    """Size of the difference, if this is the largest one."""

    def report(self) -> dict[str, Any]:
        """Return it as data for JSON."""
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
    """`dimension`: its size, or only one dataset has it. `variable`: only one dataset has it. `dimensions`: names of
    the dimensions of a variable. `shape`, `type`: of a variable. `attribute`: its type or value, or only one dataset
    has it. `missing`: values that are missing in only one dataset. `values`: values that differ."""
    variable: str | None = None
    """Its name; None for dimensions and attributes of the dataset."""
    name: str | None = None
    """Name of the dimension or attribute."""
    only: str | None = None
    """The only dataset that has it: `a` or `b`; None: both."""
    a: Any = None
    """Contents of A: a size, a type, names, an attribute, or the number of values that are missing only in A."""
    b: Any = None
    types: tuple[str, str] | None = None
    """Types of an attribute, if they differ."""
    n: int | None = None
    """Number of values that differ, or are missing in only one dataset."""
    total: int | None = None
    """Number of compared values, including missing ones."""
    first: Place | None = None
    """The first one."""
    largest: Place | None = None
    """The largest absolute difference of numbers, above the tolerances."""
    relative: Place | None = None
    """The largest difference relative to the value of B; infinite if that is 0."""
    hint: str | None = None
    """Possible name of the variable in the other dataset."""

    def report(self) -> dict[str, Any]:
        """Return it as data for JSON, without empty fields."""
        told: dict[str, Any] = {}
        for field in (one.name for one in fields(self)):
            value = getattr(self, field)
            if isinstance(value, Place):
                told[field] = plain(value.report())
            elif value is not None or field in self._sides():
                told[field] = plain(value)
        return told

    def _sides(self) -> tuple[str, ...]:
        """Return the sides to print."""
        if self.kind in ("variable", "values"):
            return ()
        return ("a", "b") if self.only is None else (self.only,)


def plain(value: Any) -> Any:
    """Return a value for JSON: arrays as lists, bytes as text."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, (list, tuple)) else value


MAX_VALUE = 60
"""Maximum number of characters of a value."""
MAX_ITEMS = 8
"""Maximum number of items of an array."""
MAX_NAME = 32
"""Maximum width of names up to which descriptions are aligned."""


class Differences(tuple[Difference, ...]):
    """Differences between two datasets, in readable order; empty, and so false, if there are none.

    Attributes
    ----------
    variables : int
        Number of variables in either dataset.

    Examples
    --------
    >>> import ds_format as ds
    >>> found = ds.diff({"x": [1, 2, 3]}, {"x": [1, 5, 3]})
    >>> bool(found), found.variables
    (True, 1)
    >>> found
    values  x  1 of 3 differ; first at [1]: A 2, B 5; by at most 3
    1 difference, in 1 of 1 variable
    """

    variables: int

    def __new__(cls, found: Iterable[Difference], variables: int) -> Differences:
        """Take the differences."""
        made = super().__new__(cls, found)
        made.variables = variables
        return made

    def __repr__(self) -> str:
        return "\n".join(lines(self, self.variables)) if self else "no differences"

    def report(self) -> dict[str, Any]:
        """Return them as data for JSON."""
        return {"same": not self, "variables": self.variables, "differences": [one.report() for one in self]}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self), self.variables)


def lines(found: Sequence[Difference], variables: int) -> list[str]:
    """Return a line for each difference, and a summary.

    Parameters
    ----------
    found : sequence of Difference
    variables : int
        Number of variables in either dataset.
    """
    if not found:
        return []
    heads = aligned([(one.kind, _subject(one)) for one in found], most=(MAX_NAME, MAX_NAME))
    return [
        *("  ".join((*head, _about(one))) for head, one in zip(heads, found, strict=True)),
        _summary(found, variables),
    ]


def _summary(found: Sequence[Difference], variables: int) -> str:
    differing = len({one.variable for one in found if one.variable is not None})
    counts = Counter(one.kind for one in found)
    kinds = ", ".join(f"{kind} {counts[kind]}" for kind in KINDS if counts[kind])
    n = f"{len(found)} difference{'s' if len(found) != 1 else ''}"
    where = f"in {differing} of {variables} variable{'s' if variables != 1 else ''}"
    return f"{n} ({kinds}), {where}" if len(counts) > 1 else f"{n}, {where}"


def _subject(one: Difference) -> str:
    """Return the name of a difference; for attributes VARIABLE:NAME, as in ncdump."""
    name = one.variable or ""
    if one.kind == "attribute":
        name += f":{one.name}"
    elif one.name is not None:
        name = one.name
    return _escaped(name)


def _about(one: Difference) -> str:
    if one.kind == "values":
        return _values_text(one)
    if one.kind == "missing":
        return _missing_text(one)
    if one.only is not None:
        side, other = ("A", "B") if one.only == "a" else ("B", "A")
        if one.kind == "variable":
            hint = "" if one.hint is None else f"; {other} has {_escaped(one.hint)}"
            return f"only in {side}{hint}"
        return f"only in {side}: {_shown(one.a if one.only == 'a' else one.b)}"
    sides = [_shown(side) if one.kind == "attribute" else _plain(side) for side in (one.a, one.b)]
    if one.types is not None:
        sides = [f"{shown} ({kind})" for shown, kind in zip(sides, one.types, strict=True)]
    about = "; values cannot be compared" if one.kind == "shape" else ""
    return f"A {sides[0]}, B {sides[1]}{about}"


def _values_text(one: Difference) -> str:
    parts = [f"{one.n} of {one.total} differ", f"first {_at(one.first)}"]
    if one.largest is not None:
        parts.append(f"by at most {_size(one.largest.size)}{_elsewhere(one.largest, one.first)}")
    if one.relative is not None and one.largest is not None and not isinstance(one.largest.size, int):
        parts.append(f"relatively {one.relative.size:.3g}{_elsewhere(one.relative, one.first)}")
    return "; ".join(parts)


def _size(size: Any) -> str:
    return str(size) if isinstance(size, int) else f"{size:.6g}"


def _missing_text(one: Difference) -> str:
    return f"{one.a} of {one.total} only in A, {one.b} only in B; first {_at(one.first)}"


def _at(position: Place | None) -> str:
    if position is None:
        return ""
    values = f"A {_shown(position.a)}, B {_shown(position.b)}"
    return f"{_where(position)}: {values}" if position.index else values


def _elsewhere(position: Place, first: Place | None) -> str:
    """Return a position as text, unless it was printed already."""
    return "" if first is not None and position.index == first.index else f" {_where(position)}"


def _where(position: Place) -> str:
    named = " ".join(f"{_escaped(name)}={_bare(value)}" for name, value in position.coordinates.items())
    return f"at {list(position.index)}{f' ({named})' if named else ''}"


def _bare(value: Any) -> str:
    return _escaped(value) if isinstance(value, str) else _shown(value)


def _plain(value: Any) -> str:
    """Return a size, a type, or names."""
    if value is None:
        return "none"
    if isinstance(value, (list, tuple)):
        return f"({_cut(', '.join(map(_escaped, map(str, value))))})"
    return _escaped(str(value))


def _shown(value: Any) -> str:
    """Return a value on one line, cut if it is long."""
    if value is None:
        return "missing"
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (list, tuple, np.ndarray)):
        items = ", ".join(map(_shown, value[:MAX_ITEMS]))
        return _cut(f"[{items}{', ...' if len(value) > MAX_ITEMS else ''}]")
    if isinstance(value, bytes):
        value = value[: MAX_VALUE + 1].decode("utf-8", "surrogateescape")
    if isinstance(value, str):
        return _cut(visible(json.dumps(value[: MAX_VALUE + 1], ensure_ascii=False)))
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    return _cut(visible(str(value)))


def _cut(shown: str) -> str:
    return shown if len(shown) <= MAX_VALUE else shown[: MAX_VALUE - 3] + "..."


def _escaped(name: str) -> str:
    return visible(name).replace("\n", "\\n").replace("\t", "\\t")
