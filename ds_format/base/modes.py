"""The reaction to names that do not exist: soft, moderate or strict.

A `with` block sets the mode of the running thread or task only, because the mode is a context variable. Outside of such
a block, the mode of the process applies. Its initial value is the environment variable `DS_MODE`. An unknown value acts
like soft. If no mode was set, a name that does not exist is a warning.

In a selector (`sel` and similar arguments) it is an error unless the mode was set to `soft`, because all data would be
selected. On the command line it is always an error.

A selection that is empty along a dimension is a warning in every mode. Commands that write make it an error.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from contextvars import ContextVar
from typing import TYPE_CHECKING

from ..errors import DsError, DsWarning, MissingError, UnsupportedError
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
    """Return the mode of the running context: `soft`, `moderate` or `strict`, or `default` if none of these was set."""
    mode = _set_mode()
    return mode if mode in MODES else default


def effective() -> str:
    """Return the mode that applies to names that do not exist: `moderate` if none was set, `soft` if it is unknown."""
    return get("soft" if _set_mode() else "moderate")


def current() -> tuple[str, str | None, str]:
    """Return the arguments with which `use` sets the modes of this thread in another thread or process."""
    empty = _empty.get()
    return effective(), _of_selectors(), empty if isinstance(empty, str) else "ignore"


def _of_selectors() -> str:
    """Return the mode that applies to names in selectors."""
    return _selectors.get() or ("soft" if _set_mode() == "soft" else "strict")


def put(mode: str) -> None:
    """Set the mode of the innermost running `use` block, or of the process outside of one.

    An unknown mode acts like soft.
    """
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
        The mode for names in selectors. Default: soft if the mode is, otherwise strict.
    empty : {"warn", "raise", "ignore"}, optional
        The reaction to a selection that is empty along a dimension. Default: unchanged.

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
    """Set the mode for a `with` block. The former mode is restored at its end, also after an exception.

    Parameters
    ----------
    mode : {"soft", "moderate", "strict"}
        A name that does not exist is ignored (soft), a warning (moderate), or an exception (strict). In `sel`,
        `range_`, `at` and `between` it is an exception in moderate mode, too.

    Returns
    -------
    context manager

    Raises
    ------
    ValueError
        If the mode is not one of these.

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
    """Report a name that does not exist. The mode decides whether to ignore it, warn, or raise `MissingError`.

    Parameters
    ----------
    message : str
    path : str, optional
        The file.
    meant : (str, iterable of str), optional
        The requested name, and the existing ones. The message suggests the most similar one.
    selects : bool
        Whether the name is in a selector.
    """
    mode = _of_selectors() if selects else effective()
    if mode != "soft":
        warn_or_raise(MissingError(message + (hint(*meant) if meant else ""), path=path), strict=mode == "strict")


def warn_or_raise(error: DsError, *, strict: bool | None = None) -> None:
    """Raise an error in strict mode, warn otherwise.

    Parameters
    ----------
    error : DsError
    strict : bool, optional
        Whether to raise, in place of the mode.
    """
    if effective() == "strict" if strict is None else strict:
        raise error
    warnings.warn(str(error), DsWarning, stacklevel=_level_of_caller())


def report_empty(dim: str, error: UnsupportedError) -> None:
    """Report that a selection is empty along a dimension.

    Raises
    ------
    UnsupportedError
        In a command that writes, which uses `use(empty="raise")`.
    """
    empty = _empty.get()
    if isinstance(empty, dict):
        empty[dim] = error
    elif empty == "raise":
        error.message += ". To write it anyway, add --allow-empty"
        raise error
    elif empty != "ignore":
        warn_or_raise(error, strict=False)


@contextlib.contextmanager
def collecting_empty() -> Iterator[dict[str, UnsupportedError]]:
    """Collect the errors of `report_empty` by dimension in a `with` block, in place of reporting them."""
    found: dict[str, UnsupportedError] = {}
    token = _empty.set(found)
    try:
        yield found
    finally:
        _empty.reset(token)


def _level_of_caller() -> int:
    """Return the number of frames up to the code that called this package: the `stacklevel` of a warning."""
    level = 2
    frame: FrameType | None = sys._getframe(level)  # noqa: SLF001 - faster than `inspect`
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in (PACKAGE, "contextlib"):
        frame = frame.f_back
        level += 1
    return level
