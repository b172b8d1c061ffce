"""Who converts: this process, threads of it, processes, or whatever an executor has.

Files are handed on in batches, so that what is spent on handing on stays small beside the work.

Threads of this process gain only where most of the time is spent without Python's lock, that is with large files which
this package reads itself; else processes convert. So it was measured: see `docs/performance.md`.
"""

from __future__ import annotations

import contextlib
import math
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from queue import Empty, SimpleQueue
from time import monotonic

from ... import drivers
from ...base.messages import describe
from .lanes import Batch, Lane, ProcessLane, ThreadLane, Work
from .task import Order, Outcome, Settings, all_of, carried_out
from .worker import pickled

BATCH_FILES = 64
"""Files that are handed on at once."""
BATCH_SIZE = 16 << 20
"""Bytes of these files, if they are more than one."""
SHARES = 8
"""Batches that each lane gets at least, if there are enough files."""
THREADED_SIZE = 16 << 20
"""Bytes of a file above which threads convert as fast as processes, if this package reads it itself."""
WINDOW = 256
"""Batches that an executor has at once."""
PATIENCE = 10.0
"""Seconds until processes that were told to end are killed."""

_INTERVAL = 0.1

Take = Callable[[list[Outcome], float], None]
"""Takes what became of orders, and how many bytes of the current sources are done."""


def batches(orders: Sequence[Order], n_lanes: int) -> deque[Batch]:
    """Cut orders into batches: small ones into some of many files, of large ones each its own."""
    most = min(BATCH_FILES, math.ceil(len(orders) / (n_lanes * SHARES)))
    found: deque[Batch] = deque()
    size = 0
    for order in orders:
        size += order.size
        if not found or len(found[-1]) >= most or size > BATCH_SIZE:
            found.append([])
            size = order.size
        found[-1].append(order)
    return found


def are_threads_enough(orders: Sequence[Order]) -> bool:
    """Whether threads convert as fast as processes: all files are large, and read and written without a library."""
    return all(order.size >= THREADED_SIZE and is_read_here(order.source, order.target) for order in orders)


def is_read_here(source: str, target: str) -> bool:
    """Whether a file is converted without a library that has a lock."""
    try:
        if drivers.find(target).name != "ds":
            return False
        format = drivers.find_existing(source)
        if format.name == "netcdf":
            with open(source, "rb") as file:
                return file.read(4).startswith(format.marks)
        return format.name == "ds"
    except OSError:
        return True  # there is nothing to read


def execute(
    orders: Sequence[Order], settings: Settings, take: Take, *, jobs: int = 1, executor: Executor | None = None
) -> None:
    """Convert files, and have each taken once; what is being done when that raises ends without a trace.

    Parameters
    ----------
    orders : sequence of Order
    settings : Settings
    take : callable
    jobs : int
        How many files are converted at once.
    executor : Executor, optional
        Who converts instead.
    """
    if executor is not None:
        _by_executor(executor, batches(orders, 1), settings, take)
    elif jobs == 1 or len(orders) < 2:
        for outcomes in carried_out(orders, settings, lambda current: take([], current)):
            take(outcomes, 0.0)
    else:
        work = Work(batches(orders, jobs))
        n = min(jobs, len(work.batches))
        if are_threads_enough(orders):
            _in_lanes([ThreadLane(work, settings) for _ in range(n)], work, take)
        else:
            told = pickled(settings)
            _in_lanes([ProcessLane(work, settings, told) for _ in range(n)], work, take)


def _in_lanes(lanes: Sequence[Lane], work: Work, take: Take) -> None:
    def wait() -> None:
        work.is_news.wait(_INTERVAL)
        work.is_news.clear()
        take([], sum(lane.current for lane in lanes))
        while work.results:
            some = work.results[0]  # if a signal interrupts what follows, it is still there
            if isinstance(some, Exception):
                raise some
            take(some, sum(lane.current for lane in lanes))
            work.results.popleft()

    try:
        for lane in lanes:
            lane.start()
        while any(lane.is_alive() for lane in lanes):
            wait()
        wait()
    except BaseException:
        work.stopping = True
        for lane in lanes:
            lane.stop()
        end = monotonic() + PATIENCE
        with contextlib.suppress(Exception):
            while any(lane.is_alive() for lane in lanes) and monotonic() < end:
                wait()
            wait()
        raise
    finally:
        work.stopping = True
        for lane in lanes:
            lane.kill()
        for lane in lanes:
            if lane.is_alive():
                lane.join(PATIENCE)


def _by_executor(executor: Executor, work: deque[Batch], settings: Settings, take: Take) -> None:
    """Submit batches. Of one that an executor does not do, files are tried one by one."""
    ended: SimpleQueue[Future[list[Outcome]]] = SimpleQueue()
    running: dict[Future[list[Outcome]], Batch] = {}
    try:
        while work or running:
            while work and len(running) < WINDOW:
                batch = work.popleft()
                try:
                    future = executor.submit(all_of, batch, settings)
                except RuntimeError as broken:  # or it was shut down
                    take(_not_done(batch, broken), 0.0)
                    continue
                running[future] = batch
                future.add_done_callback(ended.put)
            try:
                future = ended.get(timeout=_INTERVAL)
            except Empty:
                take([], 0.0)
                continue
            batch = running.pop(future)
            error = future.exception()
            if error is None:
                take(future.result(), 0.0)
            elif len(batch) == 1:
                take(_not_done(batch, error), 0.0)
            else:
                work.extendleft([order] for order in reversed(batch))
    except BaseException:
        for future in running:
            future.cancel()
        for future in running:
            if future.done() and not future.cancelled() and future.exception() is None:
                take(future.result(), 0.0)
        raise


def _not_done(batch: Batch, error: BaseException) -> list[Outcome]:
    cause = f"the executor did not convert it: {describe(error)}"
    return [Outcome(order.number, cause) for order in batch]
