"""What variables are to each other by the CF conventions: which of them are coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .names import escape, unescape

COORDINATES = ("coordinates",)
"""The attribute that names the coordinates of a variable, or of the dataset those of none."""

NORTH = {"degrees_north", "degree_north", "degree_n", "degrees_n", "degreen", "degreesn"}
EAST = {"degrees_east", "degree_east", "degree_e", "degrees_e", "degreee", "degreese"}
"""Units of latitude and of longitude in lower case (CF conventions 1.11, sections 4.1 and 4.2)."""


def kind_of(entry: Mapping[str, Any]) -> str:
    """Return `latitude` or `longitude` if metadata say so by units or standard name, else nothing."""
    units, standard = str(entry.get("units", "")).lower(), entry.get("standard_name")
    if units in EAST or standard == "longitude":
        return "longitude"
    return "latitude" if units in NORTH or standard == "latitude" else ""


def named(key: str, entry: Mapping[Any, Any], attributes: Iterable[str]) -> Iterator[str]:
    """Yield the keys of what attributes name: in the group of the variable, and by the name alone.

    Examples
    --------
    >>> list(named("x", {"coordinates": "lat lon"}, COORDINATES)), list(named("a/x", {"bounds": "b"}, ["bounds"]))
    (['lat', 'lon'], ['a/b', 'b'])
    """
    group = unescape(key).rpartition("/")
    for told in map(entry.get, attributes):
        for name in told.replace(":", " ").split() if isinstance(told, str) else ():
            if group[1]:
                yield escape(f"{group[0]}/{name}")
            yield escape(name)


def coordinates(meta: Mapping[Any, Any], dims: Mapping[Any, Iterable[str]]) -> set[Any]:
    """Return the keys of coordinates: named like their only dimension, or by an attribute `coordinates`.

    Parameters
    ----------
    meta : mapping
        Key → metadata of a variable; `"."` → of the dataset.
    dims : mapping
        Key → the dimensions of each variable.
    """
    found = {key for key, own in dims.items() if list(own) == [unescape(str(key))]}
    for key, entry in meta.items():
        if isinstance(entry, Mapping):
            found.update(other for other in named(str(key), entry, COORDINATES) if other in dims)
    return found
