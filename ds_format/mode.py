"""What happens when a name does not exist: soft, moderate or strict.

The mode is one context variable, so threads and tasks do not disturb each other. It starts as the environment variable
`DS_MODE` says; any other value acts like soft.
"""

from __future__ import annotations

import os
import warnings
from contextvars import ContextVar
from typing import TYPE_CHECKING

from .errors import MissingError

if TYPE_CHECKING:
    from types import TracebackType

MODES = ("soft", "moderate", "strict")

_mode: ContextVar[str] = ContextVar("ds_format.mode")


def get() -> str:
    """Return the mode of the running context: `soft`, `moderate` or `strict`."""
    mode = _mode.get(None) or os.environ.get("DS_MODE", "soft")
    return mode if mode in MODES else "soft"


class use:
    """Set the mode for a `with` block.

    Raises
    ------
    ValueError
        If `mode` is not one of `soft`, `moderate`, `strict`.
    """

    def __init__(self, mode: str):
        if mode not in MODES:
            raise ValueError(f"mode: found {mode!r}, expected one of {', '.join(MODES)}")
        self.mode = mode

    def __enter__(self) -> None:
        self._token = _mode.set(self.mode)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _mode.reset(self._token)


def missing(message: str) -> None:
    """Say that a name does not exist: not at all, as a warning, or as `MissingError`, by the mode."""
    mode = get()
    if mode == "strict":
        raise MissingError(message)
    if mode == "moderate":
        warnings.warn(message, stacklevel=3)
