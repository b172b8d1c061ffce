"""Ready-made lines, checked and added to a collection: all of them, or none."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from ..errors import FormatError
from ..kernels.files import ranges
from ..kernels.zds import lines as kernel
from ..kernels.zds.zdx import Table
from .documents import Document, decoder
from .faults import message_at
from .lines import whole_lines
from .writer import LineWriter

LINE_FEED = 10
BLOCK_SIZE = 1 << 20
"""Bytes that are checked at a time, and written while they are in the cache."""
Check = Callable[[Document], None]


class BinaryFile(Protocol):
    """A file that is open for reading bytes."""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes; none at the end."""


def blocks_of(source: bytes | bytearray | memoryview | BinaryFile) -> Iterator[Any]:
    """Iterate over blocks of lines, each of which ends with a line feed, except perhaps the last one.

    Lines that end with CR LF come with LF alone.

    Raises
    ------
    TypeError
        If the source is neither bytes nor a binary file.
    """
    if isinstance(source, memoryview):
        source = source.tobytes()
    if isinstance(source, bytes | bytearray):
        view, start = memoryview(source), 0
        while start < len(source):
            stop = source.rfind(b"\n", start, start + BLOCK_SIZE) + 1
            stop = stop or source.find(b"\n", start) + 1 or len(source)
            has_returns = source.find(b"\r\n", start, stop) >= 0
            yield _without_returns(bytes(view[start:stop])) if has_returns else view[start:stop]
            start = stop
        return
    if not hasattr(source, "read"):
        raise TypeError(f"found {type(source).__name__}, expected bytes or a file that is open for reading bytes")
    for block in whole_lines(iter(lambda: source.read(BLOCK_SIZE), b"")):
        if not isinstance(block, bytes):
            raise TypeError("the file is open for reading text, expected bytes")
        yield _without_returns(block)


def _without_returns(block: bytes) -> bytes:
    return block.replace(b"\r\n", b"\n") if b"\r\n" in block else block


def write_lines(writer: LineWriter, source: Any, name: str, check: Check | None = None) -> int:
    """Add lines to a collection as they are.

    To a new file, each block is written when it was checked. To one that others read already nothing is written before
    all is checked, for which the lines of a file go into another file first.

    Parameters
    ----------
    writer : LineWriter
    source : bytes, bytearray, memoryview or file
        Lines of JSON, each a document with its `_id`. The last one may lack its line feed.
    name : str
        What the source is called in errors.
    check : callable, optional
        Called with each document; may raise.

    Returns
    -------
    int
        The lines.

    Raises
    ------
    FormatError
        If a line is no document; it names line and byte. Nothing is added then.
    OSError
        If writing fails. Nothing is added then.
    """
    start = writer.end_of_lines()
    n = writer.table.n
    try:
        if writer.is_hidden:
            stop = _write_at_once(writer, source, start, name, check)
        else:
            stop = _write_checked(writer, source, start, name, check)
    except BaseException:
        writer.refuse()
        raise
    writer.size = stop
    return writer.table.n - n


def checked(table: Table, source: Any, start: int, name: str, check: Check | None) -> Iterator[tuple[int, Any]]:
    """Iterate over blocks of whole lines, of which a table has got the ids, and their places behind `start`, in bytes.

    Raises
    ------
    FormatError
        If a line is no document; it names line and byte.
    """
    place, line = start, 1
    before = table.n
    for block in blocks_of(source):
        data = block if block[-1] == LINE_FEED else bytes(block) + b"\n"
        _, found = kernel.add_lines(table, data, place, True, True)
        if found:
            kind, offset, _, where = found[0]
            line += table.n - before + bytes(data[: offset - place]).count(b"\n")
            raise FormatError(message_at(kernel.KINDS[kind], line, where - start), path=name)
        if check is not None:
            for document in decoder.many(bytes(data).split(b"\n")[:-1]):
                check(document)
        yield place, data
        place += len(data)


def _write_at_once(writer: LineWriter, source: Any, start: int, name: str, check: Check | None) -> int:
    """Write each block when it was checked; return where they end."""
    stop = start
    for place, data in checked(writer.table, source, start, name, check):
        writer.write(place, data)
        stop = place + len(data)
    return stop


def _write_checked(writer: LineWriter, source: Any, start: int, name: str, check: Check | None) -> int:
    """Write when all was checked; return where it ends."""
    stop = start
    if isinstance(source, bytes | bytearray | memoryview):
        blocks = []
        for place, data in checked(writer.table, source, start, name, check):
            blocks.append((place, data))
            stop = place + len(data)
        for place, data in blocks:
            writer.write(place, data)
        return stop
    with tempfile.TemporaryFile(dir=os.path.dirname(writer.path), buffering=0) as spool:
        for place, data in checked(writer.table, source, start, name, check):
            ranges.write_at(spool.fileno(), place - start, data)
            stop = place + len(data)
        writer.copy(spool.fileno(), start, stop - start)
    return stop
