"""A View → lines of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.names import unescape
from ..base.wording import aligned, bytes_of
from . import view, written
from .view import MAX_ROWS, Row

HEADS = ("name", "type", "dims", "size", "units")


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
    >>> meta = {"t": {".dims": ["time"], "units": "K"}, "time": {".dims": ["time"]}, ".": {"title": "a day"}}
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
    found = view.of_dataset(dataset)
    lines = [f"<{found.title}: {view.summary(found)}>"]
    if found.dims:
        lines.append(f"dims: {written.sizes(found.dims.items(), written.MAX_VALUE)}")
    groups = list(found.groups)
    table = iter(aligned([HEADS, *(cells(row) for _, some, _ in groups for row in some)]))
    head = next(table)
    if groups:
        lines.append(_line(head))
    for caption, some, n_more in groups:
        lines += [f"{caption}:"] if len(groups) > 1 else []
        lines += [_line(next(table)) for _ in some]
        lines += [f"  ... {n_more} more"] if n_more else []
    attributes = list(view.attributes_of(found.attributes))
    if attributes:
        lines.append("attributes:")
        lines += [f"  {written.name(key)}: {written.value(value)}" for key, value in attributes[:MAX_ROWS]]
    if len(attributes) > MAX_ROWS:
        lines.append(f"  ... {len(attributes) - MAX_ROWS} more")
    return "\n".join(lines)


def cells(row: Row) -> tuple[str, ...]:
    """Return what stands below each of `HEADS`."""
    return (
        written.name(unescape(row.name)),
        written.name(row.type),
        written.sizes(row.dims, written.MAX_NAME),
        "" if row.size is None else bytes_of(row.size),
        written.cut(row.units, written.MAX_NAME),
    )


def _line(row: list[str]) -> str:
    return "  " + "  ".join(row).rstrip()
