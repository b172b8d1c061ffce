"""The program as a process: closed standard streams, and ending by a signal."""

from __future__ import annotations

import os
import signal
import sys
from typing import TextIO

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that end a program at once unless it handles them."""

PIPE = getattr(signal, "SIGPIPE", signal.SIGTERM)
"""The signal for writing to a closed pipe."""


class Terminated(KeyboardInterrupt):
    """A signal other than Ctrl-C ended the program."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


def handle_signals() -> None:
    """Raise `Terminated` on signals that would end the program before it removes its temporary files."""

    def terminate(number: int, frame: object) -> None:
        raise Terminated(number)

    for number in ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, terminate)


def signal_of(error: BaseException) -> int:
    """Return the number of the signal that raised an error; a closed pipe counts as SIGPIPE."""
    if isinstance(error, Terminated):
        return error.number
    return int(PIPE if isinstance(error, BrokenPipeError) else signal.SIGINT)


def end(number: int) -> None:
    """End this process by a signal, as if it had not handled it: a shell's loop then ends, too."""
    if os.name == "posix":
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def open_closed_streams() -> None:
    """Reopen closed standard streams: writing to stdout fails, and output to stderr is dropped.

    This reserves their file descriptors, so that libraries do not print into a file opened later.
    """
    if sys.stdout is None:
        sys.stdout = _stream(1, os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = _stream(2, os.O_WRONLY)


def _stream(number: int, flags: int) -> TextIO:
    null = os.open(os.devnull, flags)
    if null != number:
        os.dup2(null, number)
        os.close(null)
    return open(number, "w", encoding="utf-8", errors="surrogateescape", closefd=False)
