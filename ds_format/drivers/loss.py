"""Saying what of a dataset a file does not hold."""

from __future__ import annotations

import warnings

from ..errors import DriverError, DsError


class LossWarning(UserWarning):
    """Something of a dataset that a file does not hold, or holds differently."""


def warn(message: str, path: str, variable: str | None = None) -> None:
    """Issue a `LossWarning` that says where, in the words of the package's errors."""
    warnings.warn(str(DsError(message, path=path, variable=variable)), LossWarning, stacklevel=3)


def refuse(options: dict[str, object], format: str, path: str) -> None:
    """Raise a DriverError that names the options which a format does not have, unless they are None."""
    names = ", ".join(sorted(name for name, value in options.items() if value is not None))
    if names:
        raise DriverError(f"{names}: not possible with {format}", path=path)
