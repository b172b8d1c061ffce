"""Numbers as they lie in two files: where the bytes are the same the values are, and none has to be decoded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..drivers.base import StoredNumbers
from ..dtypes import TYPES
from ..errors import TruncatedError
from ..names import unescape
from ..subset import Subset

PIECE = 1 << 18
"""Bytes that are read at a time, a multiple of the size of any type."""

_preadv = getattr(os, "preadv", None)  # not every system has it


def stored_pairs(a: Subset, b: Subset, key: str) -> Iterator[tuple[Any, Any] | int] | None:
    """Return the values of a variable of the same type and shape in two files, for `values.tally`.

    None if they do not lie there as in memory.
    """
    type_name = a.meta[key].get(".type")
    if _preadv is None or type_name not in TYPES or type_name != b.meta[key].get(".type"):
        return None
    left, right = a.stored(key), b.stored(key)
    if left is None or right is None or left.size != right.size:
        return None
    return _pairs((a.path, left), (b.path, right), np.dtype(f"<{TYPES[type_name].code}"), key)


def _pairs(
    a: tuple[str, StoredNumbers], b: tuple[str, StoredNumbers], dtype: np.dtype[Any], key: str
) -> Iterator[tuple[Any, Any] | int]:
    """Yield what is valid until the next is asked for: buffers that are used again."""
    bits = np.dtype(f"u{dtype.itemsize}")
    buffers = np.empty((2, PIECE), np.uint8)
    for start in range(0, a[1].size, PIECE):
        n = min(PIECE, a[1].size - start)
        with a[1].watch, b[1].watch:
            ours, theirs = (_read(*one, start, buffer[:n], key) for one, buffer in zip((a, b), buffers, strict=True))
        if np.array_equal(ours.view(bits), theirs.view(bits)):
            yield n // dtype.itemsize
        else:
            yield ours.view(dtype), theirs.view(dtype)


def _read(path: str, place: StoredNumbers, start: int, buffer: NDArray[np.uint8], key: str) -> NDArray[np.uint8]:
    done = 0
    while done < buffer.size:
        n = os.preadv(place.fd, [buffer[done:].data], place.offset + start + done)
        if not n:
            message = f"found {start + done} bytes of values, expected {place.size}"
            raise TruncatedError(message, path=path, variable=unescape(key))
        done += n
    return buffer
