"""The bytes of an index file: of a small one in memory, of a large one mapped."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable
from typing import Any

from ..errors import FormatError, TruncatedError

MAPPED_SIZE = 1 << 16
"""Bytes from which on a file is mapped; a smaller one is read, and keeps no file open."""
REPAIR = "`ds reindex` makes it from the data"


def file_size(path: str) -> int | None:
    """Return the size of a file in bytes, or None if there is none."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return None


def load(path: str) -> Any:
    """Return the bytes of a file, as `bytes` or as a map that is read only.

    Raises
    ------
    OSError
        If it cannot be opened.
    """
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if size < MAPPED_SIZE:
            return file.read()
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)


def check_size(path: str, found: int, expected: int, n: int) -> None:
    """Check the size of a file that has an entry for each of n samples.

    Raises
    ------
    FormatError, TruncatedError
        If it has another size; the message says both.
    """
    if found != expected:
        error = TruncatedError if found < expected else FormatError
        raise error(f"found {found} bytes, expected {expected} for {n} samples; {REPAIR}", path=path)


def load_if(path: str) -> Any:
    """Return the bytes of a file as `load` does, or None if there is none."""
    return load_first((path,))


def load_first(paths: Iterable[str]) -> Any:
    """Return the bytes of the first of these files that exists as `load` does, or None if none does."""
    for path in paths:
        try:
            return load(path)
        except FileNotFoundError:
            continue
    return None
