"""Attributes as a file holds them → Python and NumPy values, byte for byte, and back."""

from __future__ import annotations

import json
from typing import Any, Self

from ...errors import UnsupportedError
from ...nesting import is_too_deep
from .attribute_values import Encoded
from .calls import Group, Variable

AROUND = 4
"""Lists and objects of the marker that are around the values of attributes."""

MARKER = "ds_format"
"""Attribute of a variable, group or file with what NetCDF has no place for, as JSON: `json`, the attributes that are
JSON text; `missing`, the text that stands for a missing string; `type`, if it is not the one that NetCDF shows; `empty`
and `dims` of a variable without data."""


class _RawName(str):
    """The name of an attribute, disguised as `_FillValue`: the library returns the bytes of that one undecoded.

    Any other text comes decoded with a loss, without its NULs, and the same for one string as for characters.
    """

    real: str

    def __new__(cls, name: str) -> Self:
        self = super().__new__(cls, "_FillValue")
        self.real = name
        return self

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return self.real.encode(encoding, errors)


def read_attribute(owner: Group | Variable, name: str) -> tuple[Any, bool]:
    """Return the value of an attribute, and whether it is of the type string (not characters).

    Returns
    -------
    value : NumPy scalar, (N,) ndarray, str or list of str
        Numbers with their type. Bytes of text that are not UTF-8 are kept as `surrogateescape` does; NULs at its end
        are padding and left out.
    is_string : bool

    Raises
    ------
    UnsupportedError
        If it is of a compound, ragged or opaque type.
    """
    try:
        raw = owner.getncattr(_RawName(name), encoding="latin-1")
    except KeyError:
        raise UnsupportedError(f'attribute "{name}": its type is not possible in ds') from None
    if isinstance(raw, bytes):
        return _text(raw.rstrip(b"\0")), False
    if isinstance(raw, str):
        return _text(raw.encode("latin-1")), True
    if isinstance(raw, list):
        return [_text(item.encode("latin-1")) for item in raw], True
    if raw.dtype.kind not in "fiu":
        raise UnsupportedError(f'attribute "{name}": a compound type is not possible in ds')
    return raw, False


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def take_marker(attributes: dict[str, Any]) -> dict[str, Any]:
    """Remove the marker of this package from attributes, and return what it says; decode attributes of JSON text."""
    try:
        marker = json.loads(attributes[MARKER])
    except (KeyError, TypeError, ValueError, RecursionError):
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


def marker_text(marker: dict[str, Any]) -> Encoded:
    """Return the marker as an attribute to write."""
    return Encoded("text", json.dumps(marker).encode())


def write_attributes(owner: Group | Variable, attributes: dict[str, Encoded]) -> None:
    """Write attributes in their order."""
    batch: dict[str, Any] = {}
    for name, (form, value, _) in attributes.items():
        if form == "string":
            # with the others it would become characters
            owner.setncatts(batch)
            batch = {}
            owner.setncattr_string(name, value if len(value) > 1 else value[0])
        else:
            batch[name] = value
    if batch:
        owner.setncatts(batch)
