"""Writing a dataset: samples one after another, then its index. Also rebuilding the index from the data."""

from __future__ import annotations

import errno
import os
import warnings
from array import array
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import numpy as np

from ..base.progress import Advance, Progress as Reported
from ..base.text import on_one_line
from ..body import Opened
from ..body.body import OutputBody
from ..body.target import naming
from ..errors import BusyError, FormatError, IntegrityError, UnsupportedError
from ..kernels.files.names import exists
from . import format, index_files, messages, sample_index
from .claim import Claim
from .dataset_files import current_name, load_current, load_sums
from .sample_index import Messages, SampleIndex

BLOCK = 1 << 18
"""Bytes that are collected before they are written."""
Progress = Callable[[int, int | None], None]
"""Called with the number of samples written so far, and the total number of samples, if known."""


class Writer(Opened):
    """Base of all writers. `FileWriter` and `RawWriter` define the type of a sample.

    The final names do not exist before `close`, and nothing remains if an exception leaves the block. A writer that is
    killed leaves the old dataset or, late in `close`, the new one. The dataset can be read at any time, and the next
    writer repairs its files. A writer is not thread-safe. A dataset has one writer at a time, until it is closed.

    Parameters
    ----------
    path : str, bytes or PathLike
        The data file. Missing folders are created.
    buffering : int
        Ignored; accepted for code that was written for datadings.
    overwrite : bool
        Replace a dataset of this name. The old one stays until `close`.
    append : bool
        Append to a dataset of this name, if there is one. Its data file grows in place, and `close` replaces its index.
        Until then, readers see the earlier samples; open readers stay valid. An exception restores the earlier data
        file. After a crash the next writer does this, except `reindex` with `cut`, which keeps all complete samples.
    progress : callable, optional
        Called after each sample with the number of samples, and `total`.
    total : int, optional
        Number of samples that will be written, if known.
    durable : bool
        Flush files and folder to the disk at the end.
    disable, desc
        Ignored; accepted for code that was written for datadings.

    Attributes
    ----------
    path : str
        The data file.

    Raises
    ------
    FileExistsError
        If there is a file of this name, and neither `overwrite` nor `append` is given.
    BusyError
        If another process is writing the dataset; the message names the process.
    UnsupportedError
        If the name ends like that of an index file.
    IntegrityError
        If existing data do not have their checksum when appending.
    """

    _file: OutputBody | None = None

    def __init__(
        self,
        path: Any,
        buffering: int = 0,
        overwrite: bool = False,
        *,
        append: bool = False,
        progress: Progress | None = None,
        total: int | None = None,
        durable: bool = False,
        disable: Any = None,
        desc: Any = None,
    ):
        self.path = format.data_path(path)
        self._progress, self._total = progress, total
        self._keys: dict[str, None] = {}
        self._ends = array("q")
        self._digest = index_files.new_md5()
        self._pending: list[bytes] = []
        self._pending_size = self._end = self._start = 0
        self._n_before = 0
        self._pid = os.getpid()
        if overwrite and append:
            raise ValueError("overwrite and append exclude each other")
        self._claim = Claim(self.path, durable=durable)
        try:
            is_there = exists(self.path, follow=False)
            if is_there and not overwrite and not append:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), self.path)
            self._grows = is_there and append
            if self._grows:
                self._continue()
            else:
                with naming(self.path):
                    self._file = self._claim.create("")
        except BaseException:
            self._claim.release()
            raise

    def _continue(self) -> None:
        """Load the index of the existing samples, and check their checksum."""
        index = SampleIndex(self.path)
        n = self._n_before = len(index)
        self._keys = dict.fromkeys(index.keys())
        if len(self._keys) < n:
            raise UnsupportedError("two samples have the same key", path=self.path)
        self._ends.extend(index.spans(0, n)[1:])
        self._start = self._end = index.size
        file = OutputBody.open(self.path)
        self._digest = index_files.md5_of(file, index.size)
        self._check_digest()
        self._file = file

    def _check_digest(self) -> None:
        expected, found = load_sums(self.path).get(os.path.basename(self.path)), self._digest.hexdigest()
        if expected is not None and found != expected:
            raise IntegrityError(f"the data have the checksum {found}, expected {expected}", path=self.path)

    def __len__(self) -> int:
        return len(self._keys)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def __del__(self) -> None:
        if self._file is not None:
            if os.getpid() == self._pid:
                message = on_one_line(f"{self.path}: the writer was not closed; its samples are lost")
                warnings.warn(message, ResourceWarning, stacklevel=2)
            self.abort()

    def _put(self, key: str, data: bytes) -> int:
        """Add a message, and return its number of bytes."""
        file = self._file
        if file is None:
            raise ValueError(f"{self.path}: the writer is closed")
        names = self._keys
        n = len(names)
        names[key] = None
        if len(names) == n:
            raise UnsupportedError(f"sample {n}: found the key {key!r:.200} for the second time", path=self.path)
        size = len(data)
        self._end += size
        self._ends.append(self._end)
        self._pending.append(data)
        self._pending_size += size
        if self._pending_size >= BLOCK:
            self._flush(file)
        if self._progress is not None:
            self._progress(len(names), self._total)
        return size

    def _flush(self, file: OutputBody) -> None:
        """Write the collected messages. After a failure the writer is aborted."""
        if os.getpid() != self._pid:
            raise BusyError(f"process {self._pid} is writing to it, of which this one is a fork", path=self.path)
        data = self._pending[0] if len(self._pending) == 1 else b"".join(self._pending)
        start = self._end - self._pending_size
        self._pending.clear()
        self._pending_size = 0
        try:
            if len(self._keys) > format.MAX_SAMPLES:
                raise UnsupportedError(f"more than {format.MAX_SAMPLES} samples", path=self.path)
            with naming(self.path):
                if self._grows and data and start == self._start:
                    self._claim.extend(start)
                file.write(start, data)
        except BaseException:
            self.abort()
            raise
        self._digest.update(data)

    def close(self) -> None:
        """Finish the dataset. From now on it can be read.

        Raises
        ------
        OSError
            If it cannot be written. Then the old dataset stays. Only if renaming itself fails halfway, the new dataset
            counts, and the next writer finishes the exchange.
        """
        file = self._file
        if file is None:
            return
        self._flush(file)
        try:
            if not self._grows or len(self._keys) > self._n_before:
                self._finish()
        except BaseException:
            self.abort()
            raise
        self._release()

    def _finish(self) -> None:
        ends = np.frombuffer(self._ends, np.int64) if self._ends else np.empty(0, np.int64)
        index = index_files.encode_index(self.path, self._keys, ends, self._digest.hexdigest())
        with naming(self.path):
            for suffix, data in index.items():
                self._claim.prepare(suffix, data)
            self._prepare_others(self._claim)
            self._claim.commit(self._end, drops=(format.LEGACY_INDEX,))

    def _prepare_others(self, claim: Claim) -> None:
        """Prepare further files that are to appear together with the dataset."""

    def abort(self) -> None:
        """Restore the dataset as it was before this writer. A forked process only forgets the writer."""
        if self._file is None:
            return
        try:
            if os.getpid() == self._pid:
                with naming(self.path):
                    self._claim.undo()
        finally:
            self._release()

    def _release(self) -> None:
        file, self._file = self._file, None
        try:
            if file is not None:
                file.close()
        finally:
            self._claim.release()
            self._pending.clear()


class FileWriter(Writer):
    """Writes samples into a dataset in the datadings format.

    Parameters and errors are those of `Writer`.

    Examples
    --------
    >>> import tempfile
    >>> from ds_format.datadings.sample_index import SampleIndex
    >>> from ds_format.datadings.writer import FileWriter
    >>> path = tempfile.mkdtemp() + "/numbers.msgpack"
    >>> with FileWriter(path) as writer:
    ...     print(writer.write({"key": "a", "value": 1}), "bytes")
    14 bytes
    >>> with FileWriter(path, append=True) as writer:
    ...     _ = writer.write({"value": 2}, key="b")
    >>> SampleIndex(path).keys()
    ['a', 'b']
    """

    def write(self, sample: Any, key: str | None = None) -> int:
        """Add a sample.

        Parameters
        ----------
        sample : dict
            With the entry `key`, a string that is unique in the dataset; see `messages.pack` for values.
        key : str, optional
            The key, if the sample has none. It is then stored in the index only.

        Returns
        -------
        int
            Number of bytes of its message.

        Raises
        ------
        UnsupportedError
            If there is no key, it is not a string, or another sample has it, or a value cannot be stored. Then nothing
            is written, and the writer can be used further.
        OSError
            If the file cannot be written. Then the old dataset stays.
        """
        own = sample.get(format.KEY, key) if isinstance(sample, dict) else key
        if key is None:
            key = own
        elif own != key:
            raise self._no_key(own, key)
        if not isinstance(key, str):
            raise self._no_key(own, key)
        try:
            return self._put(key, messages.pack(sample))
        except UnsupportedError as error:
            raise type(error)(f"sample {key!r:.200}: {error.message}", path=self.path) if error.path is None else error

    def _no_key(self, own: Any, key: Any) -> UnsupportedError:
        n = len(self)
        if key is None:
            return UnsupportedError(f"sample {n}: found no entry {format.KEY!r}", path=self.path)
        if own == key:
            return UnsupportedError(f"sample {n}: found the key {key!r:.200}, expected a string", path=self.path)
        return UnsupportedError(f"sample {n}: found the key {own!r:.200}, expected {key!r:.200}", path=self.path)


class RawWriter(Writer):
    """Writes encoded messages unchanged.

    Parameters and errors are those of `Writer`.

    Examples
    --------
    >>> import tempfile
    >>> from ds_format.datadings import messages
    >>> from ds_format.datadings.writer import RawWriter
    >>> with RawWriter(tempfile.mkdtemp() + "/numbers.msgpack") as writer:
    ...     writer.write("a", messages.pack({"key": "a", "value": 1}))
    14
    """

    def write(self, key: str, data: Any) -> int:
        """Add a message.

        Parameters
        ----------
        key : str
            The key, which must be unique in the dataset.
        data : bytes-like
            The message, which is not checked.

        Returns
        -------
        int
            Its number of bytes.

        Raises
        ------
        UnsupportedError
            If another sample has this key, it is not a string, or it cannot be encoded in UTF-8.
        OSError
            If the file cannot be written. Then the old dataset stays.
        """
        if not isinstance(key, str):
            raise UnsupportedError(f"sample {len(self)}: found the key {key!r:.200}, expected a string", path=self.path)
        try:
            key.encode()
        except UnicodeEncodeError as error:
            raise UnsupportedError(
                f"sample {len(self)}: the key {key!r:.200}: {error.reason}", path=self.path
            ) from None
        return self._put(key, bytes(data))


def reindex(path: Any, *, cut: bool = False, durable: bool = False, progress: Reported | None = None) -> int:
    """Rebuild the index files of a dataset.

    The offsets come from the data, and the keys from the entries `key` of the samples. If a sample has none, all keys
    come from the file `.keys`, or `.index` of older versions, if it has the same number of keys. An `.index` is kept.
    An exchange by a killed writer is finished first. If reindexing fails or is killed, nothing changes.

    Parameters
    ----------
    path : str, bytes or PathLike
        The data file.
    cut : bool
        Truncate the data after the last complete sample with a key. Use it after a crash of a writer, or for an
        incomplete copy.
    durable : bool
        Flush the files to the disk.
    progress : callable, optional
        Called with the number of bytes processed, and their total. The data are read twice.

    Returns
    -------
    int
        The number of samples.

    Raises
    ------
    FormatError, TruncatedError
        If the data contain something other than messages, or are empty while the index is not. The message names the
        position.
    BusyError
        If another process is writing the dataset.
    UnsupportedError
        If two samples have the same key.

    Examples
    --------
    >>> import os, tempfile
    >>> from ds_format.datadings.writer import FileWriter, reindex
    >>> path = tempfile.mkdtemp() + "/numbers.msgpack"
    >>> with FileWriter(path) as writer:
    ...     size = writer.write({"key": "a", "value": 1})
    >>> os.remove(path + ".offsets")
    >>> reindex(path)
    1
    """
    name = format.data_path(path)
    os.stat(current_name(name, ""))
    with Claim(name, durable=durable, keeps_tail=True) as claim:
        advance = Advance(progress)
        names, ends = _samples(name, cut, advance)
        size = int(ends[-1]) if len(ends) else 0
        index = index_files.encode_index(name, names, ends, index_files.md5_of_file(name, size, advance))
        if exists(name + format.LEGACY_INDEX):
            index[format.MD5] = _legacy_sums(name, index[format.MD5])
        with naming(name):
            for suffix, data in index.items():
                claim.prepare(suffix, data)
            claim.commit(size, has_tail=cut)
    return len(names)


def _samples(path: str, cut: bool, advance: Advance) -> tuple[list[str], Any]:
    """Return the keys of all samples, and their ends in bytes, (n,) int64."""
    every = Messages(path)
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
            sample_index.check_keys(block, len(names), path)
        names += block.keys
        if block.is_absent:
            break
    if cut and not names and every.size:
        raise FormatError("does not begin with a sample that has a key, and would be cut to nothing", path=path)
    return names, ends[: len(names)]


def _n_keys(path: str) -> int:
    key_file = load_current(path, format.KEYS)
    return 0 if key_file is None else index_files.count_keys(key_file, path)[0]


def _other_keys(path: str, n: int) -> list[str] | None:
    """Return the keys of n samples from another index file, or None."""
    key_file = load_current(path, format.KEYS)
    if key_file is None:
        old = load_current(path, format.LEGACY_INDEX)
        key_file = None if old is None else index_files.decode_legacy(old, path, os.stat(path).st_size)[1]
    if key_file is None or index_files.count_keys(key_file, path)[0] != n:
        return None
    return index_files.decode_keys(key_file, path)


def _legacy_sums(path: str, own: bytes) -> bytes:
    """Return the checksums in the order of a converted older dataset: data, old index, then the new files."""
    name = os.path.basename(path)
    sums = index_files.decode_sums(own).digests | {
        name + format.LEGACY_INDEX: index_files.md5_of_file(path + format.LEGACY_INDEX)
    }
    order = ("", format.LEGACY_INDEX, format.KEYS, format.KEY_HASHES, format.FILTER, format.OFFSETS)
    return index_files.encode_sums((name + suffix, sums[name + suffix]) for suffix in order)
