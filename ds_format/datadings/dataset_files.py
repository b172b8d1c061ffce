"""The files of a dataset: which of them count while a writer exchanges them, and all of them opened at once.

A writer has hidden files, from which readers and the next writer see how far it came::

    .D.lock          held by the only writer of the data file D, which removes it
    .D.new           what D will be, .D.keys.new what D.keys will be, and so on
    .D.journal       what counts now, one object in JSON; it appears and changes by a rename

Without a journal, D and the files next to it count. A journal says how many bytes of D count, and which files are
exchanged: all that were prepared are whole, and those that still have their hidden names count instead of the others.
So a journal with files makes a new dataset of an old one in one moment. One without files is that of a writer that
appends: D counts up to where it began.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..body import open_binary, path_text
from ..body.body import Body, FileBody, MemoryBody
from ..body.mapped import open_mapped
from ..body.stamp import Stamp
from ..errors import FormatError
from ..kernels.files.names import NAME_SIZE, exists, is_link, real_path, status
from . import format, index_files

SMALL_SIZE = 1 << 20
"""Bytes up to which an index file is read at once, and not kept open."""
PATIENCE = 1.0
"""Seconds for which files that do not fit one another are opened again: another process may be writing them."""
PAUSE = 0.01
LOCK = ".lock"
NEW = ".new"
JOURNAL = ".journal"
ORDER = ("", format.KEYS, format.KEY_HASHES, format.FILTER, format.MD5, format.SIDECAR, format.OFFSETS)
"""In which files get their names: the data first, and last the file that readers open first."""
JOURNAL_SIZE = 4096
"""Bytes of the longest journal that is read."""


class ExchangeJournal(NamedTuple):
    """What counts while files are exchanged."""

    size: int
    """Bytes of the data that count."""
    has_tail: bool
    """Whether the data may go on after them."""
    files: tuple[str, ...] = ()
    """Suffixes of the files that are exchanged, in order."""
    drops: tuple[str, ...] = ()
    """Suffixes of the files that are removed."""
    mark: tuple[int, ...] = ()
    """What tells it from any other journal of this name."""

    def encode(self) -> bytes:
        """Return the file."""
        return json.dumps({name: getattr(self, name) for name in self._fields[:-1]}).encode() + b"\n"


class DatasetFiles(NamedTuple):
    """The open files of a dataset; None: there is no such file."""

    data: Any
    """What the opener of the data file made."""
    size: int
    """Bytes of all samples."""
    n: int
    """Samples."""
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
    """Return the name under which a file is prepared, in the folder in which it will be: links are followed."""
    return hidden_name(real_path(path) if is_link(path) else path, NEW)


def possible_names(path: str, suffix: str, journal: ExchangeJournal | None) -> tuple[str, ...]:
    """Return the names of a file of a dataset, of which the first that exists is the one that counts."""
    own = path + suffix
    return (new_name(own), own) if journal is not None and suffix in journal.files else (own,)


def current_name(path: str, suffix: str) -> str:
    """Return the name of the file of a dataset that counts now; the usual one if there is none."""
    *prepared, own = possible_names(path, suffix, read_journal(path))
    return next((name for name in prepared if exists(name)), own)


def read_journal(path: str) -> ExchangeJournal | None:
    """Return the journal of a data file, if there is one, and it is of the data that are there.

    Another program may have written these since: then files and index are what they are.
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
    sizes = [known.st_size for name in possible_names(path, "", journal) if (known := status(name)) is not None]
    fits = sizes and (sizes[0] == journal.size or (journal.has_tail and sizes[0] > journal.size))
    return journal if fits else None


def _decode_journal(data: bytes, mark: tuple[int, ...]) -> ExchangeJournal | None:
    """Return a journal, or None if these are the bytes of none that a writer would make."""
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


def load(path: str) -> bytes:
    """Return the bytes of a file.

    Raises
    ------
    OSError
        If it cannot be opened, or is no file.
    """
    with open_binary(path, 0) as file:
        return file.read()


def load_if(path: str) -> bytes | None:
    """Return the bytes of a file as `load` does, or None if there is none."""
    try:
        return load(path)
    except FileNotFoundError:
        return None


def open_first(paths: Iterable[str], *, mmap: bool) -> Body | None:
    """Open the first of these files that exists; None if none does.

    A small one is read, a large one is mapped if that was asked for. Whatever stands under the name later, the bytes
    are those of the file that was opened.
    """
    for path in paths:
        try:
            file = FileBody.open(path)
        except FileNotFoundError:
            continue
        if file.size <= SMALL_SIZE:
            return MemoryBody(path, file.read(0, file.size))
        return open_mapped(path) if mmap else file
    return None


def open_dataset(path: str, opener: Callable[[str], Any], *, mmap: bool = False) -> DatasetFiles:
    """Open a dataset.

    Parameters
    ----------
    path : str
        The data file.
    opener : callable
        Opens the data file; what it makes has the attribute `size`, in bytes.
    mmap : bool
        Whether large index files are mapped.

    Raises
    ------
    FileNotFoundError
        If there is no data file, or no index of it.
    FormatError, TruncatedError
        If they do not fit one another, also after a second.
    """
    known: ExchangeJournal | None = None
    deadline = 0.0
    while True:
        found: DatasetFiles | None = None
        fault: FormatError | FileNotFoundError = FormatError("the dataset changes while it is opened", path=path)
        before = _offsets_stamp(path)
        try:
            found = _open(path, known, opener, mmap)
        except (FormatError, FileNotFoundError) as error:
            fault = error
        # A writer begins with the journal, and gives `.offsets` its name before the journal goes: in this order, one of
        # both report what it did since `before`
        now = read_journal(path)
        is_settled = now == known and (now is not None or _offsets_stamp(path) == before)
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


def _offsets_stamp(path: str) -> Stamp | None:
    """Return what tells the file of offsets from any other of this name."""
    try:
        return Stamp.of(os.stat(path + format.OFFSETS))
    except FileNotFoundError:
        return None


def _open(path: str, known: ExchangeJournal | None, opener: Callable[[str], Any], mmap: bool) -> DatasetFiles:
    """Open all files that count according to a journal, the data last, and compare their sizes."""

    def load(suffix: str) -> Body | None:
        return open_first(possible_names(path, suffix, known), mmap=mmap)

    own, key_file, hash_file, filter_file = map(load, (format.OFFSETS, format.KEYS, format.KEY_HASHES, format.FILTER))
    old = load(format.LEGACY_INDEX) if own is None or key_file is None else None
    data = _open_data(path, known, opener)
    offsets = None if own is None else read_all(own)
    size = counted_size(known, data.size, offsets)
    if old is not None:
        old_offsets, old_keys = index_files.decode_legacy(read_all(old), path, size)
        offsets = old_offsets if offsets is None else offsets
        key_file = MemoryBody(path, old_keys) if key_file is None else key_file
    if offsets is None:
        reason = f"{os.strerror(errno.ENOENT)}; {format.REPAIR}"
        raise FileNotFoundError(errno.ENOENT, reason, path + format.OFFSETS)
    n = index_files.check_offsets(offsets, path, size)
    if key_file is not None:
        index_files.check_key_count(key_file.head(index_files.KEY_HEADER_SIZE), path, n)
    if hash_file is not None:
        index_files.check_hash_size(hash_file.size, path, n)
    return DatasetFiles(data, size, n, offsets, key_file, hash_file, filter_file)


def read_all(file: Body) -> Any:
    """Return the bytes of a file; TruncatedError if it has become shorter."""
    return file.read(0, file.size)


def counted_size(known: ExchangeJournal | None, size: int, offsets: Any) -> int:
    """Return how many bytes of the data count, which are of some size: the journal says so, if the offsets agree."""
    if known is None or not known.has_tail or known.size > size:
        return size
    return known.size if offsets is None or index_files.last_offset(offsets) == known.size else size


def _open_data(path: str, known: ExchangeJournal | None, opener: Callable[[str], Any]) -> Any:
    *prepared, own = possible_names(path, "", known)
    for name in prepared:
        try:
            return opener(name)
        except FileNotFoundError:
            continue
    return opener(own)
