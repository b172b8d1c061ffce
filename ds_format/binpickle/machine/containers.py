"""Containers of `collections`, which a pickle makes empty and then fills.

Lists, tuples, dictionaries and sets have opcodes of their own.
"""

from __future__ import annotations

import collections
from typing import Any

from .known import Known, check, wrong

FACTORIES = (
    bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset,
    collections.OrderedDict, collections.Counter, collections.deque,
)  # fmt: skip
"""What may make the missing values of a defaultdict."""
MAPS = {collections.OrderedDict, collections.defaultdict, collections.Counter}


def dataset() -> dict[str, Any]:
    """Stand for a dataset of this package, which is a dictionary."""
    return {}


def ordered_dict() -> collections.OrderedDict[Any, Any]:
    """Stand for `collections.OrderedDict`."""
    return collections.OrderedDict()


def default_dict(*factory: Any) -> collections.defaultdict[Any, Any]:
    """Stand for `collections.defaultdict`."""
    if len(factory) > 1 or (factory and not any(factory[0] is allowed for allowed in (None, *FACTORIES))):
        raise wrong("defaultdict", factory, "a factory that is a plain type")
    return collections.defaultdict(*factory)


def counter(*counts: Any) -> collections.Counter[Any]:
    """Stand for `collections.Counter`."""
    made: collections.Counter[Any] = collections.Counter()
    if len(counts) > 1:
        raise wrong("Counter", counts, "a dictionary")
    for plain in counts:
        dict.update(made, check("Counter", plain, dict))
    return made


def deque(items: Any = (), *length: Any) -> collections.deque[Any]:
    """Stand for `collections.deque`."""
    if type(items) not in (tuple, list) or items or len(length) > 1:
        raise wrong("deque", items, "no items and a length")
    lengths = [n if n is None else check("deque: length", n, int) for n in length]
    return collections.deque(maxlen=lengths[0] if lengths else None)


def extend(target: Any, items: list[Any]) -> bool:
    """Add items to a deque; return whether it is one."""
    if type(target) is not collections.deque:
        return False
    target.extend(items)
    return True


def update(target: Any, items: list[Any]) -> bool:
    """Put keys and values, in turns, into a dictionary of `collections`; return whether it is one."""
    if type(target) not in MAPS:
        return False
    for i in range(0, len(items), 2):
        target[items[i]] = items[i + 1]
    return True


TABLE: dict[str, Known] = {
    "collections:OrderedDict": Known(ordered_dict, collections.OrderedDict),
    "collections:defaultdict": Known(default_dict, collections.defaultdict),
    "collections:Counter": Known(counter, collections.Counter),
    "collections:deque": Known(deque, collections.deque),
    "ds_format.dataset:Dataset": Known(dataset),
}
"""What pickles of these containers name."""
