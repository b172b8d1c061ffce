"""Blocks for later, next to a file that is written: in memory while they are small, then in a file without a name."""

from __future__ import annotations

import itertools
import os
import pickle
import tempfile
from collections.abc import Iterable, Iterator
from typing import IO, Any

import numpy as np

from ..body import Opened
from ..body.target import naming
from .base import BLOCK_SIZE


class BlockPool:
    """Blocks of many variables.

    Parameters
    ----------
    path : str
        The output file. The temporary file is in its folder, and errors have its name.
    """

    def __init__(self, path: str):
        self._path = path
        folder = os.path.dirname(path) or None
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(BLOCK_SIZE, dir=folder)  # noqa: SIM115

    def add(self, blocks: Iterable[Any]) -> PooledBlocks:
        """Keep the blocks of one variable."""
        with naming(self._path):
            start, n = self._file.seek(0, os.SEEK_END), 0
        for block in blocks:
            with naming(self._path):
                pickle.dump(block, self._file, protocol=5)  # for every kind of block
            n += 1
        return PooledBlocks(self._file, start, n)

    def close(self) -> None:
        """Release memory and file."""
        self._file.close()


class PooledBlocks(Opened):
    """Blocks of one variable, for any number of passes."""

    def __init__(self, file: IO[bytes], start: int, n: int):
        self._file, self._start, self._n = file, start, n

    def __iter__(self) -> Iterator[Any]:
        place = self._start
        for _ in range(self._n):
            self._file.seek(place)
            block = pickle.load(self._file)  # no other process can reach the file in between
            place = self._file.tell()
            yield block


class Spool(Opened):
    """Blocks of one variable, for any number of passes. A single one is kept as it is.

    Parameters
    ----------
    blocks : iterable
    total : int
        Values of all blocks.
    path : str
        As of `BlockPool`.
    """

    def __init__(self, blocks: Iterable[Any], total: int, path: str):
        rest = iter(blocks)
        self._blocks: Iterable[Any] = [*itertools.islice(rest, 1)]
        self._pool: BlockPool | None = None
        if any(np.size(block) < total for block in self._blocks):
            self._pool = BlockPool(path)
            try:
                self._blocks = self._pool.add(itertools.chain(self._blocks, rest))
            except BaseException:
                self._pool.close()
                raise

    def __iter__(self) -> Iterator[Any]:
        return iter(self._blocks)

    def close(self) -> None:
        """Release memory and file."""
        if self._pool is not None:
            self._pool.close()
