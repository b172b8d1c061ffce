"""Lines made of pieces → text, with colours where the output is a terminal and somebody has rich."""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TextIO

from .wrapping import Line

STYLES = {
    "title": "bold",
    "head": "bold",
    "name": "cyan",
    "type": "green",
    "dims": "yellow",
    "key": "blue",
    "note": "magenta",
    "error": "bold red",
    "hint": "dim",
}
"""Role → style, in the words of rich. All are of the eight colours that every terminal has, as its owner chose them."""


def wanted(stream: TextIO) -> bool:
    """Whether there are to be colours: on a terminal that knows them, and if nobody said no."""
    return (
        stream.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") not in {None, "", "dumb", "unknown"}
        and _painter() is not None
    )


@functools.cache
def _painter() -> Callable[[str, str], str] | None:
    """Return what gives a text the style of a role; None if rich is not installed.

    Of rich only styles are loaded: its console, which finds out what is known here, takes longer than `ds info`.
    """
    try:
        style, color = importlib.import_module("rich.style").Style, importlib.import_module("rich.color")
    except ImportError:
        return None
    system: Any = color.ColorSystem.STANDARD
    styles = {role: style.parse(words) for role, words in STYLES.items()}

    def paint(text: str, role: str) -> str:
        painted: str = styles[role].render(text, color_system=system)
        return painted

    return paint


def texts(lines: Iterable[Line], is_coloured: bool) -> Iterator[str]:
    """Yield the text of each line."""
    paint = _painter() if is_coloured else None
    for line in lines:
        yield "".join(text if not role or paint is None else paint(text, role) for text, role in line)
