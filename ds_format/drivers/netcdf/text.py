"""Strings on their way to a NetCDF file: object arrays → byte strings, or characters along a last dimension."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UnsupportedError

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


def encoded(
    values: NDArray[Any],
    mask: NDArray[np.bool_] | None,
    mark: bytes,
    *,
    encoding: str = "utf-8",
    inner_nul: bool = True,
) -> NDArray[Any]:
    """Return strings as byte strings, with `mark` for missing ones; `inner_nul` says whether they may contain NULs.

    Raises
    ------
    UnsupportedError
        If an item is not a string, or not one that a file can hold.
    """
    out = np.empty(values.size, dtype=object)
    items = values.ravel().tolist()
    skip = mask.ravel().tolist() if mask is not None else [False] * len(items)
    out[:] = [mark if missing else _bytes(item, encoding, inner_nul) for item, missing in zip(items, skip, strict=True)]
    return out.reshape(values.shape)


def _bytes(item: Any, encoding: str, inner_nul: bool) -> bytes:
    if isinstance(item, bytes):
        raw = bytes(item)
    elif isinstance(item, str):
        try:
            raw = item.encode(encoding)
        except (UnicodeEncodeError, LookupError) as error:
            raise UnsupportedError(f"the text {item!r} has no form in {encoding}") from error
    else:
        raise UnsupportedError(f"found a value of type {type(item).__name__}, expected a string")
    if raw.endswith(b"\0") or (not inner_nul and b"\0" in raw):
        raise UnsupportedError(f"the string {item!r} has a NUL where NetCDF takes it for the end")
    return raw
