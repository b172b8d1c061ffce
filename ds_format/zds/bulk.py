"""Adding existing lines of JSON to a collection, as lines or as separate files: checked first, all of them or none."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from ..body.body import PIECE_SIZE, OutputBody
from ..body.temporary import WorkFolder
from ..errors import FormatError, UnsupportedError
from ..kernels.files import files
from ..kernels.zds import lines as kernel
from ..kernels.zds.zdx import Table
from . import format
from .docs import DocFiles
from .documents import Document, decoder
from .faults import message_at
from .line_writer import LineWriter
from .lines import whole_lines
from .roots import Folder

LINE_FEED = 10
Check = Callable[[Document], None]


class BinaryFile(Protocol):
    """A file opened for reading bytes."""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes, and none at the end."""


def blocks_of(source: bytes | bytearray | memoryview | BinaryFile) -> Iterator[Any]:
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


def write_lines(writer: LineWriter, source: Any, name: str, check: Check | None = None) -> int:
    """Add lines to a collection as they are.

    In a new file, each block is written as soon as it is checked. If others already read the file, nothing is written
    before everything is checked. For this, the lines of a source file are first written to a temporary file.

    Parameters
    ----------
    writer : LineWriter
    source : bytes, bytearray, memoryview or file
        Lines of JSON. Each is a document with its `_id`. The last one may have no line feed.
    name : str
        Name of the source in errors.
    check : callable, optional
        Called with each document; may raise an exception.

    Returns
    -------
    int
        Number of lines.

    Raises
    ------
    FormatError
        If a line is not a document; the message names line and byte. Then nothing is added.
    OSError
        If writing fails. Then nothing is added.
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
    """Add the ids of lines to a table, and iterate over blocks of lines and their positions, from `start` on, in bytes.

    Raises
    ------
    FormatError
        If a line is not a document; the message names line and byte.
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
    """Write each block as soon as it is checked; return the end of the lines."""
    stop = start
    for place, data in checked(writer.table, source, start, name, check):
        writer.write(place, data)
        stop = place + len(data)
    return stop


def _write_checked(writer: LineWriter, source: Any, start: int, name: str, check: Check | None) -> int:
    """Write all blocks after everything is checked; return the end of the lines."""
    stop = start
    if isinstance(source, bytes | bytearray | memoryview):
        blocks = []
        for place, data in checked(writer.table, source, start, name, check):
            blocks.append((place, data))
            stop = place + len(data)
        for place, data in blocks:
            writer.write(place, data)
        return stop
    with tempfile.TemporaryFile(dir=os.path.dirname(writer.path)) as spool:
        checked_lines = OutputBody.of(writer.path, os.dup(spool.fileno()))
        for place, data in checked(writer.table, source, start, name, check):
            checked_lines.write(place - start, data)
            stop = place + len(data)
        writer.copy(checked_lines, start, stop - start)
    return stop


def write_documents(
    place: Folder, collection: str, docs: DocFiles, source: Any, name: str, check: Check | None, durable: bool
) -> tuple[int, list[str]]:
    """Add lines as they are, each as the file of a document. If several have the same id, the last one counts.

    The files are written into a folder next to `docs` while they are checked, and renamed if all are valid.

    Parameters
    ----------
    place : Folder
    collection : str
    docs : DocFiles
        Gets the new ids.
    source, name, check
        As for `write_lines`.
    durable : bool
        Flush files and folders to the disk.

    Returns
    -------
    n : int
        Number of lines.
    ids : list of str
        Their ids.

    Raises
    ------
    FormatError
        If a line is not a document; the message names line and byte. Then nothing is added.
    UnsupportedError
        If an id cannot be the name of a file. Then nothing is added.
    OSError
        If writing fails. Then nothing is added, unless renaming itself fails.
    """
    table, n = Table(), 0
    final = os.path.join(place.path, *format.docs_name(collection).split("/"))
    ids: dict[str, str] = {}
    targets: dict[str, str] = {}
    os.makedirs(os.path.dirname(final), exist_ok=True)
    with WorkFolder(final, "import") as beside:
        for _, data in checked(table, source, 0, name, check):
            lines = bytes(data).split(b"\n")[:-1]
            for line, document in zip(lines, decoder.many(lines), strict=True):
                id = document[format.ID]
                path = os.path.join(beside, f"{id}{format.DOCUMENT_SUFFIX}")
                ids[path] = id
                try:
                    targets[path] = place.locate(format.document_name(collection, id))
                except UnsupportedError as error:
                    raise error.at(path=name)
                files.write_file(path, [line, b"\n"], True, durable)
            n += len(lines)
        os.makedirs(final, exist_ok=True)
        for path, target in targets.items():
            os.replace(path, target)
            docs.add(ids[path])
        if durable and targets:
            files.sync_folder(next(iter(targets.values())))
    return n, list(ids.values())
