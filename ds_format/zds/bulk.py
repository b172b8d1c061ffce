"""Existing lines of JSON that are added to a collection: read in blocks, and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from ..body.body import PIECE_SIZE
from ..errors import FormatError
from ..kernels.zds import lines as kernel
from ..kernels.zds.zdx import Table
from .documents import Document, decoder
from .faults import message_at
from .lines import whole_lines

LINE_FEED = 10
Check = Callable[[Document], None]
"""Called with each document; may raise an exception."""


def _blocks_of(source: bytes | bytearray | memoryview | BinaryIO) -> Iterator[Any]:
    """Iterate over blocks of lines. Each block ends with a line feed, except perhaps the last one.

    Lines that end with CR LF are changed to end with LF.

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
            stop = source.rfind(b"\n", start, start + PIECE_SIZE) + 1
            stop = stop or source.find(b"\n", start) + 1 or len(source)
            has_returns = source.find(b"\r\n", start, stop) >= 0
            yield _without_returns(bytes(view[start:stop])) if has_returns else view[start:stop]
            start = stop
        return
    if not hasattr(source, "read"):
        raise TypeError(f"found {type(source).__name__}, expected bytes or a file that is open for reading bytes")
    for block in whole_lines(iter(lambda: source.read(PIECE_SIZE), b"")):
        if not isinstance(block, bytes):
            raise TypeError("the file is open for reading text, expected bytes")
        yield _without_returns(block)


def _without_returns(block: bytes) -> bytes:
    return block.replace(b"\r\n", b"\n") if b"\r\n" in block else block


def checked_lines(table: Table, source: Any, start: int, name: str, check: Check | None) -> Iterator[tuple[int, Any]]:
    """Add the ids of lines to a table, and iterate over blocks of lines and their positions, from `start` on, in bytes.

    Parameters
    ----------
    table : Table
    source : bytes, bytearray, memoryview or file
        Lines of JSON. Each is a document with its `_id`. The last one may have no line feed.
    start : int
    name : str
        Name of the source in errors.
    check : callable, optional

    Raises
    ------
    FormatError
        If a line is not a document; the message names line and byte.
    """
    place, line = start, 1
    before = table.n
    for block in _blocks_of(source):
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
