"""The attribute of this package with what NetCDF has no place for."""

from __future__ import annotations

import json
from typing import Any

from ...base.nesting import is_too_deep

AROUND = 4
"""Lists and objects of the marker that are around the values of attributes."""

MARKER = "ds_format"
"""Attribute of a variable, group or file with what NetCDF has no place for, as JSON: `json`, the attributes that are
JSON text; `missing`, the text that stands for a missing string; `type`, if it is not the one that NetCDF shows; `empty`
and `dims` of a variable without data."""


def take_marker(attributes: dict[str, Any]) -> dict[str, Any]:
    """Remove the marker of this package from attributes, and return what it says; decode attributes of JSON text."""
    if MARKER not in attributes:
        return {}
    try:
        marker = json.loads(attributes[MARKER])
    except (TypeError, ValueError, RecursionError):
        return {}
    if not isinstance(marker, dict) or is_too_deep(marker, AROUND):
        return {}
    del attributes[MARKER]
    names = marker.pop("json", [])
    for name in names if isinstance(names, list) else []:
        try:
            value = json.loads(attributes[name])
        except (KeyError, TypeError, ValueError, RecursionError):
            continue
        if not is_too_deep(value):  # else it stays the text that it is in the file
            attributes[name] = value
    return marker
