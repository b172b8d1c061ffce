"""Strings on their way to a NetCDF file: object arrays → byte strings, or characters along a last dimension."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UnsupportedError
from ..library.encoding import as_bytes

ENCODING_ATTRIBUTE = "_Encoding"
"""Of a variable: encoding of its strings; UTF-8 without it."""


def characters(strings: NDArray[Any], length: int) -> NDArray[Any]:
    """Cut byte strings into characters, padded with NULs.

    Parameters
    ----------
    strings : (...) object array of bytes

    Returns
    -------
    (..., length) array of S1

    Raises
    ------
    UnsupportedError
        If a string is too long.
    """
    longest = max_length(strings)
    if longest > length:
        raise UnsupportedError(
            f"found a string of {longest} bytes, expected at most the {length} of its dimension in the file "
            '(property ".netcdf", which may be removed)'
        )
    if not length:
        return np.zeros((*strings.shape, 0), dtype="S1")
    fixed = np.ascontiguousarray(strings.astype(f"S{length}"))
    return fixed.view("S1").reshape(*strings.shape, length)


def max_length(strings: NDArray[Any]) -> int:
    """Return the bytes of the longest of byte strings; 0 without any."""
    return max(map(len, strings.ravel().tolist()), default=0)


def storable(item: Any, encoding: str = "utf-8", *, inner_nul: bool = True) -> bytes:
    """Return a string as bytes that a file can hold; `inner_nul` says whether they may contain NULs.

    Raises
    ------
    UnsupportedError
        If it is not a string, or not one that a file can hold.
    """
    raw = as_bytes(item, encoding)
    if raw.endswith(b"\0") or (not inner_nul and b"\0" in raw):
        raise UnsupportedError(f"the string {item!r} has a NUL where NetCDF takes it for the end")
    return raw
