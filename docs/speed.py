"""The directive `speed`: a chart of one row of a table of measured times, drawn when the documents are built.

The argument is the name of the row. The tables are those that `python -m benchmarks.readme` writes between the marks of
the documents. The chart takes the colours of the page, light or dark, and any width.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[1]
DOCUMENTS = (ROOT / "docs" / "performance.md", ROOT / "README.md")
MARKED = re.compile(r"<!-- benchmarks -->\n(.*?)<!-- /benchmarks -->", re.DOTALL)
TABLES = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
QUANTITY = re.compile(r"([\d.]+) (ns|µs|ms|s)")  # noqa: RUF001 - the sign of micro
SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}  # noqa: RUF001 - the sign of micro
OURS, FLOOR = "ds_format", "alone"
"""What the columns of this package are called, and how that of the bare system calls ends."""
LEFT, RIGHT = 31, 84
"""Where bars begin, and where the longest one ends, in percent of the width."""
STEP, TOP, BAR = 28, 24, 18
"""Heights, in pixels."""


class Figure(NamedTuple):
    """One bar."""

    words: str
    shown: str
    seconds: float


def tables(text: str) -> Iterator[list[list[str]]]:
    """Yield the cells of each table between marks."""
    for marked in MARKED.findall(text):
        for table in TABLES.findall(marked):
            lines = [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in table.splitlines()]
            yield [lines[0], *lines[2:]]


def figures(row: str) -> list[Figure]:
    """Return what was measured in a row, the quickest first.

    Raises
    ------
    ValueError
        If no table has it.
    """
    for path in DOCUMENTS:
        for head, *rows in tables(path.read_text(encoding="utf-8")):
            for words, *cells in rows:
                if words == row and OURS in head:
                    return sorted(read(head[1:], cells), key=lambda figure: figure.seconds)
    raise ValueError(f"no table of {', '.join(path.name for path in DOCUMENTS)} has a row {row!r}")


def read(head: Sequence[str], cells: Sequence[str]) -> Iterator[Figure]:
    """Yield a figure for each cell that has one."""
    for words, cell in zip(head, cells, strict=False):
        found = QUANTITY.match(cell)
        if found:
            yield Figure(words, found[0], float(found[1]) * SECONDS[found[2]])


def chart(found: Sequence[Figure]) -> str:
    """Return the chart, on a logarithmic scale, as SVG whose lengths are percents."""
    low = math.floor(math.log10(found[0].seconds))
    high = math.ceil(math.log10(found[-1].seconds))

    def place(seconds: float) -> float:
        return LEFT + (RIGHT - LEFT) * (math.log10(seconds) - low) / (high - low)

    height = TOP + STEP * len(found)
    told = html.escape("; ".join(f"{figure.words} {figure.shown}" for figure in found))
    parts = [f'<svg class="speed" width="100%" height="{height}" role="img" aria-label="{told}">']
    for power in range(low, high + 1):
        x = f"{place(10.0**power):.2f}%"
        parts += [
            f'<line class="grid" x1="{x}" x2="{x}" y1="{TOP - 4}" y2="{height}"/>',
            f'<text class="scale" x="{x}" y="{TOP - 10}">{scale(power)}</text>',
        ]
    for i, figure in enumerate(found):
        kind = "ours" if figure.words == OURS else "floor" if figure.words.endswith(FLOOR) else "other"
        y = TOP + i * STEP
        end = place(figure.seconds)
        parts += [
            f'<text class="name {kind}" x="{LEFT - 1.5}%" y="{y + BAR / 2}">{html.escape(figure.words)}</text>',
            f'<rect class="{kind}" x="{LEFT}%" y="{y}" width="{end - LEFT:.2f}%" height="{BAR}" rx="3"/>',
            f'<text class="value {kind}" x="{end + 1:.2f}%" y="{y + BAR / 2}">{figure.shown}</text>',
        ]
    return "\n".join([*parts, "</svg>"])


def scale(power: int) -> str:
    """Return a power of ten seconds in words."""
    start = min(power // 3 * 3, 0)
    unit = next(unit for unit, seconds in SECONDS.items() if math.isclose(seconds, 10.0**start))
    return f"{10 ** (power - start)} {unit}"


class Speed(SphinxDirective):
    """Draws one row; the content is the caption."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return a figure."""
        for path in DOCUMENTS:
            self.env.note_dependency(str(path))
        try:
            found = figures(self.arguments[0])
        except ValueError as error:
            raise self.error(str(error)) from None
        picture = nodes.raw("", chart(found), format="html")
        text = nodes.container(classes=["speed-caption"])
        text += self.parse_content_to_nodes()
        return [picture, text]


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_directive("speed", Speed)
    return {"parallel_read_safe": True}
