"""`.filter`: a Bloom filter of the keys, which says that a key is absent, or may be there.

::

    8 bytes   SIMPBLOO
    8 bytes   size of the file, big-endian like all that follows
    8 bytes   N: elements it was made for
    8 bytes   p: how often an absent element may seem to be there; an IEEE double
    m / 8     m bits, the lowest of a byte first
"""

from __future__ import annotations

import math
import struct
from typing import Any, NamedTuple

import numpy as np

from ..errors import FormatError, TruncatedError
from ..kernels.datadings.index import count_absent, fill_filter, hash_strings, in_filter
from . import format, parts

MAGIC = b"SIMPBLOO"
HEADER = struct.Struct(">8sQQd")
BLOCK = 1 << 16
"""Keys whose digests are held at once."""


class Filter(NamedTuple):
    """A filter, ready to be asked."""

    n: int
    """Elements it was made for."""
    k: int
    """Bits of an element."""
    bits: Any
    """(m / 8,) bytes."""


def shape(n: int, p: float) -> tuple[int, int]:
    """Return the bytes of the bits of a filter, and how many bits an element has.

    Parameters
    ----------
    n : int
        Elements; at least 2.
    p : float
        Between 0 and 1.

    Examples
    --------
    >>> from ds_format.datadings import bloom
    >>> bloom.shape(1000, 0.001)
    (1798, 10)
    """
    size = math.ceil(n * math.log(p) / -0.4804530139182015 / 8)
    return size, round(8 * size / n * math.log(2))


def encode(strings: Any, n: int) -> bytes:
    """Return the file of n keys.

    Parameters
    ----------
    strings : bytes-like
        The keys as msgpack has them, one after another.
    n : int
        How many.

    Examples
    --------
    >>> from ds_format.datadings import bloom
    >>> bloom.encode(bytes.fromhex("a161a162"), 2).hex(" ", -8)
    '53494d50424c4f4f 0000000000000021 0000000000000002 3fe0000000000000 e4'
    """
    elements = max(2, n)
    size, k = shape(elements, 1 / elements)
    bits = np.zeros(size, np.uint8)
    for digests in digest_blocks(strings, n):
        fill_filter(digests, k, bits)
    return HEADER.pack(MAGIC, HEADER.size + size, elements, 1 / elements) + bits.tobytes()


def digest_blocks(strings: Any, n: int) -> Any:
    """Yield what the filter needs of each key, for many keys at a time."""
    digests = np.empty(16 * min(n, BLOCK), np.uint8)
    end = 0
    for start in range(0, n, BLOCK):
        block = digests[: 16 * min(n - start, BLOCK)]
        end = hash_strings(strings, end, b"", block, True)
        yield block


def decode(data: Any, path: str) -> Filter:
    """Return the filter of a file.

    Parameters
    ----------
    data : bytes-like
        The file.
    path : str
        The data file, for the message.

    Raises
    ------
    FormatError, TruncatedError
        If its header is wrong, or does not fit the size of the file.
    """
    own = path + format.FILTER
    if len(data) < HEADER.size:
        raise TruncatedError(f"found {len(data)} bytes, expected a header of {HEADER.size}; {parts.REPAIR}", path=own)
    magic, length, n, p = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise FormatError(f"found the first bytes {magic!r}, expected {MAGIC!r}; {parts.REPAIR}", path=own)
    if length != len(data):
        error = TruncatedError if length > len(data) else FormatError
        raise error(f"found {len(data)} bytes, its header says {length}; {parts.REPAIR}", path=own)
    if n < 2 or not 0 < p < 1:
        raise FormatError(f"found {n} elements and a probability of {p}; {parts.REPAIR}", path=own)
    size, k = shape(n, p)
    if HEADER.size + size != length:
        expected = HEADER.size + size
        raise FormatError(f"found {length} bytes, expected {expected} for {n} elements; {parts.REPAIR}", path=own)
    return Filter(n, k, memoryview(data)[HEADER.size :])


def may_have(filter_: Filter, string: bytes) -> bool:
    """Return whether a key may be in a filter."""
    return in_filter(string, filter_.k, filter_.bits)


def absent(filter_: Filter, strings: Any, n: int) -> int:
    """Return how many of n keys, given as in `encode`, are not in a filter."""
    return sum(count_absent(digests, filter_.k, filter_.bits) for digests in digest_blocks(strings, n))
