"""The index of the samples of a dataset: their number, offsets and keys.

They come from the index files. If one of these is missing, they come from the messages in the data file.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.threads import renew_lock
from ..body import Address
from ..body.body import Body, FileBody
from ..errors import DsError, FormatError, MissingError
from ..kernels.datadings.index import Lookup
from ..kernels.msgpack.walk import Keys, find_messages, measure, strings_at
from . import dataset_files, format, index_files, messages
from .dataset_files import DatasetFiles

SCANS = 16
"""Number of lookups that compare all hashes, before a table of all keys is built."""
SMALL = 4096
"""Maximum number of samples for which the table is built at once."""
MESSAGES = 1 << 16
"""Maximum number of messages in a block."""
WINDOW = 1 << 22
"""Bytes that are read at once, if they contain a whole message."""
CUT_OFF = 1
"""Result of `kernels.msgpack.walk.measure` for a message that continues after the given bytes."""


class MessageBlock(NamedTuple):
    """Some consecutive messages."""

    ends: NDArray[np.int64]
    """(n,): end of each message, in bytes of the data file."""
    keys: list[str]
    """Strings of the entries `key`, up to the first message that has none, or an invalid one."""
    is_absent: bool
    """Whether a message has no key."""
    fault: str
    """The fault of the first key that is not in `keys`, if it is in the message."""


class Messages:
    """All messages of a data file, in blocks, up to the end or to the first invalid message.

    Parameters
    ----------
    path : str
        The data file, which is read in blocks.
    size : int, optional
        Bytes that count; by default the whole file.
    file : Body, optional
        The data file, if it is open.

    Attributes
    ----------
    size : int
        Bytes that count.
    end : int
        End of the last message found, in bytes.
    n : int
        Number of messages found.
    """

    def __init__(self, path: str, size: int | None = None, file: Body | None = None):
        self.path = path
        self._file = FileBody.open(path) if file is None else file
        self.size = self._file.size if size is None else size
        self.end = self.n = 0

    def __iter__(self) -> Iterator[MessageBlock]:
        room = WINDOW
        while self.end < self.size:
            data = self._file.read(self.end, min(room, self.size - self.end))
            ends, keys = np.empty(MESSAGES, np.int64), np.empty(MESSAGES, np.int64)
            n = find_messages(data, 0, ends, keys)
            if n:
                yield self._block(data, ends[:n], keys[:n])
                room = WINDOW
            elif measure(data, 0)[1] == CUT_OFF and len(data) < self.size - self.end:
                room *= 4
            else:
                return

    def _block(self, data: bytes, ends: NDArray[np.int64], places: NDArray[np.int64]) -> MessageBlock:
        n_keys = int(np.argmax(places < 0)) if (places < 0).any() else len(places)
        found, wrong = strings_at(data, places[:n_keys])
        start = self.end
        self.end += int(ends[-1])
        self.n += len(ends)
        fault = f"its key, at byte {start + places[len(found)]}: {wrong}" if wrong else ""
        return MessageBlock(ends + start, found, n_keys < len(places), fault)

    def check_whole(self) -> None:
        """Raise an error for the message at which iterating ended, unless this was the end of the file."""
        if self.end < self.size:
            at, fault = measure(self._file.read(self.end, self.size - self.end), 0)
            error = messages.fault(fault, at)
            raise type(error)(f"sample {self.n} at byte {self.end}: {error.message}", path=self.path)


def check_keys(block: MessageBlock, first: int, path: str) -> None:
    """Raise a FormatError unless all messages of a block have keys. The number of the first message is `first`."""
    i = first + len(block.keys)
    if block.fault:
        raise FormatError(f"sample {i}: {block.fault}", path=path)
    if block.is_absent:
        raise FormatError(f"sample {i} has no entry {format.KEY!r} with a string", path=path)


def scan_key(file: Body, path: str, i: int, start: int, stop: int) -> str:
    """Return the key of sample i, which is between two offsets of the open data file. Nothing else is read.

    Raises
    ------
    FormatError
        If the sample is not at these offsets, or has no key.
    """
    data = file.read(start, stop - start)
    ends, places = np.empty(1, np.int64), np.empty(1, np.int64)
    if not find_messages(data, 0, ends, places) or ends[0] != len(data):
        raise FormatError(f"sample {i} is not where the index says; {format.REPAIR}", path=path + format.OFFSETS)
    found, wrong = strings_at(data, places[places >= 0])
    fault = f"its key, at byte {start + places[0]}: {wrong}" if wrong else ""
    check_keys(MessageBlock(ends, found, bool(places[0] < 0), fault), i, path)
    return found[0]


def scan_keys(file: Body, path: str, offsets_data: Any, size: int) -> bytes:
    """Return the bytes of the file `.keys` for the samples.

    Parameters
    ----------
    file : Body
        The open data file.
    path : str
        The data file.
    offsets_data : bytes-like
        The file `.offsets`.
    size : int
        Bytes of all samples together.

    Raises
    ------
    FormatError
        If the samples are not at the offsets, or one has no key.
    """
    offsets = np.frombuffer(offsets_data, ">u8")
    found: list[str] = []
    every = Messages(path, size, file)
    for block in every:
        n = len(found)
        if not np.array_equal(offsets[n + 1 : n + 1 + len(block.ends)], block.ends.astype(">u8")):
            raise FormatError(f"samples are not where the index says; {format.REPAIR}", path=path + format.OFFSETS)
        check_keys(block, n, path)
        found += block.keys
    every.check_whole()
    return index_files.encode_keys(found)


class SampleIndex:
    """The index of a dataset.

    Opening reads the offsets and compares sizes. Inconsistent files may just be written by another process; they are
    opened again for up to one second. Other files, if large, are read on demand. An open index stays valid if the
    dataset is replaced or appended to. Threads may share an index. A copy by pickle opens the files again.

    Filter and hashes determine that a key is absent. If they do not deny a key, it is compared with the key in the
    sample and, if this is different, with the key in `.keys`. A large file `.keys` is only read for a table of all
    keys, which pays off after some lookups. Without `.keys` the keys in the samples are compared. Without `.key_hashes`
    the hashes are computed. Without `.filter` the hashes alone determine absence.

    Parameters
    ----------
    path : str, bytes, PathLike or Address
        The data file.
    mmap : bool
        Map the data file and large index files into memory, which processes then share. Truncating a mapped file kills
        the process (SIGBUS).

    Attributes
    ----------
    path : str
        The data file.
    size : int
        Bytes of all samples together.

    Raises
    ------
    FileNotFoundError
        If there is no data file, or it has no index.
    FormatError, TruncatedError
        If a file does not have the size that follows from the others, or is invalid; the message names it.

    Examples
    --------
    >>> import tempfile
    >>> from ds_format.datadings.sample_index import SampleIndex
    >>> from ds_format.datadings.writer import FileWriter
    >>> path = tempfile.mkdtemp() + "/numbers.msgpack"
    >>> with FileWriter(path) as writer:
    ...     _ = writer.write({"key": "a", "value": 1}), writer.write({"key": "b", "value": 2})
    >>> index = SampleIndex(path)
    >>> len(index), index.bounds(1), index.key(1), index.find("b"), "c" in index
    (2, (14, 28), 'b', 1, False)
    """

    def __init__(self, path: Any, *, mmap: bool = False):
        self.path = format.data_path(path)
        self._where = path if isinstance(path, Address) else self.path
        self._mmap = mmap
        self._lock = threading.RLock()
        renew_lock(self, threading.RLock)
        self._forget()
        self._open()

    def _forget(self) -> None:
        self._files: DatasetFiles | None = None
        self._keys: Keys | None = None
        self._hashes: Any = None
        self._table: tuple[Lookup, Keys, Any] | None = None
        self._filter: index_files.BloomFilter | None = None
        self._is_filter_loaded = False
        self._is_hash_file_checked = False
        self._scans_left = SCANS

    def _open(self) -> DatasetFiles:
        """Open all files together, so that they belong to one version of the dataset."""
        with self._lock:
            if self._files is None:
                where = self._where
                if isinstance(where, Address):
                    files = dataset_files.open_elsewhere(where)
                else:
                    files = dataset_files.open_dataset(where, mmap=self._mmap)
                self.size, self._n = files.size, files.n
                self._files = files
            return self._files

    def __len__(self) -> int:
        return self._n

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(SampleIndex, mmap=self._mmap), (self._where,)

    @property
    def data(self) -> Body:
        """The open data file."""
        return (self._files or self._open()).data

    @property
    def missing(self) -> list[str]:
        """The suffixes of missing files, without which lookups take longer."""
        files = self._files or self._open()
        found = {format.KEYS: files.keys, format.KEY_HASHES: files.hashes, format.FILTER: files.filter}
        return [suffix for suffix, data in found.items() if data is None]

    @property
    def offsets(self) -> Any:
        """The bytes of the offsets, n + 1 integers of 64 bits, big-endian."""
        return (self._files or self._open()).offsets

    def bounds(self, i: int) -> tuple[int, int]:
        """Return start and end of sample i, from 0 to n - 1, in bytes of the data file.

        Raises
        ------
        IndexError
            If there is no such sample.
        FormatError
            If the offsets do not ascend.
        """
        if not 0 <= i < self._n:
            raise IndexError(f"no sample {i} among {self._n}")
        start, stop = index_files.spans(self.offsets, i, i + 1, self.path, self.size)
        return start, stop

    def spans(self, start: int, stop: int) -> list[int]:
        """Return the starts of the samples from `start` to `stop` - 1, and the end of the last one; as `bounds`."""
        if not 0 <= start <= stop <= self._n:
            raise IndexError(f"no samples {start} to {stop} among {self._n}")
        return index_files.spans(self.offsets, start, stop, self.path, self.size)

    def key(self, i: int) -> str:
        """Return the key of sample i, from 0 to n - 1.

        Raises
        ------
        IndexError
            If there is no such sample.
        FormatError
            If the file of keys is damaged.
        """
        if not 0 <= i < self._n:
            raise IndexError(f"no sample {i} among {self._n}")
        if self._keys is None and self._open().keys is None:
            return scan_key(self.data, self.path, i, *self.bounds(i))
        try:
            return (self._keys or self._load_keys()).get(i)
        except UnicodeDecodeError as error:
            raise FormatError(f"key {i} is not UTF-8: {error.reason}", path=self.path + format.KEYS) from None

    def keys(self, start: int = 0, stop: int | None = None) -> list[str]:
        """Return the keys of the samples from `start` to `stop` - 1 (None: to the last one); as `key`."""
        stop = self._n if stop is None else stop
        return index_files.key_strings(self._keys or self._load_keys(), start, stop, self.path)

    def _load_keys(self) -> Keys:
        with self._lock:
            if self._keys is None:
                files = self._open()
                data = (
                    scan_keys(self.data, self.path, files.offsets, files.size)
                    if files.keys is None
                    else dataset_files.read_all(files.keys)
                )
                self._keys = index_files.open_keys(data, self.path)
            return self._keys

    def find(self, key: str) -> int:
        """Return the number of the sample with a key. If several have it, return the last one.

        Raises
        ------
        MissingError
            If no sample has it. It is a `KeyError`.
        FormatError
            If the file of keys, or the file of hashes, is damaged.
        """
        i = self._find(key)
        if i < 0:
            raise MissingError(f"no sample with the key {key!r:.200}", path=self.path)
        return i

    def known_number(self, key: str) -> int:
        """Return the number of the sample with a key, or a negative one if only `find` can tell."""
        found = self._table
        return -1 if found is None else found[0].find(key, found[1])

    def __contains__(self, key: object) -> bool:
        found = self._table
        if found is not None and type(key) is str:
            i = found[0].find(key, found[1])
            if i >= -1:
                return i >= 0
        elif self._is_denied(key):
            return False
        return self._find(key) >= 0

    def _find(self, key: object) -> int:
        """Return the number of the sample with a key, or a negative number if there is none."""
        if not isinstance(key, str):
            return -1
        if self._table is None:
            if self._keys is None and self._is_denied(key):
                return -1
            files = self._open()
            is_early = self._n > SMALL and self._scans_left > 0
            if files.hashes is not None and (is_early or files.keys is None):
                self._scans_left -= 1
                return self._find_by_hash(key, self._load_hashes())
        lookup, names, data = self._table or self._load_table()
        i = lookup.find(key, names)
        if i < -1:
            self._check_hash(data, -2 - i)
        return i

    def _find_by_hash(self, key: str, data: Any) -> int:
        """Find a key by the hashes. Only samples with this hash are read."""
        self._check_ends(data)
        try:
            wanted = key.encode()
        except UnicodeEncodeError:
            return -1
        own = np.frombuffer(index_files.hash_key(wanted, data), np.uint64)
        for i in map(int, np.flatnonzero(np.frombuffer(data, np.uint64)[1:] == own)[::-1]):
            if self._passes(i, wanted.__eq__):
                return i
            self._check_hash(data, i)
        return -1

    def _load_hashes(self) -> Any:
        """Return the bytes of the file of hashes, which is read once; None if it does not exist."""
        with self._lock:
            file = self._open().hashes
            if self._hashes is None and file is not None:
                self._hashes = dataset_files.read_all(file)
            return self._hashes

    def _load_table(self) -> tuple[Lookup, Keys, Any]:
        """Return the table of all keys, the keys, and their hashes."""
        with self._lock:
            if self._table is None:
                names = self._load_keys()
                data = self._load_hashes()
                if data is None:
                    data = index_files.encode_hashes(names.encoded(0, self._n), self._n, distinct=False)
                self._check_ends(data)
                self._table = Lookup(data, index_files.SECRET), names, data
            return self._table

    def _ends(self) -> set[int]:
        """Return the first and the last sample. Checking them detects files of another dataset."""
        return {0, self._n - 1} if self._n else set()

    def _check_ends(self, data: Any) -> None:
        """Check the first and the last hash, once."""
        if not self._is_hash_file_checked:
            for i in self._ends():
                self._check_hash(data, i)
            self._is_hash_file_checked = True

    def _check_hash(self, data: Any, i: int) -> None:
        """Raise a FormatError if hash i of the file is not that of key i."""
        if not self._passes(i, lambda key: index_files.hash_key(key, data) == index_files.stored_hash(data, i)):
            path = self.path + format.KEY_HASHES
            raise FormatError(f"hash {i} is not that of key {i}, {self.key(i)!r:.60}; {format.REPAIR}", path=path)

    def _passes(self, i: int, test: Callable[[bytes], bool]) -> bool:
        """Return whether key i passes a test. If the key in the sample passes, a large file `.keys` is not read."""
        file = self._open().keys
        start, stop = self.bounds(i)
        if self._keys is None and file is not None and file.size > max(stop - start, dataset_files.SMALL_SIZE):
            with contextlib.suppress(DsError, OSError):
                if test(scan_key(self.data, self.path, i, start, stop).encode()):
                    return True
        return test(self.key(i).encode())

    def _is_denied(self, key: object) -> bool:
        """Return whether the filter denies a key: no sample has it."""
        filter_ = self._filter if self._is_filter_loaded else self._load_filter()
        try:
            return filter_ is not None and isinstance(key, str) and not index_files.may_have(filter_, key.encode())
        except UnicodeEncodeError:
            return True

    def _load_filter(self) -> index_files.BloomFilter | None:
        with self._lock:
            if not self._is_filter_loaded:
                file = self._open().filter
                found = None if file is None else index_files.decode_filter(dataset_files.read_all(file), self.path)
                for i in self._ends():
                    if found and not self._passes(i, functools.partial(index_files.may_have, found)):
                        path = self.path + format.FILTER
                        raise FormatError(f"denies key {i}, {self.key(i)!r:.60}; {format.REPAIR}", path=path)
                self._filter = found
                self._is_filter_loaded = True
            return self._filter

    def close(self) -> None:
        """Release the files. They are opened again on demand."""
        with self._lock:
            self._forget()
