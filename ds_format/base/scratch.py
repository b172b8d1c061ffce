"""Memory for bytes on the way, which calls use again.

The operating system clears each page of fresh memory. For a chunk that takes as long as decoding it. So memory is used
again, in large pages where the operating system has such. Between two uses it belongs to the operating system, which
takes it if another program needs memory (MADV_FREE).
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .threads import MAX_THREADS

HUGE_PAGE = 2 * 1024 * 1024
"""Bytes of a large page on most processors. The sizes of pages that are used again are multiples of it."""

MIN_SIZE = 128 * 1024
"""Bytes from which on the C library asks the operating system for memory each time."""

MAX_SIZE = 8 * 1024 * 1024
"""Bytes of pages that are kept, at most. One for each thread is kept."""


class Pages(NamedTuple):
    """Memory from the operating system."""

    buffer: NDArray[np.uint8]
    map: Any
    """The `mmap.mmap` that has it."""
    start: int
    """Where it begins in the map."""


_kept: deque[Pages] = deque(maxlen=MAX_THREADS)


@contextlib.contextmanager
def lent(size: int) -> Iterator[NDArray[np.uint8]]:
    """Lend a buffer, for one thread.

    Parameters
    ----------
    size : int
        In bytes.

    Returns
    -------
    context manager of (size,) uint8 array
        With any values. It must not be used later.

    Raises
    ------
    MemoryError
        If there is too little memory.
    """
    pages = None if size < MIN_SIZE else _pages(size)
    if pages is None:
        yield np.empty(size, np.uint8)
        return
    yield pages.buffer[:size]
    if pages.buffer.size <= MAX_SIZE and _release(pages):
        _kept.append(pages)


def _pages(size: int) -> Pages | None:
    """Return pages of at least some size, kept or fresh; None if this operating system has no such."""
    try:
        pages = _kept.pop()
    except IndexError:
        return _allocated(size)
    if pages.buffer.size >= size:
        return pages
    del pages  # before there are others
    return _allocated(size)


def _allocated(size: int) -> Pages | None:
    mmap: Any = importlib.import_module("mmap")  # loading it takes longer than reading a small file
    if not hasattr(mmap, "MAP_ANONYMOUS"):
        return None
    n = -(-size // HUGE_PAGE) * HUGE_PAGE
    try:
        memory = mmap.mmap(-1, n + HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError):
        raise MemoryError(f"{n} bytes") from None
    buffer = np.frombuffer(memory, np.uint8)
    start = -int(buffer.__array_interface__["data"][0]) % HUGE_PAGE
    with contextlib.suppress(AttributeError, OSError):  # small pages are as right
        memory.madvise(mmap.MADV_HUGEPAGE, start, n)
    return Pages(buffer[start : start + n], memory, start)


def _release(pages: Pages) -> bool:
    """Let the operating system take pages when it needs memory; return whether it can."""
    mmap: Any = importlib.import_module("mmap")
    try:
        pages.map.madvise(mmap.MADV_FREE, pages.start, pages.buffer.size)
    except (AttributeError, OSError):
        return False
    return True


if hasattr(os, "register_at_fork"):
    # a forked process shares these pages, and would copy each of them before it writes to it
    os.register_at_fork(after_in_child=lambda: _kept.clear())
