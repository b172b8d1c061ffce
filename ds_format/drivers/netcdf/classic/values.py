"""Slabs of variables of a classic file, from memory or from an open file."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .... import classic
from ....body.body import Body
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
    body : Body
        The bytes of the file.
    """

    category = NetCDFWarning

    def __init__(self, body: Body):
        self._body = body
        self._path = body.name

    def read_whole(self, variable: NetCDFVariable, place: classic.Variable) -> Any:
        """Return one variable, at a place of which the variable itself need not know."""
        if self._body.memory is not None and variable.kind == "number" and variable.shape:
            # a small file without missing values needs no more than this
            try:
                values, may_miss = classic.values(self._body, place, None, variable.sought)
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
        try:
            return classic.values(self._body, variable.place, slices, variable.sought)
        except TruncatedError as error:
            raise error.at(path=self._path)

    def _job(self, variable: NetCDFVariable, slices: Slices) -> ahead.Job:
        # no library is needed: what comes next may be read while this is written
        return ahead.Job(partial(self._slab, variable, slices), self._body.memory is None)

    def _cast(self, variable: NetCDFVariable, raw: NDArray[Any], mask: NDArray[np.bool_] | None) -> NDArray[Any]:
        return cast(variable, raw, mask, self._path)

    def scalar(self, place: classic.Variable) -> NDArray[Any] | None:
        """Return the value of a variable without dimensions; None if the file ends before."""
        try:
            return classic.values(self._body, place)[0]
        except TruncatedError:
            # whoever reads it is told
            return None
