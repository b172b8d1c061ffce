"""What is known about the samples of a dataset: how many, where they are, and what they are called."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.forks import renew_lock
from ..errors import DsError, FormatError, MissingError
from ..kernels.datadings.index import Lookup
from ..kernels.msgpack.walk import Keys
from . import bloom, format, hashes, keys, offsets, parts, scan
from .opening import Files, opened

SCANS = 16
"""Lookups that compare all hashes, before a table of them is made."""
SMALL = 4096
"""Samples up to which the table is made at once."""


class _Measured:
    """A data file of which only the size is asked for."""

    def __init__(self, path: str):
        self.size = os.stat(path).st_size


class Index:
    """The index of a dataset.

    Opening reads the offsets and compares sizes. If they do not fit one another, somebody may be writing them, and they
    are opened again, for a second. Other files that are large are read when they are asked for. An index that is open
    stays valid when the dataset is replaced or appended to. Any number of threads may share it. A copy by pickle opens
    the files anew.

    Filter and hashes decide that a key is absent. If they do not deny a key, the key in the sample is compared or, if
    that is another one, the key in `.keys`. A large file `.keys` is read for a table of all keys, which pays after some
    look-ups. Without `.keys` the keys in the samples are compared, without `.key_hashes` the hashes are computed, and
    without `.filter` the hashes decide.

    Parameters
    ----------
    path : str, bytes or PathLike
        The data file.
    opener : callable, optional
        Opens the data file, together with the index; what it makes says its bytes by `size()`.
    mmap : bool
        Map large files into memory, which processes then share. Only where nobody shortens them in place: the system
        would end this process.

    Attributes
    ----------
    path : str
        The data file.
    size : int
        Bytes of all samples.

    Raises
    ------
    FileNotFoundError
        If there is no data file, or no index of it.
    FormatError, TruncatedError
        If a file has not the size that the others promise, or says wrong things; the message names it.

    Examples
    --------
    >>> import tempfile
    >>> from ds_format.datadings.index import Index
    >>> from ds_format.datadings.writer import FileWriter
    >>> path = tempfile.mkdtemp() + "/numbers.msgpack"
    >>> with FileWriter(path) as writer:
    ...     _ = writer.write({"key": "a", "value": 1}), writer.write({"key": "b", "value": 2})
    >>> index = Index(path)
    >>> len(index), index.bounds(1), index.key(1), index.find("b"), "c" in index
    (2, (14, 28), 'b', 1, False)
    """

    def __init__(self, path: Any, opener: Callable[[str], Any] = _Measured, *, mmap: bool = False):
        self.path = format.data_path(path)
        self._opener, self._mmap = opener, mmap
        self._lock = threading.RLock()
        renew_lock(self, threading.RLock)
        self._forget()
        self._open()

    def _forget(self) -> None:
        self._files: Files | None = None
        self._keys: Keys | None = None
        self._lookup: tuple[Lookup, Keys, Any] | None = None
        self._table: tuple[Lookup, Keys, Any] | None = None
        self._filter: bloom.Filter | None = None
        self._is_filter_loaded = False
        self._is_hash_file_checked = False
        self._scans_left = SCANS

    def _open(self) -> Files:
        """Open all files at once, so that they belong together whatever comes after them."""
        with self._lock:
            if self._files is None:
                files = opened(self.path, self._opener, mmap=self._mmap)
                self.size, self._n = files.size, files.n
                self._files = files
            return self._files

    def __len__(self) -> int:
        return self._n

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(Index, mmap=self._mmap), (self.path, self._opener)

    @property
    def data(self) -> Any:
        """What the opener of the data file made."""
        return (self._files or self._open()).data

    @property
    def missing(self) -> list[str]:
        """The suffixes of the files that are not there, without which lookups take longer."""
        files = self._files or self._open()
        found = {format.KEYS: files.keys, format.KEY_HASHES: files.hashes, format.FILTER: files.filter}
        return [suffix for suffix, data in found.items() if data is None]

    @property
    def offsets(self) -> Any:
        """The bytes of the offsets, n + 1 integers of 64 bits, big-endian."""
        return (self._files or self._open()).offsets.data

    def bounds(self, i: int) -> tuple[int, int]:
        """Return where sample i, of 0 to n - 1, starts and ends in the data file, in bytes.

        Raises
        ------
        IndexError
            If there is no such sample.
        FormatError
            If the offsets do not ascend.
        """
        if not 0 <= i < self._n:
            raise IndexError(f"no sample {i} among {self._n}")
        files = self._files or self._open()
        return offsets.bounds(files.offsets.data, i, self.path, self.size)

    def spans(self, start: int, stop: int) -> list[int]:
        """Return where the samples from `start` to `stop` - 1 start, and where the last of them ends; as `bounds`."""
        if not 0 <= start <= stop <= self._n:
            raise IndexError(f"no samples {start} to {stop} among {self._n}")
        files = self._files or self._open()
        return offsets.spans(files.offsets.data, start, stop, self.path, self.size)

    def key(self, i: int) -> str:
        """Return the key of sample i, of 0 to n - 1.

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
            return scan.key_of(self.path, i, *self.bounds(i))
        try:
            return (self._keys or self._load_keys()).get(i)
        except UnicodeDecodeError as error:
            raise FormatError(f"key {i} is not UTF-8: {error.reason}", path=self.path + format.KEYS) from None

    def keys(self, start: int = 0, stop: int | None = None) -> list[str]:
        """Return the keys of the samples from `start` to `stop` - 1 (None: to the last one); as `key`."""
        stop = self._n if stop is None else stop
        return keys.strings(self._keys or self._load_keys(), start, stop, self.path)

    def _load_keys(self) -> Keys:
        with self._lock:
            if self._keys is None:
                files = self._open()
                own = files.offsets.data
                data = scan.keys_of(self.path, own, files.size) if files.keys is None else files.keys.data
                self._keys = keys.open_keys(data, self.path)
            return self._keys

    def find(self, key: str) -> int:
        """Return the number of the sample with a key; if several have it, of the last one.

        Raises
        ------
        MissingError
            If there is none; it is a KeyError.
        FormatError
            If the file of keys or that of hashes is damaged.
        """
        i = self._find(key)
        if i < 0:
            raise MissingError(f"no sample with the key {key!r:.200}", path=self.path)
        return i

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
        """Return the number of the sample with a key, or a negative number."""
        if not isinstance(key, str):
            return -1
        if self._lookup is None and self._keys is None:
            if self._is_denied(key):
                return -1
            files = self._open()
            is_large = files.keys is None or files.keys.size > parts.SMALL_SIZE
            if files.hashes is not None and is_large and (files.keys is None or self._scans_left > 0):
                if files.keys is not None:
                    self._scans_left -= 1
                return self._find_by_hash(key, files.hashes.data)
        lookup, names, data = found = self._lookup or self._load_lookup()
        if self._scans_left > 0:  # threads may have taken the last ones together
            self._scans_left -= 1
        elif self._table is None:
            with self._lock:
                lookup.build()
                self._table = found
        i = lookup.find(key, names)
        if i < -1:
            self._check_hash(data, -2 - i)
        return i

    def _find_by_hash(self, key: str, data: Any) -> int:
        """Find a key by the hashes; only samples whose hash fits are read."""
        self._check_ends(data)
        try:
            wanted = key.encode()
        except UnicodeEncodeError:
            return -1
        own = np.frombuffer(hashes.hash_of(wanted, data), np.uint64)
        for i in map(int, np.flatnonzero(np.frombuffer(data, np.uint64)[1:] == own)[::-1]):
            if self._passes(i, wanted.__eq__):
                return i
            self._check_hash(data, i)
        return -1

    def _load_lookup(self) -> tuple[Lookup, Keys, Any]:
        with self._lock:
            if self._lookup is None:
                names = self._load_keys()
                part = self._open().hashes
                data = None if part is None else part.data
                if data is None:
                    data = hashes.encode(names.encoded(0, self._n), self._n, distinct=False)
                lookup = Lookup(data, hashes.SECRET)
                self._check_ends(data)
                if self._n <= SMALL:
                    self._scans_left = 0
                self._lookup = lookup, names, data
            return self._lookup

    def _ends(self) -> set[int]:
        """Return the first and the last sample, by which files of another dataset are noticed."""
        return {0, self._n - 1} if self._n else set()

    def _check_ends(self, data: Any) -> None:
        """Check the first and the last hash, once."""
        if not self._is_hash_file_checked:
            for i in self._ends():
                self._check_hash(data, i)
            self._is_hash_file_checked = True

    def _check_hash(self, data: Any, i: int) -> None:
        """Raise a FormatError if hash i of the file is not that of key i."""
        if not self._passes(i, lambda key: hashes.hash_of(key, data) == hashes.stored(data, i)):
            path = self.path + format.KEY_HASHES
            raise FormatError(f"hash {i} is not that of key {i}, {self.key(i)!r:.60}; {parts.REPAIR}", path=path)

    def _passes(self, i: int, test: Callable[[bytes], bool]) -> bool:
        """Return whether key i passes a test. If the key in the sample does, a large file `.keys` is not read."""
        part = self._open().keys
        start, stop = self.bounds(i)
        if self._keys is None and part is not None and part.size > max(stop - start, parts.SMALL_SIZE):
            with contextlib.suppress(DsError, OSError):
                if test(scan.key_of(self.path, i, start, stop).encode()):
                    return True
        return test(self.key(i).encode())

    def _is_denied(self, key: object) -> bool:
        """Return whether the filter says that no sample has a key."""
        filter_ = self._filter if self._is_filter_loaded else self._load_filter()
        try:
            return filter_ is not None and isinstance(key, str) and not bloom.may_have(filter_, key.encode())
        except UnicodeEncodeError:
            return True

    def _load_filter(self) -> bloom.Filter | None:
        with self._lock:
            if not self._is_filter_loaded:
                part = self._open().filter
                found = None if part is None else bloom.decode(part.data, self.path)
                for i in self._ends():
                    if found and not self._passes(i, functools.partial(bloom.may_have, found)):
                        path = self.path + format.FILTER
                        raise FormatError(f"denies key {i}, {self.key(i)!r:.60}; {parts.REPAIR}", path=path)
                self._filter = found
                self._is_filter_loaded = True
            return self._filter

    def close(self) -> None:
        """Let go of the files. They are opened anew when they are needed."""
        with self._lock:
            self._forget()
