"""Where an exception came from, as Python tells it."""

from __future__ import annotations

import traceback


def of(error: BaseException) -> str:
    """Return the calls that led to an error, and the error, on lines of their own."""
    return "".join(traceback.format_exception(error)).rstrip("\n")
