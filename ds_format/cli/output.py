"""Data → stdout: one line, or one JSON value, for each item."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from ..visible import visible
from . import pst


class Text(str):
    """Something to be printed as it is, on a line of its own; with `-j` it is JSON, which a terminal gets in ASCII."""

    __slots__ = ()


def write(items: Iterable[Any], *, as_json: bool = False, indent: bool = True) -> None:
    """Print what a command returns.

    Parameters
    ----------
    items : iterable
        None, bool, int, float, str, bytes, list, tuple, dict, NumPy scalars and arrays; `Text`.
    as_json : bool
        Whether to print JSON instead of PST.
    indent : bool
        Whether an item may spread over lines.

    Raises
    ------
    OSError
        If stdout takes no more.
    """
    spaces = 4 if indent else None
    is_seen = sys.stdout.isatty()

    def line(item: Any) -> str:
        if isinstance(item, Text):
            return _ascii(item) if as_json and is_seen else item
        return json.dumps(plain(item), indent=spaces) if as_json else pst.encode(plain(item), indent)

    put((line(item) + "\n" for item in items), as_is=as_json)


def put(texts: Iterable[str], *, as_is: bool = False) -> None:
    """Print texts as UTF-8 in every locale; surrogate escapes become the bytes that they stand for.

    A terminal gets nothing that it would obey, see `visible`, unless `as_is`.

    Raises
    ------
    OSError
        If stdout takes no more.
    """
    stream = sys.stdout
    raw = getattr(stream, "buffer", None)
    is_seen = not as_is and stream.isatty()
    with _closed_if_full():
        stream.flush()
    for text in texts:
        text = visible(text) if is_seen else text
        with _closed_if_full():
            if raw is None:
                stream.write(text)
            else:
                raw.write(_utf8(text))
    with _closed_if_full():
        stream.flush()


def plain(data: Any) -> Any:
    """Return data made of what JSON knows: arrays as lists, bytes as text."""
    if hasattr(data, "tolist"):
        data = data.tolist()
    if isinstance(data, bytes):
        return data.decode("utf-8", "surrogateescape")
    if isinstance(data, (list, tuple)):
        return [plain(part) for part in data]
    if isinstance(data, dict):
        return {str(key): plain(part) for key, part in data.items()}
    return data


def _ascii(text: str) -> str:
    r"""Return JSON text with `\u` escapes for what is not ASCII, of which a terminal would obey some."""
    return re.sub("[^\\x00-\\x7e]", lambda match: json.dumps(match[0])[1:-1], text)


def _utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


@contextlib.contextmanager
def _closed_if_full() -> Iterator[None]:
    """Close stdout when it fails, or else the interpreter would fail once more, flushing it at its end."""
    try:
        yield
    except OSError:
        with contextlib.suppress(OSError):
            sys.stdout.close()
        raise
