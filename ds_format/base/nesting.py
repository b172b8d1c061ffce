"""How deeply lists and objects may be inside of one another, so that whoever walks over them can call itself."""

from __future__ import annotations

from typing import Any

DEPTH = 100
"""Lists and objects inside of one another, in an attribute."""
TOO_DEEP = f"nested too deeply: more than {DEPTH} lists and objects are inside of one another"
CONTAINERS = frozenset({list, tuple, dict})


def is_too_deep(value: Any, more: int = 0) -> bool:
    """Return whether lists, tuples and dictionaries are more than `DEPTH` inside of one another, or contain themselves.

    What is shared is looked at once for each depth in which it is.

    Parameters
    ----------
    value : object
    more : int
        How many are around attributes.
    """
    level = [value] if type(value) in CONTAINERS else []
    for _ in range(DEPTH + more):
        inner: dict[int, Any] = {}
        for item in level:
            for part in item.values() if type(item) is dict else item:
                if type(part) in CONTAINERS:
                    inner[id(part)] = part
        if not inner:
            return False
        level = list(inner.values())
    return True
