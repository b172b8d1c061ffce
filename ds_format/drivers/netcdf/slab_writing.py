"""The writer of slabs by the netCDF4 library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import netCDF4
import numpy as np
from numpy.typing import NDArray

from ...errors import DsError
from ...model.rounding import Rounding
from ...model.settings import setting
from ..library.plan import VariablePlan
from .calls import Variable, fit_cache, release_cache
from .definition import DefinedVariable
from .writers import VariableWriter


@contextmanager
def any_enum_value(variable: Variable, values: NDArray[Any]) -> Iterator[None]:
    """Let the library write enum values without a name, which files may hold."""
    enum = variable.datatype
    if not isinstance(enum, netCDF4.EnumType):
        yield
        return
    members = enum.enum_dict
    enum.enum_dict = {str(value): value for value in np.unique(values).tolist()}
    try:
        yield
    finally:
        enum.enum_dict = members


@contextmanager
def naming_blosc(plan: VariablePlan) -> Iterator[None]:
    """Let a library's error about a variable compressed by blosc say why: its filter refuses incompressible chunks."""
    try:
        yield
    except RuntimeError as error:
        compression = setting(plan.record, "compression", str) or ""
        if not compression.startswith("blosc"):
            raise
        reason = f"{compression} cannot write chunks that it does not make smaller; choose another compression"
        raise DsError(f"{error}: {reason}") from error


class SlabWriter(VariableWriter):
    """Writes slabs by the library.

    Parameters
    ----------
    defined : DefinedVariable
    rounding : Rounding, optional
    variable : netCDF4.Variable
    """

    def __init__(self, defined: DefinedVariable, rounding: Rounding | None, variable: Variable):
        super().__init__(defined, rounding)
        self.variable = variable
        fit_cache(variable)

    def put(self, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
        """See `LibraryWriter.put`."""
        with naming_blosc(self.plan):
            self._put(slices, values)

    def _put(self, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
        variable, length = self.variable, self.defined.length
        if length is not None:
            slices = (*slices, slice(0, length))
        with any_enum_value(variable, values):
            if not slices:
                variable[...] = values[()]
            elif length != 0:
                variable[slices] = values

    def finish(self) -> list[str]:
        """Give back what writing took; see `LibraryWriter.finish`."""
        with naming_blosc(self.plan):
            release_cache(self.variable)
        return super().finish()
