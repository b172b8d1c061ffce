"""Checking all files of a dataset against one another."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..base.progress import Advance, Progress
from ..body import open_binary
from ..errors import DsError
from ..kernels.datadings.index import Lookup, hash_strings
from ..kernels.files.presence import exists
from ..kernels.msgpack.walk import Keys
from . import bloom, format, hashes, journal, keys, legacy, md5, messages, opening, parts

BLOCK = 1 << 16
"""Entries that are compared at once."""
MAX_FINDINGS = 100
"""Samples that are named, before it is only said how many there are."""


class Finding(NamedTuple):
    """Something that is wrong with a dataset."""

    file: str
    """Path of the file."""
    message: str
    """What was found, and what was expected."""
    sample: int | None = None
    """The number of the sample, if it is about one."""

    def __str__(self) -> str:
        return f"{self.file}: {self.message}"


def verify(path: Any, *, samples: bool = True, progress: Progress | None = None) -> list[Finding]:
    """Check a dataset: sizes, structure, checksums, keys, hashes, filter, and all samples.

    Memory is bounded by the size of the index files. No file but those of the dataset is opened, whatever `.md5` names.

    Parameters
    ----------
    path : str, bytes or PathLike
        The data file.
    samples : bool
        Decode all samples and compare their keys.
    progress : callable, optional
        Called with the bytes done and the bytes in all; the data are read twice, if samples are.

    Returns
    -------
    list of Finding
        Empty if all is well.

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
    total = os.stat(journal.place(name, "")).st_size
    known = journal.read(name)
    size = opening.counted(known, total, _load(name, format.OFFSETS))
    findings = list(_findings(name, size, samples, Advance(progress, (1 + samples) * size)))
    if known is not None:
        findings.append(Finding(journal.hidden(name, journal.JOURNAL), _unfinished(known, total - size)))
    return findings


def _unfinished(known: journal.Journal, n: int) -> str:
    if known.files:
        return "a writer is exchanging the files, or was killed: the next one, or `ds reindex`, goes on with it"
    return f"a writer is appending, or was killed: {n} bytes do not count; `ds reindex --cut` keeps what is whole"


def _load(path: str, suffix: str) -> Any:
    """Return the bytes of the file that counts, or None if there is none."""
    return parts.load_if(journal.place(path, suffix))


def _findings(path: str, size: int, samples: bool, advance: Advance) -> Iterator[Finding]:
    spans, names = None, None
    try:
        spans, key_file = _offsets_and_keys(path, size)
        if key_file is None:
            yield Finding(path + format.KEYS, "there is no such file")
        else:
            names = keys.open_keys(key_file, path)
    except DsError as error:
        yield _finding(error, path)
    if spans is not None:
        yield from _check_offsets(path, spans, size)
    if spans is not None and names is not None and names.n != len(spans) - 1:
        yield Finding(path + format.KEYS, f"found {names.n} keys, expected {len(spans) - 1} as there are offsets")
    if names is not None:
        yield from _check_keys(path, names)
    yield from _check_sums(path, size, advance)
    if samples and spans is not None:
        yield from _check_samples(path, spans, names, size, advance)


def _finding(error: DsError, path: str) -> Finding:
    return Finding(error.path or path, error.message)


def _offsets_and_keys(path: str, size: int) -> tuple[Any, Any]:
    """Return the offsets, (n + 1,) uint64, and the file of keys, of which either may be None."""
    offsets_file, key_file = _load(path, format.OFFSETS), _load(path, format.KEYS)
    old = parts.load_if(path + format.LEGACY_INDEX) if offsets_file is None or key_file is None else None
    if old is not None:
        old_offsets, old_keys = legacy.decode(old, path, size)
        offsets_file = old_offsets if offsets_file is None else offsets_file
        key_file = old_keys if key_file is None else key_file
    if offsets_file is None:
        raise DsError("there is no such file", path=path + format.OFFSETS)
    whole = len(offsets_file) // format.OFFSET_SIZE
    return np.frombuffer(offsets_file, ">u8", whole), key_file


def _check_offsets(path: str, spans: Any, size: int) -> Iterator[Finding]:
    own = path + format.OFFSETS
    found = parts.file_size(journal.place(path, format.OFFSETS))
    if found is not None and (found % format.OFFSET_SIZE or not found):
        yield Finding(own, f"found {found} bytes, expected offsets of 8 bytes each")
    if not len(spans):
        return
    if spans[0]:
        yield Finding(own, f"found the first offset {spans[0]}, expected 0")
    if spans[-1] != size:
        yield Finding(own, f"found the last offset {spans[-1]}, expected {size}, the bytes of the data file")
    for start in range(0, len(spans) - 1, BLOCK):
        block = spans[start : start + BLOCK + 1]
        for i in np.flatnonzero(block[1:] < block[:-1])[:MAX_FINDINGS].tolist():
            reason = f"sample {start + i}: found the offsets {block[i]} and {block[i + 1]}, expected ascending ones"
            yield Finding(own, reason, start + i)


def _check_keys(path: str, names: Keys) -> Iterator[Finding]:
    """Check hashes and filter against the keys, and that the keys differ."""
    strings = names.encoded(0, names.n)
    twice = Lookup(hashes.encode(strings, names.n, distinct=False), hashes.SECRET).duplicates()
    if twice is not None and names.encoded(twice[0], twice[0] + 1) == names.encoded(twice[1], twice[1] + 1):
        reason = f"keys {twice[0]} and {twice[1]} are the same: {_shown(names, twice[0])}"
        yield Finding(path + format.KEYS, reason, twice[1])
    stored = _load(path, format.KEY_HASHES)
    if stored is None:
        yield Finding(path + format.KEY_HASHES, "there is no such file")
    else:
        yield from _check_hashes(path + format.KEY_HASHES, stored, strings, names.n)
    filter_file = _load(path, format.FILTER)
    if filter_file is None:
        yield Finding(path + format.FILTER, "there is no such file")
        return
    try:
        n = bloom.absent(bloom.decode(filter_file, path), strings, names.n)
    except DsError as error:
        yield _finding(error, path)
    else:
        if n:
            yield Finding(path + format.FILTER, f"denies {n} of {names.n} keys")


def _check_hashes(own: str, stored: Any, strings: bytes, n: int) -> Iterator[Finding]:
    expected = format.HASH_SIZE * (n + 1)
    if len(stored) != expected:
        yield Finding(own, f"found {len(stored)} bytes, expected {expected} for {n} samples")
        return
    right = np.empty(format.HASH_SIZE * n, np.uint8)
    hash_strings(strings, 0, stored[: format.HASH_SIZE], right)
    found = np.frombuffer(stored, np.int64)[1:]
    wrong = np.flatnonzero(right.view(np.int64) != found)
    if len(wrong):
        yield Finding(own, f"{len(wrong)} of {n} hashes are wrong, the first of them is hash {wrong[0]}", int(wrong[0]))


def _check_sums(path: str, size: int, advance: Advance) -> Iterator[Finding]:
    own, name = path + format.MD5, os.path.basename(path)
    data = _load(path, format.MD5)
    if data is None:
        yield Finding(own, "there is no such file")
        return
    sums = md5.decode(bytes(data))
    for line in sums.malformed[:MAX_FINDINGS]:
        yield Finding(own, f"line {line} is no checksum")
    for suffix in ("", *format.INDEX, format.LEGACY_INDEX):
        expected = sums.digests.get(name + suffix)
        place = journal.place(path, suffix)
        if not exists(place):
            if expected is not None:
                yield Finding(path + suffix, f"there is no such file, but {os.path.basename(own)} has its checksum")
        elif expected is None:
            yield Finding(own, f"has no checksum of {name + suffix}")
        else:
            found = md5.of_file(place, None) if suffix else md5.of_file(place, size, advance)
            if found != expected:
                yield Finding(path + suffix, f"has the checksum {found}, expected {expected}")


def _check_samples(path: str, spans: Any, names: Keys | None, size: int, advance: Advance) -> Iterator[Finding]:
    """Decode the samples one by one, and compare their keys."""
    n_found = 0
    with open_binary(journal.place(path, "")) as file:
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
                    yield Finding(path, where, first + i)
    if n_found > MAX_FINDINGS:
        yield Finding(path, f"{n_found - MAX_FINDINGS} more samples with faults")


def _sample_fault(file: Any, start: int, stop: int, i: int, names: Keys | None) -> str | None:
    """Return what is wrong with a sample, or None."""
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
    """Return a key as messages show it."""
    try:
        return f"{names.get(i)!r:.60}"
    except UnicodeDecodeError:
        return "a text that is not UTF-8"
