"""A body on disk."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...codec.body import Bytes
from ...errors import TruncatedError
from ...kernels.files import ranges
from ...opened import Opened


class FileBody(Opened):
    """A body on disk, read range by range.

    Parameters
    ----------
    fd : int
        File descriptor.
    start : int
        Of the body, in bytes from the start of the file.
    size : int
        Bytes of the body.
    """

    def __init__(self, fd: int, start: int, size: int):
        self.fd = fd
        self.start = start
        self.size = max(size, 0)

    def view(self, offset: int, size: int) -> Bytes:
        """Read bytes."""
        out = np.empty(size, np.uint8)
        self._fill(offset, out)
        return out

    def array(self, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Read an array."""
        out = np.empty(shape, dtype)
        self._fill(offset, out)
        return out

    def ranges(self, offsets: NDArray[np.int64], size: int, out: Bytes) -> None:
        """Read ranges of one size into `out`."""
        if ranges.read_ranges(self.fd, offsets + self.start, size, out) != out.size:
            raise TruncatedError("the file was cut while it was read")

    def _fill(self, offset: int, out: NDArray[Any]) -> None:
        if ranges.read_at(self.fd, self.start + offset, out) != out.nbytes:
            raise TruncatedError("the file was cut while it was read")
