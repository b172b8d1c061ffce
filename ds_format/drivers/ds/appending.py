"""Variables, one behind the other at the end of an open file."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ...body import Opened
from ...body.body import Body
from ...body.target import naming
from ...codec.encode import Encoded, encode, type_of
from ...codec.header import VarHeader
from ...dataset import as_array
from ...dtypes import TYPES, Type
from ...errors import DsError, TruncatedError
from ...kernels.files import ranges
from ...names import unescape
from .composing import aligned
from .plan import Plan
from .stream import VariableStream


class Appender(Opened):
    """An open file to which variables are appended.

    Parameters
    ----------
    fd : int
        File descriptor.
    plan : Plan
        Of the file.
    end : int
        Of what it has already, in bytes from its start.
    path : str
        The name that errors of the system get.
    folder : str
        Where a temporary file may be made.
    """

    def __init__(self, fd: int, plan: Plan, end: int, path: str, folder: str):
        self.fd = fd
        self.plan = plan
        self.end = end
        self.path = path
        self.folder = folder

    def put(self, name: str, blocks: Iterator[Any]) -> VarHeader:
        """Append one variable from its blocks, and return where it lies.

        Raises
        ------
        DsError
            If the format cannot hold a value, or there are more or fewer than `.size` says.
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
            header = self._put_at_once(size, encode(first, hint))
            if next(blocks, None) is not None:
                raise DsError(f"found more values than .size {list(size)} says")
            return header
        may_miss = entry.get(".missing") is not False
        return self._put_stream(size, type_of(first, hint), may_miss, itertools.chain([first], blocks))

    def _put_at_once(self, size: tuple[int, ...], encoded: Encoded) -> VarHeader:
        body = self.plan.body
        offset = aligned(self.end - body, encoded)
        self.end = body + offset
        with naming(self.path):
            for buffer in encoded.buffers:
                self.end += ranges.write_at(self.fd, self.end, buffer)
        return VarHeader(encoded.type, size, offset, encoded.size, not encoded.type.ordered, encoded.missing > 0)

    def _put_stream(self, size: tuple[int, ...], ds_type: Type, may_miss: bool, blocks: Iterable[Any]) -> VarHeader:
        stream = VariableStream(self.fd, self.end, self.plan.body, size, ds_type, may_miss, self.folder)
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
                if part.fd is None:
                    raise DsError("its bytes are not in a file on this machine", path=part.name)
                end += ranges.copy_range(part.fd, part.start, self.fd, end, part.size)
        if end - start != var.length:
            raise TruncatedError("a file was cut while it was read", path=self.path, variable=unescape(name))
        self.end = end
        return var

    def _empty(self, name: str) -> VarHeader:
        """Return the header of a variable without bytes: without data, or of zero size."""
        size = self.plan.meta[name].get(".size")
        ds_type = TYPES.get(self.plan.meta[name].get(".type") or "")
        if size is not None and 0 not in size:
            raise DsError(f"found no values, expected those of .size {list(size)}")
        if size is not None and ds_type is None:
            ds_type = TYPES["float64"]
        return VarHeader(ds_type, None if size is None else tuple(size), 0, 0, ds_type is None or not ds_type.ordered)
