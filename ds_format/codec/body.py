"""Where the bytes of a body come from: memory, or a file that is read in ranges."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

ndarray = np.ndarray
Bytes = NDArray[np.uint8]


class Body(Protocol):
    """The bytes behind the header. Offsets count from its start; callers stay inside of its `size`."""

    size: int

    def view(self, offset: int, size: int) -> Bytes:
        """Return bytes to look at: perhaps shared, not to be changed."""
        ...

    def array(self, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an array of these bytes that may be handed to a user: aligned and writable."""
        ...

    def ranges(self, offsets: NDArray[np.int64], size: int, out: Bytes) -> None:
        """Copy ranges of `size` bytes each, one after another, into `out`."""
        ...


class MemoryBody:
    """A body in memory: the bytes of a whole small file, or of a copy-on-write map of a large one.

    Parameters
    ----------
    data : writable buffer
        The whole file.
    start : int
        Of the body, in bytes.
    share : bool
        Whether arrays may be views of `data`, and keep all of it alive.
    """

    __slots__ = ("data", "share", "size", "start")

    def __init__(self, data: Any, start: int, share: bool):
        self.data = data
        self.start = min(start, len(data))  # a header line without LF ends with the file
        self.size = len(data) - self.start
        self.share = share

    def view(self, offset: int, size: int) -> Bytes:
        """Return a view."""
        return np.frombuffer(self.data, np.uint8, size, self.start + offset)

    def array(self, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return a view if that is allowed and aligned, else a copy."""
        array: NDArray[Any] = ndarray(shape, dtype, self.data, self.start + offset)
        return array if self.share and array.flags.aligned else array.copy()

    def ranges(self, offsets: NDArray[np.int64], size: int, out: Bytes) -> None:
        """Copy ranges of one size into `out`."""
        for i, offset in enumerate(offsets.tolist()):
            out[i * size : (i + 1) * size] = self.view(offset, size)
