"""Reading a dataset: its samples by index, by key, and in sequence."""

from __future__ import annotations

import errno
import os
import warnings
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, SupportsIndex

import numpy as np

from ..base.batches import batched
from ..base.text import on_one_line
from ..body import Address
from ..body.body import Body
from ..body.locating import located
from ..errors import DsError, FormatError, IntegrityError, MissingError
from ..kernels.datadings.index import cut
from . import format, index_files, messages
from .base import Reader, TakeOptions, locate
from .dataset_files import load_sums, open_current
from .sample_index import SampleIndex

if os.name == "posix":
    from ..kernels.files.ranges import Fetcher
else:
    Fetcher = None  # type: ignore[assignment, misc]

READ_SIZE = 1 << 17
"""Bytes that are read at once in sequential reading, unless one sample is larger. They fit into the caches."""
MAX_SPANS = 4096
"""Number of samples whose offsets are read at once."""
WINDOW = 1 << 25
"""Bytes of samples at an address that are announced at once, unless one sample is larger."""


def _nothing(i: int) -> None:
    """Return None: no sample can be read by the kernel."""


def _short_cut(file: Body, offsets: Any) -> Callable[[int], bytes | None]:
    """Return a function: number of a sample → its bytes, or None if the kernel cannot read it."""
    where = file.in_file()
    if Fetcher is None or (where is None and file.memory is None):
        return _nothing
    fetch: Callable[[int], bytes | None] = Fetcher(
        -1 if where is None else where[0], offsets, file.size, file.memory
    ).get
    return fetch


@dataclass(frozen=True, slots=True)
class _Opened:
    index: SampleIndex
    file: Body
    fetch: Callable[[int], bytes | None]
    """Reads a sample by the kernel; returns None if it cannot."""


class MsgpackReader(Reader):
    """A dataset in the datadings format.

    Threads may share a reader. Processes may use a reader that was opened before they were forked. A copy, by
    `copy.copy` or by pickle, opens the dataset again.

    Parameters
    ----------
    path : str, PathLike or address
        The data file. At an address, the index is read first, then only the requested samples.
    buffering : int
        Ignored; accepted for code that was written for datadings.
    writable : bool
        Decode to writable arrays. Otherwise they are read-only, which saves a copy.
    mmap : bool
        Map the data file and large files of its index into memory. Random access is faster, and processes share the
        memory. Truncating a mapped file, or rewriting it in place as datadings does, kills the process (SIGBUS).
        `FileWriter` never does this. It has no effect on addresses.
    storage_options, store
        As of `ds_format.read`.

    Attributes
    ----------
    path : str
        The data file.
    writable, mmap : bool

    Raises
    ------
    FileNotFoundError
        If there is no data file, or it has no index.
    FormatError
        If the files are inconsistent.

    Examples
    --------
    >>> import tempfile
    >>> from ds_format.datadings.reader import MsgpackReader
    >>> from ds_format.datadings.writer import FileWriter
    >>> path = tempfile.mkdtemp() + "/numbers.msgpack"
    >>> with FileWriter(path) as writer:
    ...     for i in range(4):
    ...         _ = writer.write({"key": f"n{i}", "value": i * i})
    >>> with MsgpackReader(path) as reader:
    ...     print(len(reader), reader[-1], "n2" in reader, reader.find("n2"))
    ...     print([sample["value"] for sample in reader[::2]])
    4 {'key': 'n3', 'value': 9} True {'key': 'n2', 'value': 4}
    [0, 4]
    """

    def __init__(
        self,
        path: Any,
        buffering: int = 0,
        *,
        writable: bool = False,
        mmap: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        store: Any = None,
    ):
        where = located(path, storage_options, store)
        self.path = format.data_path(where)
        self._where = where if isinstance(where, Address) else self.path
        self.writable = writable
        self.mmap = mmap
        self._opened: _Opened | None = None
        self._n = -1
        index = self._open().index
        self._n = len(index)
        if index.missing:
            warnings.warn(
                on_one_line(
                    f"{self.path}: {', '.join(index.missing)} not found; their contents are computed, or read from the "
                    f"samples, which takes longer; {format.REPAIR}"
                ),
                stacklevel=2,
            )

    def _open(self) -> _Opened:
        """Return the index, the data file, and the function that reads samples by the kernel.

        They are one value, so that no lock is needed: if two threads open them, one result is kept.
        """
        opened = self._opened
        if opened is None:
            index = SampleIndex(self._where, mmap=self.mmap)
            file = index.data
            if self._n not in {-1, len(index)}:
                raise FormatError(f"another dataset of {len(index)} samples, expected {self._n}", path=self.path)
            self._opened = opened = _Opened(index, file, _short_cut(file, index.offsets))
        return opened

    def close(self) -> None:
        """Release the files. They are closed as soon as no iterator and no other thread uses them."""
        self._opened = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (type(self), self._where, self.writable, self.mmap, self._cursor)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r})"

    def __len__(self) -> int:
        return self._n

    @property
    def data_size(self) -> int:
        """Bytes of all samples together."""
        return (self._opened or self._open()).index.size

    def __contains__(self, key: Hashable) -> bool:
        return key in (self._opened or self._open()).index

    def find_key(self, index: SupportsIndex) -> str:
        """Return the key of a sample; negative indices count from the end."""
        return self._open().index.key(self._locate(index))

    def find_index(self, key: Hashable) -> int:
        """Return the index of the sample with a key, or raise a `MissingError`, which is a `KeyError`."""
        return self._open().index.find(key)  # type: ignore[arg-type]

    def find(self, key: Hashable) -> Any:
        """Return the sample with a key; see `Reader.find`."""
        opened = self._opened
        if opened is not None and type(key) is str:
            i = opened.index.known_number(key)
            message = None if i < 0 else opened.fetch(i)
            if message is not None:
                sample = self._decode(message, i)
                if type(sample) is dict and sample.get(format.KEY, key) == key:
                    return sample
        return super().find(key)  # it names the fault, too

    def get(self, index: SupportsIndex, yield_key: bool = False, raw: bool = False, copy: bool = True) -> Any:
        """Return one sample, or its message; see `Samples.get`.

        Raises
        ------
        IndexError
            If there is no such sample.
        FormatError, TruncatedError, UnsafeError
            If it cannot be decoded; the message names the file, the sample and its bytes.
        """
        opened = self._opened or self._open()
        i = index if type(index) is int and 0 <= index < self._n else self._locate(index)
        sample: Any = opened.fetch(i)
        if sample is None:
            start, stop = opened.index.bounds(i)
            sample = opened.file.read(start, stop - start)
        if not raw:
            sample = self._decode(sample, i)
        elif copy:
            sample = bytes(sample)
        else:
            sample = memoryview(sample)
        return (opened.index.key(i), sample) if yield_key else sample

    def take_run(self, run: range, options: TakeOptions) -> Iterator[Any]:
        """Iterate over consecutive samples, which are read in blocks."""
        opened = self._open()
        size = opened.file.batch if opened.file.is_far else READ_SIZE
        blocks = _blocks(opened.index, run, options.chunk_size or MAX_SPANS, size)
        return chain.from_iterable(self._cut(opened, *block, options) for block in blocks)

    def take_each(self, indices: Iterable[int], options: TakeOptions) -> Iterator[Any]:
        """Iterate over the samples with the given indices. Those at an address come side by side."""
        opened = self._open()
        return super().take_each(self._announced(opened, indices) if opened.file.is_far else indices, options)

    def _announced(self, opened: _Opened, indices: Iterable[int]) -> Iterator[int]:
        """Iterate over indices. The samples of many are announced together, and so come side by side."""
        for numbers in batched(indices, MAX_SPANS):
            spans = np.array([opened.index.bounds(self._locate(i)) for i in numbers], np.int64)
            offsets, sizes = spans[:, 0], spans[:, 1] - spans[:, 0]
            windows = (sizes.cumsum() - sizes) // WINDOW
            for window in np.unique(windows):
                chosen = windows == window
                opened.file.announce(offsets[chosen], sizes[chosen])
                yield from (numbers[i] for i in np.flatnonzero(chosen))

    def _cut(self, opened: _Opened, i: int, spans: list[int], options: TakeOptions) -> Iterable[Any]:
        """Read a block of samples, beginning with number i."""
        index, (yield_key, raw, copy, _) = opened.index, options
        block = opened.file.read(spans[0], spans[-1] - spans[0])
        samples: Iterable[Any]
        if raw and not copy:
            view = memoryview(block)
            samples = [view[start - spans[0] : stop - spans[0]] for start, stop in pairwise(spans)]
        else:
            samples = cut(block, spans)
        if not raw:
            samples = map(self._decode, samples, range(i, i + len(spans) - 1))
        return zip(index.keys(i, i + len(spans) - 1), samples, strict=True) if yield_key else samples

    def verify_data(self, read_size: int = 0, progress: bool = False) -> bool:
        """Return whether the data file has the checksum in `.md5`; `verify` reports more.

        Parameters
        ----------
        read_size, progress
            Ignored; accepted for code that was written for datadings.

        Raises
        ------
        FileNotFoundError
            If the dataset has no file of checksums.
        MissingError
            If that file has no checksum of the data file.
        """
        return self._has_sums([""])

    def verify_index(self, read_size: int = 0, progress: bool = False) -> bool:
        """Return whether the index files have the checksums in `.md5`; as `verify_data`."""
        found = [suffix for suffix in format.INDEX if open_current(self._where, suffix) is not None]
        return self._has_sums(found or [format.LEGACY_INDEX])

    def _has_sums(self, suffixes: Sequence[str]) -> bool:
        self._opened_file(format.MD5)
        sums, name = load_sums(self._where), os.path.basename(self.path)
        for suffix in suffixes:
            if name + suffix not in sums:
                raise MissingError(f"no checksum of {name}{suffix}", path=self.path + format.MD5)
        return all(sums[name + suffix] == self._sum(suffix) for suffix in suffixes)

    def _sum(self, suffix: str) -> str:
        file = self._opened_file(suffix)
        return index_files.md5_of(file, file.size if suffix else self.data_size).hexdigest()

    def _opened_file(self, suffix: str) -> Body:
        file = open_current(self._where, suffix)
        if file is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.path + suffix)
        return file

    def _locate(self, index: SupportsIndex) -> int:
        try:
            return locate(index, self._n)
        except IndexError as error:
            raise IndexError(f"{self.path}: {error}") from None

    def _decode(self, message: Any, i: int) -> Any:
        try:
            return messages.unpack(message, writable=self.writable)
        except DsError as error:
            start, stop = self._open().index.bounds(i)
            where = f"sample {i} at bytes {start} to {stop}: {error.message}"
            raise type(error)(where, path=self.path) from None

    def _check_key(self, sample: Any, index: int, key: Hashable) -> None:
        if isinstance(sample, dict) and sample.get(format.KEY, key) != key:
            found = f"sample {index}: found the key {sample[format.KEY]!r:.60}"
            raise IntegrityError(f"{found}, the index says {key!r:.60}", path=self.path)


def _blocks(index: SampleIndex, run: range, limit: int, size: int) -> Iterator[tuple[int, list[int]]]:
    """Divide consecutive samples into blocks that are read at once: the first number and the offsets of each.

    A block has at most `limit` samples, and `size` bytes unless one sample is larger.
    """
    for i in range(run.start, run.stop, MAX_SPANS):
        spans = index.spans(i, min(i + MAX_SPANS, run.stop))
        done, last = 0, len(spans) - 1
        while done < last:
            fitting = bisect_right(spans, spans[done] + size, done, min(done + limit, last) + 1) - 1
            end = max(fitting, done + 1)
            yield i + done, spans[done : end + 1]
            done = end


def _reopen(kind: type[MsgpackReader], path: Any, writable: bool, mmap: bool, cursor: int) -> MsgpackReader:
    """Return the copy of a reader."""
    reader = kind(path, writable=writable, mmap=mmap)
    if cursor:
        reader._cursor = cursor  # noqa: SLF001
    return reader
