"""Names: which ones NetCDF can hold."""

from __future__ import annotations

import re
import unicodedata

from ...errors import UnsupportedError

MAX_SIZE = 255
"""Bytes of a name in UTF-8: one less than `NC_MAX_NAME` in netcdf.h, of which the library loses the end."""

POSSIBLE = re.compile("[A-Za-z0-9_\x80-\U0010ffff](?:[ -.0-~\x80-\U0010ffff]*[!-.0-~\x80-\U0010ffff])?")
"""Of variables, dimensions, groups and attributes, by the NetCDF user's guide: the name begins with a letter, digit,
underscore or character beyond ASCII, and has no `/`, no control characters of ASCII, and no blank at its end."""

RESERVED = frozenset({
    "CLASS",
    "DIMENSION_LIST",
    "NAME",
    "REFERENCE_LIST",
    "_ARRAY_DIMENSIONS",
    "_Codecs",
    "_IsNetcdf4",
    "_NCProperties",
    "_Netcdf4Coordinates",
    "_Netcdf4Dimid",
    "_SuperblockVersion",
    "_nc3_strict",
})
"""Attributes that the library keeps for itself in netCDF-4 files."""


def check_path(name: str) -> None:
    """Check the name of a variable, dimension or group, with the groups around it.

    Raises
    ------
    UnsupportedError
        If NetCDF cannot hold it, or would hold another one.
    """
    reason = next(filter(None, map(_reason, name.split("/"))), None)
    if reason is not None:
        raise UnsupportedError(f'the name "{name}" is not possible in NetCDF: {reason}')


def check_attribute(name: str, format: str) -> None:
    """Check the name of an attribute for a file format; see `check_path`."""
    reason = _reason(name)
    if reason is None and format.startswith("NETCDF4") and name in RESERVED:
        reason = "it is reserved"
    if reason is not None:
        raise UnsupportedError(f'attribute "{name}": the name is not possible in NetCDF: {reason}')


def _reason(part: str) -> str | None:
    """Return why a name, or one of a path, is not possible; None if it is."""
    if not part or part in (".", ".."):
        return "it is empty, or stands for a folder"
    if not POSSIBLE.fullmatch(part) or any("\ud800" <= character <= "\udfff" for character in part):
        return "it does not begin with a letter or digit, or it has characters that are none of a name"
    if not unicodedata.is_normalized("NFC", part):
        return "accents are composed with their letters there"
    if len(part.encode()) > MAX_SIZE:
        return f"it has more than {MAX_SIZE} bytes"
    return None
