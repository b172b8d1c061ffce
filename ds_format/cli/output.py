"""Data → stdout: one line, or one JSON value, for each item."""

from __future__ import annotations

import contextlib
import json
import math
import re
import struct
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from ..base.wording import visible
from . import pst


class Float32(float):
    """A number of float32 as a float. Its text has the fewest digits that identify it in its own precision.

    Examples
    --------
    >>> print(Float32(0.10000000149011612))
    0.1
    """

    __slots__ = ()
    code = "f"
    """What `struct` calls the type."""

    def __str__(self) -> str:
        packed = self._packed(self)
        shorter = (float(f"{self:.{n}g}") for n in range(1, 10))
        return repr(next((number for number in shorter if self._packed(number) == packed), float(self)))

    def _packed(self, number: float) -> bytes:
        try:
            return struct.pack(self.code, number)
        except OverflowError:
            return b""


class Float16(Float32):
    """The same of float16."""

    __slots__ = ()
    code = "e"


_NARROW = {"float16": Float16, "float32": Float32}


def in_type(value: Any, name: object) -> Any:
    """Return a float, or the floats of a list, as numbers of a type, so that their text has the digits of that type.

    Parameters
    ----------
    value : object
    name : object
        Name of the type in the ds format. Anything but float16 and float32 changes nothing.
    """
    narrow = _NARROW.get(name) if isinstance(name, str) else None
    if narrow is None:
        return value
    if isinstance(value, list):
        return [in_type(part, name) for part in value]
    return narrow(value) if isinstance(value, float) else value


def as_lists(data: Any) -> Any:
    """Return an array as lists and a NumPy scalar as a number, with floats as numbers of their type."""
    return in_type(data.tolist(), data.dtype.name) if hasattr(data, "tolist") else data


def number(value: float) -> str:
    """Return the text of a float for people: six decimals, or its shortest form where these hide it.

    Examples
    --------
    >>> number(1.5), number(0.0), number(3.4e-7), number(9.96921e36)
    ('1.500000', '0.000000', '3.4e-07', '9.96921e+36')
    """
    text = pst.fixed(value)
    hidden = not text.strip("-0.") or len(text.lstrip("-")) > _MOST_DIGITS + 1
    return str(value) if hidden and value and math.isfinite(value) else text


_MOST_DIGITS = 17
"""Digits that identify any float64."""


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
        return json.dumps(plain(item), indent=spaces) if as_json else pst.encode(plain(item), indent, number)

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
    data = as_lists(data)
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
