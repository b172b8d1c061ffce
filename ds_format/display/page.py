"""A View → HTML for a notebook.

One element, whose styles stand in it: no rules for the page around it. Colours are those of the page, lines and faint
text are made of them, so that light and dark are as they should be. Without styles, as some sites show notebooks, a
table is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape as as_html
from typing import Any

from ..dataset import META
from . import plain, view, written
from .view import MAX_ROWS, Row, View

MAX_ATTRIBUTES = 40_000
"""Characters that all attributes of a dataset take in HTML before the rest is left out."""

HEADS = ("name", "type", "dims", "size", "units", "values", "attributes")
_MORE = {"type": ";white-space:nowrap", "size": ";white-space:nowrap", "values": ";min-width:12em"}
"""Styles of columns that are not broken into lines, or not into many."""

_RULE = "1px solid rgba(128,128,128,.4)"
_FRAME = (
    f"color:inherit;background:inherit;border:{_RULE};border-radius:4px;padding:.5em .8em;max-width:100%;"
    "box-sizing:border-box;overflow-wrap:anywhere;line-height:1.4"
)
_TABLE = (
    "color:inherit;background:inherit;border-collapse:collapse;border:0;margin:.4em 0 0;font-size:inherit;"
    "overflow-wrap:break-word"
)
_LINE = "color:inherit;background:inherit"
_CELL = "text-align:left;vertical-align:top;padding:1px 1.2em 1px 0"
_HEAD = f"{_CELL};font-weight:normal;opacity:.65"
_GROUP = f"text-align:left;border-top:{_RULE};padding:.4em 0 1px"
_CODE = "font-family:var(--jp-code-font-family,monospace);font-size:.92em"
_UNFOLD = "cursor:pointer;white-space:nowrap"
_LIST = "max-width:44em;min-width:14em;padding:1px 0 .4em 1em;white-space:normal"
_FAINT = "opacity:.65"
_NO_MATHS = "tex2jax_ignore mathjax_ignore"
"""Classes of what is no TeX, though there are dollar signs in it: notebooks typeset all other text."""


def html(dataset: Mapping[Any, Any]) -> str:
    """Return a dataset as HTML: a table of its variables, coordinates first, with their attributes folded.

    Parameters
    ----------
    dataset : dict
        Key → data, `"."` → metadata.

    Returns
    -------
    str
        One element with inline styles that takes its colours from the page around it.

    Examples
    --------
    >>> "&lt;b&gt;" in html({"<b>": 1})
    True
    """
    return _page(view.of_dataset(dataset))


def html_of_meta(title: str, meta: Mapping[Any, Any]) -> str:
    """Return the variables of an open file as HTML.

    Parameters
    ----------
    title : str
        Stands above them.
    meta : dict
        The `"."` entry of a dataset, with `.size` and `.type` of each variable.
    """
    return _page(view.of(title, dict.fromkeys(key for key in meta if key != META), meta))


def _page(found: View) -> str:
    told = f"<b>{as_html(written.printable(found.title))}</b>"
    parts = [f'<div class="{_NO_MATHS}" style="{_FRAME}"><div>{told}: {view.summary(found)}</div>']
    if found.dims:
        sizes = as_html(written.sizes(found.dims.items(), written.MAX_VALUE))
        parts.append(f'<div><span style="{_FAINT}">dims:</span> {sizes}</div>')
    room = [MAX_ATTRIBUTES]
    groups = list(found.groups)
    rows = [row for _, some, _ in groups for row in some]
    some_have = {
        "units": any(row.units for row in rows),
        "values": any(row.values for row in rows),
        "attributes": any(True for row in rows for _ in view.attributes_of(row.attributes)),
    }
    heads = [head for head in HEADS if some_have.get(head, True)]
    if groups:
        cells = "".join(f'<th style="{_HEAD}">{head}</th>' for head in heads)
        parts.append(f'<div style="overflow-x:auto"><table style="{_TABLE}"><tr style="{_LINE}">{cells}</tr>')
        for caption, some, n_more in groups:
            parts.append(_across(f"<b>{caption}</b>" if len(groups) > 1 else "", len(heads), _GROUP))
            parts += [_row(row, heads, room) for row in some]
            parts += [_across(f"... {n_more} more", len(heads), _CELL)] if n_more else []
        parts.append("</table></div>")
    attributes = _folded(found.attributes, room, "of the dataset")
    parts.append(f'<div style="margin-top:.4em">{attributes}</div></div>' if attributes else "</div>")
    return "".join(parts)


def _across(content: str, n: int, style: str) -> str:
    """Return a row of the table that is one cell."""
    return f'<tr style="{_LINE}"><td colspan="{n}" style="{style}">{content}</td></tr>'


def _row(row: Row, heads: list[str], room: list[int]) -> str:
    told = dict(zip(plain.HEADS, plain.cells(row), strict=True))
    cells = []
    for head in heads:
        if head == "attributes":
            content = _folded(row.attributes, room)
        elif head == "values":
            values = as_html(written.printable(row.values))
            content = f'<span style="{_CODE}">{values}</span>' if values else ""
        else:
            content = as_html(told[head].replace(": ", ":\N{NO-BREAK SPACE}") if head == "dims" else told[head])
        style = _CELL + _MORE.get(head, "")
        cells.append(f'<td style="{style}">{content}</td>')
    return f'<tr style="{_LINE}">{"".join(cells)}</tr>'


def _folded(entry: Mapping[Any, Any], room: list[int], caption: str = "") -> str:
    """Return attributes that a click unfolds, as many as there is room for; what they take is subtracted from it."""
    attributes = list(view.attributes_of(entry))
    if not attributes:
        return ""
    lines: list[str] = []
    for key, value in attributes[:MAX_ROWS]:
        line = f"<div><b>{as_html(written.name(key))}</b>: {as_html(written.value(value))}</div>"
        if len(line) > room[0]:
            break
        room[0] -= len(line)
        lines.append(line)
    if len(lines) < len(attributes):
        lines.append(f"<div>... {len(attributes) - len(lines)} more</div>")
    if caption:
        caption = f" attribute{'s' if len(attributes) != 1 else ''} {caption}"
    head = f'<summary style="{_UNFOLD}">{len(attributes)}{caption}</summary>'
    return f'<details>{head}<div style="{_LIST}">{"".join(lines)}</div></details>'
