"""A dataset or metadata → an `Overview` with a row of each variable → lines of text, or HTML.

Missing or invalid metadata never raise an error here. No file is read, no list is converted, and only some values of an
array are used. The values of a memory map are not accessed, because that would read its file.

The HTML is one element with inline styles, which do not affect the page. It uses the colours of the page, and derives
colours of lines and faint text from them, so that they fit light and dark pages. Without styles, as some sites show
notebooks, a table remains.
"""

from __future__ import annotations

import math
import mmap
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from html import escape as as_html
from typing import Any, NamedTuple

import numpy as np

from ..base.dtypes import TYPE_OF_CODE, TYPES
from ..base.text import aligned, bytes_of, on_one_line, unescape
from ..datasets import META
from ..model.conventions import coordinates

MAX_NAME = 100
"""Characters of a name, and of all dimensions of a variable."""
MAX_VALUE = 200
"""Characters of the value of an attribute."""
MAX_ITEMS = 20
"""Maximum number of items of an array or list in an attribute."""

_limited = reprlib.Repr()
_limited.maxlist = _limited.maxtuple = _limited.maxdict = _limited.maxset = _limited.maxfrozenset = MAX_ITEMS
_limited.maxstring = _limited.maxother = _limited.maxlong = MAX_VALUE


def name_text(told: str) -> str:
    """Return a name on one line."""
    return cut(on_one_line(told[: MAX_NAME + 1]), MAX_NAME)


def value_text(found: Any, limit: int = MAX_VALUE) -> str:
    """Return the value of an attribute on one line, cut if it is long."""
    if isinstance(found, np.ndarray) and found.size > MAX_ITEMS:
        found = f"{found.dtype} array of shape {found.shape}"
    elif isinstance(found, (np.ndarray, np.generic)):
        found = found.tolist()
    shown = found[: limit + 1] if isinstance(found, str) else _limited.repr(found)
    return cut(on_one_line(" ".join(shown[: limit + 1].split())), limit)


def sizes_text(dims: Iterable[tuple[str, int | None]], limit: int) -> str:
    """Return dimensions with their sizes."""
    return cut(", ".join(name_text(dim) if n is None else f"{name_text(dim)}: {n}" for dim, n in dims), limit)


def cut(shown: str, limit: int) -> str:
    """Return text cut to a maximum number of characters."""
    return shown if len(shown) <= limit else shown[: limit - 3] + "..."


FIRST, LAST = 3, 1
"""Number of first and of last values that are shown of a longer array."""
MAX_TEXT = 24
"""Characters of a value."""
MAX_COUNTED = 10_000
"""Maximum number of strings whose size is computed."""


def some_values(data: Any) -> str:
    """Return some values of an array in memory, or a scalar, as text; empty for other data.

    Parameters
    ----------
    data
        Data of a variable.

    Examples
    --------
    >>> (
    ...     some_values(np.arange(10) / 4),
    ...     some_values(np.ma.masked_equal([1, 2], 2)),
    ...     some_values("a text"),
    ... )
    ('0, 0.25, 0.5, ..., 2.25', '1, --', "'a text'")
    """
    if isinstance(data, (bool, int, float, str, bytes, np.generic)):
        return _one(data)
    if not _is_in_memory(data) or data.dtype.names is not None or not data.size:
        return ""
    if data.size <= FIRST + LAST:
        return ", ".join(map(_one, data.reshape(-1)))
    first = [data[np.unravel_index(i, data.shape)] for i in range(FIRST)]
    last = [data[np.unravel_index(data.size - LAST + i, data.shape)] for i in range(LAST)]
    return ", ".join([*map(_one, first), "...", *map(_one, last)])


def text_size(data: Any) -> int | None:
    """Return the bytes of strings in UTF-8 without missing ones; None if there are too many, or they are not text."""
    if isinstance(data, str | bytes):
        return _length(data)
    if not _is_in_memory(data) or data.dtype.kind not in "OTU" or data.size > MAX_COUNTED:
        return None
    present = data.compressed() if isinstance(data, np.ma.MaskedArray) else data.reshape(-1)
    found = [_length(item) for item in present.tolist()]
    return None if None in found else sum(n or 0 for n in found)


def _length(item: Any) -> int | None:
    if isinstance(item, str):
        return len(item.encode("utf-8", "surrogatepass"))
    if isinstance(item, bytes):
        return len(item)
    return 0 if item is None else None


def _is_in_memory(data: Any) -> bool:
    """Return whether data are an array in memory, or a view of one."""
    if type(data) not in (np.ndarray, np.ma.MaskedArray):
        return False
    found: Any = np.ma.getdata(data)
    while found is not None:
        if isinstance(found, (np.memmap, mmap.mmap)):
            return False
        found = found.obj if isinstance(found, memoryview) else getattr(found, "base", None)
    return True


def _one(value: Any) -> str:
    if value is np.ma.masked:
        return "--"
    if isinstance(value, (np.ndarray, np.void)):
        return "..."
    if isinstance(value, (str, bytes, np.str_, np.bytes_)):
        text = value.item() if isinstance(value, np.generic) else value
        return cut(repr(_decoded(text)), MAX_TEXT)
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.6g}"
    shown = value.item() if isinstance(value, np.generic) and value.dtype.kind in "biu" else value
    return value_text(str(shown) if isinstance(shown, (bool, int, complex, np.generic)) else shown, MAX_TEXT)


def _decoded(text: str | bytes) -> str | bytes:
    """Return bytes as text, and other values unchanged."""
    try:
        return text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError:
        return text


def may_be_text(data: Any) -> bool:
    """Return whether data are strings, or objects, which may be strings."""
    kind = getattr(getattr(data, "dtype", None), "kind", "")
    return isinstance(data, (str, bytes)) or kind in ("O", "T", "U")


MAX_ROWS = 50
"""Maximum number of variables, and of attributes of a variable."""
MAX_COORDINATES = 20
"""Maximum number of coordinates among these variables, if there are other variables."""
MAX_DIMS = 64
"""Levels of nested lists that are inspected."""


class OverviewRow(NamedTuple):
    """Facts about one variable."""

    name: str
    type: str
    dims: tuple[tuple[str, int | None], ...]
    """Names and sizes; None for an unknown size."""
    size: int | None
    """Bytes in memory, for text in UTF-8; None if they are expensive to compute."""
    units: str
    values: str
    """Some values, if they are in memory."""
    attributes: Mapping[Any, Any]


class Overview(NamedTuple):
    """Rows of some variables, and the dimensions of all."""

    title: str
    n: int
    """Number of variables."""
    size: int
    """Bytes in memory of all variables whose size is known."""
    dims: Mapping[str, int | None]
    coordinates: tuple[OverviewRow, ...]
    data: tuple[OverviewRow, ...]
    """The other variables."""
    n_coordinates: int
    attributes: Mapping[Any, Any]
    """Attributes of the dataset."""

    @property
    def groups(self) -> Iterator[tuple[str, tuple[OverviewRow, ...], int]]:
        """Caption, rows and number of omitted variables, for coordinates and for other variables that exist."""
        for caption, rows, n in (
            ("coordinates", self.coordinates, self.n_coordinates),
            ("data", self.data, self.n - self.n_coordinates),
        ):
            if n:
                yield caption, rows, n - len(rows)


def overview_of(dataset: Mapping[Any, Any]) -> Overview:
    """Return the overview of a dataset."""
    meta = dataset.get(META)
    data = {key: value for key, value in dataset.items() if key != META}
    return overview_of_meta("ds_format.Dataset", data, meta if isinstance(meta, dict) else {})


def overview_of_meta(title: str, data: Mapping[Any, Any], meta: Mapping[Any, Any]) -> Overview:
    """Return the overview of data and their metadata.

    Parameters
    ----------
    title : str
    data : mapping
        Key → data, or None if there are only metadata.
    meta : mapping
        Key → metadata, and under `"."` the attributes of the dataset.
    """
    shapes = {key: _dims(key, value, _entry(meta, key)) for key, value in data.items()}
    found = coordinates(meta, {key: [name for name, _ in shape] for key, shape in shapes.items()})
    where = [key for key in data if key in found]
    others = [key for key in data if key not in found]
    dims: dict[str, int | None] = {}
    for shape in shapes.values():
        for name, n in shape:
            if dims.get(name) is None:
                dims[name] = n
    room = min(len(where), MAX_COORDINATES if others else MAX_ROWS)
    shown = {*where[:room], *others[: MAX_ROWS - room]}
    rows, total = {}, 0
    for key, value in data.items():
        row = _overview_row(key, value, shapes[key], _entry(meta, key), is_shown=key in shown)
        total += row.size or 0
        if key in shown:
            rows[key] = row
    attributes = meta.get(META)
    return Overview(
        title,
        len(data),
        total,
        dims,
        tuple(rows[key] for key in where if key in rows),
        tuple(rows[key] for key in others if key in rows),
        len(where),
        attributes if isinstance(attributes, dict) else {},
    )


def attributes_of(entry: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the attributes in metadata by their names."""
    for key, value in entry.items():
        if not (isinstance(key, str) and key.startswith(".")):
            yield unescape(str(key)), value


def summary(view: Overview) -> str:
    """Return the number of variables and the size of a dataset as text."""
    told = f"{view.n} variable{'s' if view.n != 1 else ''}"
    return f"{told}, {bytes_of(view.size)}" if view.size else told


def _entry(meta: Mapping[Any, Any], key: Any) -> Mapping[Any, Any]:
    entry = meta.get(key)
    return entry if isinstance(entry, dict) else {}


def _dims(key: Any, data: Any, entry: Mapping[Any, Any]) -> tuple[tuple[str, int | None], ...]:
    shape = _shape(data, entry)
    given = entry.get(".dims")
    names = list(map(str, given)) if isinstance(given, (list, tuple)) else []
    if shape is None:
        return tuple((name, None) for name in names)
    name = unescape(str(key))
    names += [f"{name}_{i + 1}" for i in range(len(names), len(shape))]
    return tuple(zip(names, shape, strict=False))


def _overview_row(
    key: Any, data: Any, dims: tuple[tuple[str, int | None], ...], entry: Mapping[Any, Any], *, is_shown: bool
) -> OverviewRow:
    kind, units = _type(data, entry), entry.get("units", "")
    return OverviewRow(
        str(key),
        kind,
        dims,
        _size(data, kind, entry),
        "" if units is None or not is_shown else value_text(units),
        some_values(data) if is_shown else "",
        entry,
    )


def _size(data: Any, kind: str, entry: Mapping[Any, Any]) -> int | None:
    if may_be_text(data):
        return text_size(data)
    shape = _shape(data, entry)
    item_size = 1 if kind == "bool" else TYPES[kind].size if kind in TYPES and TYPES[kind].is_number else 0
    return None if shape is None or not item_size else item_size * math.prod(shape)


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
    """Return the ds type of data, or else their Python type."""
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


TEXT_HEADS = ("name", "type", "dims", "size", "units")


def text(dataset: Mapping[Any, Any]) -> str:
    """Return a dataset as a table of its variables, coordinates first.

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
    >>> meta = {
    ...     "t": {".dims": ["time"], "units": "K"},
    ...     "time": {".dims": ["time"]},
    ...     ".": {"title": "a day"},
    ... }
    >>> print(text({"t": np.zeros(24), "time": np.arange(24), ".": meta}))
    <ds_format.Dataset: 2 variables, 384 B>
    dims: time: 24
      name  type     dims      size   units
    coordinates:
      time  int64    time: 24  192 B
    data:
      t     float64  time: 24  192 B  K
    attributes:
      title: a day
    """
    found = overview_of(dataset)
    lines = [f"<{found.title}: {summary(found)}>"]
    if found.dims:
        lines.append(f"dims: {sizes_text(found.dims.items(), MAX_VALUE)}")
    groups = list(found.groups)
    table = iter(aligned([TEXT_HEADS, *(row_cells(row) for _, some, _ in groups for row in some)]))
    head = next(table)
    if groups:
        lines.append(_line(head))
    for caption, some, n_more in groups:
        lines += [f"{caption}:"] if len(groups) > 1 else []
        lines += [_line(next(table)) for _ in some]
        lines += [f"  ... {n_more} more"] if n_more else []
    attributes = list(attributes_of(found.attributes))
    if attributes:
        lines.append("attributes:")
        lines += [f"  {name_text(key)}: {value_text(value)}" for key, value in attributes[:MAX_ROWS]]
    if len(attributes) > MAX_ROWS:
        lines.append(f"  ... {len(attributes) - MAX_ROWS} more")
    return "\n".join(lines)


def row_cells(row: OverviewRow) -> tuple[str, ...]:
    """Return the cells below each of `HEADS`."""
    return (
        name_text(unescape(row.name)),
        name_text(row.type),
        sizes_text(row.dims, MAX_NAME),
        "" if row.size is None else bytes_of(row.size),
        cut(row.units, MAX_NAME),
    )


def _line(row: list[str]) -> str:
    return "  " + "  ".join(row).rstrip()


MAX_ATTRIBUTES = 40_000
"""Maximum number of characters of all attributes of a dataset in HTML."""

HTML_HEADS = ("name", "type", "dims", "size", "units", "values", "attributes")
_MORE = {"type": ";white-space:nowrap", "size": ";white-space:nowrap", "values": ";min-width:12em"}
"""Styles of columns without or with few line breaks."""

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
"""Classes that keep notebooks from typesetting text with dollar signs as TeX."""


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
    return _page(overview_of(dataset))


def html_of_meta(title: str, meta: Mapping[Any, Any]) -> str:
    """Return the variables of an open file as HTML.

    Parameters
    ----------
    title : str
        Heading of the table.
    meta : dict
        The `"."` entry of a dataset, with `.size` and `.type` of each variable.
    """
    return _page(overview_of_meta(title, dict.fromkeys(key for key in meta if key != META), meta))


def _page(found: Overview) -> str:
    told = f"<b>{as_html(on_one_line(found.title))}</b>"
    parts = [f'<div class="{_NO_MATHS}" style="{_FRAME}"><div>{told}: {summary(found)}</div>']
    if found.dims:
        sizes = as_html(sizes_text(found.dims.items(), MAX_VALUE))
        parts.append(f'<div><span style="{_FAINT}">dims:</span> {sizes}</div>')
    room = [MAX_ATTRIBUTES]
    groups = list(found.groups)
    rows = [row for _, some, _ in groups for row in some]
    some_have = {
        "units": any(row.units for row in rows),
        "values": any(row.values for row in rows),
        "attributes": any(True for row in rows for _ in attributes_of(row.attributes)),
    }
    heads = [head for head in HTML_HEADS if some_have.get(head, True)]
    if groups:
        cells = "".join(f'<th style="{_HEAD}">{head}</th>' for head in heads)
        parts.append(f'<div style="overflow-x:auto"><table style="{_TABLE}"><tr style="{_LINE}">{cells}</tr>')
        for caption, some, n_more in groups:
            parts.append(_across(f"<b>{caption}</b>" if len(groups) > 1 else "", len(heads), _GROUP))
            parts += [_html_row(row, heads, room) for row in some]
            parts += [_across(f"... {n_more} more", len(heads), _CELL)] if n_more else []
        parts.append("</table></div>")
    attributes = _folded(found.attributes, room, "of the dataset")
    parts.append(f'<div style="margin-top:.4em">{attributes}</div></div>' if attributes else "</div>")
    return "".join(parts)


def _across(content: str, n: int, style: str) -> str:
    """Return a row of the table that is one cell."""
    return f'<tr style="{_LINE}"><td colspan="{n}" style="{style}">{content}</td></tr>'


def _html_row(row: OverviewRow, heads: list[str], room: list[int]) -> str:
    told = dict(zip(TEXT_HEADS, row_cells(row), strict=True))
    cells = []
    for head in heads:
        if head == "attributes":
            content = _folded(row.attributes, room)
        elif head == "values":
            values = as_html(on_one_line(row.values))
            content = f'<span style="{_CODE}">{values}</span>' if values else ""
        else:
            content = as_html(told[head].replace(": ", ":\N{NO-BREAK SPACE}") if head == "dims" else told[head])
        style = _CELL + _MORE.get(head, "")
        cells.append(f'<td style="{style}">{content}</td>')
    return f'<tr style="{_LINE}">{"".join(cells)}</tr>'


def _folded(entry: Mapping[Any, Any], room: list[int], caption: str = "") -> str:
    """Return attributes that a click unfolds, within the remaining number of characters, which is reduced."""
    attributes = list(attributes_of(entry))
    if not attributes:
        return ""
    lines: list[str] = []
    for key, value in attributes[:MAX_ROWS]:
        line = f"<div><b>{as_html(name_text(key))}</b>: {as_html(value_text(value))}</div>"
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
