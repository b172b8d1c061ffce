"""Small netCDF-4 files whose values are kept until all are known. Then the file is composed, without a library.

If the composer does not cover the file, the library writes it from the same records.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....base.dtypes import TYPES
from ....model.rounding import Rounding
from ...library.plan import VariablePlan
from ..calls import Group
from ..defining import Replay
from ..definition import DefinedVariable, NetCDFPlan, char_dimension
from ..records import FileRecords
from ..writers import VariableWriter, write_slab
from .composing import MAX_RANK, MAX_SIZE, STRING_SIZE


def is_small(plan: NetCDFPlan, format: str, compressions: set[str]) -> bool:
    """Return whether a file is likely to be composed: netCDF-4 with few values and no filter that needs a library.

    Parameters
    ----------
    plan : NetCDFPlan
    format : str
    compressions : set of str
        Those that were asked for, whether or not a variable gains by them: the library has to know them.
    """
    if not format.startswith("NETCDF4"):
        return False
    variables = plan.variables.values()
    found = {each.record.get("compression") for each in variables} | compressions
    ranks = [len(each.shape or ()) for each in variables]
    return found <= {None, "zlib"} and max(ranks, default=0) < MAX_RANK and sum(map(_size, variables)) <= MAX_SIZE


def _size(variable: VariablePlan) -> int:
    char = char_dimension(variable)
    is_text = variable.type is None or TYPES[variable.type].is_string
    size = char[1] if char is not None else STRING_SIZE if is_text else TYPES[variable.type or "float64"].size
    return variable.total * max(size, 1)


class RecordingWriter(VariableWriter):
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

    def add(self, values: NDArray[Any], guard: AbstractContextManager[None]) -> None:
        """Keep values; see `LibraryWriter.add`."""
        self._parts.append(np.array(values))
        self.written += len(values)

    def put(self, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
        """Never called: all values are put at once."""
        raise NotImplementedError

    def finish(self) -> list[str]:
        """See `LibraryWriter.finish`."""
        if self._parts:
            shape = (*(self.plan.shape or ()), *([] if self.defined.length is None else [self.defined.length]))
            self._values[self.plan.name] = np.concatenate(self._parts).reshape(shape)
        return super().finish()


def write_by_library(records: FileRecords, values: Mapping[str, NDArray[Any]], file: Group) -> None:
    """Define and write all of a file by the netCDF4 library.

    It chooses chunks by the sizes of dimensions, which values change, so all variables are defined before.
    """
    replay = Replay(records, file)
    for name, array in values.items():
        write_slab(replay.find(name), tuple([slice(0, n) for n in array.shape]), array)
