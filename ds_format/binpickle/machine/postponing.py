"""Which arrays need not be read to know what an object consists of: those that are only parts of containers.

Whatever looks into an array while the object is made gets the array itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .numpy_ import both
from .outline import Buffer, Call, Name, outline

KINDS = frozenset("biufcSUV")
"""Kinds of dtypes whose values say nothing that has to be known beforehand."""
FROM_BUFFER = frozenset(both("numeric:_frombuffer"))
MASKED = frozenset({"numpy.ma:MaskedArray", "numpy.ma.core:MaskedArray"})
METADATA = "."
"""The entry of a dataset whose arrays are attributes."""
CONTAINERS = frozenset({dict, list, tuple, set, frozenset, Call})
WALKED = CONTAINERS | {Buffer}


def postponable(pickle: Any, sizes: Iterable[int]) -> set[int]:
    """Return which buffers are nothing but arrays in dictionaries and lists, so that nobody looks at their values.

    Parameters
    ----------
    pickle : buffer
    sizes : iterable of int
        Bytes of each buffer; those of none are not among the result.

    Raises
    ------
    FormatError, UnsafeError
        As `outline` raises them.
    """
    sizes = list(sizes)
    if not sizes:
        return set()
    found: set[int] = set()
    needed: set[int] = set()
    seen: set[tuple[int, bool]] = set()
    todo: list[tuple[Any, bool]] = [(outline(pickle, sizes), True)]
    while todo:
        value, is_open = todo.pop()
        kind = type(value)
        if kind is Buffer:
            needed.add(value.number)
        if kind not in CONTAINERS or (id(value), is_open) in seen:
            continue
        seen.add((id(value), is_open))
        if kind is Call and is_open and (numbers := _numbers(value)):
            found.update(numbers)
        elif kind is Call:
            todo += [(part, False) for part in (value.function, *value.args, value.state, *value.items)]
        elif kind is dict:
            todo += [(key, False) for key in value if type(key) in WALKED]
            todo += [(part, is_open and key != METADATA) for key, part in value.items() if type(part) in WALKED]
        else:
            is_open = is_open and kind in (list, tuple)
            todo += [(part, is_open) for part in value if type(part) in WALKED]
    return {number for number in found - needed if sizes[number]}


def _numbers(call: Call) -> list[int]:
    """Return the buffers of a call that makes an array, or a masked one; none if it makes something else."""
    path = call.function.path if type(call.function) is Name else ""
    if call.state is not None or call.items:
        return []
    if path in MASKED and len(call.args) == 2:
        both = [_numbers(arg) if type(arg) is Call and arg.function is not call.function else [] for arg in call.args]
        return both[0] + both[1] if all(len(one) == 1 for one in both) else []
    if path in FROM_BUFFER and len(call.args) in (4, 5) and type(call.args[0]) is Buffer:
        return [call.args[0].number] if _kind(call.args[1]) in KINDS else []
    return []


def _kind(dtype: Any) -> str:
    """Return the kind of a dtype, nothing if it is none."""
    if type(dtype) is not Call or type(dtype.function) is not Name or dtype.function.path != "numpy:dtype":
        return ""
    text = dtype.args[0] if dtype.args else ""
    return text[:1] if type(text) is str else ""
