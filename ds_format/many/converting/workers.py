"""The place where files are converted: this process, its threads, other processes, or the workers of an executor.

Files are sent in batches, so that sending takes little time compared with converting.

Threads of this process are faster only if most of the time is spent without Python's lock: for large files which this
package reads itself. Otherwise processes are used. This was measured, see `docs/performance.md`. One of the lanes is a
thread of this process nevertheless, as far as no library is needed: it converts while the other processes start.

A worker process is a new interpreter which gets its orders through a pipe; see `worker_process`. So it does not share
open files with this process, and does not run the user's program again. It ends when the pipe is closed, even if this
process was killed. In the program `ds convert`, all workers are copies of this process, which have closed its files.
They need not import anything.
"""

from __future__ import annotations

import contextlib
import gc
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from queue import Empty, SimpleQueue
from time import monotonic
from typing import IO, Self

from ... import drivers
from ...base import isolation
from ...base.error_text import describe
from ...body import Address, Location, Opened
from ...errors import DsError
from .task import FileOrder, Outcome, Settings, all_of, carried_out
from .worker_process import ENDING, PROGRAM, Stopped, run_forked

BATCH_FILES = 64
"""Maximum number of files in a batch."""
BATCH_SIZE = 16 << 20
"""Maximum number of bytes of a batch with more than one file."""
SHARES = 8
"""Minimum number of batches for each lane, if there are enough files."""
THREADED_SIZE = 16 << 20
"""Minimum size, in bytes, of a file that threads convert as fast as processes, if this package reads it itself."""
WINDOW = 256
"""Maximum number of batches that are submitted to an executor at the same time."""
PATIENCE = 10.0
"""Seconds after which processes are killed that should have ended."""

_WAIT = 0.1
_BEGIN = f"import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); from {PROGRAM} import main; main()"

Batch = list[FileOrder]
Take = Callable[[list[Outcome], float], None]
"""Called with outcomes of orders, and the number of bytes of the current sources that are done."""


def batches(orders: Sequence[FileOrder], n_lanes: int) -> deque[Batch]:
    """Divide orders into batches: many small files in each, large files one by one."""
    most = min(BATCH_FILES, math.ceil(len(orders) / (n_lanes * SHARES)))
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
    forks: bool = False,
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
    forks : bool
        Whether processes may be copies of this one, because it only runs this command.

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
        work = SharedWork(batches(orders, jobs), settings)
        n = min(jobs, len(work.batches))
        if are_threads_enough(orders):
            _in_lanes([Lane(work) for _ in range(n)], work, take)
            return
        try:
            work.pickled = pickle.dumps(settings)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise DsError(f"an option cannot be sent to another process: {error}") from None
        if forks and can_fork():
            load_drivers(orders[0])
            gc.freeze()  # the copies share memory that no garbage collection touches
            _in_lanes([ProcessLane(work, forks=True) for _ in range(n)], work, take)
            return
        # processes start before this one is busy
        _in_lanes([*(ProcessLane(work) for _ in range(n - 1)), MixedLane(work)], work, take)


class SharedWork:
    """State that is shared by all lanes of a run.

    Parameters
    ----------
    batches : deque of list of FileOrder
        The remaining orders.
    settings : Settings

    Attributes
    ----------
    pickled : bytes
        The settings, for processes.
    results : deque
        Outcomes of orders, or an error that ends the run.
    is_news : Event
        Set when there are new results, and when a lane ends.
    stopping : bool
        Whether the run ends before all orders are done.
    patience : float
        Seconds to wait then for lanes: not long for one that waits for a server. Its output is removed with its folder.
    suspects : set of int
        Orders that were not done when their process died. One of them caused its end.
    """

    def __init__(self, batches: deque[Batch], settings: Settings):
        self.batches = batches
        self.settings = settings
        self.pickled = b""
        self.results: deque[list[Outcome] | Exception] = deque()
        self.is_news = threading.Event()
        self.stopping = False
        is_local = all(isinstance(order.source, str) for batch in batches for order in batch)
        self.patience = PATIENCE if is_local else _WAIT
        self.suspects: set[int] = set()

    def add(self, news: list[Outcome] | Exception) -> None:
        """Add to the results."""
        self.results.append(news)
        self.is_news.set()


class Lane(threading.Thread):
    """A thread that takes batches, and converts them in this process.

    Attributes
    ----------
    current : float
        Bytes of the current source that are done.
    """

    def __init__(self, work: SharedWork):
        super().__init__(name="ds-convert", daemon=True)
        self.work = work
        self.current = 0.0

    def prepare(self) -> None:
        """Do what has to be done before any lane is started."""

    def run(self) -> None:
        """Convert batches until none is left."""
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # the main thread handles it
        try:
            while not self.work.stopping:
                try:
                    batch = self.work.batches.popleft()
                except IndexError:
                    break
                self.convert(batch)
        except Stopped:
            pass
        except Exception as error:  # noqa: BLE001 - the main thread raises it
            self.work.add(error)
        finally:
            try:
                self.close()
            finally:
                self.work.is_news.set()

    def convert(self, batch: Batch) -> None:
        """Convert a batch, and add its outcomes to the results."""
        with isolation.isolating():
            for outcomes in carried_out(batch, self.work.settings, self._report):
                self.current = 0.0
                self.work.add(outcomes)

    def _report(self, current: float) -> None:
        if self.work.stopping:
            raise Stopped
        self.current = current

    def end(self, *, at_once: bool) -> None:
        """End the current conversion; called by another thread."""

    def close(self) -> int:
        """Release the resources of the lane, and return an exit status."""
        return 0


class ProcessLane(Lane):
    """A thread that has a process convert. If the process dies, it is replaced, and its remaining files are repeated.

    Then each file is a batch by itself. A file fails if its process dies again.

    Parameters
    ----------
    work : SharedWork
    forks : bool
        Whether the first process is a copy of this one.
    """

    def __init__(self, work: SharedWork, *, forks: bool = False):
        super().__init__(work)
        self._forks = forks
        self._worker: WorkerProcess | None = None
        self._lock = threading.Lock()

    def prepare(self) -> None:
        """Start the process if it is a copy of this one, which has no other thread yet."""
        if not self._forks:
            return
        former = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # no process starts without being ended
        try:
            self._worker = WorkerProcess(ForkedProcess(self.work.settings))
        except OSError:
            pass  # `convert` starts an interpreter, or says why not
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, former)

    def convert(self, batch: Batch) -> None:
        """See `Lane`."""
        with self._lock:
            if self.work.stopping:
                return
            worker = self._worker = self._worker or WorkerProcess.start(self.work.pickled)
        left = {order.number: order for order in batch}
        try:
            for outcomes, current in worker.convert(batch):
                for outcome in outcomes:
                    del left[outcome.number]
                if outcomes:
                    self.work.add(outcomes)
                self.current = current
        except (EOFError, OSError, pickle.UnpicklingError):
            self._replace(worker, list(left.values()))

    def _replace(self, worker: WorkerProcess, left: Batch) -> None:
        """Remove a process that died, and repeat or fail its remaining orders."""
        self.current = 0.0
        status = self.close()
        if self.work.stopping:
            return
        if not worker.is_ready:
            raise DsError(f"a process that was to convert files ended at its start, with status {status}")
        again = [order for order in left if order.number not in self.work.suspects]
        self.work.suspects.update(order.number for order in left)
        if len(left) == 1 and not again:
            self.work.add([Outcome(left[0].number, _cause_of_end(status))])
        else:
            self.work.batches.extendleft([order] for order in reversed(left))

    def close(self) -> int:
        """End the process, and return its exit status."""
        with self._lock:
            worker, self._worker = self._worker, None
        return 0 if worker is None else worker.close()

    def end(self, *, at_once: bool) -> None:
        """See `Lane`. Unless `at_once`, the process removes its unfinished output, and sends its outcomes."""
        with self._lock:
            if self._worker is not None:
                (self._worker.process.kill if at_once else self._worker.process.terminate)()


class MixedLane(ProcessLane):
    """A lane that converts in this process what needs no library, unless a process died of it; and the rest elsewhere.

    One lane of a run is enough: two threads of this process would wait for each other.
    """

    def convert(self, batch: Batch) -> None:
        """See `Lane`."""
        is_safe = self.work.suspects.isdisjoint(order.number for order in batch)
        if is_safe and all(is_read_here(order.source, order.target) for order in batch):
            Lane.convert(self, batch)
        else:
            super().convert(batch)


class WorkerProcess(Opened):
    """A process that converts files.

    Parameters
    ----------
    process : Popen or ForkedProcess
    settings : bytes
        Pickled settings, which are sent before the first orders; empty: the process has them.

    Attributes
    ----------
    is_ready : bool
        Whether the process has started successfully.
    """

    def __init__(self, process: subprocess.Popen[bytes] | ForkedProcess, settings: bytes = b""):
        self.is_ready = False
        self.process = process
        self._settings = settings

    @classmethod
    def start(cls, settings: bytes) -> Self:
        """Start a new interpreter."""
        command = [sys.executable, "-P", "-c", _BEGIN]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return cls(process, pickle.dumps(sys.path) + settings)

    def convert(self, orders: Batch) -> Iterator[tuple[list[Outcome], float]]:
        """Send orders, and iterate over outcomes and the number of bytes of the current file that are done.

        Raises
        ------
        EOFError, OSError
            If the process ends meanwhile.
        """
        orders_pipe, answers = self.process.stdin, self.process.stdout
        if orders_pipe is None or answers is None:
            raise EOFError
        orders_pipe.write(self._settings + pickle.dumps(orders))
        orders_pipe.flush()
        self._settings = b""
        is_end = False
        while not is_end:
            outcomes, current, is_end = pickle.load(answers)
            self.is_ready = True
            yield outcomes, current

    def close(self) -> int:
        """Wait for the end of the process, and return its exit status; negative for a signal."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # unsent data are discarded
                    pipe.close()
        return self.process.wait()


class ForkedProcess(Opened):
    """A copy of this process that converts files, with the methods of `Popen`. It starts in a few milliseconds.

    This process must not have other threads: a lock that one of them holds would remain locked in the copy.

    Parameters
    ----------
    settings : Settings

    Raises
    ------
    OSError
        If there are too many processes.
    """

    def __init__(self, settings: Settings):
        ends: list[int] = []
        try:
            ends += os.pipe()
            ends += os.pipe()
            orders, self_orders, self_answers, answers = ends
            self._pid = os.fork()
            if not self._pid:
                run_forked(orders, answers, settings)
        except BaseException:
            for end in ends:
                os.close(end)
            raise
        os.close(orders)
        os.close(answers)
        self.stdin: IO[bytes] = os.fdopen(self_orders, "wb")
        self.stdout: IO[bytes] = os.fdopen(self_answers, "rb")

    def kill(self) -> None:
        """End the process at once. It must not have been waited for."""
        os.kill(self._pid, signal.SIGKILL)

    def terminate(self) -> None:
        """Make the process remove its unfinished output, and end. It must not have been waited for."""
        os.kill(self._pid, signal.SIGTERM)

    def wait(self) -> int:
        """Wait for the end of the process, and return its exit status; negative for a signal."""
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


def can_fork() -> bool:
    """Return whether this process can be forked: it has one thread, and libraries of the operating system allow it."""
    return hasattr(os, "fork") and sys.platform != "darwin" and threading.active_count() == 1


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


def _in_lanes(lanes: Sequence[Lane], work: SharedWork, take: Take) -> None:
    def wait() -> None:
        work.is_news.wait(_WAIT)
        work.is_news.clear()
        take([], sum(lane.current for lane in lanes))
        while work.results:
            some = work.results[0]  # stays in the queue if a signal interrupts `take`
            if isinstance(some, Exception):
                raise some
            take(some, sum(lane.current for lane in lanes))
            work.results.popleft()

    try:
        for lane in lanes:
            lane.prepare()
        for lane in lanes:
            lane.start()
        while any(lane.is_alive() for lane in lanes):
            wait()
        wait()
    except BaseException:
        work.stopping = True
        for lane in lanes:
            lane.end(at_once=False)
        end = monotonic() + work.patience
        with contextlib.suppress(Exception):
            while any(lane.is_alive() for lane in lanes) and monotonic() < end:
                wait()
            wait()
        raise
    finally:
        work.stopping = True
        for lane in lanes:
            lane.end(at_once=True)
        for lane in lanes:
            if lane.is_alive():
                lane.join(work.patience)
            else:
                lane.close()  # it may not have been started


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
                future = ended.get(timeout=_WAIT)
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
