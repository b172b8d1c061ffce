"""A variable that xarray reads when it indexes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing

from ..dataset import as_array
from ..drivers.base import Readable
from ..errors import DsError, FormatError
from ..model.index import normalize, take


class LazyArray(BackendArray):
    """An array that is read when it is indexed, by any number of threads at a time.

    Parameters
    ----------
    readable : Readable
        With data.
    shown : callable
        Values as they are read → as xarray gets them, of the same shape, or with one more dimension.
    dtype : dtype
        Of the latter.
    length : int, optional
        Size of that dimension.
    """

    def __init__(
        self, readable: Readable, shown: Callable[[Any], Any], dtype: np.dtype[Any], length: int | None = None
    ):
        self.readable = readable
        self.shown = shown
        self.dtype = dtype
        self.shape = (readable.shape or ()) + (() if length is None else (length,))

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        if not isinstance(key, indexing.VectorizedIndexer):
            return self._read(key.tuple)
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        """Return what an index selects, read by another thread."""
        return await asyncio.to_thread(self.__getitem__, key)

    def _read(self, key: tuple[Any, ...]) -> Any:
        shape = self.readable.shape or ()
        index = normalize(key[: len(shape)], shape)
        read = self.readable.read(index)
        try:
            values = self.shown(read)
        except DsError as error:
            raise error.at(path=getattr(self.readable, "path", None))
        return values[(..., *key[len(shape) :])] if len(key) > len(shape) else values


@dataclass(frozen=True)
class Held:
    """A variable in memory; see `drivers.base.Readable`."""

    array: Any
    type: str | None
    missing: bool

    @property
    def shape(self) -> tuple[int, ...] | None:
        """None: no data."""
        return None if self.array is None else self.array.shape

    def read(self, index: tuple[Any, ...] | None = None) -> Any:
        """Return the variable or a part of it; a copy where values are missing."""
        part = self.array if index is None or not self.array.ndim else take(self.array, index)
        return part.copy() if isinstance(part, np.ma.MaskedArray) else part


@dataclass(frozen=True)
class Characters:
    """Byte strings → characters, padded with NUL.

    Attributes
    ----------
    name : str
        Of the variable, for messages.
    length : int or None
        Of the strings that are shown as arrays of characters; None: strings are single characters.
    """

    name: str
    length: int | None

    def __call__(self, values: Any) -> NDArray[Any]:
        """Return an array of S1, with one more dimension unless strings are single characters."""
        strings = as_array(values)
        length = 1 if self.length is None else self.length
        longest = max(map(len, strings.flat), default=0)
        if longest > length:
            message = f"found a byte string of {longest} bytes, expected at most {length}, as `.char` of `.netcdf` says"
            raise FormatError(message, variable=self.name)
        shape = strings.shape if self.length is None else (*strings.shape, length)
        padded: NDArray[Any] = strings.astype(f"S{max(length, 1)}").reshape(-1).view("S1")
        return padded[: strings.size * length].reshape(shape)
