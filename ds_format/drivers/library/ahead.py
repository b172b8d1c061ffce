"""Reading ahead: while one slab is in use, the next one is read by another thread."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Job(NamedTuple):
    """What is to be done."""

    work: Callable[[], Any]
    is_free: bool
    """Whether it needs no library, and so may run beside all else."""


def each(jobs: Iterator[Job]) -> Iterator[Any]:
    """Yield what each job returns; the free one that comes next is done meanwhile.

    A job is taken before what the one before it returns is yielded. Whoever stops early waits for nothing.
    """
    pool: Any = None
    waiting: Callable[[], Any] | None = None
    try:
        for job in jobs:
            if waiting is None:
                waiting = job.work
                continue
            result, waiting = waiting, job.work
            if job.is_free:
                # to load it takes longer than to read a small file
                pool = pool or importlib.import_module("concurrent.futures").ThreadPoolExecutor(1)
                waiting = pool.submit(job.work).result
            yield result()
        if waiting is not None:
            yield waiting()
    finally:
        if pool is not None:
            pool.shutdown(wait=False)
