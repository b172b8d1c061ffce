"""The codecs of numcodecs that write an array as a list: `json2` as JSON, `msgpack2` as msgpack.

The list has the elements, in lists of lists if there are several dimensions, then type and shape::

    [[0.0, 1.0], [2.0, 3.0], "<f8", [2, 2]]

Only lists of numbers or strings are taken, as the type says: nothing in them is looked up or called, and memory is
that of the values parsed, a fixed multiple of what the file has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from ...base.messagepack import unpackb
from ...errors import FormatError
from ...kernels.msgpack import walk
from .steps import shown

IDS = ("json2", "msgpack2")
TYPES = re.compile(r"\|b1|[<>|][iu][1248]|[<>]f[248]|\|S\d{1,8}|[<>]U\d{1,8}")
"""Types whose elements are in a list what they are in an array."""
ELEMENTS: dict[str, set[type]] = {"b": {bool}, "i": {int}, "u": {int}, "f": {float, int}, "S": {bytes}, "U": {str}}
"""Kind of a type → what stands for its elements. JSON has no byte strings."""
MAX_DIMS = 64


def check(dtype: np.dtype[Any]) -> None:
    """Raise a FormatError if an array of this type would not come back from a list."""
    if not TYPES.fullmatch(dtype.str):
        raise FormatError(f"type: found {dtype.str}, expected one of numbers or strings")


def decode_json(data: Any, limit: int, config: Mapping[str, Any]) -> Any:
    """Decode what `json2` wrote."""
    return _array(json.loads(bytes(data)), limit)


def decode_msgpack(data: Any, limit: int, config: Mapping[str, Any]) -> Any:
    """Decode what `msgpack2` wrote."""
    end, fault = walk.measure(data, 0)
    if fault or end != len(data):
        raise FormatError(f"no message of msgpack, at byte {end}")
    return _array(unpackb(data), limit)


def _array(parsed: Any, limit: int) -> Any:
    """Return the bytes of an array of which there is a list."""
    if type(parsed) is not list or len(parsed) < 2:
        raise FormatError(f"found {shown(parsed)}, expected an array of elements, type and shape")
    *elements, name, shape = parsed
    if type(name) is not str or not TYPES.fullmatch(name):
        raise FormatError(f"type: found {shown(name)}, expected one of numbers or strings")
    dtype = np.dtype(name)
    values = _flat(elements, shape)
    if len(values) * dtype.itemsize > limit:
        raise FormatError(f"decodes to {len(values) * dtype.itemsize} bytes, at most {limit} are expected")
    if not set(map(type, values)) <= ELEMENTS[dtype.kind]:
        raise FormatError(f"found elements that are not of the type {name}")
    if dtype.kind in "SU" and any(len(value) > int(name[2:]) for value in values):
        raise FormatError(f"found elements that are longer than the type {name}")
    return np.array(values, dtype).data.cast("B") if values and dtype.itemsize else b""


def _flat(elements: list[Any], shape: Any) -> list[Any]:
    """Return elements without the lists that are the dimensions but the first."""
    if type(shape) is not list or len(shape) > MAX_DIMS or not all(type(size) is int for size in shape):
        raise FormatError(f"shape: found {shown(shape)}, expected an array of integers")
    size, *sizes = shape or [1]
    fits = len(elements) == size
    for size in sizes:
        fits = fits and all(type(part) is list and len(part) == size for part in elements)
        elements = list(chain.from_iterable(elements)) if fits else elements
    if not fits:
        raise FormatError(f"found elements of another shape than {shape!r:.60}")
    return elements
