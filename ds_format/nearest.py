"""The name that somebody may have meant who typed one that does not exist."""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from .visible import on_one_line

ABBREVIATED = 3
"""Characters that tell which name is meant."""


def nearest(name: str, names: Iterable[str], least: float = 0.6) -> str | None:
    """Return the name that is most like another one, or of which one is the beginning of the other; None if none is.

    A variable of the same name in a group comes first. `least` is how like it a name has to be, from 0 to 1.

    Examples
    --------
    >>> nearest("temperatur", ["pressure", "temperature"])
    'temperature'
    >>> nearest("TIME", ["item", "time"])
    'time'
    >>> nearest("latitude", ["lat", "lon"])
    'lat'
    >>> nearest("DBZ", ["sweep_0/DBZ", "sweep_1/DBZ"])
    'sweep_0/DBZ'
    """
    known = list(names)
    in_groups = [other for other in known if "/" in other and other.rpartition("/")[2] == name.rpartition("/")[2]]
    if in_groups:
        return in_groups[0]
    folded = {other.lower(): other for other in reversed(known)}
    difflib = importlib.import_module("difflib")  # only who made a mistake waits for it
    found = difflib.get_close_matches(name.lower(), folded, 1, least)
    if not found and len(name) >= ABBREVIATED:
        begun = (other for other in folded if len(other) >= ABBREVIATED)
        found = [other for other in begun if other.startswith(name.lower()) or name.lower().startswith(other)]
    return folded[found[0]] if len(found) == 1 else None


def hint(name: str, names: Iterable[str], least: float = 0.6) -> str:
    """Return what to put behind a message about a name that does not exist; nothing if no name is like it.

    Examples
    --------
    >>> hint("temperatur", ["pressure", "temperature"])
    ': did you mean temperature?'
    """
    found = nearest(name, names, least)
    return "" if found is None else f": did you mean {on_one_line(found)}?"
