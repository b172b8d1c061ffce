"""Standard streams that were closed when the program began."""

from __future__ import annotations

import os
import sys
from typing import TextIO


def open_again() -> None:
    """Give the program streams in place of closed ones: stdout takes nothing, and says so; of stderr nothing is seen.

    Their numbers are taken then, and no file that is opened later gets what libraries print.
    """
    if sys.stdout is None:
        sys.stdout = _stream(1, os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = _stream(2, os.O_WRONLY)


def _stream(number: int, flags: int) -> TextIO:
    null = os.open(os.devnull, flags)
    if null != number:
        os.dup2(null, number)
        os.close(null)
    return open(number, "w", encoding="utf-8", errors="surrogateescape", closefd=False)
