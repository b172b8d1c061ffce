"""References between variables by the CF conventions: coordinates, bounds, and attributes that name variables."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from ..base.text import escape, unescape

COORDINATES = ("coordinates",)
"""The attribute of a variable that names its coordinates. As an attribute of the dataset, it names coordinates that no
variable names."""

SAMPLE_DIMENSION = "sample_dimension"
"""The attribute of a variable that counts the rows of each instance of a ragged array (CF conventions 1.11, 9.3.3)."""
BOUNDS = ("bounds", "climatology")
"""The attributes of a coordinate that name the variable of its bounds (CF conventions 1.11, section 7)."""
TIME = ("units", "calendar")
PACKING = ("scale_factor", "add_offset", "_Unsigned")
"""Attributes of a coordinate that apply to its bounds, too, together with `TIME`."""
REFERENCES = ("ancillary_variables", "cell_measures", "formula_terms", "grid_mapping", *COORDINATES, *BOUNDS)
"""Attributes that name variables."""
_NAME = re.compile(r"([^\s:]+)(:?)")
NORTH = {"degrees_north", "degree_north", "degree_n", "degrees_n", "degreen", "degreesn"}
EAST = {"degrees_east", "degree_east", "degree_e", "degrees_e", "degreee", "degreese"}
"""Units of latitude and of longitude in lower case (CF conventions 1.11, sections 4.1 and 4.2)."""
NAMES = {"lat": "latitude", "latitude": "latitude", "lon": "longitude", "longitude": "longitude"}


def is_unsigned(attrs: Mapping[str, Any]) -> bool:
    """Return whether signed integers with these attributes represent unsigned ones (NetCDF user's guide)."""
    return str(attrs.get("_Unsigned")) in ("true", "True")


def kind_of(entry: Mapping[str, Any]) -> str:
    """Return `latitude` or `longitude` by the units or the standard name of a variable, else an empty string."""
    units, standard = str(entry.get("units", "")).lower(), entry.get("standard_name")
    if units in EAST or standard == "longitude":
        return "longitude"
    return "latitude" if units in NORTH or standard == "latitude" else ""


def kind_by_name(name: str) -> str:
    """Return `latitude` or `longitude` by the usual names of such variables, else an empty string.

    Examples
    --------
    >>> kind_by_name("LAT"), kind_by_name("stations/longitude"), kind_by_name("x")
    ('latitude', 'longitude', '')
    """
    return NAMES.get(name.rpartition("/")[2].lower(), "")


def named(key: str, entry: Mapping[Any, Any], attributes: Iterable[str]) -> Iterator[str]:
    """Yield the keys of variables that attributes name: each one in the group of the variable, and outside of it.

    Examples
    --------
    >>> (
    ...     list(named("x", {"coordinates": "lat lon"}, COORDINATES)),
    ...     list(named("a/x", {"bounds": "b"}, ["bounds"])),
    ... )
    (['lat', 'lon'], ['a/b', 'b'])
    """
    group = unescape(key).rpartition("/")
    for value in map(entry.get, attributes):
        for name in value.replace(":", " ").split() if isinstance(value, str) else ():
            if group[1]:
                yield escape(f"{group[0]}/{name}")
            yield escape(name)


def with_parents(meta: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return metadata in which bounds have the units, calendar and packing of their coordinate.

    Attributes of the bounds themselves have priority. Bounds inherit packing only if their type is the same
    (CF conventions 1.12, sections 7.1 and 8.1).

    Examples
    --------
    >>> with_parents({"time": {"bounds": "b", "units": "days since 2000-01-01"}, "b": {}})["b"]
    {'units': 'days since 2000-01-01'}
    """
    found: dict[str, Mapping[str, Any]] = {}
    for name_of_parent, parent in meta.items():
        if name_of_parent == "." or ("bounds" not in parent and "climatology" not in parent):
            continue
        for key in parents_bounds(parent):
            entry = meta.get(key)
            if entry is None or entry is parent or key == ".":
                continue
            names = [name for name in TIME if name in parent and name not in entry]
            if "units" in entry and entry["units"] != parent.get("units"):
                names = []
            if entry.get(".type") == parent.get(".type") and not any(name in entry for name in PACKING):
                names += [name for name in PACKING if name in parent]
            if names:
                found[key] = {**entry, **{name: parent[name] for name in names}}
    return {**meta, **found} if found else meta


def parents_bounds(entry: Mapping[str, Any]) -> list[str]:
    """Return the keys of the bounds that a coordinate names."""
    return [escape(entry[name]) for name in BOUNDS if isinstance(entry.get(name), str)]


def coordinates(meta: Mapping[Any, Any], dims: Mapping[Any, Iterable[str]]) -> set[Any]:
    """Return the keys of coordinates: variables named like their only dimension, or in an attribute `coordinates`.

    Parameters
    ----------
    meta : mapping
        Key → metadata of a variable; `"."` → metadata of the dataset.
    dims : mapping
        Key → the dimensions of each variable.
    """
    found = {key for key, own in dims.items() if list(own) == [unescape(str(key))]}
    for key, entry in meta.items():
        if isinstance(entry, Mapping):
            found.update(other for other in named(str(key), entry, COORDINATES) if other in dims)
    return found


def with_coordinates(
    keys: Iterable[str], meta: Mapping[str, Mapping[str, Any]], dims: Mapping[str, Iterable[str]]
) -> list[str]:
    """Return the keys of variables, of their coordinates, and of the bounds of all these, in the order of `dims`.

    Parameters
    ----------
    keys : iterable of str
    meta : mapping
        Key → metadata of each variable.
    dims : mapping
        Key → the dimensions of each variable.
    """
    found = set(keys)
    for key in [*found]:
        group = unescape(key).rpartition("/")[0]
        found.update(escape(name) for dim in dims[key] for name in (dim, f"{group}/{dim}"))
        found.update(named(key, meta[key], COORDINATES))
    for key in [*found]:
        found.update(named(key, meta.get(key, {}), BOUNDS))
    return [key for key in dims if key in found]


def rename_references(meta: Mapping[str, Any], mapping: Mapping[str, str], variables: Collection[str]) -> None:
    """Update names of renamed variables in the attributes of other variables.

    Parameters
    ----------
    meta : mapping
        Key → metadata of a variable, changed in place.
    mapping : mapping
        Old name → new name.
    variables : collection of str
        Names of all variables before the change. In a group, a name means a variable of the group if it exists.

    Examples
    --------
    >>> meta = {"x": {"coordinates": "lat lon", "cell_measures": "lat: lat"}}
    >>> rename_references(meta, {"lat": "latitude"}, ["lat", "lon", "x"])
    >>> meta["x"]
    {'coordinates': 'latitude lon', 'cell_measures': 'lat: latitude'}
    """
    for key, entry in meta.items():
        group = unescape(str(key)).rpartition("/")[0]
        for attribute in REFERENCES:
            value = entry.get(attribute) if isinstance(entry, Mapping) else None
            if isinstance(value, str):
                # A word before a colon is a variable only in grid_mapping. In other attributes it is a term or measure.
                are_labels = attribute != "grid_mapping"

                def renamed(match: re.Match[str], group: str = group, are_labels: bool = are_labels) -> str:
                    name, colon = match.groups()
                    return match[0] if colon and are_labels else _renamed(name, group, mapping, variables) + colon

                entry[attribute] = _NAME.sub(renamed, value)


def _renamed(name: str, group: str, mapping: Mapping[str, str], variables: Collection[str]) -> str:
    inner = f"{group}/{name}"
    if group and inner in variables:
        new = mapping.get(inner, inner)
        return new.removeprefix(f"{group}/")
    return mapping.get(name, name)
