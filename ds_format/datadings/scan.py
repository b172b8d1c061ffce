"""The data file alone: where its messages are, and what their keys say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..body.body import FileBody
from ..errors import FormatError
from ..kernels.msgpack.walk import find_messages, measure, strings_at
from . import format, keys, messages, parts

BLOCK = 1 << 16
"""Messages that are found at once."""
WINDOW = 1 << 22
"""Bytes that are read at once, if they hold a whole message."""
CUT_OFF = 1
"""What `kernels.msgpack.walk.measure` says of a message that goes on behind the bytes it was given."""


class Block(NamedTuple):
    """Some messages in a row."""

    ends: NDArray[np.int64]
    """(n,): where each ends, in bytes of the data file."""
    keys: list[str]
    """Strings of the entries `key`, up to the first message that has none, or a wrong one."""
    is_absent: bool
    """Whether a message has none."""
    fault: str
    """What is wrong with the key behind these, if it is there."""


class Messages:
    """All messages of a data file, in blocks, up to the end or to the first that is wrong.

    Parameters
    ----------
    path : str
        The data file, which is read in pieces.
    size : int, optional
        Bytes that count; by default all of the file.

    Attributes
    ----------
    size : int
        Bytes that count.
    end : int
        Where the last message found ends, in bytes.
    n : int
        How many were found.
    """

    def __init__(self, path: str, size: int | None = None):
        self.path = path
        self._file = FileBody.open(path)
        self.size = self._file.size if size is None else size
        self.end = self.n = 0

    def __iter__(self) -> Iterator[Block]:
        room = WINDOW
        while self.end < self.size:
            data = self._file.read(self.end, min(room, self.size - self.end))
            ends, keys = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
            n = find_messages(data, 0, ends, keys)
            if n:
                yield self._block(data, ends[:n], keys[:n])
                room = WINDOW
            elif measure(data, 0)[1] == CUT_OFF and len(data) < self.size - self.end:
                room *= 4
            else:
                return

    def _block(self, data: bytes, ends: NDArray[np.int64], places: NDArray[np.int64]) -> Block:
        n_keys = int(np.argmax(places < 0)) if (places < 0).any() else len(places)
        found, wrong = strings_at(data, places[:n_keys])
        start = self.end
        self.end += int(ends[-1])
        self.n += len(ends)
        fault = f"its key, at byte {start + places[len(found)]}: {wrong}" if wrong else ""
        return Block(ends + start, found, n_keys < len(places), fault)

    def check_whole(self) -> None:
        """Raise the error that says what is wrong where the messages ended, if the file goes on there."""
        if self.end < self.size:
            at, fault = measure(self._file.read(self.end, self.size - self.end), 0)
            error = messages.fault(fault, at)
            raise type(error)(f"sample {self.n} at byte {self.end}: {error.message}", path=self.path)


def check_keys(block: Block, first: int, path: str) -> None:
    """Raise a FormatError unless all messages of a block, the first of which is number `first`, have keys."""
    i = first + len(block.keys)
    if block.fault:
        raise FormatError(f"sample {i}: {block.fault}", path=path)
    if block.is_absent:
        raise FormatError(f"sample {i} has no entry {format.KEY!r} with a string", path=path)


def key_of(path: str, i: int, start: int, stop: int) -> str:
    """Return the key of sample i, which lies between two bytes of the data file, and read nothing else.

    Raises
    ------
    FormatError
        If the sample is not there, or has no key.
    """
    data = FileBody.open(path).read(start, stop - start)
    ends, places = np.empty(1, np.int64), np.empty(1, np.int64)
    if not find_messages(data, 0, ends, places) or ends[0] != len(data):
        raise FormatError(f"sample {i} is not where the index says; {parts.REPAIR}", path=path + format.OFFSETS)
    found, wrong = strings_at(data, places[places >= 0])
    fault = f"its key, at byte {start + places[0]}: {wrong}" if wrong else ""
    check_keys(Block(ends, found, bool(places[0] < 0), fault), i, path)
    return found[0]


def keys_of(path: str, offsets_data: Any, size: int) -> bytes:
    """Return the file `.keys` of the samples.

    Parameters
    ----------
    path : str
        The data file.
    offsets_data : bytes-like
        The file `.offsets`.
    size : int
        Bytes of all samples.

    Raises
    ------
    FormatError
        If the samples are not where the offsets say, or one has no key.
    """
    offsets = np.frombuffer(offsets_data, ">u8")
    found: list[str] = []
    every = Messages(path, size)
    for block in every:
        n = len(found)
        if not np.array_equal(offsets[n + 1 : n + 1 + len(block.ends)], block.ends.astype(">u8")):
            raise FormatError(f"samples are not where the index says; {parts.REPAIR}", path=path + format.OFFSETS)
        check_keys(block, n, path)
        found += block.keys
    every.check_whole()
    return keys.encode(found)
