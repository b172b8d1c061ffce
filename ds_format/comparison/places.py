"""Where in a variable a value stands: its position along each dimension, and the coordinates there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .. import timeaxis
from ..base.names import escape
from ..dataset import attrs, dims
from ..drivers.base import Source
from ..errors import UnsupportedError
from .records import Place
from .values import Found


def place(found: Found | None, key: str, sources: tuple[Source, Source]) -> Place | None:
    """Return where two values are that differ.

    Parameters
    ----------
    found : Found or None
    key : str
        Of the variable, which has the same shape in both sources.
    sources : (Source, Source)
        A and B. Coordinates are those of A, or of B where A has none.
    """
    if found is None:
        return None
    entry = sources[0].meta[key]
    shape = entry[".size"]
    index = _index(found.position, shape)
    coordinates: dict[str, Any] = {}
    for dim, i, n in zip(dims(key, entry, len(shape)), index, shape, strict=True):
        for source in sources:
            value = _coordinate(source, dim, i, n)
            if value is not None and escape(dim) != key:
                coordinates[dim] = value
                break
    return Place(index, coordinates, found.a, found.b, found.size)


def _index(position: int, shape: Sequence[int]) -> tuple[int, ...]:
    index = []
    for i in range(len(shape)):
        inner = math.prod(shape[i + 1 :])
        index.append(position // inner)
        position %= inner
    return tuple(index)


def _coordinate(source: Source, dim: str, i: int, n: int) -> Any:
    """Return the value of a dimension's own variable at a position; None if there is none, or it is missing."""
    key = escape(dim)
    entry = source.meta.get(key)
    if entry is None or entry.get(".size") != [n] or dims(key, entry, 1) != [dim] or key in source.faults:
        return None
    value = source.read(key, (i,))
    if getattr(value, "mask", False):
        return None
    return _as_text(value, attrs(entry))


def _as_text(value: Any, attributes: Mapping[str, Any]) -> Any:
    """Return a time as text, if it is one."""
    if timeaxis.is_time(attributes):
        try:
            shown = timeaxis.to_iso(value, attributes["units"], attributes.get("calendar"))
        except UnsupportedError:
            return value
        return shown if isinstance(shown, str) else value
    return value
