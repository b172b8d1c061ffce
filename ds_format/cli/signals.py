"""How the program ends by a signal: tidied up, and so that the shell can tell."""

from __future__ import annotations

import os
import signal

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that end a program at once unless it minds them."""

PIPE = getattr(signal, "SIGPIPE", signal.SIGTERM)
"""What a program gets that writes to a closed pipe."""


class Ended(KeyboardInterrupt):
    """The program was told to end, by other means than the keyboard."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


def mind() -> None:
    """Raise `Ended` at signals that would end the program before it removed its temporary files."""
    for number in ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _raise)


def number_of(error: BaseException) -> int:
    """Return the signal behind what it raised, or what a closed pipe did."""
    if isinstance(error, Ended):
        return error.number
    return int(PIPE if isinstance(error, BrokenPipeError) else signal.SIGINT)


def end(number: int) -> None:
    """End this process by a signal, as if it had not minded it: a shell's loop then ends, too."""
    if os.name == "posix":
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def _raise(number: int, frame: object) -> None:
    raise Ended(number)
