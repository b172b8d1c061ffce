"""Reporting faults of a store: as warnings, or in strict mode as errors."""

from __future__ import annotations

import warnings
from typing import NamedTuple

from ..errors import DsWarning, FormatError

SHOWN = 10
"""Maximum number of lines of one file that are named individually. For the rest, only their number is reported."""


class ZdsWarning(DsWarning):
    """A fault in a store. The message says whether it was left out or read anyway."""


class Faults(NamedTuple):
    """Reports faults.

    Attributes
    ----------
    strict : bool
        Raise errors instead of warnings.
    """

    strict: bool = False

    def report(self, path: str, message: str, line: int | None = None, offset: int | None = None) -> None:
        """Report a fault.

        Parameters
        ----------
        path : str
        message : str
            The fault, and its consequence.
        line : int, optional
            Number of the line in the file, from 1 on.
        offset : int, optional
            Position in the file, in bytes.

        Raises
        ------
        FormatError
            If `strict`.
        """
        error = FormatError(message_at(message, line, offset), path=path)
        if self.strict:
            raise error
        warnings.warn(str(error), ZdsWarning, stacklevel=3)

    def note(self, path: str, message: str, line: int | None = None, offset: int | None = None) -> None:
        """Report unusual content that leaves no doubt about any document: a warning even if `strict`."""
        self._replace(strict=False).report(path, message, line, offset)


class Silence(Faults):
    """Ignores faults, which have been reported before."""

    __slots__ = ()

    def report(self, path: str, message: str, line: int | None = None, offset: int | None = None) -> None:
        """Do nothing."""


def message_at(message: str, line: int | None, offset: int | None) -> str:
    """Return a message with the position in a file in front of it.

    Examples
    --------
    >>> from ds_format.zds.faults import message_at
    >>> message_at("not an object", 3, 120)
    'line 3, byte 120: not an object'
    """
    where = [f"{word} {number}" for word, number in (("line", line), ("byte", offset)) if number is not None]
    return f"{', '.join(where)}: {message}" if where else message
