"""Reading: a JSON file as a Source. The whole of it is parsed when it is opened, for nothing in it can be skipped."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ...base import signatures
from ...base.dtypes import TYPES
from ...base.names import escape, unescape
from ...base.nesting import TOO_DEEP, is_too_deep
from ...body import open_binary
from ...codec.attributes import from_json
from ...codec.encode import type_of
from ...codec.header import PRIVATE, check_dims, kind_of
from ...errors import DsError, FormatError
from ..handle import HeldSource
from .arrays import array_of

BEGINNINGS = b'{["-0123456789tfnNI\xef'
"""First bytes of JSON texts; the last one is that of a byte order mark."""


class JsonSource(HeldSource):
    """An open JSON file; see `ds_format.drivers.base.Source`.

    Its values are held in memory as arrays; while it is opened, its text and Python's objects, too.

    Parameters
    ----------
    path : str, bytes or PathLike

    Raises
    ------
    OSError
        As `open` would.
    FormatError
        If it is not JSON, or not a dataset; the message names line and column, or variable and position.
    """

    def __init__(self, path: Any):
        super().__init__(path)
        with open_binary(path) as file:
            data = file.read()
        try:
            self._take(_parse(data))
        except DsError as error:
            raise error.at(path=self.path)

    def _take(self, root: dict[str, Any]) -> None:
        """Make arrays and metadata of the root object, variable by variable, letting go of the lists."""
        given = root.pop(".", {})
        if type(given) is not dict:
            raise FormatError(f'".": found {kind_of(given)}, expected an object')
        for key, entry in given.items():
            if type(entry) is not dict:
                raise FormatError(f'".": "{key}": found {kind_of(entry)}, expected an object')
        attributes = given.pop(".", {})
        for raw in [*root, *(raw for raw in given if raw not in root)]:
            if raw.startswith("."):
                raise FormatError(f'found the name "{raw}", expected "\\{raw}" for a variable that begins with a dot')
            key = escape(unescape(raw)) if raw.startswith("\\") else raw
            if key in self.arrays:
                raise FormatError("occurs twice in one object", variable=unescape(key))
            entry = given.get(raw, {})
            if raw not in root:
                entry = {**entry, ".size": None}  # what a size says of data that are not there is no missing scalar
            try:
                self.arrays[key], self.meta[key] = self._variable(key, root.pop(raw, None), entry)
            except DsError as error:
                raise error.at(variable=unescape(key))
        self.meta["."] = _attributes(attributes)

    def _variable(self, key: str, data: Any, entry: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        hint = entry.get(".type")
        array = array_of(data, hint, entry.get(".size"), str(DsError("", path=self.path, variable=unescape(key)))[:-2])
        meta = _attributes(entry)
        if array is None:
            meta.update({".size": None, ".type": hint if type(hint) is str and hint in TYPES else None})
        else:
            meta.update({".size": list(array.shape), ".type": type_of(array, hint).name})
        if ".dims" in meta:
            check_dims(meta[".dims"], None if array is None else array.shape)
        meta[".missing"] = isinstance(array, np.ma.MaskedArray)
        return array, meta


def _attributes(entry: dict[str, Any]) -> dict[str, Any]:
    """Return what an entry says, attributes with their types and under canonical keys, without file internals."""
    for key, value in entry.items():
        if is_too_deep(value):
            raise FormatError(f'attribute "{unescape(key)}": {TOO_DEEP}')
    return {
        escape(unescape(key)) if key.startswith("\\") else key: value
        for key, value in from_json(dict(entry)).items()
        if key not in PRIVATE
    }


def _parse(data: bytes) -> dict[str, Any]:
    """Return the root object of a JSON text."""
    if not data.strip(b" \t\r\n"):
        raise FormatError("the file is empty")
    if data.lstrip(b" \t\r\n")[:1] not in BEGINNINGS:
        raise FormatError(f"not JSON, but {signatures.describe(data)}")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{_place(data, error.start)}: found the byte 0x{data[error.start]:02x}, expected UTF-8"
        ) from None
    if text.startswith("\ufeff"):
        raise FormatError("line 1, column 1: found a byte order mark, expected JSON")
    try:
        root = json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        message = error.msg.removesuffix(" at")
        raise FormatError(f"line {error.lineno}, column {error.colno}: {message[:1].lower()}{message[1:]}") from None
    except RecursionError:
        raise FormatError(TOO_DEEP) from None
    except DsError:
        raise
    except ValueError as error:
        raise FormatError(str(error)) from None
    if type(root) is not dict:
        raise FormatError(f"found {kind_of(root)}, expected an object")
    return root


def _place(data: bytes, offset: int) -> str:
    line = data.count(b"\n", 0, offset) + 1
    start = data.rfind(b"\n", 0, offset) + 1
    return f"line {line}, column {len(data[start:offset].decode()) + 1}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entry = dict(pairs)
    if len(entry) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise FormatError(f'"{twice}" occurs twice in one object')
    return entry
