"""All files of a dataset, opened so that they belong together, whatever its writer does meanwhile."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import FormatError
from . import format, journal, keys, legacy, offsets, parts
from .journal import Journal
from .parts import Part

PATIENCE = 1.0
"""Seconds for which files that do not fit one another are opened again: somebody may be writing them."""
PAUSE = 0.01


class Files(NamedTuple):
    """The files of a dataset; None: there is no such file."""

    data: Any
    """What the opener of the data file made."""
    size: int
    """Bytes of all samples."""
    n: int
    """Samples."""
    offsets: Part
    keys: Part | None
    hashes: Part | None
    filter: Part | None


def opened(path: str, opener: Callable[[str], Any], *, mmap: bool = False) -> Files:
    """Open a dataset.

    Parameters
    ----------
    path : str
        The data file.
    opener : callable
        Opens the data file; what it makes says its bytes by `size()`.
    mmap : bool
        Whether large index files are mapped.

    Raises
    ------
    FileNotFoundError
        If there is no data file, or no index of it.
    FormatError, TruncatedError
        If they do not fit one another, also after a second.
    """
    known: Journal | None = None
    deadline = 0.0
    while True:
        found: Files | None = None
        fault: FormatError | FileNotFoundError = FormatError("the dataset changes while it is opened", path=path)
        before = _mark(path)
        try:
            found = _open(path, known, opener, mmap)
        except (FormatError, FileNotFoundError) as error:
            fault = error
        # A writer begins with the journal, and gives `.offsets` its name before the journal goes: in this order, one of
        # both tells of whatever it did since `before`
        now = journal.read(path)
        is_settled = now == known and (now is not None or _mark(path) == before)
        if is_settled and found is not None:
            return found
        if is_settled and isinstance(fault, FileNotFoundError):
            raise fault
        deadline = deadline or time.monotonic() + PATIENCE
        if time.monotonic() > deadline:
            raise fault
        if is_settled:
            time.sleep(PAUSE)
        known = now


def _mark(path: str) -> tuple[int, ...] | None:
    """Return what tells the file of offsets from any other of this name."""
    try:
        found = os.stat(path + format.OFFSETS)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _open(path: str, known: Journal | None, opener: Callable[[str], Any], mmap: bool) -> Files:
    """Open all files that count according to a journal, the data last, and compare their sizes."""

    def load(suffix: str) -> Part | None:
        return parts.open_first(journal.names(path, suffix, known), mmap=mmap)

    own, key_file, hash_file, filter_file = map(load, (format.OFFSETS, format.KEYS, format.KEY_HASHES, format.FILTER))
    old = load(format.LEGACY_INDEX) if own is None or key_file is None else None
    data = _data(path, known, opener)
    size = counted(known, data.size, None if own is None else own.data)
    if old is not None:
        old_offsets, old_keys = map(Part, legacy.decode(old.data, path, size))
        own = old_offsets if own is None else own
        key_file = old_keys if key_file is None else key_file
    if own is None:
        reason = f"{os.strerror(errno.ENOENT)}; {parts.REPAIR}"
        raise FileNotFoundError(errno.ENOENT, reason, path + format.OFFSETS)
    n = offsets.check(own.data, path, size)
    if key_file is not None:
        keys.check_count(key_file.start(keys.HEADER_SIZE), path, n)
    if hash_file is not None:
        parts.check_size(path + format.KEY_HASHES, hash_file.size, format.HASH_SIZE * (n + 1), n)
    return Files(data, size, n, own, key_file, hash_file, filter_file)


def counted(known: Journal | None, size: int, own: Any) -> int:
    """Return how many bytes of the data count, which are of some size: the journal says so, if the offsets agree."""
    if known is None or not known.has_tail or known.size > size:
        return size
    return known.size if own is None or offsets.end(own) == known.size else size


def _data(path: str, known: Journal | None, opener: Callable[[str], Any]) -> Any:
    *prepared, own = journal.names(path, "", known)
    for name in prepared:
        try:
            return opener(name)
        except FileNotFoundError:
            continue
    return opener(own)
