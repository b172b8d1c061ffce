"""The program of a worker process: it converts the files that come through a pipe, and sends outcomes through another.

It imports only what converting needs, since a run waits for the start of its workers.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from time import monotonic
from typing import IO, Any, NoReturn

from .task import INTERVAL, FileOrder, Outcome, Settings, carried_out

PROGRAM = __name__
"""The module that has `main`."""


class Stopped(BaseException):
    """The run ends before a file is finished."""


class _Answers:
    """The pipe from a worker process to the main process. A signal does not interrupt a message."""

    def __init__(self) -> None:
        self._out: IO[bytes] = os.fdopen(os.dup(1), "wb")
        self._is_ending = self._is_busy = False

    def end(self, number: int, frame: object) -> None:
        """Handle a signal."""
        signal.signal(number, signal.SIG_IGN)
        self._is_ending = True
        if not self._is_busy:
            raise Stopped

    def write(self, outcomes: list[Outcome], current: float, is_end: bool) -> None:
        self._is_busy = True
        pickle.dump((outcomes, current, is_end), self._out)
        self._out.flush()
        self._is_busy = False
        if self._is_ending and not is_end:
            raise Stopped


def main() -> NoReturn:
    """Run a worker process."""
    answers = _Answers()
    os.dup2(2, 1)  # output printed by a library must not be read as an answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, answers.end)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    orders: Any = sys.stdin.buffer
    try:
        settings = pickle.load(orders)
        answers.write([], 0.0, False)
        while True:
            _carry_out(pickle.load(orders), settings, answers)
    except (EOFError, BrokenPipeError, Stopped):
        os._exit(0)  # no file is open, and the main process does not wait for answers


def _carry_out(orders: list[FileOrder], settings: Settings, answers: _Answers) -> None:
    """Convert files, and send outcomes and progress at intervals. The last message is sent even after an error."""
    due = monotonic() + INTERVAL

    def report(current: float) -> None:
        nonlocal due
        if monotonic() >= due:
            answers.write([], current, False)
            due = monotonic() + INTERVAL

    try:
        for outcomes in carried_out(orders, settings, report):
            answers.write(outcomes, 0.0, False)
    finally:
        answers.write([], 0.0, True)
