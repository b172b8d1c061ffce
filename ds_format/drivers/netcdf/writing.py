"""One variable being written, and what the library needs for that."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ..library.plan import VariablePlan
from ..library.writing import Writer
from .caches import fit, release
from .definition import DefinedVariable
from .values import any_enum_value, file_values


class VariableWriter(Writer[VariablePlan]):
    """Takes the blocks of one variable.

    Parameters
    ----------
    defined : DefinedVariable
    """

    def __init__(self, defined: DefinedVariable):
        super().__init__(defined.plan)
        self.defined = defined
        fit(defined.variable)

    def values(self, block: Any) -> NDArray[Any]:
        """Return numbers, strings, or characters along a second dimension; see `Writer.values`."""
        return file_values(self.defined, block)

    def put(self, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
        """See `Writer.put`."""
        variable, length = self.defined.variable, self.defined.length
        if length is not None:
            slices = (*slices, slice(0, length))
        with any_enum_value(variable, values):
            if not slices:
                variable[...] = values[()]
            elif length != 0:
                variable[slices] = values

    def finish(self) -> list[str]:
        """Give back what writing took; see `Writer.finish`."""
        release(self.defined.variable)
        found = [(n, self.defined.sentinels[i]) for i, n in self.defined.clashes.items()]
        return [f"{n} present values equal {value}, which means missing" for n, value in found]
