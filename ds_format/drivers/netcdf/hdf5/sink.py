"""Writing: a small netCDF-4 file as a Sink. Its values are kept until all are known, and then it is composed.

If the composer does not cover the file, the library writes it from the same records.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....base.dtypes import TYPES
from ....body.body import OutputBody
from ....hdf5.composing import MAX_RANK, MAX_VALUES, STRING_SIZE, NotCovered
from ....model.rounding import Rounding
from ...library.plan import Facts, VariablePlan
from ..by_library import write_by_library
from ..definition import DefinedVariable, char_dimension
from ..sink import OwnSink, WritingPlan
from ..writers import ConsecutiveWriter, VariableWriter
from .composing import compose


def is_small(planned: WritingPlan) -> bool:
    """Return whether a file is likely to be composed: netCDF-4 with few values and no filter that needs a library."""
    if not planned.format.startswith("NETCDF4"):
        return False
    variables = planned.plan.variables.values()
    # the library has to know a compression that was asked for, whether or not a variable gains by it
    compressions = {each.record.get("compression") for each in variables} | planned.storage.compressions
    ranks = [len(each.shape or ()) for each in variables]
    return (
        compressions <= {None, "zlib"} and max(ranks, default=0) < MAX_RANK and sum(map(_size, variables)) <= MAX_VALUES
    )


def _size(variable: VariablePlan) -> int:
    char = char_dimension(variable)
    is_text = variable.type is None or TYPES[variable.type].is_string
    size = char[1] if char is not None else STRING_SIZE if is_text else TYPES[variable.type or "float64"].size
    return variable.total * max(size, 1)


class RecordingWriter(ConsecutiveWriter):
    """Keeps the values of a variable.

    Parameters
    ----------
    defined : DefinedVariable
    rounding : Rounding, optional
    values : dict
        Path of a variable → all its values: the variable is added.
    """

    def __init__(self, defined: DefinedVariable, rounding: Rounding | None, values: dict[str, NDArray[Any]]):
        super().__init__(defined, rounding)
        self._parts: list[NDArray[Any]] = []
        self._values = values

    def put(self, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
        """Keep values after those already kept, whatever the slices."""
        self._parts.append(np.array(values))

    def finish(self) -> list[str]:
        """See `LibraryWriter.finish`."""
        if self._parts:
            shape = (*(self.plan.shape or ()), *([] if self.defined.length is None else [self.defined.length]))
            self._values[self.plan.name] = np.concatenate(self._parts).reshape(shape)
        return super().finish()


class ComposedSink(OwnSink):
    """A small netCDF-4 file being written; see `NetCDFSink`."""

    def _create_file(self) -> OutputBody:
        self._arrays: dict[str, NDArray[Any]] = {}
        """Path of a variable → its values."""
        return super()._create_file()

    def _is_available(self, compression: str) -> bool:
        return compression == "zlib"

    def _writer(self, plan: VariablePlan, facts: Facts) -> VariableWriter:
        return RecordingWriter(self._definition(plan, facts), self._roundings.get(plan.name), self._arrays)

    def _complete(self) -> None:
        records = self._definer.records
        try:
            self._file.write(0, compose(records, self._arrays))
        except NotCovered:
            self._end()
            with self._target.lent_again() as written:
                write_by_library(written, self.path, records, self._arrays)
