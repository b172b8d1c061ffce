"""Slabs of variables of a classic file, from memory or from an open file."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .... import classic
from ....errors import TruncatedError
from ...library import ahead
from ...library.reading import Reading
from ...slabs import Slices
from ..catalog import NetCDFVariable, cast
from ..losses import NetCDFWarning


class ClassicValues(Reading[NetCDFVariable]):
    """Reads values of a classic file; any number of threads may do so at once.

    Parameters
    ----------
    path : str
        For messages.
    fd : int
        File descriptor, if `data` is None.
    size : int
        Bytes of the file.
    data : buffer, optional
        All of them.
    """

    category = NetCDFWarning

    def __init__(self, path: str, fd: int, size: int, data: Any = None):
        self._path = path
        self.fd = fd
        self._size = size
        self._data = data

    def read_whole(self, variable: NetCDFVariable, place: classic.Variable) -> Any:
        """Return one variable, at a place of which the variable itself need not know."""
        if self._data is not None and variable.kind == "number" and variable.shape:
            # a small file without missing values needs no more than this
            try:
                values, may_miss = classic.decode_seeking(self._data, place, variable.sought)
                if not may_miss:
                    return values
            except TruncatedError:
                pass
        if variable.place is not place:
            variable = replace(variable, place=place, shape=place.shape)
        return super().read_variable(variable, None)

    def read_variable(self, variable: NetCDFVariable, index: tuple[Any, ...] | None) -> Any:
        """Return one variable, or a part of it; see `Reading`."""
        return self.read_whole(variable, variable.place) if index is None else super().read_variable(variable, index)

    def _fetch_looked(self, variable: NetCDFVariable, slices: Slices) -> tuple[NDArray[Any], bool]:
        place = variable.place
        try:
            if self._data is None:
                end = classic.end_of(place)
                if end > self._size:
                    raise TruncatedError(f"found {self._size} bytes in the file, expected at least {end}")
                return classic.read_seeking(self.fd, place, slices, variable.sought)
            values, may_miss = classic.decode_seeking(self._data, place, variable.sought)
        except TruncatedError as error:
            raise error.at(path=self._path, variable=variable.name)
        index: Any = (*slices, ...)  # also without any slices an array
        return values[index], may_miss

    def _job(self, variable: NetCDFVariable, slices: Slices) -> ahead.Job:
        # no library is needed: what comes next may be read while this is written
        return ahead.Job(partial(self._slab, variable, slices), self._data is None)

    def _cast(self, variable: NetCDFVariable, raw: NDArray[Any], mask: NDArray[np.bool_] | None) -> NDArray[Any]:
        return cast(variable, raw, mask, self._path)

    def scalar(self, place: classic.Variable) -> NDArray[Any] | None:
        """Return the value of a variable without dimensions; None if the file ends before."""
        try:
            return classic.decode(self._data, place) if self._data is not None else classic.read(self.fd, place, ())
        except TruncatedError:
            # whoever reads it is told
            return None
