"""Lanes: each is a thread of this process that takes one batch after another, and converts it or has it converted."""

from __future__ import annotations

import pickle
import signal
import threading
from abc import ABC, abstractmethod
from collections import deque

from ...errors import DsError
from .task import Order, Outcome, Settings, carried_out
from .worker import Worker, cause_of_end

Batch = list[Order]


class Work:
    """What all lanes of a run share.

    Parameters
    ----------
    batches : deque of list of Order
        What is to be done.

    Attributes
    ----------
    results : deque
        What became of orders, or an error that ends the run.
    is_news : Event
        Set when there are results, and when a lane ends.
    stopping : bool
        Whether the run ends before all is done.
    suspects : set of int
        Orders whose process has died once; what else is known of that end is that one of them was the next.
    """

    def __init__(self, batches: deque[Batch]):
        self.batches = batches
        self.results: deque[list[Outcome] | Exception] = deque()
        self.is_news = threading.Event()
        self.stopping = False
        self.suspects: set[int] = set()

    def tell(self, news: list[Outcome] | Exception) -> None:
        """Add to the results."""
        self.results.append(news)
        self.is_news.set()


class Stopped(BaseException):
    """The run ends before a file is done."""


class Lane(threading.Thread, ABC):
    """A thread that takes batches.

    Attributes
    ----------
    current : float
        Bytes of the current source that are done.
    """

    def __init__(self, work: Work, settings: Settings):
        super().__init__(name="ds-convert", daemon=True)
        self.work = work
        self.settings = settings
        self.current = 0.0

    def run(self) -> None:
        """Take batches until there are none."""
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # it is for the main thread
        try:
            while not self.work.stopping:
                try:
                    batch = self.work.batches.popleft()
                except IndexError:
                    break
                self.convert(batch)
        except Stopped:
            pass
        except Exception as error:  # noqa: BLE001 - it is raised where the run began
            self.work.tell(error)
        finally:
            try:
                self.close()
            finally:
                self.work.is_news.set()

    @abstractmethod
    def convert(self, batch: Batch) -> None:
        """Convert a batch, and put what becomes of it into the results."""

    def close(self) -> None:
        """Release what the lane has."""

    def stop(self) -> None:
        """End what is going on, from another thread."""

    def kill(self) -> None:
        """End it at once, likewise."""


class ThreadLane(Lane):
    """Converts in this process."""

    def convert(self, batch: Batch) -> None:
        """See `Lane`."""
        for outcomes in carried_out(batch, self.settings, self._report):
            self.current = 0.0
            self.work.tell(outcomes)

    def _report(self, current: float) -> None:
        if self.work.stopping:
            raise Stopped
        self.current = current


class ProcessLane(Lane):
    """Has a process convert. One that dies is replaced, and what it has not done is done once more, file by file.

    A file has failed if its process dies a second time, with no other one beside.

    Parameters
    ----------
    work : Work
    settings : Settings
    pickled : bytes
        The settings.
    """

    def __init__(self, work: Work, settings: Settings, pickled: bytes):
        super().__init__(work, settings)
        self._pickled = pickled
        self._worker: Worker | None = None
        self._lock = threading.Lock()

    def convert(self, batch: Batch) -> None:
        """See `Lane`."""
        with self._lock:
            if self.work.stopping:
                return
            worker = self._worker = self._worker or Worker(self._pickled)
        left = {order.number: order for order in batch}
        try:
            for outcomes, current in worker.convert(batch):
                for outcome in outcomes:
                    del left[outcome.number]
                if outcomes:
                    self.work.tell(outcomes)
                self.current = current
        except (EOFError, OSError, pickle.UnpicklingError):
            self._replace(worker, list(left.values()))

    def _replace(self, worker: Worker, left: Batch) -> None:
        """Forget a process that has died, and see to what it has not done."""
        self.current = 0.0
        status = self._closed()
        if self.work.stopping:
            return
        if not worker.is_ready:
            raise DsError(f"a process that was to convert files ended at its start, with status {status}")
        again = [order for order in left if order.number not in self.work.suspects]
        self.work.suspects.update(order.number for order in left)
        if len(left) == 1 and not again:
            self.work.tell([Outcome(left[0].number, cause_of_end(status))])
        else:
            self.work.batches.extendleft([order] for order in reversed(left))

    def close(self) -> None:
        """Let the process end."""
        self._closed()

    def _closed(self) -> int:
        with self._lock:
            worker, self._worker = self._worker, None
        return 0 if worker is None else worker.close()

    def stop(self) -> None:
        """See `Lane`."""
        with self._lock:
            if self._worker is not None:
                self._worker.stop()

    def kill(self) -> None:
        """See `Lane`."""
        with self._lock:
            if self._worker is not None:
                self._worker.kill()
