"""A progress bar on the terminal, for work that takes long enough to wonder."""

from __future__ import annotations

import os
from time import monotonic
from typing import Self, TextIO

DELAY = 2.0
"""Seconds before the bar shows up."""

_INTERVAL = 0.1
"""Seconds between two drawings."""

_WIDTH = 80
"""Columns of a terminal that does not say how many it has."""


class Progress:
    """A line that is drawn over and over, and is gone at the end of the `with` block.

    Parameters
    ----------
    stream : file
        A terminal.
    """

    def __init__(self, stream: TextIO):
        self._stream = stream
        self._start = monotonic()
        self._next = self._start + DELAY
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.clear()

    def __call__(self, done: int, total: int) -> None:
        """Say how many bytes are done, and how many there are in all."""
        now = monotonic()
        if now < self._next:
            return
        self._next = now + _INTERVAL
        self._shown = True
        line = render(done, total, now - self._start, _columns(self._stream) - 1)
        self._stream.write(f"\r{line}\x1b[K")
        self._stream.flush()

    def clear(self) -> None:
        """Take the bar away, so that something else can be printed."""
        if self._shown:
            self._shown = False
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def render(done: int, total: int, seconds: float, width: int) -> str:
    """Return the bar as text of at most `width` characters."""
    share = min(done / total, 1.0) if total > 0 else 0.0
    rate = done / seconds if seconds > 0 else 0.0
    facts = f"{share:4.0%}  {_size(done)} of {_size(total)}  {_size(rate)}/s"
    if rate and done < total:
        left = round((total - done) / rate)
        facts += f"  {left // 60}:{left % 60:02} left"
    room = min(width - len(facts) - 4, 40)
    if room < 5:
        return facts[:width]
    full = int(share * room)
    return f"[{'#' * full}{'.' * (room - full)}]  {facts}"


def _size(n: float) -> str:
    """Return a number of bytes with three digits and a unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if n < 999.5:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} TB" if n < 999.5 else f"{n:.0f} TB"


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or _WIDTH
    except OSError:
        return _WIDTH
