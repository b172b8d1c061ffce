"""The files of a dataset: which of them count while a writer exchanges them, and opening all of them together.

A writer has hidden files. They show readers and the next writer how far it has come::

    .D.lock          locked by the only writer of the data file D, which removes it
    .D.new           the next D; .D.keys.new the next D.keys, and so on
    .D.journal       the files that count now, as one JSON object; created and replaced by a rename

Without a journal, D and the files next to it count. A journal has the number of bytes of D that count, and the files
that are exchanged. All prepared files are complete. One that still has its hidden name counts instead of the older one.
So a journal with files replaces the old dataset by the new one at one moment. A journal without files belongs to a
writer that appends: D counts up to the position where the writer began.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..body import Address, path_text
from ..body.body import FIRST_SIZE, Body, FileBody, MemoryBody, open_unread
from ..body.mapped import open_mapped
from ..body.remote.fetching import side_by_side
from ..body.stamp import Stamp
from ..errors import FormatError
from ..kernels.files.names import NAME_SIZE, exists, is_link, real_path, status
from . import format, index_files

SMALL_SIZE = 1 << 20
"""Index files of at most this size, in bytes, are read completely and not kept open."""
PATIENCE = 1.0
"""Seconds during which inconsistent files are opened again, since another process may be writing them."""
PAUSE = 0.01
LOCK = ".lock"
NEW = ".new"
JOURNAL = ".journal"
ORDER = ("", format.KEYS, format.KEY_HASHES, format.FILTER, format.MD5, format.SIDECAR, format.OFFSETS)
"""Order in which files get their names: first the data, last the file that readers open first."""
JOURNAL_SIZE = 4096
"""Maximum number of bytes of a journal that are read."""


class ExchangeJournal(NamedTuple):
    """State of an exchange of files: which bytes and files count."""

    size: int
    """Bytes of the data that count."""
    has_tail: bool
    """Whether the data file may be longer."""
    files: tuple[str, ...] = ()
    """Suffixes of the files that are exchanged, in order."""
    drops: tuple[str, ...] = ()
    """Suffixes of the files to remove."""
    mark: tuple[int, ...] = ()
    """Inode and modification time, which differ between any two journals of this name."""

    def encode(self) -> bytes:
        """Return the bytes of the file."""
        return json.dumps({name: getattr(self, name) for name in self._fields[:-1]}).encode() + b"\n"


class DatasetFiles(NamedTuple):
    """The open files of a dataset; None for a file that does not exist."""

    data: Body
    """The data file."""
    size: int
    """Bytes of all samples."""
    n: int
    """Number of samples."""
    offsets: Any
    """The bytes of `.offsets`."""
    keys: Body | None
    hashes: Body | None
    filter: Body | None


def hidden_name(path: str, end: str) -> str:
    """Return the name of a hidden file next to another one.

    Examples
    --------
    >>> from ds_format.datadings import dataset_files
    >>> dataset_files.hidden_name("folder/a.msgpack", dataset_files.LOCK)
    'folder/.a.msgpack.lock'
    """
    name = os.path.basename(path)
    folder, encoded = path[: len(path) - len(name)], os.fsencode(name)
    if 1 + len(encoded) + len(end) > NAME_SIZE:
        digest = hashlib.md5(encoded, usedforsecurity=False).hexdigest()
        name = path_text(encoded[: NAME_SIZE - 50]) + digest
    return f"{folder}.{name}{end}"


def new_name(path: str) -> str:
    """Return the hidden name for preparing a file. It is in the folder of the target: symbolic links are followed."""
    return hidden_name(real_path(path) if is_link(path) else path, NEW)


def possible_names(path: str, suffix: str, journal: ExchangeJournal | None) -> tuple[str, ...]:
    """Return the possible names of a file of a dataset. The first one that exists is the file that counts."""
    own = path + suffix
    return (new_name(own), own) if journal is not None and suffix in journal.files else (own,)


def current_name(path: str, suffix: str) -> str:
    """Return the name of the file that counts now, or its usual name if there is none."""
    *prepared, own = possible_names(path, suffix, read_journal(path))
    return next((name for name in prepared if exists(name)), own)


def read_journal(path: str) -> ExchangeJournal | None:
    """Return the journal of a data file, or None if there is none, or it does not fit the data.

    Another program may have replaced the data since. Then the journal is ignored.
    """
    name = hidden_name(path, JOURNAL)
    if not exists(name):
        return None
    try:
        file = FileBody.open(name)
    except FileNotFoundError:
        return None
    stamp = file.watch.stamp
    journal = _decode_journal(bytes(file.head(JOURNAL_SIZE)), () if stamp is None else (stamp.inode, stamp.mtime))
    if journal is None or not journal.files:
        return journal
    sizes = [entry.st_size for name in possible_names(path, "", journal) if (entry := status(name)) is not None]
    fits = sizes and (sizes[0] == journal.size or (journal.has_tail and sizes[0] > journal.size))
    return journal if fits else None


def _decode_journal(data: bytes, mark: tuple[int, ...]) -> ExchangeJournal | None:
    """Return a journal, or None if no writer would write these bytes."""
    try:
        found = json.loads(data)
        size, has_tail = found["size"], found["has_tail"]
        files, drops = tuple(found["files"]), tuple(found["drops"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if type(size) is not int or size < 0 or type(has_tail) is not bool:
        return None
    if any(suffix not in ORDER for suffix in files) or any(suffix != format.LEGACY_INDEX for suffix in drops):
        return None
    return ExchangeJournal(size, has_tail, files, drops, mark)


def open_current(where: str | Address, suffix: str) -> Body | None:
    """Open the file of a dataset that counts now; None if it does not exist. `where` is the data file.

    Raises
    ------
    OSError
        If it cannot be opened, or is not a file.
    """
    try:
        if isinstance(where, Address):
            return open_unread(where.sibling(suffix) if suffix else where)
        return FileBody.open(current_name(where, suffix))
    except FileNotFoundError:
        return None


def load_current(where: str | Address, suffix: str) -> Any:
    """Return the bytes of the file that `open_current` opens, or None."""
    file = open_current(where, suffix)
    return None if file is None else read_all(file)


def load_sums(where: str | Address) -> dict[str, str]:
    """Return the checksums in `.md5`: file name → digest. There are none without this file."""
    return index_files.decode_sums(bytes(load_current(where, format.MD5) or b"")).digests


def open_first(paths: Iterable[str], *, small: int, mmap: bool) -> Body | None:
    """Open the first of these files that exists, or return None.

    A file of at most `small` bytes is read; a larger one is mapped if `mmap` is true. The bytes are those of the file
    that was opened, even if it is replaced later.
    """
    for path in paths:
        try:
            file = FileBody.open(path)
        except FileNotFoundError:
            continue
        if file.size <= small:
            return MemoryBody(path, file.read(0, file.size))
        return open_mapped(path) if mmap else file
    return None


def open_dataset(path: str, *, mmap: bool = False) -> DatasetFiles:
    """Open a dataset.

    Parameters
    ----------
    path : str
        The data file.
    mmap : bool
        Map the data file and large index files into memory.

    Raises
    ------
    FileNotFoundError
        If there is no data file, or it has no index.
    FormatError, TruncatedError
        If the files are still inconsistent after one second.
    """
    journal: ExchangeJournal | None = None
    deadline = 0.0
    while True:
        files: DatasetFiles | None = None
        fault: FormatError | FileNotFoundError = FormatError("the dataset changes while it is opened", path=path)
        before = _offsets_stamp(path)
        try:
            files = _open(path, journal, mmap)
        except (FormatError, FileNotFoundError) as error:
            fault = error
        # A writer first writes the journal, and renames `.offsets` before it removes the journal. In this order of
        # checks, one of both shows any exchange that happened since `before`
        now = read_journal(path)
        is_settled = now == journal and (now is not None or _offsets_stamp(path) == before)
        if is_settled and files is not None:
            return files
        if is_settled and isinstance(fault, FileNotFoundError):
            raise fault
        deadline = deadline or time.monotonic() + PATIENCE
        if time.monotonic() > deadline:
            raise fault
        if is_settled:
            time.sleep(PAUSE)
        journal = now


def _offsets_stamp(path: str) -> Stamp | None:
    """Return the stamp of the file of offsets, or None if it does not exist. It changes if the file is replaced."""
    try:
        return Stamp.of(os.stat(path + format.OFFSETS))
    except FileNotFoundError:
        return None


def _open(path: str, journal: ExchangeJournal | None, mmap: bool) -> DatasetFiles:
    """Open all files that count according to a journal."""

    def load(suffix: str) -> Body | None:
        names = possible_names(path, suffix, journal)
        found = open_first(names, small=SMALL_SIZE if suffix else -1, mmap=mmap)
        return found if found or suffix else FileBody.open(path)  # which raises the error that it does not exist

    return _compared(path, load, journal)


def open_elsewhere(address: Address) -> DatasetFiles:
    """Open a dataset at an address: all files side by side, with one request for each.

    Hidden files of writers are ignored, since stores elsewhere have finished datasets only.

    Raises
    ------
    FileNotFoundError, FormatError, TruncatedError
        As `open_dataset`, but at once.
    """

    @functools.cache
    def load(suffix: str) -> Body | None:
        own = address.sibling(suffix) if suffix else address
        try:
            body: Body = own.open(FIRST_SIZE)
        except FileNotFoundError:
            if not suffix:
                raise
            return None
        return body

    suffixes = ["", *format.INDEX]
    side_by_side([functools.partial(load, suffix) for suffix in suffixes], len(suffixes))
    return _compared(address.name, load, None)


def _compared(path: str, load: Callable[[str], Any], journal: ExchangeJournal | None) -> DatasetFiles:
    """Open files by their suffixes, and compare their sizes."""
    data, hash_file, filter_file = map(load, ("", format.KEY_HASHES, format.FILTER))
    size = counted_size(journal, data.size, load)
    offsets, key_file = read_index(path, load, size)
    if offsets is None:
        reason = f"{os.strerror(errno.ENOENT)}; {format.REPAIR}"
        raise FileNotFoundError(errno.ENOENT, reason, path + format.OFFSETS)
    n = index_files.check_offsets(offsets, path, size)
    if key_file is not None:
        index_files.check_key_count(key_file.head(index_files.KEY_HEADER_SIZE), path, n)
    if hash_file is not None:
        index_files.check_hash_size(hash_file.size, path, n)
    return DatasetFiles(data, size, n, offsets, key_file, hash_file, filter_file)


def read_index(path: str, load: Callable[[str], Body | None], size: int) -> tuple[Any, Body | None]:
    """Return the bytes of the offsets, and the file of keys; None for those that do not exist.

    Those that are missing come from the index of older versions, if there is one.

    Parameters
    ----------
    path : str
        The data file, for messages.
    load : callable
        Opens a file by its suffix; returns None if it does not exist.
    size : int
        Bytes of all samples.
    """
    own, key_file = load(format.OFFSETS), load(format.KEYS)
    offsets = None if own is None else read_all(own)
    old = load(format.LEGACY_INDEX) if own is None or key_file is None else None
    if old is not None:
        old_offsets, old_keys = index_files.decode_legacy(read_all(old), path, size)
        offsets = old_offsets if offsets is None else offsets
        key_file = MemoryBody(path, old_keys) if key_file is None else key_file
    return offsets, key_file


def read_all(file: Body) -> Any:
    """Return the bytes of a file; TruncatedError if it became shorter."""
    return file.read(0, file.size)


def counted_size(journal: ExchangeJournal | None, size: int, load: Callable[[str], Body | None]) -> int:
    """Return the number of bytes that count, of a data file of `size` bytes: from the journal, if the offsets agree."""
    if journal is None or not journal.has_tail or journal.size > size:
        return size
    own = load(format.OFFSETS)
    return journal.size if own is None or index_files.last_offset(read_all(own)) == journal.size else size
