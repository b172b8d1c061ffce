"""Bytes of another body under a name of its own, perhaps with a checksum."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import IntegrityError
from . import Opened
from .body import Body, ended


class BytesBody(Opened, Body):
    """A body that reads `bytes` of another one, under a name of its own, such as a member of an archive.

    Parameters
    ----------
    file : Body
    name : str
        For messages.
    crc : int, optional
        The CRC-32, which is compared if all bytes are read.
    """

    __slots__ = ("_crc", "_file", "name", "size")

    def __init__(self, file: Body, name: str, crc: int | None = None):
        self._file = file
        self._crc = crc
        self.size = file.size
        self.name = name

    @property
    def is_far(self) -> bool:  # type: ignore[override]
        """Whether each read is a request."""
        return self._file.is_far

    @property
    def batch(self) -> int:  # type: ignore[override]
        """How many bytes a reader should ask for in one call, at most."""
        return self._file.batch

    def in_file(self) -> tuple[int, int] | None:
        """Return the position of the bytes in an open file. Reading there does not compare a checksum."""
        return self._file.in_file()

    def announce(self, offsets: Any, sizes: Any) -> None:
        """Receive the ranges that will be read next; see `Body`."""
        self._file.announce(offsets, sizes)

    def read(self, offset: int, size: int) -> bytes:
        """Return bytes."""
        self._check_within(offset, size)
        data = bytes(self._file.read(offset, size))
        if self._crc is not None and size == self.size:
            self._compare(zlib.crc32(data))
        return data

    def section(self, offset: int, size: int | None = None) -> Body:
        """Return a part. Reading it does not compare a checksum."""
        self._check_within(offset, size or 0)
        return BytesBody(self._file.section(offset, size), self.name)

    def blocks(self, offset: int = 0, size: int | None = None) -> Iterator[bytes]:
        """Iterate over bytes. The checksum of all of them is compared before the last block is returned."""
        blocks = self._file.blocks(offset, size)
        return blocks if offset or self._crc is None else self._compared(blocks)

    def _compared(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        done = found = 0
        for block in blocks:
            done += len(block)
            found = zlib.crc32(block, found)
            if done == self.size:
                self._compare(found)
            yield block
        if not self.size:
            self._compare(0)

    def _compare(self, found: int) -> None:
        """Raise an IntegrityError if a checksum is not the expected one."""
        if found != self._crc:
            raise IntegrityError(f"CRC-32 is {found:08x}, expected {self._crc:08x}", path=self.name)

    def _check_within(self, offset: int, size: int) -> None:
        """Raise a TruncatedError unless a range is inside the body. The other one may go on after it."""
        if offset < 0 or size < 0 or offset + size > self.size:
            raise ended(self.name, offset, size, self.size)
