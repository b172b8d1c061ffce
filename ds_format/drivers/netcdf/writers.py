"""Writers of one variable: blocks → values of the file."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager
from typing import Any

from numpy.typing import NDArray

from ...errors import UnsupportedError
from ...model import missing
from ...model.rounding import Rounding
from ..library.plan import VariablePlan
from ..library.sink import LibraryWriter
from ..strings import as_objects, characters
from .attributes import storable
from .definition import DefinedVariable
from .format import ENCODING_ATTRIBUTE, file_dtype


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


class ConsecutiveWriter(VariableWriter):
    """Takes values one after another, not slabs of them."""

    def add(self, values: NDArray[Any], guard: AbstractContextManager[None]) -> None:
        """Write values after those already written; see `LibraryWriter.add`."""
        with guard:
            self.put((), values)
        self.written += len(values)
