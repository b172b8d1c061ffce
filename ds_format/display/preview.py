"""Data in memory → some of their values, and the bytes of text.

Data that lie in a file, as those of a memory map, are not touched: to look at them would read it.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from . import written

FIRST, LAST = 3, 1
"""Values that are shown of the beginning and of the end of an array that has more than both."""
MAX_TEXT = 24
"""Characters of a value."""
MAX_COUNTED = 10_000
"""Strings whose bytes are counted; of more of them the size is not told."""


def values(data: Any) -> str:
    """Return some values of an array in memory, or a scalar; nothing of anything else.

    Parameters
    ----------
    data
        What a dataset holds.

    Examples
    --------
    >>> values(np.arange(10) / 4), values(np.ma.masked_equal([1, 2], 2)), values("a text")
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
    """Return the bytes of strings in UTF-8, those that are missing have none; None if they are many, or no text."""
    if isinstance(data, str):
        return len(data.encode("utf-8", "surrogatepass"))
    if isinstance(data, bytes):
        return len(data)
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
    """Return whether data are an array that holds its own values, or is a view of one that does."""
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
        return written.cut(repr(_decoded(text)), MAX_TEXT)
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.6g}"
    shown = value.item() if isinstance(value, np.generic) and value.dtype.kind in "biu" else value
    return written.value(str(shown) if isinstance(shown, (bool, int, complex, np.generic)) else shown, MAX_TEXT)


def _decoded(text: str | bytes) -> str | bytes:
    """Return bytes as text, if that is what they are."""
    try:
        return text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError:
        return text


def is_text(data: Any) -> bool:
    """Return whether data are strings, or objects, which may be such."""
    kind = getattr(getattr(data, "dtype", None), "kind", "")
    return isinstance(data, (str, bytes)) or kind in ("O", "T", "U")
