"""Writers of one variable: blocks → values of the file, which the netCDF4 library writes."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import netCDF4
import numpy as np
from numpy.typing import NDArray

from ...errors import DsError, UnsupportedError
from ...model import missing
from ...model.rounding import Rounding
from ...model.settings import setting
from ..library.plan import VariablePlan
from ..library.sink import LibraryWriter
from ..strings import as_objects, characters
from .calls import Variable, fit_cache, release_cache
from .definition import DefinedVariable, storable
from .format import ENCODING_ATTRIBUTE, file_dtype


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


class VariableWriter(LibraryWriter[VariablePlan]):
    """Takes the blocks of one variable.

    Parameters
    ----------
    defined : DefinedVariable
    rounding : Rounding, optional
        How floats are rounded.
    """

    def __init__(self, defined: DefinedVariable, rounding: Rounding | None):
        dtype = file_dtype(defined.type) if defined.kind in ("number", "bool") else None
        super().__init__(defined.plan, defined.type, dtype, defined.sentinels, defined.mark)
        self.defined = defined
        self.rounding = rounding

    def values(self, block: Any) -> NDArray[Any]:
        """Return numbers, strings, or characters along a second dimension; see `LibraryWriter.values`."""
        kind, length = self.defined.kind, self.defined.length
        if kind == "string":
            encoding = str(self.plan.attributes.get(ENCODING_ATTRIBUTE, "utf-8"))
            return self.byte_strings(block, functools.partial(storable, encoding=encoding, inner_nul=False))
        if kind == "char":
            raw = self.byte_strings(block, storable)
            if self.sentinels:
                mask = as_objects(block)[1]
                self.count_clashes(raw, None if mask is None else mask.reshape(-1))
            return characters(raw, 1)[:, 0] if length is None else characters(raw, length)
        values = self.marked(block)
        if self.defined.is_own_fill and self.clashes[0]:
            raise UnsupportedError(
                f"{self.clashes[0]} present values equal {self.sentinels[0]}, which was chosen to mark missing ones; "
                f'name another in the attribute "{missing.FILL_ATTRIBUTE}"'
            )
        return values if self.rounding is None else self.rounding.apply(values, self.sentinels)


def write_slab(variable: Variable, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
    """Write a slab by the library."""
    with any_enum_value(variable, values):
        if not slices:
            variable[...] = values[()]
        elif values.size:
            variable[slices] = values


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
