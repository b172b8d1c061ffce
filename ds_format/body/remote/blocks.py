"""Blocks of a remote file that are kept, for libraries that read many small ranges one after another."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from ...base.threads import renew_lock
from ..body import Body

BLOCK = 256 * 1024
"""Bytes of a block."""
MAX_BLOCKS = 64
"""Blocks that are kept."""


class BlockBody(Body):
    """A body whose small reads come from blocks that are kept. One thread reads at a time.

    Parameters
    ----------
    body : Body
    """

    is_elsewhere = True

    def __init__(self, body: Body):
        self._body = body
        self._blocks: OrderedDict[int, memoryview] = OrderedDict()
        self._lock = threading.Lock()
        renew_lock(self, threading.Lock)
        self.name = body.name
        self.size = body.size
        self.watch = body.watch

    def read(self, offset: int, size: int) -> Any:
        """Return a buffer."""
        if size >= BLOCK:
            return self._body.read(offset, size)
        out = bytearray(size)
        at = 0
        while at < size:
            number, skip = divmod(offset + at, BLOCK)
            piece = self._block(number)[skip : skip + size - at]
            if not len(piece):
                return self._body.read(offset, size)  # which says that the file ends before
            out[at : at + len(piece)] = piece
            at += len(piece)
        return out

    def _block(self, number: int) -> memoryview:
        with self._lock:
            found = self._blocks.pop(number, None)
            if found is None:
                start = number * BLOCK
                found = memoryview(self._body.read(start, max(min(BLOCK, self.size - start), 0)))
                if len(self._blocks) >= MAX_BLOCKS:
                    self._blocks.popitem(last=False)
            self._blocks[number] = found
            return found

    def section(self, offset: int, size: int | None = None) -> Body:
        """Return a part, of which no blocks are kept."""
        return self._body.section(offset, size)
