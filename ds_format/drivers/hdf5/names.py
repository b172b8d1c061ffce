"""Names: those that HDF5 or NetCDF-4 cannot hold, or hold for themselves, get a substitute."""

from __future__ import annotations

import re
from collections.abc import Collection

from ..settings import LABELS

NON_COORDINATE = "_nc4_non_coord_"
"""Before the name of a variable that is not the coordinate of the dimension of that name (netCDF-4)."""

PURE_DIMENSION = "This is a netCDF dimension but not a netCDF variable."
"""The `NAME` of a dimension scale without values begins with it (netCDF-4)."""

SCALE_ATTRIBUTES = ("CLASS", "NAME", "REFERENCE_LIST")
"""Attributes of a dimension scale, by the HDF5 dimension scale specification."""

SCALE_CLASS = "DIMENSION_SCALE"

MARKER = "ds_format"
"""Attribute of a dataset, group or file with what HDF5 has no place for; see `attributes`."""

HIDDEN = frozenset({
    "DIMENSION_LIST",
    LABELS,
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
    "_nc3_strict",
    "_NCProperties",
    MARKER,
})
"""Attributes that HDF5, netCDF-4 and this package need for themselves."""

IMPOSSIBLE = re.compile("[\0\ud800-\udfff]")
"""Names end at a NUL, and are UTF-8."""


def is_path(name: str) -> bool:
    """Return whether a name can be the path of an object, one that is itself in all its parts."""
    parts = name.split("/")
    return not IMPOSSIBLE.search(name) and not any(
        part in ("", ".") or part.startswith(NON_COORDINATE) for part in parts
    )


def is_attribute(name: str) -> bool:
    """Return whether a name can be that of an attribute which others will see."""
    return bool(name) and not IMPOSSIBLE.search(name) and name not in HIDDEN


def substitute(name: str, taken: Collection[str]) -> str:
    r"""Return a name that is possible in place of another.

    That is `%`, the name with impossible characters as `%` and their bytes in hexadecimal, and again `%` until it is
    none of those taken.

    Examples
    --------
    >>> substitute("a/\0", {"%a%2F%00"})
    '%a%2F%00%'
    """
    escaped = re.sub(
        "[/\0\ud800-\udfff]",
        lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass")),
        name,
    )
    found = "%" + escaped
    while found in taken:
        found += "%"
    return found
