"""Worker processes, which convert files: copies of this process, or new interpreters.

Each has a connection of its own, over which it gets orders and sends outcomes and progress. So a process that dies
concerns only its own files, and one whose program was killed ends. `concurrent.futures` has neither: all processes of
its pool end with the first one that dies, and wait for ever after their program was killed.

A copy starts in a few milliseconds. It closes the files of the program, so that it holds no lock of a file. A new
interpreter does not run the user's program again, as those of `multiprocessing` do.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection, wait
from time import monotonic
from typing import Any, NoReturn

from ... import drivers
from ...body import Opened
from ...errors import DsError
from .task import INTERVAL, PATIENCE, WAIT, Batch, FileOrder, Outcome, Settings, Stopped, Take, carried_out

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a run."""

_PROGRAM = f"""
import sys
from multiprocessing.connection import Connection
connection = Connection(0)
sys.path[:] = connection.recv()
from {__name__} import serve
serve(connection, connection.recv())
"""


class Crew:
    """The worker processes of a run. If one dies, it is replaced, and its remaining files are repeated.

    Then each file is a batch by itself. A file fails if its process dies again.

    Parameters
    ----------
    batches : deque of list of FileOrder
    settings : Settings
    take : callable
    n : int
        Maximum number of processes.
    """

    def __init__(self, batches: deque[Batch], settings: Settings, take: Take, n: int):
        self._batches = batches
        self._settings = settings
        self._take = take
        self._n = n
        sources = [order.source for batch in batches for order in batch]
        self._is_local = settings.place is None and all(isinstance(source, str) for source in sources)
        self._workers: list[Worker] = []
        self._suspects: set[int] = set()
        """Orders of processes that died."""
        self._spared: set[int] = set()
        """Those of processes that died before they began with them."""
        self._untaken: list[Outcome] = []

    def run(self) -> None:
        """Convert all batches. If an exception is raised, unfinished conversions are undone.

        Raises
        ------
        DsError
            If processes end at their start, or orders cannot be sent to them.
        """
        if self._is_local:
            load_drivers(self._batches[0][0])
        try:
            while self._give():
                self._receive()
        except BaseException:
            self._stop()
            raise
        finally:
            for worker in self._workers:
                worker.process.kill()
                worker.close()

    def _give(self) -> bool:
        """Send batches to idle processes, and return whether any process is busy."""
        while len(self._workers) < min(self._n, len(self._batches)):
            with _undisturbed():  # no process starts without being ended
                self._workers.append(Worker(self._settings, forks=self._is_local and can_fork()))
        for worker in self._workers:
            if self._batches and not worker.left:
                worker.give(self._batches.popleft())
        return any(worker.left for worker in self._workers)

    def _receive(self) -> None:
        """Wait for messages, and take the outcomes that have come."""
        ready = wait([worker.connection for worker in self._workers], WAIT)
        for worker in [worker for worker in self._workers if worker.connection in ready]:
            with _undisturbed():  # a signal must not end this within a message
                try:
                    self._untaken += worker.receive()
                except (EOFError, OSError):
                    self._bury(worker)
        self._take(self._untaken, sum(worker.current for worker in self._workers))
        self._untaken.clear()  # not if a signal interrupts `take`

    def _bury(self, worker: Worker) -> None:
        """Remove a process that died, and repeat or fail its remaining orders."""
        self._workers.remove(worker)
        left, status = list(worker.left.values()), worker.close()
        if not worker.is_ready:
            raise DsError(f"a process that was to convert files ended at its start, with status {status}")
        numbers = {order.number for order in left}
        if not worker.has_begun and not numbers & self._spared:  # it was killed while it waited: no file is to blame
            self._spared |= numbers
            self._batches.extendleft([left] if left else [])
        elif len(left) == 1 and left[0].number in self._suspects:
            self._untaken.append(Outcome(left[0].number, _cause_of_end(status)))
        else:
            self._suspects |= numbers
            self._batches.extendleft([order] for order in reversed(left))

    def _stop(self) -> None:
        """Let processes remove their unfinished outputs, and take the outcomes that they still send."""
        for worker in self._workers:
            worker.process.terminate()
        end = monotonic() + (PATIENCE if self._is_local else WAIT)  # one that waits for a server does not hear it
        while self._workers and monotonic() < end:
            with contextlib.suppress(Exception):
                self._receive()


class Worker(Opened):
    """A process that converts files, as this process sees it.

    Parameters
    ----------
    settings : Settings
    forks : bool
        Whether the process is a copy of this one. Otherwise, and if copying fails, it is a new interpreter.

    Attributes
    ----------
    process : Process or Popen
    connection : Connection
    left : dict
        Number → order, for orders that were given to it, and have no outcome.
    current : float
        Bytes of the current source that are done.
    is_ready : bool
        Whether the process has started successfully.
    has_begun : bool
        Whether it has begun with the orders.
    """

    def __init__(self, settings: Settings, *, forks: bool):
        self.left: dict[int, FileOrder] = {}
        self.current = 0.0
        self.is_ready = self.has_begun = False
        self._unsent: tuple[Any, ...] = ()
        self.connection, theirs = multiprocessing.Pipe()
        with theirs:
            if forks:
                program: dict[str, Any] = {"args": (theirs, settings), "kwargs": {"is_copy": True}, "daemon": True}
                self.process: Any = multiprocessing.get_context("fork").Process(target=serve, **program)
                with contextlib.suppress(OSError):
                    with warnings.catch_warnings():  # of native threads of libraries, which the copy does not use
                        warnings.filterwarnings("ignore", ".*use of fork", DeprecationWarning)
                        self.process.start()
                    return
            self.process = subprocess.Popen([sys.executable, "-P", "-c", _PROGRAM], stdin=theirs.fileno())
            self._unsent = sys.path, settings

    def give(self, batch: Batch) -> None:
        """Send orders to the process, which has none left.

        Raises
        ------
        DsError
            If the settings, or an option of an address, cannot be sent.
        """
        self.left, self.has_begun = {order.number: order for order in batch}, False
        messages, self._unsent = (*self._unsent, batch), ()
        try:
            for message in messages:
                self.connection.send(message)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise DsError(f"an option cannot be sent to another process: {error}") from None
        except OSError:
            pass  # it has ended, which receiving finds out

    def receive(self) -> list[Outcome]:
        """Receive a message, and return its outcomes.

        Raises
        ------
        EOFError, OSError
            If the process has ended.
        """
        outcomes, current = self.connection.recv()
        self.is_ready = True
        if current is not None:
            self.current, self.has_begun = current, True
        for outcome in outcomes:
            del self.left[outcome.number]
        return outcomes  # type: ignore[no-any-return]

    def close(self) -> int:
        """Wait for the end of the process, and return its exit status; negative for a signal."""
        self.connection.close()
        if isinstance(self.process, subprocess.Popen):
            return self.process.wait()
        self.process.join()
        return self.process.exitcode  # type: ignore[no-any-return]


def can_fork() -> bool:
    """Return whether this process can be copied.

    A lock that another thread holds would remain locked in a copy. Libraries of macOS do not allow it, nor does
    `multiprocessing` in processes that it ends with their program.
    """
    can = hasattr(os, "fork") and sys.platform != "darwin" and not multiprocessing.current_process().daemon
    return can and threading.active_count() == 1


def load_drivers(order: FileOrder) -> None:
    """Load the drivers that convert a file, so that copies of this process have them."""
    with contextlib.suppress(DsError, OSError, ImportError):  # converting the file raises them again
        drivers.of_existing(order.source)
        dumps = drivers.load(drivers.find(order.target)).dumps
        if dumps is not None:
            dumps({}, {})  # loads what writing needs


def _cause_of_end(status: int) -> str:
    """Return the cause of failure for a file whose process ended."""
    if status >= 0:
        return f"the process that converted it ended with status {status}"
    try:
        name = f" ({signal.Signals(-status).name})"
    except ValueError:
        name = ""
    return f"the process that converted it was killed by signal {-status}{name}"


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Handle signals that end a run only after a `with` block."""
    former = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)


def serve(connection: Connection, settings: Settings, *, is_copy: bool = False) -> NoReturn:
    """Convert the files that come through a connection, in a worker process, until the connection is closed.

    Parameters
    ----------
    connection : Connection
    settings : Settings
    is_copy : bool
        Whether the process is a copy: then all files except the standard streams and the connection are closed.
    """
    if is_copy:
        gc.freeze()  # memory that no garbage collection touches stays shared
        for number in _descriptors():
            if number > 2 and number != connection.fileno():
                with contextlib.suppress(OSError):
                    os.close(number)
    os.dup2(2, 1)  # stdout is for the program

    def stop(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise Stopped

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        _send(connection, [], None)
        while True:
            _carry_out(connection.recv(), settings, connection)
    except (EOFError, ConnectionError, Stopped):
        os._exit(0)  # no file is open, and the main process does not wait for answers


def _descriptors() -> Iterable[int]:
    """Return the numbers of all open files of this process, and perhaps others."""
    try:
        return [*map(int, os.listdir("/dev/fd"))]
    except OSError:
        return range(os.sysconf("SC_OPEN_MAX"))


def _carry_out(orders: Batch, settings: Settings, connection: Connection) -> None:
    """Convert files, and send outcomes and progress at intervals."""
    _send(connection, [], 0.0)
    due = monotonic() + INTERVAL

    def report(current: float) -> None:
        nonlocal due
        if monotonic() >= due:
            _send(connection, [], current)
            due = monotonic() + INTERVAL

    for outcomes in carried_out(orders, settings, report):
        _send(connection, outcomes, 0.0)


def _send(connection: Connection, outcomes: list[Outcome], current: float | None) -> None:
    """Send a message, which a signal does not interrupt. `current` is None before there are orders."""
    with _undisturbed():
        connection.send((outcomes, current))
