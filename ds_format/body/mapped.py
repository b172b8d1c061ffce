"""Memory-mapped files, which need no system call for each read.

Truncating a mapped file kills the process (SIGBUS), so files are mapped only on request.
"""

from __future__ import annotations

import mmap
from typing import Any, Self

from .body import Body, FileBody, MemoryBody
from .stamp import Watch


class MappedBody(MemoryBody):
    """A memory map of a file, or of a part of it. It lasts as long as its views, even if the file is removed."""

    __slots__ = ("watch",)

    def section(self, offset: int, size: int | None = None) -> Self:
        """Return a part of the same map."""
        part = super().section(offset, size)
        part.watch = self.watch
        return part


def mapped(file: Body) -> Body:
    """Return a copy-on-write map of an open file: views may be changed, and the file stays as it is."""
    if file.in_file() is None:
        return MemoryBody(file.name, file.head(file.size), lends=True)
    return _map(file, mmap.ACCESS_COPY)


def open_mapped(path: Any) -> Body:
    """Open a file as a map that can only be read.

    Raises
    ------
    OSError
        As `open_file`.
    """
    return _map(FileBody.open(path), mmap.ACCESS_READ)


def _map(file: Body, access: int) -> MappedBody:
    skipped = file.start % mmap.ALLOCATIONGRANULARITY  # a member of a pack begins anywhere in the file
    size, start = file.size + skipped, file.start - skipped
    data = mmap.mmap(file.fd or 0, size, access=access, offset=start) if file.size else b""
    body = MappedBody(file.name, memoryview(data)[skipped:], lends=access == mmap.ACCESS_COPY)
    body.watch = file.watch if access == mmap.ACCESS_COPY else Watch()
    return body
