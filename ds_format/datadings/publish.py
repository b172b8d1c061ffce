"""All index files of a dataset, made of keys and ends."""

from __future__ import annotations

import os
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from . import bloom, format, hashes, keys, md5, offsets


def encode(path: str, names: Collection[str], ends: NDArray[np.int64], digest: str) -> dict[str, bytes]:
    """Return the index files by suffix.

    Parameters
    ----------
    path : str
        The data file.
    names : collection of str
        The keys of n samples.
    ends : (n,) int64
        Where they end, in bytes.
    digest : str
        MD5 of the data file, as 32 hexadecimal digits.

    Raises
    ------
    UnsupportedError
        If two keys are the same.
    """
    key_file = keys.encode(names)
    strings = memoryview(key_file)[keys.count(key_file, path)[1] :]
    files = {
        format.OFFSETS: offsets.encode(ends),
        format.KEYS: key_file,
        format.KEY_HASHES: hashes.encode(strings, len(names)),
        format.FILTER: bloom.encode(strings, len(names)),
    }
    name = os.path.basename(path)
    sums = [(name + suffix, md5.of_bytes(data)) for suffix, data in files.items()]
    return files | {format.MD5: md5.encode([(name, digest), *sums])}
