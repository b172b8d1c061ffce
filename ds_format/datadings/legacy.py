"""`.index`, which older versions wrote instead of offsets and keys: one map of key to start, in msgpack."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.messagepack import unpackb
from ..errors import FormatError, TruncatedError
from . import format, keys, offsets


def decode(data: Any, path: str, size: int) -> tuple[bytes, bytes]:
    """Return the files `.offsets` and `.keys` that say the same.

    Parameters
    ----------
    data : bytes-like
        The file.
    path : str
        The data file, for the message.
    size : int
        Bytes of the data file, where the last sample ends.

    Raises
    ------
    FormatError
        If it is no map of strings to ascending integers.
    TruncatedError
        If it is cut off, or a sample starts behind the end of the data file.
    """
    own = path + format.LEGACY_INDEX
    try:
        pairs = unpackb(data, object_pairs_hook=list, strict_map_key=False)
    except (ValueError, TypeError) as error:
        kind = TruncatedError if "incomplete" in str(error) else FormatError
        raise kind(f"not a map of msgpack: {error}", path=own) from None
    if type(pairs) is not list or bytes(data[:1]) < b"\x80" or b"\x90" <= bytes(data[:1]) < b"\xde":
        raise FormatError("found no map of msgpack", path=own)
    before = 0
    for i, (key, start) in enumerate(pairs):
        if type(key) is not str:
            raise FormatError(f"entry {i}: found the key {key!r:.60}, expected a string", path=own)
        if type(start) is not int or start < before or (i == 0 and start):
            raise FormatError(f"entry {i}: found the offset {start!r:.60}, expected ascending ones from 0 on", path=own)
        before = start
    if before > size or (pairs and before == size):
        raise TruncatedError(f"found {size} bytes, but its index has a sample at byte {before}", path=path)
    ends = np.array([start for _, start in pairs[1:]] + [size] * bool(pairs), np.int64)
    return offsets.encode(ends), keys.encode(key for key, _ in pairs)
