"""Writing: a JSON file as a Sink, variable by variable and block by block."""

from __future__ import annotations

import contextlib
import json
import math
from collections import deque
from collections.abc import Iterable, Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ...base.dtypes import TYPES
from ...base.names import unescape
from ...body.target import naming
from ...codec.attributes import to_json
from ...codec.encode import type_of
from ...codec.header import DTYPES, PRIVATE
from ...dataset import as_array
from ...errors import DsError
from ..base import Metadata, warn
from ..sink import FileSink, count_payloads
from ..strings import as_text

STORED = PRIVATE | {".size", ".type", DTYPES}
"""Properties that are made anew from the data."""
STEP = 1 << 16
"""Values made text at once."""


class JsonSink(FileSink):
    """A JSON file being written; see `ds_format.drivers.base.Sink`.

    Parameters
    ----------
    path : str, bytes or PathLike
    meta : Metadata
        Each variable with `.size`.
    atomic, durable : bool
        As `target.Target`.

    Raises
    ------
    OSError
        If the file cannot be created.
    UnsupportedError
        If an attribute is of a type that JSON cannot hold.
    """

    def __init__(self, path: Any, meta: Metadata, *, atomic: bool = True, durable: bool = False):
        super().__init__(path, meta, atomic=atomic, durable=durable)
        self._sizes: dict[str, tuple[int, ...] | None] = {}
        self._entries: dict[str, Any] = {}
        for key, entry in meta.items():
            try:
                self._entries[key] = to_json(entry, STORED)
            except DsError as error:
                raise error.at(path=self.path, variable=None if key == "." else unescape(key))
            if key != ".":
                size = entry.get(".size")
                self._sizes[key] = None if size is None else tuple(size)
                self._entries[key].update({".size": size, ".type": entry.get(".type")})
        self._left = deque(self._sizes)
        self._done: set[str] = set()
        self._lead = "{"
        self._file: IO[str] = open(self._create(), "w", encoding="ascii")  # noqa: SIM115 - until commit

    def _write(self, name: str, blocks: Iterable[Any]) -> None:
        self._write_left(name)
        self._write_values(name, blocks)

    def _write_left(self, name: str | None = None) -> None:
        """Write the variables without values that stand before `name` in the metadata; without it, all others."""
        while self._left and self._left[0] != name:
            key = self._left[0]
            size = self._sizes[key]
            if key not in self._done:
                if name is not None and size is not None and 0 not in size:
                    return
                try:
                    self._write_values(key, ())
                except DsError as error:
                    raise error.at(path=self.path, variable=unescape(key))
            self._left.popleft()

    def _write_values(self, name: str, blocks: Iterable[Any]) -> None:
        if name in self._done:
            raise DsError("written for the second time")
        self._done.add(name)
        size, entry = self._sizes[name], self._entries[name]
        self._put(f"{self._lead}{json.dumps(name)}: ")
        self._lead = ", "
        if size is None or 0 in size:
            self._put(json.dumps(None if size is None else np.empty(size, np.bool_).tolist()))
            if size is not None and entry[".type"] not in TYPES:
                entry[".type"] = "float64"
            return
        done, total = 0, math.prod(size)
        payloads = 0
        first = None
        for block in blocks:
            array = as_array(block)
            ds_type = type_of(array, entry[".type"])
            if first is not None and ds_type is not first:
                raise DsError(f"found values of type {ds_type.name}, expected {first.name}")
            first = ds_type
            if done + array.size > total:
                raise DsError(f"found more values than .size {list(size)} says")
            for piece in _pieces(array):
                payloads += count_payloads(piece)
                for text in nested(done, size, piece, _values):
                    self._put(text)
                done += piece.size
        if first is None or done != total:
            raise DsError(f"found {done} values, expected {total} as .size {list(size)} says")
        entry[".type"] = first.name
        if payloads:
            warn(f"{payloads} NaN have a payload, which JSON cannot hold", self.path, unescape(name))

    def _put(self, text: str) -> None:
        with naming(self.path):
            self._file.write(text)

    def _finish(self) -> None:
        self._write_left()
        entries = {key: entry for key, entry in self._entries.items() if key != "."}
        meta = {**entries, ".": self._entries.get(".", {})}
        self._put(f'{self._lead}".": {json.dumps(meta)}}}')
        self._file.close()

    def _close(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()


def _pieces(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    flat = array.reshape(-1)
    for start in range(0, flat.size, STEP):
        yield flat[start : start + STEP]


def nested(start: int, size: tuple[int, ...], flat: NDArray[Any], values: Any) -> Iterator[str]:
    """Yield the text of values that stand from position `start` on in nested lists of shape `size`.

    Parameters
    ----------
    start : int
        Values that came before, in C order.
    size : tuple of int
        No 0 among them.
    flat : ndarray or MaskedArray
        (n,) values.
    values : callable
        Makes lists of what JSON knows of an array.
    """
    if not size:
        yield json.dumps(values(flat)[0])
        return
    inner = [math.prod(size[axis:]) for axis in range(len(size) + 1)]
    at, end = start, start + len(flat)
    while at < end:
        axis = next(axis for axis in range(len(size)) if at % inner[axis + 1] == 0 and end - at >= inner[axis + 1])
        n = min(end - at, inner[axis] - at % inner[axis]) // inner[axis + 1]
        part = flat[at - start : at - start + n * inner[axis + 1]]
        opened = sum(at % count == 0 for count in inner[: axis + 1])
        lead = ", " if at else ""
        at += len(part)
        closed = sum(at % count == 0 for count in inner[: axis + 1])
        text = json.dumps(values(part.reshape(n, *size[axis + 1 :])))
        yield f"{lead}{'[' * opened}{text[1:-1]}{']' * closed}"


def _values(array: NDArray[Any]) -> list[Any]:
    """Return an array as nested lists of what JSON knows, None where a value is missing."""
    data = np.ma.getdata(array)
    mask = np.ma.getmask(array)
    if data.dtype.kind in "OSUT":
        texts: list[Any] = as_text(array, "surrogateescape").tolist()
        return texts
    if data.dtype.kind == "f" and data.dtype.itemsize == 4:
        data = _shortest(data)
    if mask is not np.ma.nomask and mask.any():
        data = data.astype(object)
        data[mask] = None
    lists: list[Any] = data.tolist()
    return lists


def _shortest(data: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the doubles whose text is the shortest that gives back the same single-precision numbers."""
    data = data.astype("f4")
    doubles = data.astype("U").astype("f8")
    with np.errstate(over="ignore"):
        wrong = doubles.astype("f4") != data
    doubles[wrong] = data[wrong]
    return doubles
