"""What happens when a name does not exist: soft, moderate or strict.

A `with` block sets the mode of the running thread or task alone: it is a context variable. Outside of such a block the
mode of the process holds, which starts as the environment variable `DS_MODE` says; any other value acts like soft.
"""

from __future__ import annotations

import os
import sys
import warnings
from contextvars import ContextVar
from typing import TYPE_CHECKING

from .errors import MissingError

if TYPE_CHECKING:
    from types import FrameType, TracebackType

MODES = ("soft", "moderate", "strict")

_mode: ContextVar[str] = ContextVar("ds_format.mode")
_process: list[str] = []
"""The mode of the process, once it was set."""


def get() -> str:
    """Return the mode of the running context: `soft`, `moderate` or `strict`."""
    mode = _mode.get(None) or (_process[0] if _process else os.environ.get("DS_MODE"))
    return mode if mode in MODES else "soft"


def put(mode: str) -> None:
    """Set the mode: of the block of `use` that runs, else of the process. Any unknown one acts like soft."""
    if _mode.get(None) is None:
        _process[:] = [mode]
    else:
        _mode.set(mode)


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
        warnings.warn(message, stacklevel=_level_of_caller())


def _level_of_caller() -> int:
    """Return how many calls up the code is that called this package."""
    level = 2
    frame: FrameType | None = sys._getframe(level)  # noqa: SLF001 - what `inspect` would be slower in
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == __package__:
        frame = frame.f_back
        level += 1
    return level
