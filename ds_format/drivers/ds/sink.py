"""Writing a ds file variable by variable, in blocks."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ...codec.encode import Encoded, encode, type_of
from ...codec.header import ALIGNMENT, VarHeader
from ...codec.line import build
from ...dataset import as_array
from ...dtypes import TYPES, Type
from ...errors import DsError, TruncatedError
from ...kernels.files import ranges
from ...names import unescape
from ...target import naming
from ..base import Metadata, StoredNumbers
from ..sink import FileSink
from .composing import aligned
from .entries import dataset_entry, entry_of, header_key
from .stream import VariableStream

LARGEST = (1 << 63) - 1
"""Stands for an offset or a length that is not known yet: no number takes more digits."""


class DsSink(FileSink):
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
        As `target.Target`.
    """

    def __init__(self, path: Any, meta: Metadata, *, version: str = "1.0", atomic: bool = True, durable: bool = False):
        super().__init__(path, meta, atomic=atomic, durable=durable)
        self.version = version
        self._done: dict[str, VarHeader] = {}
        try:
            self._body = len(self._build({key: self._largest(key) for key in meta if key != "."}))
        except DsError as error:
            raise error.at(path=self.path)
        self._fd = self._create()
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

    def _write(self, name: str, blocks: Iterable[Any]) -> None:
        size = self.meta[name].get(".size")
        self._done[name] = self._empty(name) if size is None else self._put(name, tuple(size), iter(blocks))

    def _put(self, name: str, size: tuple[int, ...], blocks: Iterator[Any]) -> VarHeader:
        first = next(blocks, None)
        if first is None:
            return self._empty(name)
        first = as_array(first)
        hint = self.meta[name].get(".type")
        if first.size == np.prod(size, dtype=object):
            header = self._write_at_once(size, encode(first, hint))
            if next(blocks, None) is not None:
                raise DsError(f"found more values than .size {list(size)} says")
            return header
        may_miss = self.meta[name].get(".missing") is not False
        return self._write_stream(size, type_of(first, hint), may_miss, itertools.chain([first], blocks))

    def _write_at_once(self, size: tuple[int, ...], encoded: Encoded) -> VarHeader:
        offset = aligned(self._end - self._body, encoded)
        self._end = self._body + offset
        with naming(self.path):
            for buffer in encoded.buffers:
                self._end += ranges.write_at(self._fd, self._end, buffer)
        return VarHeader(encoded.type, size, offset, encoded.size, not encoded.type.ordered, encoded.mask is not None)

    def copy(self, name: str, type_name: str, parts: Iterable[StoredNumbers]) -> None:
        """Write one variable of numbers from parts of other files, without decoding them."""
        ds_type = TYPES[type_name]
        size = tuple(self.meta[name][".size"])
        start = self._end + -self._end % ALIGNMENT
        end = start
        with naming(self.path):
            for part in parts:
                end += ranges.copy_range(part.fd, part.offset, self._fd, end, part.size)
        if end - start != math.prod(size) * ds_type.size:
            raise TruncatedError("a file was cut while it was read", path=self.path, variable=unescape(name))
        self._end = end
        self._done[name] = VarHeader(ds_type, size, start - self._body, end - start, not ds_type.ordered)

    def _write_stream(self, size: tuple[int, ...], ds_type: Type, may_miss: bool, blocks: Iterable[Any]) -> VarHeader:
        folder = os.path.dirname(self._target.written) or "."
        stream = VariableStream(self._fd, self._end, self._body, size, ds_type, may_miss, folder)
        try:
            for block in blocks:
                array = as_array(block)
                with naming(self.path):
                    stream.add(array)
            with naming(self.path):
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

    def _finish(self) -> None:
        for key in self.meta:
            if key != "." and key not in self._done:
                self.write(key, ())
        variables = {key: self._done[key] for key in self.meta if key != "."}
        ranges.write_at(self._fd, 0, self._build(variables, room=self._body))
        self._close()

    def _close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
