"""Memory that the steps of one call use in turn.

A page of fresh memory costs as much as decoding what it will hold: the operating system clears it, one interrupt for
each 4 KiB. So steps reuse memory, and where it is large, it comes in pages of 2 MiB.
"""

from __future__ import annotations

import contextlib
import importlib
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

HUGE_PAGE = 2 * 1024 * 1024
"""Bytes of a large page on the processors that have such, and the least memory for which to ask for them."""


class Scratch:
    """Buffers for the steps of one call, in any thread. Each has one at a time; the memory ends with this object."""

    def __init__(self) -> None:
        self._free: deque[NDArray[np.uint8]] = deque()

    @contextlib.contextmanager
    def lent(self, size: int) -> Iterator[NDArray[np.uint8]]:
        """Lend a buffer.

        Parameters
        ----------
        size : int
            In bytes.

        Returns
        -------
        context manager of (size,) uint8 array
            With any values.

        Raises
        ------
        MemoryError
            If there is too little memory.
        """
        try:
            buffer = self._free.pop()
        except IndexError:
            buffer = _allocated(size)
        if buffer.size < size:
            del buffer  # before there is another one
            buffer = _allocated(size)
        yield buffer[:size]
        self._free.append(buffer)


def _allocated(size: int) -> NDArray[np.uint8]:
    """Allocate memory, in large pages if it is large and the operating system has such."""
    if size < HUGE_PAGE:
        return np.empty(size, np.uint8)
    mmap: Any = importlib.import_module("mmap")  # loading it takes longer than reading a small file
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.empty(size, np.uint8)
    n = -(-size // HUGE_PAGE) * HUGE_PAGE
    try:
        memory = mmap.mmap(-1, n + HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        raise MemoryError(f"{n} bytes") from None
    buffer = np.frombuffer(memory, np.uint8)
    first = -int(buffer.__array_interface__["data"][0]) % HUGE_PAGE
    with contextlib.suppress(OSError):  # small pages are as right
        memory.madvise(mmap.MADV_HUGEPAGE, first, n)
    return buffer[first : first + n]
