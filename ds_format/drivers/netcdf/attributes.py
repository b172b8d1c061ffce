"""Attributes as a file holds them → Python and NumPy values, byte for byte, and back."""

from __future__ import annotations

from typing import Any, Self

from ...errors import UnsupportedError
from .attribute_values import Encoded
from .calls import Group, Variable


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
