"""Strings in files ↔ object arrays of `bytes` or `str`, and the marks of missing ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FormatError, UnsupportedError

MARK = b"\x1a"
"""Missing strings are written as the shortest run of this character (SUBSTITUTE) that is not a present string. This is
usually the empty string."""


def joined(characters: NDArray[Any]) -> NDArray[Any]:
    """Join characters along the last dimension.

    Parameters
    ----------
    characters : (..., L) array of S1

    Returns
    -------
    (...) array of S{L}
        NULs at the end of a string are padding, which NumPy removes.
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


def as_objects(block: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return strings, or one string, of any type as an object array, and the mask of missing ones (or None)."""
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


def check_kind(values: NDArray[Any], mask: NDArray[np.bool_] | None, type_name: str) -> None:
    """Check that all present strings are `bytes` if the type is `str`, or `str` if it is `unicode`.

    Raises
    ------
    UnsupportedError
        If one is not, because reading it back would give another type.
    """
    present = values if mask is None else values[~mask]
    expected = bytes if type_name == "str" else str
    for kind in set(map(type, present.ravel().tolist())):
        if not issubclass(kind, expected):
            raise UnsupportedError(f"found a value of type {kind.__name__}, expected a string ({expected.__name__})")


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


def is_utf8(values: NDArray[Any]) -> bool:
    """Return whether all byte strings are UTF-8."""
    try:
        b"\0".join(values.ravel().tolist()).decode()
    except UnicodeDecodeError:
        return False
    return True


def as_text(array: Any, errors: str) -> NDArray[np.object_]:
    """Return strings as objects of type `str`.

    Parameters
    ----------
    array : ndarray or MaskedArray
        Text, or bytes in UTF-8.
    errors : {"strict", "surrogateescape"}
        Handling of bytes that are not UTF-8.

    Returns
    -------
    ndarray
        Array of the same shape, with None for missing values.

    Raises
    ------
    UnsupportedError
        If text has surrogates, bytes are not UTF-8, or an object is neither text nor bytes, or not of the first one's
        type.
    """
    values: NDArray[np.object_] = np.ma.getdata(array).astype(object)
    present = ~np.ma.getmaskarray(array)
    strings = values[present].tolist()
    try:
        if strings and isinstance(strings[0], bytes):
            strings = [string.decode("utf-8", errors) for string in strings]
        else:
            "".join(strings).encode()
    except UnicodeEncodeError as error:
        found = ord(error.object[error.start])
        raise UnsupportedError(f"a text has the surrogate U+{found:04X}, which is not a character") from None
    except UnicodeDecodeError as error:
        raise UnsupportedError(f"found the bytes {error.object[:20]!r}, which are not UTF-8") from None
    except (AttributeError, TypeError):
        kinds = ", ".join(sorted({type(string).__name__ for string in strings}))
        raise UnsupportedError(f"an object array holds {kinds}; expected all str or all bytes") from None
    out = np.full(values.shape, None, object)
    out[present] = strings
    return out


def free_mark(taken: set[int]) -> bytes:
    """Return the shortest run of `MARK` that is not a present string; `taken` is the result of `mark_lengths`."""
    length = 0
    while length in taken:
        length += 1
    return MARK * length


def mark_lengths(strings: NDArray[Any], mask: NDArray[np.bool_] | None) -> set[int]:
    """Return the lengths of the present byte strings that consist only of `MARK`."""
    present = strings if mask is None else strings[~mask]
    return {len(item) for item in present.ravel().tolist() if not item.strip(MARK)}


def as_bytes(item: Any, encoding: str = "utf-8") -> bytes:
    """Return a string as bytes.

    Raises
    ------
    UnsupportedError
        If it is not a string, or cannot be encoded.
    """
    if isinstance(item, bytes):
        return bytes(item)
    if not isinstance(item, str):
        raise UnsupportedError(f"found a value of type {type(item).__name__}, expected a string")
    try:
        return item.encode(encoding)
    except (UnicodeEncodeError, LookupError) as error:
        raise UnsupportedError(f"the text {item!r} cannot be encoded in {encoding}") from error


def encoded(
    values: NDArray[Any], mask: NDArray[np.bool_] | None, mark: bytes, convert: Callable[[Any], bytes] = as_bytes
) -> NDArray[Any]:
    """Return strings as byte strings, with `mark` for missing ones.

    Parameters
    ----------
    values : (...) object array
    mask : (...) bool array, optional
    mark : bytes
    convert : callable
        Converts a string to bytes, or raises an UnsupportedError.
    """
    out = np.empty(values.size, dtype=object)
    skip = mask.ravel().tolist() if mask is not None else [False] * values.size
    out[:] = [mark if missing else convert(item) for item, missing in zip(values.ravel().tolist(), skip, strict=True)]
    return out.reshape(values.shape)


def max_length(strings: NDArray[Any]) -> int:
    """Return the bytes of the longest byte string; 0 if there is none."""
    return max(map(len, strings.ravel().tolist()), default=0)
