"""Strings on their way to a file: object arrays → byte strings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UnsupportedError


def as_bytes(item: Any, encoding: str = "utf-8") -> bytes:
    """Return a string as bytes.

    Raises
    ------
    UnsupportedError
        If it is no string, or has no form in the encoding.
    """
    if isinstance(item, bytes):
        return bytes(item)
    if not isinstance(item, str):
        raise UnsupportedError(f"found a value of type {type(item).__name__}, expected a string")
    try:
        return item.encode(encoding)
    except (UnicodeEncodeError, LookupError) as error:
        raise UnsupportedError(f"the text {item!r} has no form in {encoding}") from error


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
        Makes bytes of a string, or raises an UnsupportedError.
    """
    out = np.empty(values.size, dtype=object)
    skip = mask.ravel().tolist() if mask is not None else [False] * values.size
    out[:] = [mark if missing else convert(item) for item, missing in zip(values.ravel().tolist(), skip, strict=True)]
    return out.reshape(values.shape)
