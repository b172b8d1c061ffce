"""The bytes of an index file: of a small one in memory, of a large one when they are wanted, or mapped."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from ..body import open_binary
from ..body.body import Body, FileBody
from ..body.mapped import open_mapped
from ..errors import FormatError, TruncatedError

SMALL_SIZE = 1 << 20
"""Bytes up to which a file is read at once, and not kept open."""
REPAIR = "`ds reindex` makes it from the data"


def file_size(path: str) -> int | None:
    """Return the size of a file in bytes, or None if there is none."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return None


def load(path: str) -> bytes:
    """Return the bytes of a file.

    Raises
    ------
    OSError
        If it cannot be opened, or is no file.
    """
    with open_binary(path, 0) as file:
        return file.read()


class Part:
    """An index file as it was when it was opened, whatever stands under its name later.

    Parameters
    ----------
    file : Body or bytes
        A file, which is read when its bytes are wanted first; one that is mapped; or what it holds.

    Attributes
    ----------
    size : int
        Bytes.
    """

    def __init__(self, file: Body | bytes):
        self._file = file
        self.size = len(file) if isinstance(file, bytes) else file.size

    @property
    def data(self) -> Any:
        """The bytes of the file; TruncatedError if it has become shorter."""
        file = self._file
        if isinstance(file, bytes):
            return file
        data = file.read(0, self.size)
        if isinstance(data, bytes):
            self._file = data
        return data

    def start(self, size: int) -> Any:
        """Return the first bytes."""
        file, end = self._file, min(size, self.size)
        return file[:end] if isinstance(file, bytes) else file.read(0, end)


def check_size(path: str, found: int, expected: int, n: int) -> None:
    """Check the size of a file that has an entry for each of n samples.

    Raises
    ------
    FormatError, TruncatedError
        If it has another size; the message says both.
    """
    if found != expected:
        error = TruncatedError if found < expected else FormatError
        raise error(f"found {found} bytes, expected {expected} for {n} samples; {REPAIR}", path=path)


def load_if(path: str) -> bytes | None:
    """Return the bytes of a file as `load` does, or None if there is none."""
    try:
        return load(path)
    except FileNotFoundError:
        return None


def open_first(paths: Iterable[str], *, mmap: bool) -> Part | None:
    """Open the first of these files that exists; None if none does. A large one is mapped, if that was asked for."""
    for path in paths:
        try:
            file = FileBody.open(path)
        except FileNotFoundError:
            continue
        if file.size <= SMALL_SIZE:
            return Part(file.read(0, file.size))
        return Part(open_mapped(path) if mmap else file)
    return None
