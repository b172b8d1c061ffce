"""The order in which people put names: numbers in them by their value."""

from __future__ import annotations

import re
from typing import Any

DIGITS = re.compile(r"(\d+)")


def natural_key(name: Any) -> tuple[tuple[Any, ...], str]:
    """Return what to sort a name by; numbers are names, too, and come before text.

    Examples
    --------
    >>> from ds_format.datadings.natural import natural_key
    >>> sorted(["part-10", "part-9", "part-1"], key=natural_key)
    ['part-1', 'part-9', 'part-10']
    """
    if not isinstance(name, str):
        return ("", name), ""
    pieces = DIGITS.split(name)
    pieces[1::2] = map(int, pieces[1::2])
    return tuple(pieces), name
