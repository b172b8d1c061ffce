"""`.keys`: one array of n strings, in msgpack."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..base.messagepack import packb, unpackb
from ..errors import FormatError
from ..kernels.msgpack.walk import Keys
from . import format, parts

HEADER_SIZE = 5
"""Bytes of the largest header of an array."""
STEP = 32
"""Strings from one that `Keys` knows the place of to the next."""


def encode(keys: Iterable[str]) -> bytes:
    """Return the file of these keys.

    Examples
    --------
    >>> from ds_format.datadings import keys
    >>> keys.encode(["a", "b"]).hex()
    '92a161a162'
    """
    return packb(list(keys))


def count(data: Any, path: str) -> tuple[int, int]:
    """Return how many keys the header says there are, and its bytes.

    Parameters
    ----------
    data : bytes-like
        The first bytes of the file, or all.
    path : str
        The data file, for the message.

    Raises
    ------
    FormatError
        If it is not the header of an array.
    """
    first = data[0] if len(data) else 0
    if 0x90 <= first < 0xA0:
        return first & 0x0F, 1
    size = {0xDC: 2, 0xDD: 4}.get(first, 0)
    if size and len(data) > size:
        return int.from_bytes(data[1 : 1 + size], "big"), 1 + size
    reason = f"found the bytes {bytes(data[:HEADER_SIZE]).hex(' ')!r}, expected an array of msgpack; {parts.REPAIR}"
    raise FormatError(reason, path=path + format.KEYS)


def check_count(data: Any, path: str, n: int) -> None:
    """Raise a FormatError if a file does not say that it has n keys; as `count`."""
    found, _ = count(data, path)
    if found != n:
        reason = f"found {found} keys, expected {n} as there are offsets; {parts.REPAIR}"
        raise FormatError(reason, path=path + format.KEYS)


def open_keys(data: Any, path: str) -> Keys:
    """Return access to the keys of a file.

    Raises
    ------
    FormatError
        If an entry is not a string, or they are not as many as the header says.
    """
    n, header = count(data, path)
    strings = memoryview(data)[header:]
    if n > len(strings):
        raise FormatError(f"{len(strings)} bytes cannot be {n} keys; {parts.REPAIR}", path=path + format.KEYS)
    try:
        return Keys(strings, n, np.empty(n // STEP + 1, np.int64))
    except ValueError as error:
        raise FormatError(f"{error}; {parts.REPAIR}", path=path + format.KEYS) from None


def decode(data: Any, path: str) -> list[str]:
    """Return the keys of a file; FormatError as of `open_keys`, or if one is not UTF-8."""
    found = open_keys(data, path)
    return strings(found, 0, found.n, path)


def strings(found: Keys, start: int, stop: int, path: str) -> list[str]:
    """Return the keys from `start` to `stop` - 1; FormatError if one is not UTF-8."""
    encoded = found.encoded(start, stop)
    data = b"\xdd" + (stop - start).to_bytes(4, "big") + encoded
    try:
        return unpackb(data)  # type: ignore[no-any-return]
    except UnicodeDecodeError as error:
        where = f"keys {start} to {stop - 1}: one is not UTF-8: {error.reason}"
        raise FormatError(where, path=path + format.KEYS) from None
