"""The name that somebody may have meant who typed one that does not exist."""

from __future__ import annotations

import importlib
from collections.abc import Iterable


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the name that is most like another one; None if none is like it.

    Examples
    --------
    >>> nearest("temperatur", ["pressure", "temperature"])
    'temperature'
    >>> nearest("TIME", ["item", "time"])
    'time'
    """
    known = list(names)
    folded = {other.lower(): other for other in reversed(known)}
    difflib = importlib.import_module("difflib")  # only who made a mistake waits for it
    found = difflib.get_close_matches(name.lower(), folded, n=1)
    return folded[found[0]] if found else None


def hint(name: str, names: Iterable[str]) -> str:
    """Return what to put behind a message about a name that does not exist; nothing if no name is like it.

    Examples
    --------
    >>> hint("temperatur", ["pressure", "temperature"])
    ': did you mean temperature?'
    """
    found = nearest(name, names)
    return "" if found is None else f": did you mean {found}?"
