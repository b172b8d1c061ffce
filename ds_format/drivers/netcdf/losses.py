"""What a NetCDF file, or a dataset that goes to one, loses on its way."""

from __future__ import annotations

from ..base import LossWarning
from ..library import guard


class NetCDFWarning(LossWarning):
    """Something of a dataset that its other form cannot hold, or holds differently."""


def warn(message: str, path: str | None = None, variable: str | None = None) -> None:
    """Issue a `NetCDFWarning` that says where."""
    guard.warn(NetCDFWarning, message, path, variable)
