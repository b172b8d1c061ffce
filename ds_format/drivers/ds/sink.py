"""Writing a ds file variable by variable, in blocks."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.dtypes import TYPES, Type
from ...base.text import unescape
from ...body import Opened
from ...body.body import Body, OutputBody
from ...body.target import naming
from ...codec.encode import Encoded, encode, type_of
from ...codec.header import ALIGNMENT, VarHeader
from ...datasets import as_array
from ...errors import DsError, TruncatedError
from ...model.marks import Marks
from ..base import Metadata
from ..sink import FileSink
from .checksums import of_file
from .composing import Plan, aligned, stored_entry

MOVED_SIZE = 8 * 1024 * 1024
"""Bytes that are moved at a time."""


class BitStream(Opened):
    """Writes bits, in portions of any length, to a file in whole bytes.

    Attributes
    ----------
    bit : int
        Position in its byte, 0 to 7, of the next bit.
    """

    def __init__(self, file: OutputBody, offset: int):
        self.file = file
        self.offset = offset
        self.bit = 0
        self._rest = 0

    def add(self, packed: NDArray[np.uint8], n: int) -> None:
        """Append n bits. They begin at `bit` of the first byte, after zeros."""
        end = self.bit + n
        packed[:1] |= self._rest
        self.offset += self.file.write(self.offset, packed[: end // 8])
        self.bit = end % 8
        self._rest = int(packed[-1]) if self.bit else 0

    def skip(self, n: int) -> None:
        """Append n zeros. Unwritten bytes of a new file are zero, and take no space."""
        end = self.bit + n
        if end >= 8 and self._rest:
            self.file.write(self.offset, bytes([self._rest]))
            self._rest = 0
        self.offset += end // 8
        self.bit = end % 8

    def finish(self) -> int:
        """Write the last byte, padded with zeros, and return the end of the bits, in bytes of the file."""
        if self.bit:
            self.offset += self.file.write(self.offset, bytes([self._rest]))
        return self.offset


class VariableStream(Opened):
    """Writes a variable at the end of a file.

    Space for a mask is reserved before the values. If no value is missing, it remains an unused gap. In most file
    systems this takes no space.

    Parameters
    ----------
    file : OutputBody
    end : int
        End of the written data, in bytes from the start of the file.
    body : int
        Start of the body, in bytes from the start of the file.
    size : tuple of int
        Shape of the variable.
    ds_type : Type
    may_miss : bool
        Whether values may be missing.
    folder : str
        Folder for a temporary file.
    """

    def __init__(
        self,
        file: OutputBody,
        end: int,
        body: int,
        size: tuple[int, ...],
        ds_type: Type,
        may_miss: bool,
        folder: str,
    ):
        self.file = file
        self.body = body
        self.size = size
        self.type = ds_type
        self.n = int(np.prod(size, dtype=object))
        mask_size = (self.n + 7) // 8 if may_miss else 0
        self.may_miss = may_miss
        self.start = end + -(end + mask_size) % ALIGNMENT
        self.values = self.start + mask_size
        self.offset = self.values
        self.done = 0
        self.any_missing = False
        self._mask = BitStream(file, self.start)
        self._bits = BitStream(file, self.values)
        self._spool: OutputBody | None = None
        if ds_type.is_string:
            with tempfile.TemporaryFile(dir=folder) as spool:
                self._spool = OutputBody.of(file.name, os.dup(spool.fileno()))
        self._spooled = 0

    def add(self, block: NDArray[Any]) -> None:
        """Append a block. Its values follow those of the block before in C order."""
        encoded = encode(block, self.type.name, self._mask.bit, self._bits.bit)
        if encoded.type is not self.type:
            raise DsError(f"found values of type {encoded.type.name}, expected {self.type.name}")
        if encoded.missing and not self.may_miss:
            raise DsError("a value is missing, although the metadata say that none can be")
        self.done += encoded.n
        if encoded.missing:
            self._mask.add(encoded.buffers[0], encoded.n)
            self.any_missing = True
        else:
            self._mask.skip(encoded.n)
        if self.type.is_string:
            self._add_strings(encoded)
        elif self.type.code == "?":
            self._bits.add(encoded.buffers[-1], encoded.n - encoded.missing)
        else:
            self.offset += self.file.write(self.offset, encoded.buffers[-1])

    def _add_strings(self, encoded: Encoded) -> None:
        lengths, data = encoded.buffers[-2:]
        self.offset += self.file.write(self.offset, lengths)
        if self._spool is not None:
            self._spooled += self._spool.write(self._spooled, data)

    def finish(self) -> tuple[VarHeader, int]:
        """Write pending data, and return the header of the variable and the new end of the file.

        Raises
        ------
        DsError
            If the number of values is not that of the variable.
        """
        if self.done != self.n:
            raise DsError(f"found {self.done} values, expected {self.n} as .size {list(self.size)} says")
        if self.any_missing:
            self._mask.finish()
        if self.type.code == "?":
            self.offset = self._bits.finish()
        if self._spool is not None:
            self.file.copy(self._spool, 0, self._spooled, self.offset)
            self.offset += self._spooled
        start = self.start if self.any_missing else self.values
        header = VarHeader(
            self.type, self.size, start - self.body, self.offset - start, not self.type.ordered, self.any_missing
        )
        return header, self.offset

    def close(self) -> None:
        """Release the temporary file."""
        if self._spool is not None:
            self._spool.close()


class Appender(Opened):
    """Appends variables to an open file.

    Parameters
    ----------
    file : OutputBody
    plan : Plan
        Header of the file.
    end : int
        End of the written data, in bytes from the start of the file.
    path : str
        Name of the file in errors of the operating system.
    folder : str
        Folder for a temporary file.
    may_be_near : bool
        Whether variables of few bytes are written to the space for them.
    """

    def __init__(self, file: OutputBody, plan: Plan, end: int, path: str, folder: str, may_be_near: bool = True):
        self.may_be_near = may_be_near
        self.file = file
        self.plan = plan
        self.end = end
        self.path = path
        self.folder = folder

    def put(self, name: str, blocks: Iterator[Any]) -> VarHeader:
        """Append one variable from its blocks, and return its position.

        Raises
        ------
        DsError
            If the format does not support a value, or the number of values is not that of `.size`.
        """
        entry = self.plan.meta[name]
        if entry.get(".size") is None:
            return self._empty(name)
        size = tuple(entry[".size"])
        first = next(blocks, None)
        if first is None:
            return self._empty(name)
        first = as_array(first)
        hint = entry.get(".type")
        if first.size == np.prod(size, dtype=object):
            return self._put_at_once(name, size, encode(first, hint))
        may_miss = entry.get(".missing") is not False
        return self._put_stream(size, type_of(first, hint), may_miss, itertools.chain([first], blocks))

    def _put_at_once(self, name: str, size: tuple[int, ...], encoded: Encoded) -> VarHeader:
        body = self.plan.body
        offset = self.plan.place_near(name, encoded.size) if self.may_be_near else None
        if offset is None:
            offset = aligned(self.end - body, encoded.size, max(encoded.type.size, 1))
        end = body + offset
        with naming(self.path):
            for buffer in encoded.buffers:
                end += self.file.write(end, buffer)
        self.end = max(self.end, end)
        return VarHeader(encoded.type, size, offset, encoded.size, not encoded.type.ordered, encoded.missing > 0)

    def _put_stream(self, size: tuple[int, ...], ds_type: Type, may_miss: bool, blocks: Iterable[Any]) -> VarHeader:
        stream = VariableStream(self.file, self.end, self.plan.body, size, ds_type, may_miss, self.folder)
        try:
            for block in blocks:
                array = as_array(block)
                with naming(self.path):
                    stream.add(array)
            with naming(self.path):
                header, self.end = stream.finish()
        finally:
            stream.close()
        return header

    def copy(self, name: str, type_name: str, parts: Iterable[Body]) -> VarHeader:
        """Append one variable of numbers from parts of other files, without decoding them."""
        var = self.plan.place(name, type_name, self.end)
        start = end = self.plan.end(var) - var.length
        with naming(self.path):
            for part in parts:
                try:
                    self.file.copy(part, 0, part.size, end)
                except TruncatedError:
                    break
                end += part.size
        if end - start != var.length:
            raise TruncatedError("the file was truncated while being read", path=self.path, variable=unescape(name))
        self.end = max(self.end, end)
        return var

    def move_body(self, start: int) -> None:
        """Move the body to another position that is not before its own, from its last bytes on."""
        shift = start - self.plan.body
        buffer = bytearray(MOVED_SIZE if shift else 0)
        for end in range(self.end, self.plan.body, -MOVED_SIZE) if shift else ():
            begin = max(end - MOVED_SIZE, self.plan.body)
            part = memoryview(buffer)[: end - begin]
            self.file.read_into(begin, part)
            self.file.write(begin + shift, part)
        self.plan.body, self.end = start, self.end + shift

    def _empty(self, name: str) -> VarHeader:
        """Return the header of a variable without bytes: without data, or of zero size."""
        size = self.plan.meta[name].get(".size")
        ds_type = TYPES.get(self.plan.meta[name].get(".type") or "")
        if size is not None and 0 not in size:
            raise DsError(f"found no values, expected those of .size {list(size)}")
        if size is not None and ds_type is None:
            ds_type = TYPES["float64"]
        return VarHeader(ds_type, None if size is None else tuple(size), 0, 0, ds_type is None or not ds_type.ordered)


class DsSink(FileSink):
    """A ds file being written; see `drivers.base.Sink`.

    Parameters
    ----------
    path : str, bytes or PathLike
    meta : Metadata
        Each variable with `.size`, and `.type` unless it has no data. If `.missing` is false, no value may be missing.
    version : str
        Version of the format: `1.0` or `2.0.1`.
    atomic, durable : bool
        As for `target.Target`.
    checksum : bool
        Add a trailer with checksums; see `checksums`.
    """

    def __init__(
        self,
        path: Any,
        meta: Metadata,
        *,
        version: str = "1.0",
        atomic: bool = True,
        durable: bool = False,
        checksum: bool = False,
    ):
        super().__init__(path, meta, atomic=atomic, durable=durable)
        self._done: dict[str, VarHeader] = {}
        self._marks = {key: marks for key, entry in meta.items() if (marks := Marks.of_type(entry)) is not None}
        meta = {**meta, **{key: marks.widest() for key, marks in self._marks.items()}}
        self._checksum = checksum
        try:
            self._plan = Plan(meta, version)
        except DsError as error:
            raise error.at(path=self.path)
        with naming(self.path):
            file = self._target.open()
        folder = os.path.dirname(self._target.written) or "."
        self._appender = Appender(file, self._plan, self._plan.start, self.path, folder)

    def _keeps_marks(self, name: str) -> bool:
        return True

    def _write(self, name: str, blocks: Iterable[Any]) -> None:
        marks = self._marks.get(name)
        self._done[name] = self._appender.put(name, iter(blocks) if marks is None else marks.over(blocks))

    def copy(self, name: str, type_name: str, parts: Iterable[Body]) -> None:
        """Write one variable of numbers from parts of other files, without decoding them."""
        self._done[name] = self._appender.copy(name, type_name, parts)
        self._begun[name] = True

    def _finish(self) -> None:
        for key, marks in self._marks.items():
            self._plan.meta[key] = {**stored_entry(marks, self.path, key)}
        line = self._plan.header(self._done, may_grow=True)
        file = self._appender.file
        self._appender.move_body(len(line))
        file.write(0, line)
        if self._checksum:
            file.write(self._appender.end, of_file(file, line))
        self._close()

    def _close(self) -> None:
        self._appender.file.close()
