"""Numbers as they lie in two files: the same bytes are the same values, and seen to be without decoding any."""

from __future__ import annotations

import os

from ..drivers.base import StoredNumbers
from ..subset import Subset

PIECE = 1 << 20
"""Bytes that are read at a time."""

_pread = getattr(os, "pread", None)  # not every system has it


def are_same(a: Subset, b: Subset, key: str) -> bool:
    """Whether a variable is of the same type in two files, and lies there in the same bytes. False: one has to look."""
    if _pread is None or a.meta[key].get(".type") != b.meta[key].get(".type"):
        return False
    left, right = a.stored(key), b.stored(key)
    return left is not None and right is not None and left.size == right.size and _have_same_bytes(left, right)


def _have_same_bytes(left: StoredNumbers, right: StoredNumbers) -> bool:
    done = 0
    while done < left.size:
        n = min(PIECE, left.size - done)
        ours, theirs = os.pread(left.fd, n, left.offset + done), os.pread(right.fd, n, right.offset + done)
        if ours != theirs or not ours:
            return False
        done += len(ours)
    return True
