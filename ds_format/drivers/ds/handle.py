"""A variable of a ds file, read by the positions that its header told, without the header."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...body.body import Body
from ...codec.header import VarHeader
from ..positioned import PositionedHandle
from .partial import read_variable


@dataclass(frozen=True, slots=True)
class DsHandle(PositionedHandle):
    """A variable of a ds file; see `drivers.base.Handle`.

    Attributes
    ----------
    version : str
        Of the format.
    var : VarHeader
        What the header says of the variable.
    """

    version: str
    var: VarHeader

    @property
    def shape(self) -> tuple[int, ...] | None:
        """None: no data."""
        return self.var.size

    @property
    def type(self) -> str | None:
        """Name of the ds type."""
        return None if self.var.type is None else self.var.type.name

    @property
    def missing(self) -> bool:
        """Whether values may be missing."""
        return self.var.missing

    def _read(self, file: Body, index: tuple[Any, ...] | None) -> Any:
        return read_variable(self.version, self.key, self.var, file.section(self.body), False, index)
