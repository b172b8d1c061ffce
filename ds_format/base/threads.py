"""Threads that work on parts of one array or write while kernels release the GIL; locks that are renewed after a fork.

A forked process does not have the thread that held a lock, so it gets a new lock. Data guarded by such a lock must be
consistent at any time, or be rebuilt.
"""

from __future__ import annotations

import _thread
import importlib
import itertools
import os
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self, TypeVar

T = TypeVar("T")
R = TypeVar("R")

MAX_THREADS = 4
"""More threads would not be faster: the bandwidth of memory is the limit."""


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def each(work: Callable[[int, int], None], n: int, step: int, most: int = MAX_THREADS) -> None:
    """Call `work(first, last)` for each run of `step` out of `n` items, at most `most` calls at the same time.

    The calling thread works, too. It waits for no thread that has not begun, because a busy machine may start it late.
    After an error, no further run is started. The error of the first run that failed is raised.
    """
    stretches = [(first, min(first + step, n)) for first in range(0, n, step)]
    threads = len(stretches) if len(stretches) < 2 else min(most, MAX_THREADS, processors(), len(stretches))
    if threads < 2:
        for first, last in stretches:
            work(first, last)
        return
    waiting, errors = deque(stretches), {}

    def take() -> None:
        while waiting:
            try:
                first, last = waiting.popleft()
            except IndexError:  # another thread took the last one
                return
            try:
                work(first, last)
            except BaseException as error:  # noqa: BLE001 - the caller raises it
                waiting.clear()
                errors[first] = error

    def help_out(i: int, ended: _thread.LockType) -> None:
        has_begun[i] = True  # before it takes anything
        try:
            take()
        finally:
            ended.release()

    # not threading.Thread, which waits until the thread runs: a tenth of the time of reading a few megabytes
    helpers: list[_thread.LockType] = []
    has_begun = [False] * (threads - 1)
    try:
        for i in range(threads - 1):
            ended = _thread.allocate_lock()
            ended.acquire()
            try:
                _thread.start_new_thread(help_out, (i, ended))
            except RuntimeError:  # there can be no more threads: those that run do the work
                break
            helpers.append(ended)
        take()
    finally:
        waiting.clear()  # if the caller was interrupted; a helper that begins later finds nothing
        for i, ended in enumerate(helpers):
            if has_begun[i]:
                ended.acquire()
    if errors:
        raise errors[min(errors)]


def results(work: Callable[[T], R], items: Iterable[T], most: int = MAX_THREADS) -> Iterator[R]:
    """Yield `work(item)` for all items, in their order.

    At most `most` items are worked on at the same time, and at most twice as many results are in memory.
    """
    threads, rest = min(most, MAX_THREADS, processors()), iter(items)
    first = [*itertools.islice(rest, 2)]
    if threads < 2 or len(first) < 2:
        yield from map(work, itertools.chain(first, rest))
        return
    with importlib.import_module("concurrent.futures").ThreadPoolExecutor(threads) as pool:
        pending: deque[Any] = deque()
        try:
            for item in itertools.chain(first, rest):
                pending.append(pool.submit(work, item))
                if len(pending) == 2 * threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for each in pending:
                each.cancel()


class Behind:
    """Calls in one other thread, in their order, while the caller prepares the next; for a `with` statement.

    With one processor, `call` makes them itself. After an error in the block, calls that have not begun are left out.

    Parameters
    ----------
    most : int
        Calls that wait, or run, at the same time.

    Examples
    --------
    >>> from ds_format.base.threads import Behind
    >>> found = []
    >>> with Behind() as behind:
    ...     behind.call(found.append, 1)
    ...     behind.wait()
    >>> found
    [1]
    """

    def __init__(self, most: int = 2):
        self._most = most
        self._pending: deque[Any] = deque()
        self._pool: Any = None
        if processors() > 1:
            self._pool = importlib.import_module("concurrent.futures").ThreadPoolExecutor(1)

    def call(self, work: Callable[..., object], *args: Any) -> None:
        """Call a function, soon. An error of a call before may be raised here."""
        if self._pool is None:
            work(*args)
            return
        while len(self._pending) >= self._most:
            self._pending.popleft().result()
        try:
            self._pending.append(self._pool.submit(work, *args))
        except RuntimeError:  # there can be no more threads, as while the interpreter ends
            self.wait()
            self._stop()
            work(*args)

    def wait(self) -> None:
        """Wait for all calls, and raise the error of the first one that failed."""
        while self._pending:
            self._pending.popleft().result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        try:
            if kind is None:
                self.wait()
        finally:
            self._stop()

    def _stop(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(cancel_futures=True)


_locks: weakref.WeakKeyDictionary[Any, tuple[str, Callable[[], Any]]] = weakref.WeakKeyDictionary()


def renew_lock(owner: Any, make: Callable[[], Any], name: str = "_lock") -> None:
    """Register an object, which gets a new lock in each forked process.

    Parameters
    ----------
    owner
        Any object that supports weak references and is hashed by identity.
    make : callable
        Makes the lock.
    name : str
        The attribute that has the lock.

    Examples
    --------
    >>> import threading
    >>> from ds_format.base.threads import renew_lock
    >>> class Reader:
    ...     def __init__(self):
    ...         self._lock = threading.Lock()
    ...         renew_lock(self, threading.Lock)
    >>> reader = Reader()
    """
    _locks[owner] = name, make


def _renew_locks() -> None:
    for owner, (name, make) in list(_locks.items()):
        setattr(owner, name, make())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)
