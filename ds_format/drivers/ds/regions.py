"""The place of a variable in a file that several processes write, each its own parts."""

from __future__ import annotations

import contextlib
import errno
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from ...body.lock import host
from ...body.target import naming
from ...codec.encode import Encoded, encode
from ...dtypes import TYPES
from ...errors import DsError
from ...kernels.files import regions
from ...kernels.files.portable import BINARY
from ...kernels.files.presence import status
from ...names import unescape
from ...selection import flat_positions

Part = tuple[slice, ...]
"""One slice with start and stop, and no step, per dimension."""


@dataclass(frozen=True)
class Unfinished:
    """The two names of a file that several processes write. It can be pickled.

    Parameters
    ----------
    path : str
        The name that the file gets when it is whole; absolute, without links.
    written : str
        The name that it has until then.
    """

    path: str
    written: str

    @contextlib.contextmanager
    def opened(self, made: int) -> Iterator[int]:
        """Open the file, which is closed when the block ends; -1: it has its final name, and so is whole already.

        It is opened for writing only: a network file system may read a page first of which a part is written if it can,
        and then write back all of it, with old bytes where another host has written meanwhile.

        Parameters
        ----------
        made : int
            What `identity` told when the file was made.

        Raises
        ------
        FileNotFoundError
            If the file has neither name here.
        """
        with naming(self.path):
            try:
                fd = os.open(self.written, os.O_WRONLY | BINARY)
            except FileNotFoundError:
                if self.finished() != made:
                    raise FileNotFoundError(errno.ENOENT, self._unseen(), self.path) from None
                fd = -1
            try:
                yield fd
            finally:
                if fd >= 0:
                    os.close(fd)

    def finished(self) -> int | None:
        """Return the identity of what has the final name; None: nothing has."""
        found = status(self.path)
        return None if found is None else identity(found)

    def _unseen(self) -> str:
        return (
            f"host {host()} does not see {os.path.basename(self.written)}, under which name the file is being written: "
            "somebody removed it, or not all workers have the same folder"
        )


def identity(found: os.stat_result) -> int:
    """Return what tells a file from others of its file system.

    Where hosts do not agree on it nothing is lost, but for the way out after a process that finished a file was lost.
    """
    return found.st_ino


@dataclass(frozen=True)
class Region:
    """Where the numbers or booleans of one variable lie in a file that several processes write. It can be pickled.

    Parameters
    ----------
    file : Unfinished
    key : str
        Of the variable.
    offset : int
        Of the first value, in bytes from the start of the file.
    shape : tuple of int
    type : str
        Name of the ds type, not of strings.
    """

    file: Unfinished
    key: str
    offset: int
    shape: tuple[int, ...]
    type: str

    def write(self, part: Part, block: Any, made: int) -> int:
        """Write a part of the variable. What is written twice is the same then.

        Parameters
        ----------
        part : tuple of slice
        block : array_like
            The values, of the shape of the part, in any byte order and memory layout.
        made : int
            As `Unfinished.opened`.

        Returns
        -------
        int
            Values that were written.

        Raises
        ------
        DsError
            If shape or type are not those of the part, a value is missing, or booleans share a byte with those of
            another part; it names file and variable.
        FileNotFoundError
            If the file is not seen from here.
        """
        try:
            encoded = self._encoded(part, block)
            offsets, size = self._ranges(part)
        except DsError as error:
            raise error.at(path=self.file.path, variable=unescape(self.key))
        with self.file.opened(made) as fd:
            if fd >= 0 and size:
                regions.write_ranges(fd, offsets, size, encoded.buffers[0])
        return encoded.n

    def _encoded(self, part: Part, block: Any) -> Encoded:
        array = np.asanyarray(block)
        wanted = tuple(item.stop - item.start for item in part)
        if array.shape != wanted:
            raise DsError(f"found a chunk of shape {array.shape}, expected {wanted}")
        encoded = encode(array, self.type)
        if encoded.type.name != self.type:
            raise DsError(f"found a chunk of type {encoded.type.name}, expected {self.type}")
        if encoded.missing > 0:
            raise DsError("a value is missing, although the metadata say that none can be")
        return encoded

    def _ranges(self, part: Part) -> tuple[Any, int]:
        """Return where the bytes of a part go, in as few ranges as possible, and how many bytes each has."""
        starts, n = runs(self.shape, part)
        bits = TYPES[self.type].bits
        if bits == 1 and n and not is_apart(starts, n, math.prod(self.shape)):
            raise DsError(f"found a chunk of booleans at {part} that shares bytes with others")
        return self.offset + starts * bits // 8, (n * bits + 7) // 8


def runs(shape: Sequence[int], part: Part) -> tuple[Any, int]:
    """Return the stretches of values that a part of an array has in C order: as few and as long as possible.

    Returns
    -------
    starts : (N,) int64
        Values before each.
    n : int
        Values of each; 0 if the part is empty.
    """
    axis = len(shape) - 1
    inner = 1
    while axis > 0 and part[axis] == slice(0, shape[axis]):
        inner *= shape[axis]
        axis -= 1
    if axis < 0:
        return np.zeros(1, np.int64), 1
    sizes = [item.stop - item.start for item in part]
    outer = [range(item.start, item.stop) for item in part[:axis]]
    starts = flat_positions(outer, shape[:axis]) * (shape[axis] * inner) + part[axis].start * inner
    return starts, sizes[axis] * inner if len(starts) else 0


def is_apart(starts: Any, n: int, total: int) -> bool:
    """Return whether no bit of stretches shares a byte with the bits of others, of `total` ones in all."""
    return not (starts % 8).any() and (n % 8 == 0 or int(starts[-1]) + n == total)


def are_apart(type_name: str, shape: Sequence[int], chunks: Sequence[Sequence[int]]) -> bool:
    """Return whether no chunks of a variable share a byte: chunks of booleans that do cannot be written at a time.

    Parameters
    ----------
    type_name : str
    shape : sequence of int
    chunks : sequence
        For each dimension the lengths of the chunks along it.
    """
    if TYPES[type_name].bits != 1:
        return True
    split = max((axis for axis, lengths in enumerate(chunks) if len(lengths) > 1), default=None)
    if split is None:
        return True
    inner = math.prod(shape[split + 1 :])
    edges = list(accumulate(chunks[split]))
    if math.prod(shape[:split]) == 1:
        edges.pop()  # the last byte of all is nobody else's
    return all(edge * inner % 8 == 0 for edge in edges)
