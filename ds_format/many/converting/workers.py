"""The place where files are converted: this process, its threads, other processes, or the workers of an executor.

Files are sent in batches, so that sending takes little time compared with converting.

Threads of this process are faster only if most of the time is spent without Python's lock: for large files that this
package reads itself. Otherwise processes are used. This was measured, see `docs/performance.md`.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from queue import Empty, SimpleQueue
from time import monotonic

from ... import drivers
from ...base import isolation
from ...base.error_text import describe
from ...body import Address, Location
from .task import PATIENCE, WAIT, Batch, FileOrder, Outcome, Settings, Stopped, Take, all_of, carried_out

BATCH_FILES = 64
"""Maximum number of files in a batch."""
BATCH_SIZE = 16 << 20
"""Maximum number of bytes of a batch with more than one file."""
SHARES = 8
"""Minimum number of batches for each job, if there are enough files."""
THREADED_SIZE = 16 << 20
"""Minimum size, in bytes, of a file that threads convert as fast as processes, if this package reads it itself."""
WINDOW = 256
"""Maximum number of batches that are submitted to an executor at the same time."""


def batches(orders: Sequence[FileOrder], n_jobs: int) -> deque[Batch]:
    """Divide orders into batches: many small files in each, large files one by one."""
    most = min(BATCH_FILES, math.ceil(len(orders) / (n_jobs * SHARES)))
    cut: deque[Batch] = deque()
    size = 0
    for order in orders:
        size += order.size
        if not cut or len(cut[-1]) >= most or size > BATCH_SIZE:
            cut.append([])
            size = order.size
        cut[-1].append(order)
    return cut


def are_threads_enough(orders: Sequence[FileOrder]) -> bool:
    """Return whether threads are as fast as processes.

    All files are converted without a library, and most of the time is spent without Python's lock: they are large, or
    elsewhere.
    """
    return all(
        (order.size >= THREADED_SIZE or isinstance(order.source, Address)) and is_read_here(order.source, order.target)
        for order in orders
    )


def is_read_here(source: Location, target: str) -> bool:
    """Return whether a file is converted without a library that has a lock."""
    try:
        if drivers.find(target).name != "ds":
            return False
        format = drivers.find_existing(source)
        if format.name == "netcdf" and isinstance(source, str):
            with open(source, "rb") as file:
                return file.read(4).startswith(format.marks)
        return format.name in ("ds", "netcdf")
    except OSError:
        return True  # there is no file to read


def execute(
    orders: Sequence[FileOrder],
    settings: Settings,
    take: Take,
    *,
    jobs: int = 1,
    executor: Executor | None = None,
) -> None:
    """Convert files, and pass each outcome to `take` once. If it raises, unfinished conversions are undone.

    Parameters
    ----------
    orders : sequence of FileOrder
    settings : Settings
    take : callable
    jobs : int
        Number of files that are converted at once.
    executor : Executor, optional
        Converts the files instead.

    Raises
    ------
    DsError
        If an option cannot be sent to another process.
    """
    if executor is not None:
        _by_executor(executor, batches(orders, 1), settings, take)
    elif jobs == 1 or len(orders) < 2:
        with isolation.isolating():
            for outcomes in carried_out(orders, settings, lambda current: take([], current)):
                take(outcomes, 0.0)
    else:
        work = batches(orders, jobs)
        n = min(jobs, len(work))
        if are_threads_enough(orders) or os.name != "posix":  # processes have sockets as connections, and signals
            _by_threads(work, settings, take, n)
        else:
            from .processes import Crew

            Crew(work, settings, take, n).run()


def _by_threads(work: deque[Batch], settings: Settings, take: Take, n: int) -> None:
    """Convert batches in threads. The end of the program does not wait for one that waits for a server."""
    news: deque[list[Outcome] | Exception] = deque()
    is_news, is_stopping = threading.Event(), threading.Event()
    currents = [0.0] * n

    def convert(i: int) -> None:
        def report(current: float) -> None:
            if is_stopping.is_set():
                raise Stopped
            currents[i] = current

        try:
            with isolation.isolating():
                while work and not is_stopping.is_set():
                    for outcomes in carried_out(work.popleft(), settings, report):
                        currents[i] = 0.0
                        news.append(outcomes)
                        is_news.set()
        except (IndexError, Stopped):  # another thread took the last batch
            pass
        except Exception as error:  # noqa: BLE001 - the main thread raises it
            news.append(error)
        finally:
            is_news.set()

    def wait() -> None:
        is_news.wait(WAIT)
        is_news.clear()
        take([], sum(currents))
        while news:
            some = news[0]  # stays in the queue if a signal interrupts `take`
            if isinstance(some, Exception):
                raise some
            take(some, sum(currents))
            news.popleft()

    is_local = all(isinstance(order.source, str) for batch in work for order in batch)
    threads = [threading.Thread(target=convert, args=(i,), name="ds-convert", daemon=True) for i in range(n)]
    try:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            wait()
        wait()
    except BaseException:
        is_stopping.set()
        end = monotonic() + (PATIENCE if is_local else WAIT)
        with contextlib.suppress(Exception):
            while any(thread.is_alive() for thread in threads) and monotonic() < end:
                wait()
            wait()
        raise


def _by_executor(executor: Executor, work: deque[Batch], settings: Settings, take: Take) -> None:
    """Submit batches. If an executor fails to convert a batch, its files are tried one by one."""
    ended: SimpleQueue[Future[list[Outcome]]] = SimpleQueue()
    running: dict[Future[list[Outcome]], Batch] = {}
    try:
        while work or running:
            while work and len(running) < WINDOW:
                batch = work.popleft()
                try:
                    future = executor.submit(all_of, batch, settings)
                except RuntimeError as broken:  # it is broken, or was shut down
                    take(_not_done(batch, broken), 0.0)
                    continue
                running[future] = batch
                future.add_done_callback(ended.put)
            try:
                future = ended.get(timeout=WAIT)
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
