"""The files of a dataset, in the order of their lines in the list of checksums.

::

    D              the samples: messages of msgpack, one after another
    D.offsets      n + 1 integers of 64 bits, big-endian: the start of each sample, and the size of D
    D.keys         one array of n strings, in msgpack
    D.key_hashes   a salt of 8 bytes, then 8 bytes of the hash of each key
    D.filter       a Bloom filter of the keys
    D.md5          a checksum of each file above
    D.index        written by older versions instead: one map of key to start, in msgpack
    D.meta         written by the driver of this package for a dataset that was converted to samples

By convention D is named `name.msgpack`. Only `.filter` contains a magic number and its length; the other files have
neither, and only their sizes can be checked.

Sources: the page "File format" of the datadings documentation and, where it is silent, the files that datadings 3.4.7
writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ..body import path_text
from ..errors import UnsupportedError
from ..kernels.files.names import exists

OFFSETS = ".offsets"
KEYS = ".keys"
KEY_HASHES = ".key_hashes"
FILTER = ".filter"
MD5 = ".md5"
LEGACY_INDEX = ".index"
SIDECAR = ".meta"
INDEX = (OFFSETS, KEYS, KEY_HASHES, FILTER)
"""Suffixes of the index files."""
RESERVED = (*INDEX, LEGACY_INDEX)
"""Suffixes that no data file may have: other programs would overwrite it with an index."""
SUFFIX = ".msgpack"
"""Suffix of data files, by convention."""
KEY = "key"
"""The entry of a sample that contains its key."""
OFFSET_SIZE = 8
"""Bytes of an offset."""
HASH_SIZE = 8
"""Bytes of a hash, and of the salt."""
REPAIR = "`ds reindex` makes it from the data"
"""End of messages about a damaged index file."""
MAX_SAMPLES = (1 << 32) - 1
"""Maximum number of entries of an array in msgpack."""


def data_path(path: Any) -> str:
    """Return the path of a data file.

    Raises
    ------
    UnsupportedError
        If the path ends in the suffix of an index file.

    Examples
    --------
    >>> from ds_format.datadings import format
    >>> format.data_path("train.msgpack")
    'train.msgpack'
    """
    name = path_text(path)
    for suffix in RESERVED:
        if name.endswith(suffix):
            raise UnsupportedError(f"a data file must not end in {suffix}, as index files do", path=name)
    return name


def is_sidecar(path: str, exists: Callable[[str], bool] = exists) -> bool:
    """Return whether a file is an accompanying file of a data file next to it.

    Parameters
    ----------
    path : str
    exists : callable
        Whether there is a file of a path.

    Examples
    --------
    >>> from ds_format.datadings import format
    >>> format.is_sidecar("no_such_file.msgpack.keys")
    False
    """
    stem, end = os.path.splitext(path)
    if end not in (*INDEX, MD5, LEGACY_INDEX, SIDECAR) or not exists(stem):
        return False
    return stem.lower().endswith(SUFFIX) or exists(stem + OFFSETS)
