"""The program of a worker process: it converts the files that come through a pipe, and sends outcomes through another.

It imports only what converting needs, since a run waits for the start of a new interpreter.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Iterable
from time import monotonic
from typing import IO, NoReturn

from .task import INTERVAL, FileOrder, Outcome, Settings, carried_out

PROGRAM = __name__
"""The module that has `main`."""


ENDING = {getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)}
"""Signals that end a run."""


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
    """Run a worker process in a new interpreter. Orders come through stdin, after the pickled settings."""
    orders = sys.stdin.buffer
    _run(orders, lambda: pickle.load(orders))


def run_forked(orders: int, answers: int, settings: Settings) -> NoReturn:
    """Run a worker process in the child of a fork. No code of the caller runs in it afterwards.

    Parameters
    ----------
    orders, answers : int
        Descriptors of the pipes. All others are closed except stderr, so that the child holds no lock of a file, and no
        end of the pipe of another worker.
    settings : Settings
    """
    try:
        os.dup2(orders, 0)
        os.dup2(answers, 1)
        for number in _descriptors():
            if number > 2:
                with contextlib.suppress(OSError):
                    os.close(number)
        _run(os.fdopen(0, "rb"), lambda: settings)
    except BaseException:  # noqa: BLE001 - the caller must not handle it
        traceback.print_exc()
    finally:
        os._exit(1)


def _descriptors() -> Iterable[int]:
    """Return the numbers of all open files of this process, and perhaps others."""
    try:
        return [*map(int, os.listdir("/dev/fd"))]
    except OSError:
        return range(os.sysconf("SC_OPEN_MAX"))


def _run(orders: IO[bytes], read_settings: Callable[[], Settings]) -> NoReturn:
    answers = _Answers()
    os.dup2(2, 1)  # output printed by a library must not be read as an answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, answers.end)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    try:
        settings = read_settings()
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
