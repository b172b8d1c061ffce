"""Strings: characters along a last dimension, or of variable length ↔ object arrays of `bytes` or `str`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import FormatError, UnsupportedError

ENCODING_ATTRIBUTE = "_Encoding"
"""Of a variable: encoding of its strings; UTF-8 without it."""

MARK = b"\x1a"
"""Missing strings are written as the shortest run of this character (SUBSTITUTE) that is not among the present ones:
mostly the empty string."""

OBJECT_SIZE = 64
"""About the bytes that one short string takes in memory."""


def joined(characters: NDArray[Any]) -> NDArray[Any]:
    """Join characters along the last dimension.

    Parameters
    ----------
    characters : (..., L) array of S1

    Returns
    -------
    (...) array of S{L}
        NULs at the end of a string are padding, which NumPy leaves out.
    """
    length = characters.shape[-1]
    if not length:
        return np.zeros(characters.shape[:-1], dtype="S1")
    return np.ascontiguousarray(characters).view(f"S{length}").reshape(characters.shape[:-1])


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


def as_objects(block: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return strings, or one string, of whatever type as an object array, and the mask of missing ones (or None)."""
    if isinstance(block, (str, bytes)):
        values = np.empty((), dtype=object)
        values[()] = block
        return values, None
    mask = np.ma.getmask(block)
    data = np.ma.getdata(block)
    values = data if data.dtype == object else data.astype(object)
    nothing = np.fromiter((item is None for item in values.ravel().tolist()), dtype=bool, count=values.size)
    if mask is not np.ma.nomask:
        nothing |= mask.ravel()
    return values, nothing.reshape(values.shape) if nothing.any() else None


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


def decoded(values: NDArray[Any]) -> NDArray[Any]:
    """Return byte strings as text.

    Raises
    ------
    FormatError
        If one is not UTF-8.
    """
    out = np.empty(values.size, dtype=object)
    try:
        out[:] = [item.decode("utf-8") for item in values.ravel().tolist()]
    except UnicodeDecodeError as error:
        raise FormatError(f"found the bytes {error.object!r}, expected UTF-8") from error
    return out.reshape(values.shape)


def free_mark(taken: set[int]) -> bytes:
    """Return the shortest run of `MARK` whose length is not taken by a present string (see `mark_lengths`)."""
    length = 0
    while length in taken:
        length += 1
    return MARK * length


def mark_lengths(strings: NDArray[Any], mask: NDArray[np.bool_] | None) -> set[int]:
    """Return the lengths of those present byte strings that consist of nothing but `MARK`."""
    present = strings if mask is None else strings[~mask]
    return {len(item) for item in present.ravel().tolist() if not item.strip(MARK)}
