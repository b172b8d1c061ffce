"""One variable being written: its blocks → the values of the file, slab by slab."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, Generic

from numpy.typing import NDArray

from ...errors import UnsupportedError
from ..slabs import slab_runs
from .plan import Plan


class Writer(ABC, Generic[Plan]):
    """Takes the blocks of one variable, which is defined in the file.

    Parameters
    ----------
    plan : VariablePlan
    """

    def __init__(self, plan: Plan):
        self.plan = plan
        self.written = 0
        """Values so far."""

    @abstractmethod
    def values(self, block: Any) -> NDArray[Any]:
        """Return a block as (N, ...) values of the file, in C order.

        Raises
        ------
        UnsupportedError
            If a value is not possible in the variable.
        """

    @abstractmethod
    def put(self, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
        """Write a slab, of the shape of the slices; without any, one value."""

    @abstractmethod
    def finish(self) -> list[str]:
        """Finish the variable when all values are written; return what to warn of."""

    def add(self, values: NDArray[Any]) -> None:
        """Write (N, ...) values of the file behind those already written."""
        if self.written + len(values) > self.plan.total:
            raise UnsupportedError(f"found more than {self.plan.total} values")
        start = self.written
        for slices in slab_runs(self.plan.shape or (), start, start + len(values)):
            sizes = [s.stop - s.start for s in slices]
            n = math.prod(sizes)
            part = values[self.written - start : self.written - start + n]
            self.put(slices, part.reshape([*sizes, *values.shape[1:]]))
            self.written += n
