"""The index files of a dataset, made of keys and ends, and put beside its data in an order that leaves no doubt.

What is not complete has no `.offsets`: it goes before anything changes, and comes when all else is there. So data are
never found together with the index of other data.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray

from ..kernels import ranges
from ..target import Target, naming
from . import bloom, format, hashes, keys, md5, offsets

ORDER = (format.KEYS, format.KEY_HASHES, format.FILTER, format.OFFSETS, format.MD5)
"""In which the files get their names."""


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


@contextlib.contextmanager
def prepared(path: str, index: dict[str, bytes], *, durable: bool = False) -> Iterator[list[Target]]:
    """Write index files under temporary names, which are gone in the end.

    Parameters
    ----------
    path : str
        The data file.
    index : dict
        The files, as `encode` made them.
    durable : bool
        Flush files and folder to the disk when they get their names.
    """
    targets: list[Target] = []
    try:
        for suffix in ORDER:
            with naming(path + suffix):
                targets.append(Target(path + suffix, durable=durable))
                write_new(targets[-1].create(), index[suffix])
        yield targets
    finally:
        for target in targets:
            target.abort()


def commit(path: str, index: list[Target], data: Target | None = None, *, keeps_legacy: bool = False) -> None:
    """Give all files their names.

    Parameters
    ----------
    path : str
        The data file.
    index : list of Target
        The index files, as `prepared` wrote them.
    data : Target, optional
        The data file, if it has not yet its name.
    keeps_legacy : bool
        Keep an index of older versions.
    """
    for suffix in (format.OFFSETS,) if keeps_legacy else (format.LEGACY_INDEX, format.OFFSETS):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + suffix)
    if data is not None:
        data.commit()
    for target in index:
        target.commit()


def write_new(fd: int, data: bytes) -> None:
    """Write a file that was created, and close it."""
    try:
        ranges.write_at(fd, 0, data)
    finally:
        os.close(fd)
