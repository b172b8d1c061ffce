"""`.key_hashes`: a salt of 8 bytes, then the first 8 bytes of the BLAKE2s digest, with this salt, of each key."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

import numpy as np

from ..errors import UnsupportedError
from ..kernels.datadings.index import Lookup, hash_strings
from . import format

ATTEMPTS = 1000
"""Salts that are tried."""
SECRET = secrets.randbits(64)
"""What the order of a table depends on."""


def salt(attempt: int) -> bytes:
    """Return a salt of the sequence that all writers use: of the digest, without a salt, of the number as text.

    Examples
    --------
    >>> from ds_format.datadings import hashes
    >>> hashes.salt(0).hex()
    '652e530edee5893b'
    """
    return hashlib.blake2s(str(attempt).encode()).digest()[: format.HASH_SIZE]


def encode(strings: Any, n: int, *, distinct: bool = True) -> bytes:
    """Return the file of n keys, with the first salt under which their hashes differ.

    Parameters
    ----------
    strings : bytes-like
        The keys as msgpack has them, one after another.
    n : int
        How many.
    distinct : bool
        False: take the first salt, whatever comes of it.

    Raises
    ------
    UnsupportedError
        If there is no such salt: two keys are the same.

    Examples
    --------
    >>> from ds_format.datadings import hashes
    >>> hashes.encode(bytes.fromhex("a161a162"), 2).hex(" ", 8)
    '652e530edee5893b 953ffc3d1368ba74 72f9046833a27982'
    """
    data = np.empty(format.HASH_SIZE * (n + 1), np.uint8)
    for attempt in range(ATTEMPTS):
        data[: format.HASH_SIZE] = np.frombuffer(salt(attempt), np.uint8)
        hash_strings(strings, 0, data[: format.HASH_SIZE], data[format.HASH_SIZE :])
        if not distinct or Lookup(data, SECRET).duplicates() is None:
            return data.tobytes()
    raise UnsupportedError(f"among {n} keys, two have the same hash under {ATTEMPTS} salts: they must be the same")


def hash_of(string: bytes, data: Any) -> bytes:
    """Return the hash of a key with the salt of a file."""
    return hashlib.blake2s(string, salt=bytes(data[: format.HASH_SIZE])).digest()[: format.HASH_SIZE]


def stored(data: Any, i: int) -> bytes:
    """Return the hash of key i as the file has it."""
    return bytes(data[format.HASH_SIZE * (i + 1) : format.HASH_SIZE * (i + 2)])
