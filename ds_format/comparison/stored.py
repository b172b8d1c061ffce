"""Numbers as they lie in two files: where the bytes are the same the values are, and none has to be decoded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..base.dtypes import TYPES
from ..base.names import unescape
from ..body.body import Body
from ..errors import DsError
from ..views.subset import Subset

PIECE = 1 << 18
"""Bytes that are read at a time, a multiple of the size of any type."""


def stored_pairs(a: Subset, b: Subset, key: str) -> Iterator[tuple[Any, Any] | int] | None:
    """Return the values of a variable of the same type and shape in two files, for `values.tally`.

    None if they do not lie there as in memory.
    """
    type_name = a.meta[key].get(".type")
    if type_name not in TYPES or type_name != b.meta[key].get(".type"):
        return None
    left, right = a.stored(key), b.stored(key)
    if left is None or right is None or left.size != right.size:
        return None
    return _pairs(left, right, np.dtype(f"<{TYPES[type_name].code}"), key)


def _pairs(a: Body, b: Body, dtype: np.dtype[Any], key: str) -> Iterator[tuple[Any, Any] | int]:
    """Yield what is valid until the next is asked for: buffers that are used again."""
    bits = np.dtype(f"u{dtype.itemsize}")
    buffers = np.empty((2, PIECE), np.uint8)
    for start in range(0, a.size, PIECE):
        n = min(PIECE, a.size - start)
        ours, theirs = buffers[:, :n]
        try:
            with a.watch, b.watch:
                a.read_into(start, ours)
                b.read_into(start, theirs)
        except DsError as error:
            raise error.at(variable=unescape(key))
        if np.array_equal(ours.view(bits), theirs.view(bits)):
            yield n // dtype.itemsize
        else:
            yield ours.view(dtype), theirs.view(dtype)
