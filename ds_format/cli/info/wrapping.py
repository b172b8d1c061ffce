"""Pieces of text that have a role → lines of some width."""

from __future__ import annotations

from collections.abc import Sequence

Piece = tuple[str, str]
"""Text, and its role, which decides on the colour; "": none."""
Cell = Sequence[Piece]
"""What stays on one line, if it is not longer than a line."""
Line = list[Piece]

LEAST = 16
"""Columns of text, however narrow a terminal is."""


def wrapped(cells: Sequence[Cell], width: int, *, indent: int = 0, hanging: int = 0, gap: str = " ") -> list[Line]:
    """Return cells on as many lines as they take.

    Parameters
    ----------
    cells : sequence of Cell
    width : int
        Columns of a line.
    indent, hanging : int
        Blanks before the first line, and before the others.
    gap : str
        Between two cells of a line; a line that ends with one keeps it without its blanks at the end.

    Returns
    -------
    list of Line

    Examples
    --------
    >>> wrapped([[("one", "")], [("two", "key")], [("three times", "")]], 20, indent=2, hanging=4, gap="; ")
    [[('  ', ''), ('one', ''), ('; ', ''), ('two', 'key'), (';', '')], [('    ', ''), ('three times', '')]]
    """
    lines: list[Line] = []
    line: Line = [(" " * indent, "")] if indent else []
    used, is_begun = indent, False
    room = max(width, hanging + LEAST)
    for i, cell in enumerate(cells):
        end = len(gap.rstrip()) if i + 1 < len(cells) else 0
        size = sum(len(text) for text, _ in cell)
        if is_begun:
            if used + len(gap) + size + end <= room:
                line.append((gap, ""))
                used += len(gap)
            else:
                lines.append(_ended(line, gap))
                line, used = [(" " * hanging, "")] if hanging else [], hanging
        for text, role in cell:
            while used + len(text) > room:
                n = _place(text, room - used, is_first=used == hanging)
                line.append((text[:n], role))
                lines.append(line)
                text = text[n:].lstrip()
                line, used = [(" " * hanging, "")] if hanging else [], hanging
            if text:
                line.append((text, role))
                used += len(text)
        is_begun = True
    return [_stripped(line) for line in (*lines, line)]


def _stripped(line: Line) -> Line:
    """Return a line without blanks at its end."""
    while line and not line[-1][0].strip():
        line = line[:-1]
    return [*line[:-1], (line[-1][0].rstrip(), line[-1][1])] if line else line


def _ended(line: Line, gap: str) -> Line:
    return [*line, (gap.rstrip(), "")] if gap.rstrip() else line


def _place(text: str, room: int, *, is_first: bool) -> int:
    """Return where to break a text: behind a blank, or else anywhere if it has a line of its own."""
    place = text.rfind(" ", 0, room + 1)
    return place if place > 0 else max(room, 1) if is_first else 0


def size_of(cell: Cell) -> int:
    """Return the columns that a cell takes."""
    return sum(len(text) for text, _ in cell)
