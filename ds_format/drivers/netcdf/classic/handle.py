"""A variable of a classic NetCDF file, read by the positions that its header told, without the header."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ....body.body import Body
from ...handle import PositionedHandle
from ..catalog import NetCDFVariable
from .values import ClassicValues


@dataclass(frozen=True, slots=True)
class ClassicHandle(PositionedHandle):
    """A variable of a classic file; see `drivers.base.Handle`.

    Attributes
    ----------
    variable : NetCDFVariable
        What the header says of it.
    type : str or None
        Name of the ds type.
    """

    variable: NetCDFVariable
    type: str | None

    @property
    def shape(self) -> tuple[int, ...] | None:
        """None: no data."""
        return self.variable.shape

    @property
    def missing(self) -> bool:
        """Whether values may be missing."""
        return self.variable.may_be_missing

    def _read(self, file: Body, index: tuple[Any, ...] | None) -> Any:
        return ClassicValues(file).read_variable(self.variable, index)
