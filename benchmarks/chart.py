"""The picture of README.md and of the first page of the documents: a column of a table as bars, in SVG."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from html import escape

OURS, ALONE = "ds_format", "system calls alone"
SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}  # noqa: RUF001 - the sign of micro
TICKS = {1e-6: "1 µs", 1e-5: "10 µs", 1e-4: "100 µs", 1e-3: "1 ms", 1e-2: "10 ms", 1e-1: "100 ms"}  # noqa: RUF001
NAMESPACE = "http://www.w3.org/2000/svg"
WIDTH, LEFT, RIGHT, TOP, STEP, BAR = 470, 132, 372, 68, 26, 17
"""Pixels: of the picture; where bars begin; where the last tick and the first bar are; from bar to bar; of a bar."""
STYLE = """
.speed { --text: #24292f; --soft: #57606a; --line: #d0d7de; --other: #8c959f; --ours: #0969da; --bare: #d0d7de }
@media (prefers-color-scheme: dark) {
  .speed { --text: #e6edf3; --soft: #9198a1; --line: #3d444d; --other: #656c76; --ours: #4493f8; --bare: #3d444d }
}
.speed text { font: 13px system-ui, sans-serif; fill: var(--text) }
.speed .title { font-weight: 600; font-size: 15px }
.speed .small { font-size: 11px; fill: var(--soft) }
.speed line { stroke: var(--line) }
.speed .other { fill: var(--other) }
.speed .ours { fill: var(--ours) }
.speed .bare { fill: var(--bare) }
"""
"""A page that has the picture in itself may set other colours."""


def seconds(text: str) -> float:
    """Return what `table.quantity` put into words."""
    number, unit = text.split(" ")[:2]
    return float(number) * SECONDS[unit]


def times(document: str, title: str, column: str) -> dict[str, str]:
    """Return a column of a table by the first cells of its rows, in the words of the table.

    Parameters
    ----------
    document : str
    title : str
        First cell of the header.
    column : str
        Another one.

    Raises
    ------
    ValueError
        If the document has no such table, or no such column.
    """
    for table in re.findall(r"(?:^\|.*\n)+", document, re.MULTILINE):
        header, _, *rows = ([cell.strip() for cell in line.strip()[1:-1].split("|")] for line in table.splitlines())
        if header[0] == title and column in header:
            i = header.index(column)
            return {row[0]: row[i] for row in rows if row[i]}
    raise ValueError(f"found no column {column!r} of a table {title!r}")


def svg(figures: Mapping[str, str], title: str) -> str:
    """Return the picture: the fastest first, on an axis of powers of ten."""
    order = sorted(figures, key=lambda name: seconds(figures[name]))
    bottom = TOP + STEP * len(order)
    notes = (
        "Time per file, with values and attributes. Shorter is better.",
        "Each step of the axis is ten times the last.",
    )
    parts = [
        f'<text class="title" x="8" y="22">{escape(title)}</text>',
        *(f'<text class="small" x="8" y="{40 + 15 * i}">{note}</text>' for i, note in enumerate(notes)),
    ]
    for value, label in TICKS.items():
        x = _place(value)
        parts.append(f'<line x1="{x}" y1="{TOP - 4}" x2="{x}" y2="{bottom}"/>')
        parts.append(f'<text class="small" x="{x}" y="{bottom + 14}" text-anchor="middle">{label}</text>')
    for i, name in enumerate(order):
        y = TOP + STEP * i
        kind = {OURS: "ours", ALONE: "bare"}.get(name, "other")
        end = _place(seconds(figures[name]))
        parts.append(f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{end - LEFT}" height="{BAR}" rx="2"/>')
        parts.append(f'<text x="{end + 6}" y="{y + 13}">{escape(figures[name])}</text>')
    height = bottom + 24
    summary = ", ".join(f"{name} {figures[name]}" for name in order)
    lines = [
        f'<svg class="speed" xmlns="{NAMESPACE}" role="img" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}">',
        f"<title>{escape(title)}: {escape(summary)}</title>",
        f"<style>{STYLE}</style>",
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _place(value: float) -> int:
    first, last = min(TICKS), max(TICKS)
    share = (math.log10(value) - math.log10(first)) / (math.log10(last) - math.log10(first))
    return round(LEFT + share * (RIGHT - LEFT))
