"""Blocks of texts until their pickle is made."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Iterable, Iterator
from typing import IO, Any

from ...body import Opened
from ...body.target import naming
from ..base import BLOCK_SIZE


class Pool:
    """Blocks of many variables to go through later: in memory while they are small, then in a file without a name.

    Parameters
    ----------
    path : str
        The file that the blocks are for: the other one is in its folder, and errors have its name.
    """

    def __init__(self, path: str):
        self._path = path
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(BLOCK_SIZE, dir=os.path.dirname(path) or None)  # noqa: SIM115

    def add(self, blocks: Iterable[Any]) -> Pooled:
        """Keep the blocks of one variable."""
        with naming(self._path):
            start, n = self._file.seek(0, os.SEEK_END), 0
        for block in blocks:
            with naming(self._path):
                pickle.dump(block, self._file, protocol=5)
            n += 1
        return Pooled(self._file, start, n)

    def close(self) -> None:
        """Give back memory and file."""
        self._file.close()


class Pooled(Opened):
    """Blocks of one variable."""

    def __init__(self, file: IO[bytes], start: int, n: int):
        self._file, self._start, self._n = file, start, n

    def __iter__(self) -> Iterator[Any]:
        place = self._start
        for _ in range(self._n):
            self._file.seek(place)
            block = pickle.load(self._file)
            place = self._file.tell()
            yield block
