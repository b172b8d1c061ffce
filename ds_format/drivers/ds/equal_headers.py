"""Small files in a row with one and the same header, as one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...codec.body import MemoryBody
from ...codec.decode import NATIVE_BIG
from ...codec.layout import check_numbers
from ...codec.line import find_end, parse
from ...dataset import as_array
from ...errors import DsError
from ...names import unescape
from ..base import Metadata
from .variables import decode_variable, faults_of, is_simple, read_headers, source_metadata


class EqualHeaders:
    """Whole small files whose header lines are the same byte for byte, so that it is looked at once.

    Attributes
    ----------
    meta : Metadata
        Of each of them.
    faults : dict
        As `Source.faults`.
    paths : list of str
    """

    def __init__(self, path: str, data: bytearray):
        try:
            self.header, meta = parse(data, find_end(data, whole=True))
        except DsError as error:
            raise error.at(path=path)
        self.meta: Metadata = source_metadata(self.header, meta)
        self.faults = faults_of(self.header, path)
        self.paths = [path]
        self._line = bytes(data[: self.header.body])
        self._files = [data]

    def add(self, path: str, data: bytearray) -> bool:
        """Take one more file, if it has the same header."""
        if not data.startswith(self._line):
            return False
        self.paths.append(path)
        self._files.append(data)
        return True

    @property
    def count(self) -> int:
        """How many files there are."""
        return len(self.paths)

    def read(self, key: str) -> Any:
        """Return one variable of all files, as an array or MaskedArray of shape (count, *shape).

        Raises
        ------
        FormatError
            If the bytes of a file are wrong; the message names it.
        """
        var = self._described(key)
        if var is not None and var.type is not None and var.type.is_number and not var.missing and var.size is not None:
            return self._read_numbers(key)
        return _stack([as_array(self._decode(i, key)) for i in range(self.count)])

    def _described(self, key: str) -> Any:
        return self.header.variables[key].var if is_simple(self.header) else None

    def _read_numbers(self, key: str) -> NDArray[Any]:
        var = self._described(key)
        start = self.header.body + var.offset
        for path, data in zip(self.paths, self._files, strict=True):
            try:
                check_numbers(var, len(data) - self.header.body)
            except DsError as error:
                raise error.at(path=path, variable=unescape(key))
        stop = start + math.prod(var.size) * var.type.size
        joined = bytearray().join([memoryview(data)[start:stop] for data in self._files])
        stack = np.frombuffer(joined, np.dtype(var.type.code).newbyteorder(">" if var.big else "<"))
        if var.type.ordered and var.big is not NATIVE_BIG:
            stack = stack.astype(var.type.code)
        numbers: NDArray[Any] = stack.view(var.type.code)
        return numbers.reshape(self.count, *var.size)

    def _decode(self, i: int, key: str) -> Any:
        body = MemoryBody(self._files[i], self.header.body, share=False)
        try:
            var = read_headers(self.header, body, [key])[key]
            return decode_variable(self.header, key, var, body, strings=False)
        except DsError as error:
            raise error.at(path=self.paths[i], variable=unescape(key))


def _stack(arrays: list[Any]) -> Any:
    values = np.stack([np.ma.getdata(array) for array in arrays])
    if not any(isinstance(array, np.ma.MaskedArray) for array in arrays):
        return values
    return np.ma.MaskedArray(values, np.stack([np.ma.getmaskarray(array) for array in arrays]), copy=False)
