"""Checking all files of a dataset against one another, for `ds verify`."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..base.progress import Advance, Progress
from ..body import open_binary
from ..errors import DsError
from ..kernels.datadings.index import Lookup, hash_strings
from ..kernels.files.names import exists
from ..kernels.msgpack.walk import Keys
from . import dataset_files, format, index_files, messages
from .dataset_files import ExchangeJournal, current_name, load_current, open_current

BLOCK = 1 << 16
"""Entries that are compared at once."""
MAX_FINDINGS = 100
"""Maximum number of faulty samples that are listed. For further ones only their number is reported."""


class Flaw(NamedTuple):
    """A fault of a dataset."""

    file: str
    """Path of the file."""
    message: str
    """The value found, and the value expected."""
    sample: int | None = None
    """The number of the sample, if the fault is in one."""

    def __str__(self) -> str:
        return f"{self.file}: {self.message}"


def verify(path: Any, *, samples: bool = True, progress: Progress | None = None) -> list[Flaw]:
    """Check a dataset: sizes, structure, checksums, keys, hashes, filter, and all samples.

    Memory is bounded by the size of the index files. Only files of the dataset are opened, even if `.md5` names others.

    Parameters
    ----------
    path : str, bytes or PathLike
        The data file.
    samples : bool
        Decode all samples and compare their keys.
    progress : callable, optional
        Called with the number of bytes processed, and their total. With `samples`, the data are read twice.

    Returns
    -------
    list of Flaw
        Empty if no fault is found.

    Raises
    ------
    FileNotFoundError
        If there is no data file.

    Examples
    --------
    >>> import tempfile
    >>> from ds_format.datadings.verify import verify
    >>> from ds_format.datadings.writer import FileWriter
    >>> path = tempfile.mkdtemp() + "/numbers.msgpack"
    >>> with FileWriter(path) as writer:
    ...     size = writer.write({"key": "a", "value": 1})
    >>> verify(path)
    []
    """
    name = format.data_path(path)
    total = os.stat(current_name(name, "")).st_size
    journal = dataset_files.read_journal(name)
    size = dataset_files.counted_size(journal, total, functools.partial(open_current, name))
    findings = list(_findings(name, size, samples, Advance(progress, (1 + samples) * size)))
    if journal is not None:
        findings.append(
            Flaw(dataset_files.hidden_name(name, dataset_files.JOURNAL), _unfinished(journal, total - size))
        )
    return findings


def _unfinished(journal: ExchangeJournal, n: int) -> str:
    if journal.files:
        return "a writer is exchanging the files, or was killed; the next writer or `ds reindex` finishes it"
    return f"a writer is appending, or was killed: {n} bytes do not count; `ds reindex --cut` keeps complete samples"


def _findings(path: str, size: int, samples: bool, advance: Advance) -> Iterator[Flaw]:
    spans, names = None, None
    try:
        offsets, key_file = dataset_files.read_index(path, functools.partial(open_current, path), size)
        if offsets is None:
            raise DsError("there is no such file", path=path + format.OFFSETS)
        spans = np.frombuffer(offsets, ">u8", len(offsets) // format.OFFSET_SIZE)
        if key_file is None:
            yield Flaw(path + format.KEYS, "there is no such file")
        else:
            key_data = dataset_files.read_all(key_file)
            names = index_files.open_keys(key_data, path)
    except DsError as error:
        yield _finding(error, path)
    if spans is not None:
        yield from _fault_of(path, index_files.check_offsets, offsets, path, size)
        yield from _check_ascending(path, spans)
    if names is not None:
        if spans is not None:
            yield from _fault_of(path, index_files.check_key_count, key_data, path, len(spans) - 1)
        yield from _check_keys(path, names)
    yield from _check_sums(path, size, advance)
    if samples and spans is not None:
        yield from _check_samples(path, spans, names, size, advance)


def _finding(error: DsError, path: str) -> Flaw:
    return Flaw(error.path or path, error.message)


def _fault_of(path: str, check: Callable[..., object], *arguments: Any) -> Iterator[Flaw]:
    """Iterate over the fault that the check of one file raises, if there is one."""
    try:
        check(*arguments)
    except DsError as error:
        yield _finding(error, path)


def _check_ascending(path: str, spans: Any) -> Iterator[Flaw]:
    for start in range(0, len(spans) - 1, BLOCK):
        block = spans[start : start + BLOCK + 1]
        for i in np.flatnonzero(block[1:] < block[:-1])[:MAX_FINDINGS].tolist():
            reason = f"sample {start + i}: found the offsets {block[i]} and {block[i + 1]}, expected ascending ones"
            yield Flaw(path + format.OFFSETS, reason, start + i)


def _check_keys(path: str, names: Keys) -> Iterator[Flaw]:
    """Check hashes and filter against the keys, and check that all keys differ."""
    strings = names.encoded(0, names.n)
    twice = Lookup(index_files.encode_hashes(strings, names.n, distinct=False), index_files.SECRET).duplicates()
    if twice is not None and names.encoded(twice[0], twice[0] + 1) == names.encoded(twice[1], twice[1] + 1):
        reason = f"keys {twice[0]} and {twice[1]} are the same: {_shown(names, twice[0])}"
        yield Flaw(path + format.KEYS, reason, twice[1])
    stored = load_current(path, format.KEY_HASHES)
    if stored is None:
        yield Flaw(path + format.KEY_HASHES, "there is no such file")
    else:
        yield from _check_hashes(path, stored, strings, names.n)
    filter_file = load_current(path, format.FILTER)
    if filter_file is None:
        yield Flaw(path + format.FILTER, "there is no such file")
        return
    try:
        n = index_files.count_denied(index_files.decode_filter(filter_file, path), strings, names.n)
    except DsError as error:
        yield _finding(error, path)
    else:
        if n:
            yield Flaw(path + format.FILTER, f"denies {n} of {names.n} keys")


def _check_hashes(path: str, stored: Any, strings: bytes, n: int) -> Iterator[Flaw]:
    try:
        index_files.check_hash_size(len(stored), path, n)
    except DsError as error:
        yield _finding(error, path)
        return
    right = np.empty(format.HASH_SIZE * n, np.uint8)
    hash_strings(strings, 0, stored[: format.HASH_SIZE], right)
    found = np.frombuffer(stored, np.int64)[1:]
    wrong = np.flatnonzero(right.view(np.int64) != found)
    if len(wrong):
        own = path + format.KEY_HASHES
        yield Flaw(own, f"{len(wrong)} of {n} hashes are wrong, the first of them is hash {wrong[0]}", int(wrong[0]))


def _check_sums(path: str, size: int, advance: Advance) -> Iterator[Flaw]:
    own, name = path + format.MD5, os.path.basename(path)
    data = load_current(path, format.MD5)
    if data is None:
        yield Flaw(own, "there is no such file")
        return
    sums = index_files.decode_sums(bytes(data))
    for line in sums.malformed[:MAX_FINDINGS]:
        yield Flaw(own, f"line {line} is not a checksum")
    for suffix in ("", *format.INDEX, format.LEGACY_INDEX):
        expected = sums.digests.get(name + suffix)
        name_now = current_name(path, suffix)
        if not exists(name_now):
            if expected is not None:
                yield Flaw(path + suffix, f"there is no such file, but {os.path.basename(own)} has its checksum")
        elif expected is None:
            yield Flaw(own, f"has no checksum of {name + suffix}")
        else:
            found = (
                index_files.md5_of_file(name_now, None) if suffix else index_files.md5_of_file(name_now, size, advance)
            )
            if found != expected:
                yield Flaw(path + suffix, f"has the checksum {found}, expected {expected}")


def _check_samples(path: str, spans: Any, names: Keys | None, size: int, advance: Advance) -> Iterator[Flaw]:
    """Decode the samples one by one, and compare their keys."""
    n_found = 0
    with open_binary(current_name(path, "")) as file:
        for first in range(0, len(spans) - 1, BLOCK):
            block = spans[first : first + BLOCK + 1].tolist()
            for i, start in enumerate(block[:-1]):
                reason = _sample_fault(file, start, min(block[i + 1], size), first + i, names)
                advance.add(max(block[i + 1] - start, 0))
                if reason is None:
                    continue
                n_found += 1
                if n_found <= MAX_FINDINGS:
                    where = f"sample {first + i} at bytes {start} to {block[i + 1]}: {reason}"
                    yield Flaw(path, where, first + i)
    if n_found > MAX_FINDINGS:
        yield Flaw(path, f"{n_found - MAX_FINDINGS} more samples with faults")


def _sample_fault(file: Any, start: int, stop: int, i: int, names: Keys | None) -> str | None:
    """Return the fault of a sample, or None."""
    if start > stop:
        return "not in the file"
    if file.tell() != start:
        file.seek(start)
    try:
        sample = messages.unpack(file.read(stop - start))
    except DsError as error:
        return error.message
    if not isinstance(sample, dict) or names is None or i >= names.n or format.KEY not in sample:
        return None
    key = sample[format.KEY]
    if not isinstance(key, str) or not names.matches(i, key.encode()):
        return f"found the key {key!r:.60}, {format.KEYS} has {_shown(names, i)}"
    return None


def _shown(names: Keys, i: int) -> str:
    """Return a key as it is printed in messages."""
    try:
        return f"{names.get(i)!r:.60}"
    except UnicodeDecodeError:
        return "a text that is not UTF-8"
