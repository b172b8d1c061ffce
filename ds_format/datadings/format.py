"""The files of a dataset, in the order in which their checksums are listed.

::

    D              the samples: messages of msgpack, one after another
    D.offsets      n + 1 integers of 64 bits, big-endian: where each sample starts, and the size of D
    D.keys         one array of n strings, in msgpack
    D.key_hashes   a salt of 8 bytes, then 8 bytes of the hash of each key
    D.filter       a Bloom filter of the keys
    D.md5          a checksum of each file above
    D.index        what older versions wrote instead: one map of key to start, in msgpack
    D.meta         what the driver of this package puts beside, where a dataset was made samples

D is customarily called `name.msgpack`. Only `.filter` says what it is and how long; all else is known by its size.

Sources: the page "File format" of the datadings documentation; what datadings 3.4.7 writes, where that is silent.
"""

from __future__ import annotations

import os
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
"""Suffixes that no data file may have: other programs would write its index over it."""
SUFFIX = ".msgpack"
"""Of data files, by custom."""
KEY = "key"
"""The entry of a sample that names it in the dataset."""
OFFSET_SIZE = 8
"""Bytes of an offset."""
HASH_SIZE = 8
"""Bytes of a hash, and of the salt."""
REPAIR = "`ds reindex` makes it from the data"
"""What messages about a damaged index file end with."""
MAX_SAMPLES = (1 << 32) - 1
"""As many as an array of msgpack can have entries."""


def data_path(path: Any) -> str:
    """Return the path of a data file.

    Raises
    ------
    UnsupportedError
        If it ends in the suffix of an index file.

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


def is_part(path: str) -> bool:
    """Whether a file belongs to a data file next to it.

    Examples
    --------
    >>> from ds_format.datadings import format
    >>> format.is_part("no_such_file.msgpack.keys")
    False
    """
    stem, end = os.path.splitext(path)
    if end not in (*INDEX, MD5, LEGACY_INDEX, SIDECAR) or not exists(stem):
        return False
    return stem.lower().endswith(SUFFIX) or exists(stem + OFFSETS)
