"""Blocks to go through twice, where something must be known of all values before the first one is written."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ...body import Opened
from ..base import BLOCK_SIZE


class Spool(Opened):
    """Blocks that can be gone through again: the only one, or a file without a name."""

    def __init__(self, blocks: Iterable[Any], total: int, folder: str):
        rest = iter(blocks)
        first = list(_take(rest))
        self._only = first if not first or np.size(first[0]) >= total else None
        if self._only is None:
            # pickle suits every kind of block; nobody else can reach what lies in between
            self._file = tempfile.SpooledTemporaryFile(BLOCK_SIZE, dir=folder or None)  # noqa: SIM115
            try:
                for block in (*first, *rest):
                    pickle.dump(block, self._file, protocol=5)
            except BaseException:
                self._file.close()
                raise

    def __iter__(self) -> Iterator[Any]:
        if self._only is not None:
            yield from self._only
            return
        self._file.seek(0)
        while True:
            try:
                yield pickle.load(self._file)
            except EOFError:
                return

    def close(self) -> None:
        """Give back memory and file."""
        if self._only is None:
            self._file.close()


def _take(blocks: Iterator[Any]) -> Iterator[Any]:
    for block in blocks:
        yield block
        return
