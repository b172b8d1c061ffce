"""Text and HTML view of a dataset, made from its metadata: no data are read, and no list is converted.

What is shown may be a dataset that is not right: nothing here raises because metadata are missing or of a wrong kind.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from html import escape as as_html
from typing import Any, NamedTuple

import numpy as np

from .dataset import META
from .dtypes import TYPE_OF_CODE, TYPES
from .names import unescape

MAX_ROWS = 50
"""Variables, and attributes of one of them, that are shown."""
MAX_NAME = 100
"""Characters of a name, and of all dimensions of a variable."""
MAX_VALUE = 200
"""Characters of the value of an attribute."""
MAX_ATTRIBUTES = 40_000
"""Characters that all attributes of a dataset take in HTML before the rest is left out."""
MAX_DIMS = 64
"""Levels of nested lists that are looked into."""
MAX_ITEMS = 20
"""Items of an array or list in an attribute that are shown."""

HEADS = ("name", "type", "dims", "size", "units")

_LINE = "color:inherit;background:inherit;border:0"
_CELL = "text-align:left;padding:0 1em 0 0;border:0"
_TABLE = "color:inherit;background:inherit;border-collapse:collapse;border:0;margin:.3em 0"
_RULE = "border-bottom:1px solid currentColor"

_limited = reprlib.Repr()
_limited.maxlist = _limited.maxtuple = _limited.maxdict = _limited.maxset = _limited.maxfrozenset = MAX_ITEMS
_limited.maxstring = _limited.maxother = _limited.maxlong = MAX_VALUE


class Row(NamedTuple):
    """What is known of one variable."""

    name: str
    type: str
    dims: tuple[tuple[str, int | None], ...]
    """Names and sizes; None for a size that is not known."""
    size: int | None
    """Bytes in memory; None if they are not known without a look at the data."""
    units: str
    attributes: Mapping[Any, Any]


class View(NamedTuple):
    """What is shown: of the first variables a row each, of all the dimensions."""

    title: str
    n: int
    """Variables."""
    size: int
    """Bytes in memory of all variables of which they are known."""
    dims: Mapping[str, int | None]
    rows: tuple[Row, ...]
    attributes: Mapping[Any, Any]
    """Of the dataset."""


def text(dataset: Mapping[Any, Any]) -> str:
    """Return a dataset as a table of its variables.

    Parameters
    ----------
    dataset : dict
        Key → data, `"."` → metadata.

    Returns
    -------
    str
        Some lines, the last one without a newline.

    Examples
    --------
    >>> import numpy as np
    >>> meta = {"t": {".dims": ["time"], "units": "K"}, ".": {"title": "a day"}}
    >>> print(text({"t": np.zeros(24), ".": meta}))
    <ds_format.Dataset: 1 variable, 192 B>
    dims: time: 24
      name  type     dims      size   units
      t     float64  time: 24  192 B  K
    attributes:
      title: a day
    """
    view = _of_dataset(dataset)
    lines = [f"<{view.title}: {_summary(view)}>"]
    if view.dims:
        lines.append(f"dims: {_sizes(view.dims.items(), MAX_VALUE)}")
    cells = [HEADS, *map(_cells, view.rows)] if view.rows else []
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines += ["  " + "  ".join(map(str.ljust, line, widths)).rstrip() for line in cells]
    if view.n > len(view.rows):
        lines.append(f"  ... {view.n - len(view.rows)} more")
    attributes = list(_attributes(view.attributes))
    if attributes:
        lines.append("attributes:")
        lines += [f"  {_name(key)}: {_value(value)}" for key, value in attributes[:MAX_ROWS]]
    if len(attributes) > MAX_ROWS:
        lines.append(f"  ... {len(attributes) - MAX_ROWS} more")
    return "\n".join(lines)


def html(dataset: Mapping[Any, Any]) -> str:
    """Return a dataset as HTML for a notebook: a table of its variables, with their attributes folded.

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
    return _page(_of_dataset(dataset))


def html_of_meta(title: str, meta: Mapping[Any, Any]) -> str:
    """Return the variables of an open file as HTML.

    Parameters
    ----------
    title : str
        Stands above them.
    meta : dict
        The `"."` entry of a dataset, with `.size` and `.type` of each variable.
    """
    return _page(_view(title, dict.fromkeys(key for key in meta if key != META), meta))


def _of_dataset(dataset: Mapping[Any, Any]) -> View:
    meta = dataset.get(META)
    data = {key: value for key, value in dataset.items() if key != META}
    return _view("ds_format.Dataset", data, meta if isinstance(meta, dict) else {})


def _view(title: str, data: Mapping[Any, Any], meta: Mapping[Any, Any]) -> View:
    dims: dict[str, int | None] = {}
    rows: list[Row] = []
    total = 0
    for key, value in data.items():
        entry = meta.get(key)
        row = _row(key, value, entry if isinstance(entry, dict) else {})
        total += row.size or 0
        for name, n in row.dims:
            if dims.get(name) is None:
                dims[name] = n
        if len(rows) < MAX_ROWS:
            rows.append(row)
    attributes = meta.get(META)
    return View(title, len(data), total, dims, tuple(rows), attributes if isinstance(attributes, dict) else {})


def _row(key: Any, data: Any, entry: Mapping[Any, Any]) -> Row:
    shape = _shape(data, entry)
    given = entry.get(".dims")
    names = list(map(str, given)) if isinstance(given, (list, tuple)) else []
    if shape is None:
        dims: tuple[tuple[str, int | None], ...] = tuple((name, None) for name in names)
    else:
        name = unescape(str(key))
        names += [f"{name}_{i + 1}" for i in range(len(names), len(shape))]
        dims = tuple(zip(names, shape, strict=False))
    kind = _type(data, entry)
    item_size = 1 if kind == "bool" else TYPES[kind].size if kind in TYPES and TYPES[kind].is_number else 0
    size = None if shape is None or not item_size else item_size * math.prod(shape)
    units = entry.get("units", "")
    return Row(str(key), kind, dims, size, "" if units is None else _value(units), entry)


def _shape(data: Any, entry: Mapping[Any, Any]) -> tuple[int, ...] | None:
    shape = getattr(data, "shape", None)
    if isinstance(shape, tuple) and all(isinstance(n, int) for n in shape):
        return shape
    if isinstance(data, (bool, int, float, str, bytes)):
        return ()
    if isinstance(data, (list, tuple)):
        found: list[int] = []
        while isinstance(data, (list, tuple)) and len(found) < MAX_DIMS:
            found.append(len(data))
            data = data[0] if data else None
        return tuple(found)
    size = entry.get(".size")
    if isinstance(size, (list, tuple)) and all(isinstance(n, int) for n in size):
        return tuple(size)
    return None


def _type(data: Any, entry: Mapping[Any, Any]) -> str:
    """Return the ds type of data, or what Python calls them."""
    dtype = getattr(data, "dtype", None)
    if isinstance(dtype, np.dtype):
        row = TYPE_OF_CODE.get(dtype.str[1:] if dtype.kind != "b" else "?")
        if row is not None:
            return row.name
    given = entry.get(".type")
    if isinstance(given, str):
        return given
    if isinstance(dtype, np.dtype):
        return {"U": "unicode", "T": "unicode", "S": "str"}.get(dtype.kind, dtype.name)
    kinds = {type(None): "", str: "unicode", bytes: "str", bool: "bool", int: "int64", float: "float64"}
    return kinds.get(type(data), type(data).__name__)


def _attributes(entry: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in entry.items():
        if not (isinstance(key, str) and key.startswith(".")):
            yield unescape(str(key)), value


def _cells(row: Row) -> tuple[str, ...]:
    size = "" if row.size is None else _bytes(row.size)
    return _name(unescape(row.name)), _name(row.type), _sizes(row.dims, MAX_NAME), size, _cut(row.units, MAX_NAME)


def _sizes(dims: Iterable[tuple[str, int | None]], limit: int) -> str:
    return _cut(", ".join(_name(name) if n is None else f"{_name(name)}: {n}" for name, n in dims), limit)


def _summary(view: View) -> str:
    told = f"{view.n} variable{'s' if view.n != 1 else ''}"
    return f"{told}, {_bytes(view.size)}" if view.size else told


def _bytes(n: int) -> str:
    size = float(n)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} PB"


def _name(name: str) -> str:
    return _cut(_printable(name), MAX_NAME)


def _value(value: Any) -> str:
    """Return the value of an attribute on one line; of long ones the beginning."""
    if isinstance(value, np.ndarray) and value.size > MAX_ITEMS:
        value = f"{value.dtype} array of shape {value.shape}"
    elif isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    shown = value[: MAX_VALUE + 1] if isinstance(value, str) else _limited.repr(value)
    return _cut(_printable(" ".join(shown[: MAX_VALUE + 1].split())), MAX_VALUE)


def _printable(shown: str) -> str:
    """Return text with escapes for control characters, which a terminal would obey, and for lone surrogates."""
    if shown.isprintable():
        return shown
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in shown[: MAX_VALUE + 1])


def _cut(shown: str, limit: int) -> str:
    return shown if len(shown) <= limit else shown[: limit - 3] + "..."


def _page(view: View) -> str:
    parts = [f'<div style="color:inherit;background:inherit"><div><b>{as_html(_printable(view.title))}</b>: ']
    parts.append(f"{_summary(view)}</div>")
    if view.dims:
        parts.append(f"<div>dims: {as_html(_sizes(view.dims.items(), MAX_VALUE))}</div>")
    room = [MAX_ATTRIBUTES]
    if view.rows:
        heads = "".join(f'<th style="{_CELL};{_RULE}">{head}</th>' for head in (*HEADS, "attributes"))
        parts.append(f'<table style="{_TABLE}"><tr style="{_LINE}">{heads}</tr>')
        for row in view.rows:
            cells = [*map(as_html, _cells(row)), _folded(row.attributes, room)]
            parts.append(
                f'<tr style="{_LINE}">' + "".join(f'<td style="{_CELL}">{cell}</td>' for cell in cells) + "</tr>"
            )
        parts.append("</table>")
    if view.n > len(view.rows):
        parts.append(f"<div>... {view.n - len(view.rows)} more</div>")
    attributes = _folded(view.attributes, room)
    parts.append(f"<div>attributes: {attributes}</div></div>" if attributes else "</div>")
    return "".join(parts)


def _folded(entry: Mapping[Any, Any], room: list[int]) -> str:
    """Return attributes that a click unfolds, as many as there is room for; what they take is subtracted from it."""
    attributes = list(_attributes(entry))
    if not attributes:
        return ""
    lines: list[str] = []
    for key, value in attributes[:MAX_ROWS]:
        line = f"<div><b>{as_html(_name(key))}</b>: {as_html(_value(value))}</div>"
        if len(line) > room[0]:
            break
        room[0] -= len(line)
        lines.append(line)
    if len(lines) < len(attributes):
        lines.append(f"<div>... {len(attributes) - len(lines)} more</div>")
    return f"<details><summary>{len(attributes)}</summary>{''.join(lines)}</details>"
