"""The checksums of both versions: of bytes as they are in the file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Protocol

from ..kernels.common.checksums import adler32


class Checksum(Protocol):
    """A checksum of bytes that come in parts."""

    def update(self, data: Any) -> None:
        """Go on with more bytes."""

    def result(self) -> int | bytes:
        """Return the checksum of all bytes."""


class Adler32:
    """That of version 1, an integer of 32 bits. It finds accidents, and no intent."""

    def __init__(self) -> None:
        self._value = 1

    def update(self, data: Any) -> None:
        """Go on with more bytes."""
        self._value = adler32(data, self._value)

    def result(self) -> int:
        """Return the checksum of all bytes."""
        return self._value


class Sha256:
    """That of version 2, 32 bytes. Whoever can write the file can write it, too."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def update(self, data: Any) -> None:
        """Go on with more bytes."""
        self._hash.update(data)

    def result(self) -> bytes:
        """Return the checksum of all bytes."""
        return self._hash.digest()


def new(version: int) -> Checksum:
    """Return an empty checksum of a version."""
    return Adler32() if version == 1 else Sha256()


def sha256(data: Any) -> bytes:
    """Return the checksum of bytes in version 2."""
    return hashlib.sha256(data).digest()


OF: dict[int, Callable[[Any], int | bytes]] = {1: adler32, 2: sha256}
"""Version → what makes the checksum of bytes."""


def shown(checksum: int | bytes) -> str:
    """Return a checksum as messages show it."""
    return f"{checksum:08x}" if isinstance(checksum, int) else checksum.hex()
