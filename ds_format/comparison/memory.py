"""A dataset in memory, seen as a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..base.names import unescape
from ..codec.encode import describe
from ..dataset import checked
from ..drivers.base import BLOCK_SIZE, Handle, Metadata, block_slices
from ..errors import DsError, UnsupportedError
from ..selection import take


class MemorySource:
    """A dataset as a `Source`.

    Parameters
    ----------
    dataset : dict
        Key → data, `"."` → metadata.

    Raises
    ------
    UnsupportedError
        If it is none, or ds has no type for a variable.
    """

    def __init__(self, dataset: Mapping[str, Any]):
        self._arrays, given = checked(dataset)
        self.meta: Metadata = describe(self._arrays, given)
        self.faults: Mapping[str, DsError] = {}

    def read(self, name: str, index: tuple[Any, ...] | None = None) -> Any:
        """Return one variable, or the part that an index selects."""
        array = self._arrays[name]
        if array is None:
            return None
        part = array if index is None else take(array, index)
        return part if np.ndim(part) or isinstance(part, np.ma.MaskedArray) else part[()]

    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Yield one variable in blocks, which are views."""
        array = self._arrays[name]
        if array is not None:
            for block in block_slices(array.shape, max(array.itemsize, 1), budget):
                yield array[(*block, ...)]

    def handle(self, name: str) -> Handle:
        """Refuse: what is in memory has no file.

        Raises
        ------
        UnsupportedError
            Always.
        """
        raise UnsupportedError("a dataset in memory has no handles", variable=unescape(name))

    def close(self) -> None:
        """There is nothing to be released."""
