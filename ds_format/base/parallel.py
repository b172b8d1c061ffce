"""Parts of one large array, worked on by several threads: the kernels hold no GIL meanwhile."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable

MAX_THREADS = 4
"""Memory has no more bandwidth for more."""


def each(work: Callable[[int, int], None], n: int, step: int, most: int = MAX_THREADS) -> None:
    """Call `work(first, last)` for all stretches of `step` out of `n` items, `most` at the same time."""
    stretches = [(first, min(first + step, n)) for first in range(0, n, step)]
    # to count processors takes longer than to work on a small array
    threads = len(stretches) if len(stretches) < 2 else min(most, MAX_THREADS, os.cpu_count() or 1, len(stretches))
    if threads < 2:
        for first, last in stretches:
            work(first, last)
        return
    # to load it takes longer than to read a small file
    with importlib.import_module("concurrent.futures").ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work, first, last) for first, last in stretches]:
            done.result()
