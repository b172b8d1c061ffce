"""Writing a dataset: samples one after another, and its index at the end; and making the index again from the data."""

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
from .dataset_files import current_name, load_if
from .sample_index import Messages, SampleIndex

BLOCK = 1 << 18
"""Bytes that are gathered before they are written."""
Progress = Callable[[int, int | None], None]
"""What is told of the samples written so far, and of how many there will be."""


class Writer(Opened):
    """What all writers do; `FileWriter` and `RawWriter` say what a sample is.

    Nothing stands under the final names before `close`, and nothing stays if the block is left by an exception. A
    writer that is killed leaves the dataset as it was, or, late in `close`, as it is to be; it can be read at any
    moment, and the next writer puts the files right. A writer is used by one thread at a time, and a dataset has one
    at a time, until it is closed.

    Parameters
    ----------
    path : str, bytes or PathLike
        The data file. Missing folders are made.
    buffering : int
        Accepted for code that was written for datadings, and not used.
    overwrite : bool
        Replace a dataset of this name; it stays as it is until `close`.
    append : bool
        Go on writing a dataset of this name, if there is one. Its data file grows in place, its index is replaced by
        `close`; readers see the samples that were there before until then, and those that are open stay valid. An
        exception cuts it back to what it was. After a crash the next writer does so, but for `reindex` with `cut`,
        which keeps all samples that are whole.
    progress : callable, optional
        Called after each sample with the number of samples, and `total`.
    total : int, optional
        How many samples there will be, if that is known.
    durable : bool
        Flush files and folder to the disk at the end.
    disable, desc
        Accepted for code that was written for datadings, and not used.

    Attributes
    ----------
    path : str
        The data file.

    Raises
    ------
    FileExistsError
        If there is a file of this name, and neither `overwrite` nor `append`.
    BusyError
        If somebody else writes it; the message names the process.
    UnsupportedError
        If the name ends as index files do.
    IntegrityError
        If data that are to be appended to do not have their checksum.
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
        """Load what is known of the samples that are there."""
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
        sums = index_files.decode_sums(load_if(self.path + format.MD5) or b"")
        expected, found = sums.digests.get(os.path.basename(self.path)), self._digest.hexdigest()
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
                message = on_one_line(f"{self.path}: the writer was not closed; nothing is kept")
                warnings.warn(message, ResourceWarning, stacklevel=2)
            self.abort()

    def _put(self, key: str, data: bytes) -> int:
        """Add a message, and return its bytes."""
        file = self._file
        if file is None:
            raise ValueError(f"{self.path}: the writer is closed")
        names = self._keys
        if key in names:
            raise UnsupportedError(
                f"sample {len(names)}: found the key {key!r:.200} for the second time", path=self.path
            )
        names[key] = None
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
        """Write what was gathered; if that fails, nothing is kept."""
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
        """Finish the dataset: from now on it can be read.

        Raises
        ------
        OSError
            If it cannot be written; then nothing is kept. Only if the system fails in the midst of renaming, all is:
            the next writer goes on with that.
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
        """Prepare files that are to appear together with the dataset."""

    def abort(self) -> None:
        """Leave everything as it was before this writer. In a process that was forked from it, only forget it."""
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
            With the entry `key`, a string that no other sample has; see `messages.pack` for values.
        key : str, optional
            The key, if the sample has none. It then stands in the index only.

        Returns
        -------
        int
            The bytes of its message.

        Raises
        ------
        UnsupportedError
            If there is no key, it is not a string, or another sample has it; if a value cannot be stored. Nothing is
            written then, and the writer can go on.
        OSError
            If the file cannot be written; then nothing is kept.
        """
        own = sample.get(format.KEY, key) if isinstance(sample, dict) else key
        if key is None:
            key = own
        if own != key or not isinstance(key, str):
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
    """Writes messages that are already encoded, which are stored as they are.

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
            The key, which no other sample has.
        data : bytes-like
            The message; it is not looked at.

        Returns
        -------
        int
            Its bytes.

        Raises
        ------
        UnsupportedError
            If another sample has this key, or it is no string that UTF-8 can hold.
        OSError
            If the file cannot be written; then nothing is kept.
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
    claim = Claim(name, durable=durable, keeps_tail=True)
    try:
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
    except BaseException:
        claim.undo()
        raise
    finally:
        claim.release()
    return len(names)


def _samples(path: str, cut: bool, advance: Advance) -> tuple[list[str], Any]:
    """Return the keys of all samples, and where they end, (n,) int64."""
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
        raise FormatError("begins with no sample that has a key, and would be cut to nothing", path=path)
    return names, ends[: len(names)]


def _n_keys(path: str) -> int:
    key_file = load_if(path + format.KEYS)
    return 0 if key_file is None else index_files.count_keys(key_file, path)[0]


def _other_keys(path: str, n: int) -> list[str] | None:
    """Return the keys of n samples from another index file, or None."""
    key_file = load_if(path + format.KEYS)
    if key_file is None:
        old = load_if(path + format.LEGACY_INDEX)
        key_file = None if old is None else index_files.decode_legacy(old, path, os.stat(path).st_size)[1]
    if key_file is None or index_files.count_keys(key_file, path)[0] != n:
        return None
    return index_files.decode_keys(key_file, path)


def _legacy_sums(path: str, own: bytes) -> bytes:
    """Return the checksums in the order of datasets that were converted: data, old index, and then the new files."""
    name = os.path.basename(path)
    sums = index_files.decode_sums(own).digests | {
        name + format.LEGACY_INDEX: index_files.md5_of_file(path + format.LEGACY_INDEX)
    }
    order = ("", format.LEGACY_INDEX, format.KEYS, format.KEY_HASHES, format.FILTER, format.OFFSETS)
    return index_files.encode_sums((name + suffix, sums[name + suffix]) for suffix in order)
