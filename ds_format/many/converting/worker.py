"""The process that converts, and the talk with it.

It is a new interpreter which gets the orders through a pipe, so that it neither shares what is open here nor runs the
program of the user once more, and ends when the pipe does, whatever has become of this process.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any, NoReturn

from ...body import Opened
from ...errors import DsError
from .task import INTERVAL, Order, Outcome, Settings, carried_out

_BEGIN = f"import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); from {__name__} import main; main()"


class Worker(Opened):
    """A process that converts files.

    Parameters
    ----------
    settings : bytes
        Pickled.

    Attributes
    ----------
    is_ready : bool
        Whether it has said that it can begin.
    """

    def __init__(self, settings: bytes):
        self.is_ready = False
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _BEGIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._settings = pickle.dumps(sys.path) + settings

    def convert(self, orders: list[Order]) -> Iterator[tuple[list[Outcome], float]]:
        """Have files converted, and yield what is done, and how many bytes of the current one are.

        Raises
        ------
        EOFError, OSError
            If the process ends meanwhile.
        """
        told, heard = self._process.stdin, self._process.stdout
        if told is None or heard is None:
            raise EOFError
        told.write(self._settings + pickle.dumps(orders))
        told.flush()
        self._settings = b""
        is_end = False
        while not is_end:
            outcomes, current, is_end = pickle.load(heard)
            self.is_ready = True
            yield outcomes, current

    def stop(self) -> None:
        """Have it end soon: it removes what it was making, and tells what it has done."""
        self._process.terminate()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def close(self) -> int:
        """Wait for its end, and return its status; negative for a signal."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue  # what was still to be told to it
        return self._process.wait()


def cause_of_end(status: int) -> str:
    """Return what is said of a process that ended while it converted a file."""
    if status >= 0:
        return f"the process that converted it ended with status {status}"
    try:
        name = f" ({signal.Signals(-status).name})"
    except ValueError:
        name = ""
    return f"the process that converted it was killed by signal {-status}{name}"


class Ended(BaseException):
    """The process was told to end."""


class _Talk:
    """The pipe to who gives the orders. What is said is not cut by a signal."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "wb")
        self._is_told = False
        self._is_busy = False

    def end(self, number: int, frame: object) -> None:
        """Take a signal."""
        signal.signal(number, signal.SIG_IGN)
        self._is_told = True
        if not self._is_busy:
            raise Ended

    def say(self, outcomes: list[Outcome], current: float, is_end: bool) -> None:
        self._is_busy = True
        pickle.dump((outcomes, current, is_end), self._out)
        self._out.flush()
        self._is_busy = False
        if self._is_told and not is_end:
            raise Ended


def main() -> NoReturn:
    """Be a process that converts."""
    talk = _Talk()
    os.dup2(2, 1)  # what a library prints is not taken for an answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, talk.end)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    heard: Any = sys.stdin.buffer
    try:
        settings = pickle.load(heard)
        talk.say([], 0.0, False)
        while True:
            _carry_out(pickle.load(heard), settings, talk.say)
    except (EOFError, BrokenPipeError, Ended):
        os._exit(0)  # nothing is open, and nobody listens


def _carry_out(orders: list[Order], settings: Settings, say: Callable[[list[Outcome], float, bool], None]) -> None:
    """Convert files, and say now and then what has become of them; at last when it is told to end."""
    due = monotonic() + INTERVAL

    def report(current: float) -> None:
        nonlocal due
        if monotonic() >= due:
            say([], current, False)
            due = monotonic() + INTERVAL

    try:
        for outcomes in carried_out(orders, settings, report):
            say(outcomes, 0.0, False)
    finally:
        say([], 0.0, True)


def pickled(settings: Settings) -> bytes:
    """Return what a worker is started with.

    Raises
    ------
    DsError
        If an option cannot travel to another process.
    """
    try:
        return pickle.dumps(settings)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise DsError(f"an option cannot be sent to another process: {error}") from None
