"""A source that tells how far the blocks of a variable have been read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..base.progress import Advance, Progress
from ..drivers.base import BLOCK_SIZE, Entries, Handle, Source
from ..errors import DsError
from ..views.subset import item_size, memory_size


class Watched:
    """See `ds_format.drivers.base.Source`.

    Parameters
    ----------
    source : Source
    progress : callable, optional
        None: nobody watches.
    """

    def __init__(self, source: Source, progress: Progress | None):
        self._source, self._progress = source, progress

    @property
    def meta(self) -> Entries:
        """As of the source."""
        return self._source.meta

    @property
    def faults(self) -> Mapping[str, DsError]:
        """As of the source."""
        return self._source.faults

    def read(self, name: str, index: tuple[Any, ...] | None = None) -> Any:
        """Return one variable, or a part of it."""
        return self._source.read(name, index)

    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Yield one variable in blocks."""
        entry = self.meta[name]
        advance = Advance(self._progress, memory_size(entry))
        return advance.over_arrays(self._source.blocks(name, budget), item_size(entry))

    def handle(self, name: str) -> Handle:
        """Return what reads one variable elsewhere."""
        return self._source.handle(name)

    def close(self) -> None:
        """Release the file."""
        self._source.close()
