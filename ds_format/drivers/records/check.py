"""What a driver says of files that are more than their variables."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """Something that is wrong."""

    path: str
    """The file."""
    message: str
    is_error: bool
    """Whether data are wrong or cannot be read."""
