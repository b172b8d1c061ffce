"""Making all index files anew, from the data or from the index of an older version."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..base.progress import Advance, Progress
from ..body.target import naming
from ..errors import FormatError
from ..kernels.files.presence import exists
from . import format, journal, keys, legacy, md5, parts, publish, scan
from .claim import Claim


def reindex(path: Any, *, cut: bool = False, durable: bool = False, progress: Progress | None = None) -> int:
    """Make the index files of a dataset anew.

    The places of the samples come from the data. The keys are the entries `key` of the samples; where one has none, all
    come from the file `.keys`, or `.index` of older versions, if it has as many. An `.index` is kept. What a killed
    writer was exchanging is finished before. If reindexing fails or is killed, nothing changes.

    Parameters
    ----------
    path : str, bytes or PathLike
        The data file.
    cut : bool
        Cut off all from the first byte on that is no whole sample with a key: after a crash of a writer, whose whole
        samples are kept, or a copy that was not finished.
    durable : bool
        Flush the files to the disk.
    progress : callable, optional
        Called with the bytes done and the bytes in all; the data are read twice.

    Returns
    -------
    int
        The number of samples.

    Raises
    ------
    FormatError, TruncatedError
        If something in the data is no message, or they are empty and the index is not; the message says where.
    BusyError
        If somebody is writing the dataset.
    UnsupportedError
        If two samples have the same key.

    Examples
    --------
    >>> import os, tempfile
    >>> from ds_format.datadings.reindex import reindex
    >>> from ds_format.datadings.writer import FileWriter
    >>> path = tempfile.mkdtemp() + "/numbers.msgpack"
    >>> with FileWriter(path) as writer:
    ...     size = writer.write({"key": "a", "value": 1})
    >>> os.remove(path + ".offsets")
    >>> reindex(path)
    1
    """
    name = format.data_path(path)
    os.stat(journal.place(name, ""))
    claim = Claim(name, durable=durable, keeps_tail=True)
    try:
        advance = Advance(progress)
        names, ends = _samples(name, cut, advance)
        size = int(ends[-1]) if len(ends) else 0
        index = publish.encode(name, names, ends, md5.of_file(name, size, advance))
        if exists(name + format.LEGACY_INDEX):
            index[format.MD5] = _legacy_sums(name, index[format.MD5])
        with naming(name):
            for suffix, data in index.items():
                claim.prepare(suffix, data)
            claim.commit(size, has_tail=cut)
    except BaseException:
        claim.undo()
        raise
    finally:
        claim.release()
    return len(names)


def _samples(path: str, cut: bool, advance: Advance) -> tuple[list[str], Any]:
    """Return the keys of all samples, and where they end, (n,) int64."""
    every = scan.Messages(path)
    if not every.size and _n_keys(path):
        raise FormatError("is empty, but its index has samples", path=path)
    advance.total, end = 2 * every.size, 0
    blocks = []
    for block in every:
        blocks.append(block)
        advance.add(every.end - end)
        end = every.end
    ends = np.concatenate([block.ends for block in blocks]) if blocks else np.empty(0, np.int64)
    if not cut:
        every.check_whole()
    if any(block.is_absent for block in blocks):
        other = _other_keys(path, every.n)
        if other is not None:
            return other, ends
    names: list[str] = []
    for block in blocks:
        if block.fault or not cut:
            scan.check_keys(block, len(names), path)
        names += block.keys
        if block.is_absent:
            break
    if cut and not names and every.size:
        raise FormatError("begins with no sample that has a key, and would be cut to nothing", path=path)
    return names, ends[: len(names)]


def _n_keys(path: str) -> int:
    key_file = parts.load_if(path + format.KEYS)
    return 0 if key_file is None else keys.count(key_file, path)[0]


def _other_keys(path: str, n: int) -> list[str] | None:
    """Return the keys of n samples from another index file, or None."""
    key_file = parts.load_if(path + format.KEYS)
    if key_file is None:
        old = parts.load_if(path + format.LEGACY_INDEX)
        key_file = None if old is None else legacy.decode(old, path, os.stat(path).st_size)[1]
    if key_file is None or keys.count(key_file, path)[0] != n:
        return None
    return keys.decode(key_file, path)


def _legacy_sums(path: str, own: bytes) -> bytes:
    """Return the checksums in the order of datasets that were converted: data, old index, and then the new files."""
    name = os.path.basename(path)
    sums = md5.decode(own).digests | {name + format.LEGACY_INDEX: md5.of_file(path + format.LEGACY_INDEX)}
    order = ("", format.LEGACY_INDEX, format.KEYS, format.KEY_HASHES, format.FILTER, format.OFFSETS)
    return md5.encode((name + suffix, sums[name + suffix]) for suffix in order)
