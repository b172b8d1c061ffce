"""The data file alone: where its messages are, and what their keys say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import FormatError
from ..kernels.keys import strings_at
from ..kernels.walk import find_messages, measure
from . import format, keys, messages, parts

BLOCK = 1 << 16
"""Messages that are found at once."""


class Block(NamedTuple):
    """Some messages in a row."""

    ends: NDArray[np.int64]
    """(n,): where each ends, in bytes of the data file."""
    keys: NDArray[np.int64]
    """(n,): where the string of the entry `key` starts; -1: there is none."""


def blocks(data: Any) -> Iterator[Block]:
    """Find all messages, many at a time, up to the end or to the first that is wrong.

    Parameters
    ----------
    data : bytes-like
        The data file.
    """
    start = 0
    while start < len(data):
        block = Block(np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64))
        n = find_messages(data, start, block.ends, block.keys)
        if not n:
            return
        yield Block(block.ends[:n], block.keys[:n])
        start = int(block.ends[n - 1])


def check_whole(data: Any, end: int, n: int, path: str) -> None:
    """Raise the error that says what is wrong where `blocks` ended, after n messages, if the data go on there."""
    if end < len(data):
        at, fault = measure(data, end)
        error = messages.fault(fault, at - end)
        raise type(error)(f"sample {n} at byte {end}: {error.message}", path=path)


def names(data: Any, block: Block, first: int, path: str) -> list[str]:
    """Return the keys of the messages of a block, the first of which is number `first`.

    Raises
    ------
    FormatError
        If a message has no key, or one that is not UTF-8.
    """
    absent = np.flatnonzero(block.keys < 0)
    if len(absent):
        raise FormatError(f"sample {first + absent[0]} has no entry {format.KEY!r} with a string", path=path)
    found, wrong = strings_at(data, block.keys)
    if wrong:
        where = f"sample {first + len(found)}: its key, at byte {block.keys[len(found)]}"
        raise FormatError(f"{where}: {wrong}", path=path)
    return found


def key_of(path: str, i: int, start: int, stop: int) -> str:
    """Return the key of sample i, which lies between two bytes of the data file, and read nothing else.

    Raises
    ------
    FormatError
        If the sample is not there, or has no key.
    """
    data = parts.load(path)
    block = Block(np.empty(1, np.int64), np.empty(1, np.int64))
    if not find_messages(data, start, block.ends, block.keys) or block.ends[0] != stop:
        raise FormatError(f"sample {i} is not where the index says; {parts.REPAIR}", path=path + format.OFFSETS)
    return names(data, block, i, path)[0]


def keys_of(path: str, offsets_data: Any) -> bytes:
    """Return the file `.keys` of the samples.

    Parameters
    ----------
    path : str
        The data file.
    offsets_data : bytes-like
        The file `.offsets`.

    Raises
    ------
    FormatError
        If the samples are not where the offsets say, or one has no key.
    """
    data = parts.load(path)
    offsets = np.frombuffer(offsets_data, ">u8")
    found: list[str] = []
    end = 0
    for block in blocks(data):
        n = len(found)
        if not np.array_equal(offsets[n + 1 : n + 1 + len(block.ends)], block.ends.astype(">u8")):
            raise FormatError(f"samples are not where the index says; {parts.REPAIR}", path=path + format.OFFSETS)
        found += names(data, block, n, path)
        end = int(block.ends[-1])
    check_whole(data, end, len(found), path)
    return keys.encode(found)
