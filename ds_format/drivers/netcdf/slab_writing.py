"""The writer of slabs by the netCDF4 library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import netCDF4
import numpy as np
from numpy.typing import NDArray

from ...errors import DsError
from ...model.rounding import Rounding
from ...model.settings import setting
from ..library.guard import Guard
from ..library.plan import VariablePlan
from .calls import Variable, close_file, create_file, defining, drop, fit_cache, release_cache
from .defining import Replay
from .definition import DefinedVariable
from .records import FileRecords
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


def write_slab(variable: Variable, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
    """Write a slab by the library."""
    with any_enum_value(variable, values):
        if not slices:
            variable[...] = values[()]
        elif values.size:
            variable[slices] = values


def write_records(path: str, target: str, records: FileRecords, values: Mapping[str, NDArray[Any]]) -> None:
    """Write a whole file; see `by_library.write_by_library`."""
    file = create_file(path, records.format, target)
    try:
        with Guard(DsError, target):
            # the library chooses chunks by the sizes of dimensions, which values change
            with defining(file):
                replay = Replay(records, file)
            for name, array in values.items():
                write_slab(replay.find(name), tuple([slice(0, n) for n in array.shape]), array)
            close_file(file)
    except BaseException:
        drop(file)
        raise


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
        length = self.defined.length
        if length is not None:
            slices = (*slices, slice(0, length))
        write_slab(self.variable, slices, values)

    def finish(self) -> list[str]:
        """Give back what writing took; see `LibraryWriter.finish`."""
        with naming_blosc(self.plan):
            release_cache(self.variable)
        return super().finish()
