"""What is done about something in a store that is not as it should be: a warning, or an error for the strict."""

from __future__ import annotations

import warnings
from typing import NamedTuple

from ..errors import FormatError

SHOWN = 10
"""Lines of one file that are named one by one; of the others there is only their number."""


class ZdsWarning(UserWarning):
    """Something in a store is not as the format wants it: it was left out, or read anyway, as the text says."""


class Faults(NamedTuple):
    """Where faults go.

    Attributes
    ----------
    strict : bool
        Whether each is an error; else it is a warning.
    """

    strict: bool = False

    def tell(self, path: str, message: str, line: int | None = None, offset: int | None = None) -> None:
        """Tell of a fault.

        Parameters
        ----------
        path : str
        message : str
            What was found, and what was done about it.
        line : int, optional
            In the file; the first one is 1.
        offset : int, optional
            In the file, in bytes.

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
        """Tell of what is odd, but leaves no doubt about any document: a warning even for the strict."""
        self._replace(strict=False).tell(path, message, line, offset)


class Silence(Faults):
    """Where faults go that were told before."""

    __slots__ = ()

    def tell(self, path: str, message: str, line: int | None = None, offset: int | None = None) -> None:
        """Say nothing."""


def message_at(message: str, line: int | None, offset: int | None) -> str:
    """Return a message with the place in a file in front of it.

    Examples
    --------
    >>> from ds_format.zds.faults import message_at
    >>> message_at("not an object", 3, 120)
    'line 3, byte 120: not an object'
    """
    where = [f"{word} {number}" for word, number in (("line", line), ("byte", offset)) if number is not None]
    return f"{', '.join(where)}: {message}" if where else message
