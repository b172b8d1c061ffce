"""Saying what of a dataset a file does not hold."""

from __future__ import annotations

import warnings

from ..errors import DsError


class LossWarning(UserWarning):
    """Something of a dataset that a file does not hold, or holds differently."""


def warn(message: str, path: str, variable: str | None = None) -> None:
    """Issue a `LossWarning` that says where, in the words of the package's errors."""
    warnings.warn(str(DsError(message, path=path, variable=variable)), LossWarning, stacklevel=3)
