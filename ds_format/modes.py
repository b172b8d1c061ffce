"""What happens when a name does not exist: soft, moderate or strict.

A `with` block sets the mode of the running thread or task alone: it is a context variable. Outside of such a block the
mode of the process holds, which starts as the environment variable `DS_MODE` says; any other value acts like soft.
What selects data, `sel` and the like, may have a mode of its own there: to the command line a name that does not exist
is always a mistake in these.
"""

from __future__ import annotations

import os
import sys
import warnings
from contextvars import ContextVar
from typing import TYPE_CHECKING

from .errors import MissingError
from .nearest import hint

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType, TracebackType

MODES = ("soft", "moderate", "strict")

_mode: ContextVar[str] = ContextVar("ds_format.mode")
_selectors: ContextVar[str | None] = ContextVar("ds_format.mode_of_selectors", default=None)
_process: list[str] = []
"""The mode of the process, once it was set."""


def get(default: str = "soft") -> str:
    """Return the mode of the running context: `soft`, `moderate` or `strict`; `default` if nobody said one."""
    mode = _mode.get(None) or (_process[0] if _process else os.environ.get("DS_MODE"))
    return mode if mode in MODES else default


def current() -> tuple[str, str | None]:
    """Return the mode, and that of selectors if it is another one: what `use` takes, for another thread or process."""
    return get(), _selectors.get()


def put(mode: str) -> None:
    """Set the mode: of the block of `use` that runs, else of the process. Any unknown one acts like soft."""
    if _mode.get(None) is None:
        _process[:] = [mode]
    else:
        _mode.set(mode)


class use:
    """Set the mode for a `with` block.

    Parameters
    ----------
    mode : {"soft", "moderate", "strict"}
    selectors : {"soft", "moderate", "strict"}, optional
        The mode for names in selectors, if it is another one.

    Raises
    ------
    ValueError
        If `mode` is not one of `soft`, `moderate`, `strict`.
    """

    def __init__(self, mode: str, *, selectors: str | None = None):
        if mode not in MODES:
            raise ValueError(f"mode: found {mode!r}, expected one of {', '.join(MODES)}")
        self.mode, self.selectors = mode, selectors

    def __enter__(self) -> None:
        self._token = _mode.set(self.mode)
        self._token_of_selectors = _selectors.set(self.selectors)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _mode.reset(self._token)
        _selectors.reset(self._token_of_selectors)


def missing(
    message: str, *, path: str | None = None, meant: tuple[str, Iterable[str]] | None = None, selects: bool = False
) -> None:
    """Say that a name does not exist: not at all, as a warning, or as `MissingError`, by the mode.

    Parameters
    ----------
    message : str
    path : str, optional
        The file.
    meant : (str, iterable of str), optional
        The name, and those that exist: the message tells the nearest of them.
    selects : bool
        Whether the name stands in a selector.
    """
    mode = (_selectors.get() if selects else None) or get()
    if mode == "soft":
        return
    error = MissingError(message + (hint(*meant) if meant else ""), path=path)
    if mode == "strict":
        raise error
    warnings.warn(str(error), stacklevel=_level_of_caller())


def _level_of_caller() -> int:
    """Return how many calls up the code is that called this package."""
    level = 2
    frame: FrameType | None = sys._getframe(level)  # noqa: SLF001 - what `inspect` would be slower in
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == __package__:
        frame = frame.f_back
        level += 1
    return level
