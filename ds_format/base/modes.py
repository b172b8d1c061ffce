"""The reaction to names that do not exist: soft, moderate or strict.

A `with` block sets the mode of the running thread or task only: it is a context variable. Outside of such a block the
mode of the process holds. It starts as the environment variable `DS_MODE`; any other value acts like soft. Selectors
(`sel` and the like) may have a mode of their own: on the command line, a name in a selector that does not exist is
always an error. If no mode was set, a name that does not exist is a warning.

A selection that leaves nothing of a dimension is a warning in every mode. A command that writes makes it an error.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from contextvars import ContextVar
from typing import TYPE_CHECKING

from ..errors import DsError, MissingError, UnsupportedError
from . import PACKAGE
from .text import hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType, TracebackType

MODES = ("soft", "moderate", "strict")

_mode: ContextVar[str] = ContextVar("ds_format.mode")
_selectors: ContextVar[str | None] = ContextVar("ds_format.mode_of_selectors", default=None)
_empty: ContextVar[str | dict[str, UnsupportedError]] = ContextVar("ds_format.empty_selections", default="warn")
"""The reaction to empty selections: `warn`, `raise` or `ignore`; or a dict that collects them by dimension."""
_process: list[str] = []
"""The mode of the process, once it was set."""


def _set_mode() -> str | None:
    return _mode.get(None) or (_process[0] if _process else os.environ.get("DS_MODE"))


def get(default: str = "soft") -> str:
    """Return the mode of the running context: `soft`, `moderate` or `strict`; `default` if none of these was set."""
    mode = _set_mode()
    return mode if mode in MODES else default


def effective() -> str:
    """Return the mode that decides about names: `moderate` if none was set, and `soft` for an unknown one."""
    return get("soft" if _set_mode() else "moderate")


def current() -> tuple[str, str | None, str]:
    """Return the arguments of `use` that give another thread or process the modes of this one."""
    empty = _empty.get()
    return effective(), _selectors.get(), empty if isinstance(empty, str) else "ignore"


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
    empty : {"warn", "raise", "ignore"}, optional
        The reaction to a selection that is empty along a dimension; by default it does not change.

    Raises
    ------
    ValueError
        If `mode` is not one of `soft`, `moderate`, `strict`.
    """

    def __init__(self, mode: str, selectors: str | None = None, empty: str | None = None):
        if mode not in MODES:
            raise ValueError(f"mode: found {mode!r}, expected one of {', '.join(MODES)}")
        self.mode, self.selectors, self.empty = mode, selectors, empty

    def __enter__(self) -> None:
        self._token = _mode.set(self.mode)
        self._token_of_selectors = _selectors.set(self.selectors)
        self._token_of_empty = _empty.set(_empty.get() if self.empty is None else self.empty)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _mode.reset(self._token)
        _selectors.reset(self._token_of_selectors)
        _empty.reset(self._token_of_empty)


def with_mode(mode: str) -> use:
    """Set the mode for a `with` block. Afterwards it is as it was, also after an exception.

    Parameters
    ----------
    mode : {"soft", "moderate", "strict"}
        A name that does not exist is ignored, a warning, or an exception.

    Returns
    -------
    context manager

    Raises
    ------
    ValueError
        If there is no such mode.

    Examples
    --------
    >>> from ds_format.ops import var
    >>> with with_mode("strict"):
    ...     var({}, "x")
    Traceback (most recent call last):
    ...
    ds_format.errors.MissingError: x: variable not found
    """
    return use(mode)


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
        Whether the name is in a selector.
    """
    mode = (_selectors.get() if selects else None) or effective()
    if mode != "soft":
        doubt(MissingError(message + (hint(*meant) if meant else ""), path=path), strict=mode == "strict")


def doubt(error: DsError, *, strict: bool | None = None) -> None:
    """Raise an error in strict mode; otherwise warn.

    Parameters
    ----------
    error : DsError
    strict : bool, optional
        Instead of the mode.
    """
    if effective() == "strict" if strict is None else strict:
        raise error
    warnings.warn(str(error), stacklevel=_level_of_caller())


def nothing_left(dim: str, error: UnsupportedError) -> None:
    """Say that a selection leaves nothing of a dimension.

    Raises
    ------
    UnsupportedError
        In a command that writes.
    """
    empty = _empty.get()
    if isinstance(empty, dict):
        empty[dim] = error
    elif empty == "raise":
        error.message += ". To write it anyway, add --allow-empty"
        raise error
    elif empty != "ignore":
        doubt(error, strict=False)


@contextlib.contextmanager
def collecting_empty() -> Iterator[dict[str, UnsupportedError]]:
    """Collect by dimension what `nothing_left` would say in a `with` block."""
    found: dict[str, UnsupportedError] = {}
    token = _empty.set(found)
    try:
        yield found
    finally:
        _empty.reset(token)


def _level_of_caller() -> int:
    """Return how many calls up the code is that called this package."""
    level = 2
    frame: FrameType | None = sys._getframe(level)  # noqa: SLF001 - what `inspect` would be slower in
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == PACKAGE:
        frame = frame.f_back
        level += 1
    return level
