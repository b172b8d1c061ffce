"""A progress bar on a terminal, or lines otherwise, for long work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import Any, Self, TextIO

from ..base.text import bytes_of

DELAY = 1.0
"""Seconds before the bar shows up."""

_INTERVAL = 0.1
"""Seconds between two drawings."""

LINE_INTERVAL = 10.0
"""Seconds between two plain lines."""

WIDTH = 80
"""Columns of a terminal that does not report its width."""


class Progress:
    """A line that is redrawn, and removed at the end of the `with` block.

    Parameters
    ----------
    stream : file
        A terminal.

    Attributes
    ----------
    note : str
        Further text, as the number of finished files.
    is_watched : bool
        Whether a user sees it.
    """

    is_watched = True

    def __init__(self, stream: TextIO):
        self.note = ""
        self._stream = stream
        self._start = monotonic()
        self._next = self._start + DELAY
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.clear()

    def __call__(self, done: int, total: int) -> None:
        """Show the number of bytes processed, and their total."""
        now = monotonic()
        if now < self._next:
            return
        self._next = now + _INTERVAL
        self._shown = True
        line = render(done, total, now - self._start, columns(self._stream) - 1, self.note)
        self._stream.write(f"\r{line}\x1b[K")
        self._stream.flush()

    def clear(self) -> None:
        """Remove the bar before other output."""
        if self._shown:
            self._shown = False
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def between(items: Iterable[Any], bar: Progress, out: TextIO) -> Iterator[Any]:
    """Yield items to print. The bar is removed before each item, and redrawn after it."""
    is_seen = out.isatty()
    for item in items:
        bar.clear()
        yield item
        if is_seen:
            out.flush()
    bar.clear()


class Lines:
    """Plain lines for output that is not a terminal, one every 10 seconds.

    Parameters
    ----------
    stream : file
    label : str
        Prefix of each line.

    Attributes
    ----------
    note, is_watched
        As in `Progress`; `is_watched` becomes true with the first line.
    """

    is_watched = False

    def __init__(self, stream: TextIO, label: str):
        self.note = ""
        self._stream = stream
        self._label = label
        self._start = monotonic()
        self._next = self._start + LINE_INTERVAL

    def __call__(self, done: int, total: int) -> None:
        """Show the number of bytes processed, and their total."""
        now = monotonic()
        if now >= self._next:
            self._next = now + LINE_INTERVAL
            self.is_watched = True
            self._stream.write(f"{self._label}: {_facts(done, total, now - self._start, self.note).strip()}\n")
            self._stream.flush()

    def clear(self) -> None:
        """Do nothing, because lines stay."""


def render(done: int, total: int, seconds: float, width: int, note: str = "") -> str:
    """Return the bar as text of at most `width` characters."""
    facts = _facts(done, total, seconds, note)
    if note and len(facts) > width:
        facts = _facts(done, total, seconds, "")
    cells = min(width - len(facts) - 4, 40)
    if cells < 5:
        return facts[:width]
    full = int(_share(done, total) * cells)
    return f"[{'#' * full}{'.' * (cells - full)}]  {facts}"


def _share(done: int, total: int) -> float:
    return min(done / total, 1.0) if total > 0 else 0.0


def _facts(done: int, total: int, seconds: float, note: str) -> str:
    rate = done / seconds if seconds > 0 else 0.0
    sizes = f"{bytes_of(done)} of {bytes_of(total)}  {bytes_of(rate)}/s"
    facts = f"{_share(done, total):4.0%}  {note + '  ' if note else ''}{sizes}"
    if rate and done < total:
        seconds = round((total - done) / rate)
        hours = f"{seconds // 3600}:" if seconds >= 3600 else ""
        facts += f"  {hours}{seconds // 60 % 60:0{2 if hours else 1}}:{seconds % 60:02} left"
    return facts


def columns(stream: TextIO) -> int:
    """Return the width of a terminal; 80 if the stream is not a terminal, or does not report it."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or WIDTH
    except (OSError, ValueError):
        return WIDTH
