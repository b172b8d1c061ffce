"""Writing a ds file variable by variable, in blocks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ...codec.encode import encode, type_of
from ...codec.header import VarHeader
from ...codec.line import build
from ...dataset import as_array
from ...dtypes import TYPES, Type
from ...errors import DsError, MissingError
from ...kernels import ranges
from ...names import unescape
from ..base import Metadata
from ..target import Target
from .entries import dataset_entry, entry_of, header_key
from .stream import VariableStream
from .whole import aligned

LARGEST = (1 << 63) - 1
"""Stands for an offset or a length that is not known yet: no number takes more digits."""


class DsSink:
    """A ds file being written; see `drivers.base.Sink`.

    The header comes first in the file, but is known last: room for it is left, and what it does not need is filled with
    spaces.

    Parameters
    ----------
    path : str, bytes or PathLike
    meta : Metadata
        Each variable with `.size`, and `.type` unless it has no data; `.missing` false promises that no value is
        missing.
    version : str
        Of the format: `1.0` or `2.0.1`.
    atomic, durable : bool
        As `drivers.target.Target`.
    """

    def __init__(self, path: Any, meta: Metadata, *, version: str = "1.0", atomic: bool = True, durable: bool = False):
        self.path = os.fsdecode(path)
        self.meta = meta
        self.version = version
        self._done: dict[str, VarHeader] = {}
        try:
            self._body = len(self._build({key: self._largest(key) for key in meta if key != "."}))
        except DsError as error:
            raise error.at(path=self.path)
        self._target = Target(path, atomic=atomic, durable=durable)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        self._fd = os.open(self._target.written, flags, 0o666)
        self._end = self._body

    def _largest(self, key: str) -> VarHeader:
        size = self.meta[key].get(".size")
        shape = None if size is None else tuple(size)
        ds_type = TYPES.get(self.meta[key].get(".type") or "unicode", TYPES["unicode"])
        return VarHeader(ds_type, shape, LARGEST, LARGEST, False, False)

    def _build(self, variables: dict[str, VarHeader], room: int = 0) -> bytes:
        entries = {}
        for key, var in variables.items():
            entries[header_key(key, self.version)] = entry_of(key, self.meta[key], var, self.version)
        return build(entries, dataset_entry(self.meta.get(".", {}), self.version), self.version, room)

    def write(self, name: str, blocks: Iterable[Any]) -> None:
        """Write one variable from its blocks."""
        if name not in self.meta:
            raise MissingError("variable not found in the metadata", path=self.path, variable=unescape(name))
        try:
            self._done[name] = self._write(name, iter(blocks))
        except DsError as error:
            raise error.at(path=self.path, variable=unescape(name))

    def _write(self, name: str, blocks: Iterator[Any]) -> VarHeader:
        size = self.meta[name].get(".size")
        first = next(blocks, None)
        if first is None or size is None:
            return self._empty(name)
        first = as_array(first)
        hint = self.meta[name].get(".type")
        if first.size == np.prod(size, dtype=object):
            encoded = encode(first, hint)
            offset = aligned(self._end - self._body, encoded)
            self._end = self._body + offset
            for buffer in encoded.buffers:
                self._end += ranges.write_at(self._fd, self._end, buffer)
            big = not encoded.type.ordered
            return VarHeader(encoded.type, tuple(size), offset, encoded.size, big, encoded.mask is not None)
        return self._write_stream(name, type_of(first, hint), first, blocks)

    def _write_stream(self, name: str, ds_type: Type, first: Any, blocks: Iterator[Any]) -> VarHeader:
        may_miss = self.meta[name].get(".missing") is not False
        folder = os.path.dirname(self._target.written) or "."
        size = tuple(self.meta[name][".size"])
        stream = VariableStream(self._fd, self._end, self._body, size, ds_type, may_miss, folder)
        try:
            stream.add(first)
            for block in blocks:
                stream.add(as_array(block))
            header, self._end = stream.finish()
        finally:
            stream.close()
        return header

    def _empty(self, name: str) -> VarHeader:
        """Return the header of a variable without bytes: without data, or of zero size."""
        size = self.meta[name].get(".size")
        ds_type = TYPES.get(self.meta[name].get(".type") or "")
        if size is not None and 0 not in size:
            raise DsError(f"found no values, expected those of .size {list(size)}")
        if size is not None and ds_type is None:
            ds_type = TYPES["float64"]
        return VarHeader(ds_type, None if size is None else tuple(size), 0, 0, ds_type is None or not ds_type.ordered)

    def commit(self) -> None:
        """Write the header, and move the file to its name."""
        variables = {}
        for key in self.meta:
            if key != ".":
                variables[key] = self._done[key] if key in self._done else self._empty(key)
        try:
            ranges.write_at(self._fd, 0, self._build(variables, room=self._body))
        except DsError as error:
            raise error.at(path=self.path)
        os.close(self._fd)
        self._fd = -1
        self._target.commit()

    def abort(self) -> None:
        """Leave no trace."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._target.abort()
