"""A header, from memory or from an open file, all checks done: at once by a kernel, and step by step if it gives up."""

from __future__ import annotations

from typing import Any

from ..errors import TruncatedError
from ..kernels.classic.header import Parser
from ..kernels.files import ranges
from .format import CODES, FORMATS, Incomplete, read_items
from .layout import Dimension, Header, Variable, lay_out

FIRST_SIZE = 8 * 1024
"""Bytes that are read of a file at first: most headers have fewer."""

_parser = Parser(Dimension, Variable, Header, FORMATS, CODES)


def parse(data: Any, file_size: int, *, share: bool = False) -> Header:
    """Read the header of a classic file.

    Parameters
    ----------
    data : C-contiguous buffer
        The first bytes of the file.
    file_size : int
        Bytes of the whole file.
    share : bool
        Whether attributes of a variable may be the very same as in the header of another file that says the same of
        it. Then nobody may change them.

    Raises
    ------
    Incomplete
        If the header goes on behind `data`, inside of the file.
    FormatError, TruncatedError
        If it is damaged; see `format.read_items` and `layout.lay_out`.
    Unusual
        If the library shall read the file.
    """
    found = _parser.parse(data, file_size, share)
    if type(found) is Header:
        return found
    if found is not None:
        raise Incomplete(found)
    with memoryview(data) as view:
        return lay_out(read_items(view.cast("B"), file_size), file_size)


def read_header(fd: int, file_size: int, prefix: bytes | bytearray = b"", *, share: bool = False) -> Header:
    """Read the header of an open file, as much of it as there is.

    Parameters
    ----------
    fd : int
        File descriptor; its position is not used.
    file_size : int
    prefix : bytes
        What was read of the file already.
    share : bool
        See `parse`.

    Raises
    ------
    OSError
        As the system says.
    FormatError, TruncatedError, Unusual
        As `parse` does.
    """
    data: bytes | bytearray = prefix
    size = FIRST_SIZE
    while True:
        size = min(size, file_size)
        if size > len(data):
            data = _read_on(fd, data, size)
        try:
            return parse(data, file_size, share=share)
        except Incomplete as error:
            size = max(error.size, 4 * len(data))


def _read_on(fd: int, data: bytes | bytearray, size: int) -> bytearray:
    """Return data and what follows it in the file, `size` bytes in all."""
    room = bytearray(size)
    room[: len(data)] = data
    with memoryview(room) as view:
        n = len(data) + ranges.read_at(fd, len(data), view[len(data) :])
    if n < size:
        raise TruncatedError(f"header: found the end of the file at byte {n}, expected {size} bytes")
    return room
