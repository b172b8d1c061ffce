"""The values of one variable, of one file after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...codec.decode import DTYPES
from ...dtypes import TYPES


class Column:
    """Values that are collected file by file.

    Parameters
    ----------
    type_name : str or None
        The ds type; None: it shows with the first values.
    size : sequence of int
        The shape in one file.

    Attributes
    ----------
    numbers : bytearray or None
        What plain numbers may be appended to, in native byte order; None: the values are of another type.
    """

    __slots__ = ("_dtype", "_flags", "_size", "_strings", "numbers")

    def __init__(self, type_name: str | None, size: Sequence[int]):
        ds_type = TYPES.get(type_name or "")
        self._size = size
        self._dtype = None if ds_type is None else DTYPES[ds_type.code]
        self._flags = bytearray()  # as many as there are values up to the last missing one
        self._strings: list[Any] | None = [] if ds_type is not None and ds_type.is_string else None
        self.numbers = bytearray() if self._strings is None else None

    def append(self, array: Any) -> None:
        """Append the values of a file: an array or MaskedArray, in native byte order."""
        if self._dtype is None:
            self._dtype = array.dtype
        mask = np.ma.getmask(array)
        if mask is not np.ma.nomask:
            self._flags.extend(bytes(self._count() - len(self._flags)))
            self._flags += mask.tobytes()
        values = np.ma.getdata(array)
        if self._strings is not None:
            self._strings += values.reshape(-1).tolist()
        elif self.numbers is not None:
            self.numbers += values.tobytes()

    def _count(self) -> int:
        if self._strings is not None:
            return len(self._strings)
        return len(self.numbers or b"") // (1 if self._dtype is None else self._dtype.itemsize)

    def stack(self, count: int) -> Any:
        """Return the values of `count` files as an array or MaskedArray of shape (count, *size).

        Nothing can be appended afterwards: it may be a view.
        """
        if self._strings is not None:
            values = np.empty(len(self._strings), object)
            values[:] = self._strings
        else:
            values = np.frombuffer(self.numbers or b"", self._dtype)
        shape = (count, *self._size)
        if not self._flags:
            return values.reshape(shape)
        self._flags.extend(bytes(values.size - len(self._flags)))
        return np.ma.MaskedArray(values.reshape(shape), np.frombuffer(self._flags, np.bool_).reshape(shape), copy=False)
