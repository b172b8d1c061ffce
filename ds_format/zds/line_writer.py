"""Writing the lines of a collection: appended while it is open, and one line for each id on closing.

The files on the disk are valid at any time. Lines are appended. A new file, or one that is rewritten because lines are
removed, gets its name when it is complete. index.bin is set aside before the first line is added, and written again on
closing. It is removed before a new data.jsonl replaces the old one.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import tempfile
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

from ..body import sync_file
from ..body.body import FileBody, OutputBody
from ..body.target import Target, naming
from ..errors import DsError, UnsupportedError
from ..kernels.files import files
from ..kernels.files.names import exists
from ..kernels.zds.lines import Encoder
from ..kernels.zds.zdx import Table
from . import format, index_bin
from .bulk import Check, checked_lines
from .documents import Document, decoder, plain
from .faults import Faults, Silence
from .line_reader import LineFiles, LineReader, open_index
from .lines import Scan, last_line
from .roots import Folder

BUFFER_SIZE = 1 << 20
"""Bytes of lines that are collected before they are written."""
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)


class LineWriter(LineReader):
    """data.jsonl of a collection, opened for writing. The caller must hold the lock of the collection.

    Parameters
    ----------
    place : Folder
    collection : str
    is_new : bool
        Start without lines. The existing file stays until the first `flush`.
    policy : str
        Use of the index, one of `index_bin.POLICIES`.
    faults : Faults
    durable : bool
        Flush to the disk with each `flush`.

    Attributes
    ----------
    path : str
        data.jsonl.
    size : int
        Bytes of the written lines.
    """

    def __init__(self, place: Folder, collection: str, is_new: bool, policy: str, faults: Faults, durable: bool):
        super().__init__(LineFiles(None, None, False), policy, faults, is_read=True)
        self.path = self._path = place.locate(format.data_name(collection))
        self._is_changed = False
        self.size = 0
        self._index_path = place.locate(format.index_name(collection))
        self._aside_path = place.locate(format.aside_name(collection))
        self._needs_index = exists(self._aside_path, follow=False)  # an earlier writer ended without writing it
        self._place, self._collection = place, collection
        self._durable = durable
        self._encoder = Encoder(plain)
        self._deleted = False  # whether the file still contains the line of a deleted id
        self._is_own = False  # whether all lines of the file were written by this object
        self._is_aside_durable = True
        self._target: Target | None = None
        self._pid = os.getpid()
        self._is_closing = False
        for path in (self.path, self._aside_path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        sweep(self.path, (format.DATA, format.INDEX, format.MANIFEST))
        sweep(self._aside_path, (os.path.basename(self._aside_path),))
        if is_new or not exists(self.path, follow=False):
            self._create()
        else:
            self._output = OutputBody.open(self.path, _NO_LINKS)
            self.size = self._output.size
            self._cut_torn()

    def _create(self) -> None:
        self._target = Target(self.path, durable=self._durable)
        with naming(self.path):
            self._output = OutputBody.of(self.path, self._target.create())
        self._table = Table()
        self._is_own = True

    def _cut_torn(self) -> None:
        """Make the file end with a line feed. An incomplete last line is moved to another file."""
        tail, is_document = last_line(self._output)
        if not tail:
            return
        start = self.size - len(tail)
        if is_document:
            self._faults.report(self.path, "the last line has no line feed; it gets one", offset=start)
            self._empty_index(self._durable)
            self._output.write(self.size, b"\n")
            self.size += 1
            return
        message = f"a torn line of {len(tail)} bytes at the end; moved to {name_to_keep(self.path)}"
        self._faults.report(self.path, message, offset=start)
        keep_aside(self.path, tail, self._durable)
        self._empty_index(self._durable)
        self._output.truncate(start)
        self.size = start

    def _current_files(self) -> LineFiles:
        return LineFiles(self._opened(), *open_index(self._place, self._collection))

    def get(self, id: str) -> Document | None:
        """Return the document of an id, or None if there is none.

        Raises
        ------
        FormatError
            If the file was modified elsewhere.
        """
        span = self.table.span(id)
        if span is None or span[0] < self.size:
            return self._get_checked(id)
        start = span[0] - self.size
        return decoder.one(self._encoder.view(start, start + span[1]))

    def _read_lines(self, reason: str) -> None:
        self._write_pending()
        super()._read_lines(reason)

    def _opened(self) -> FileBody:
        """Return the written lines, in their current state."""
        return self._output.section(0, self.size)

    def put(self, id: str | None, document: Document) -> str:
        """Add a document, and return its id. It replaces one with the same id.

        Raises
        ------
        UnsupportedError
            If it cannot be written. Then nothing has changed.
        """
        self._begin()
        try:
            start, length = self._encoder.add(id, document)
        except (ValueError, TypeError) as error:
            raise self._unsupported(error, "" if id is None else f"document {id!r:.100}: ")
        id = document[format.ID] if id is None else id
        self.table.add(id, self.size + start, length)
        if self._encoder.size >= BUFFER_SIZE:
            self._write_pending()
        return id

    def _unsupported(self, error: Exception, where: str = "") -> DsError:
        """Return the error for a document that cannot be written."""
        return error if isinstance(error, DsError) else UnsupportedError(f"{where}{error}", path=self.path)

    def put_all(self, documents: Iterable[Any]) -> int:
        """Add documents, and return their number.

        Raises
        ------
        UnsupportedError
            If one cannot be written. Those before it have been added.
        """
        self._begin()
        iterator = iter(documents)
        n, done = 0, False
        while not done:
            try:
                count, done = self._encoder.put_all(iterator, self.table, self.size, BUFFER_SIZE)
            except (ValueError, TypeError) as error:
                raise self._unsupported(error)
            n += count
            if self._encoder.size >= BUFFER_SIZE:
                self._write_pending()
        return n

    def discard(self, id: str) -> bool:
        """Remove a document, and return whether it existed. The next `flush` removes its line."""
        if not self.table.has(id):
            return False
        self._begin()
        self.get(id)  # raises an error if the index leads to another line, which must not be removed
        if not self.table.discard(id):
            return False
        self._deleted = True
        return True

    def _begin(self) -> None:
        """Prepare for the first change."""
        if os.getpid() != self._pid:
            raise UnsupportedError("another process opened the collection for writing", path=self.path)
        if self._is_changed:
            return
        table = self.table
        if self._target is None:
            if not self._is_read and not table.contiguous:  # without the index, deleted lines would count again
                self._rewrite()
            else:
                if self._is_read:
                    self._empty_index(self._durable)
                self._put_index_aside(self._durable)
        self._is_changed = True

    def _put_index_aside(self, durable: bool) -> None:
        """Move index.bin to where others do not take it for an index of all lines; if there is none, write it there."""
        try:
            os.replace(self._index_path, self._aside_path)
        except FileNotFoundError:
            files.write_file(self._aside_path, [self.table.encode()], True, durable)
        else:
            self._sync_aside(durable)
        self._is_aside_durable = durable

    def _empty_index(self, durable: bool) -> None:
        """Write an empty index aside, which is valid for any lines. Other programs then read the lines."""
        files.write_file(self._aside_path, [Table().encode()], True, durable)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._index_path)
        self._sync_aside(durable)
        self._is_aside_durable = durable

    def _sync_aside(self, durable: bool = True) -> None:
        """Flush the folders of both places of the index to the disk."""
        if durable:
            files.sync_folder(self._aside_path)
            files.sync_folder(self._index_path)

    def _write_pending(self) -> None:
        """Append the collected lines. If this fails, they stay collected."""
        size = self._encoder.size
        if not size:
            return
        try:
            with naming(self.path):
                self._output.write(self.size, self._encoder)
        except BaseException:
            with contextlib.suppress(OSError):
                self._output.truncate(self.size)
            raise
        self.size += size
        self._encoder.clear()

    def flush(self, durable: bool = False) -> None:
        """Write all changes to the operating system, so that they survive the process; with `durable`, to the disk.

        Raises
        ------
        OSError
            If this fails. Everything flushed before is in the files, and pending changes are kept for another try.
        """
        if os.getpid() != self._pid:
            raise UnsupportedError("another process opened the collection for writing", path=self.path)
        durable = durable or self._durable
        self._write_pending()
        if self._deleted:
            self._rewrite(durable)
        if self._target is not None:
            self._publish(durable)
        elif durable:
            with naming(self.path):
                self._output.sync()
        if durable and not self._is_aside_durable:
            sync_file(self._aside_path)
            self._sync_aside()
            self._is_aside_durable = True

    def _publish(self, durable: bool = False) -> None:
        """Give the new file its final name."""
        target = self._target
        if target is None:
            return
        target.durable = durable or self._durable
        self._empty_index(target.durable)
        with naming(self.path):
            target.commit()
        self._target = None
        self._is_changed = True  # closing writes index.bin
        self._output = OutputBody.open(self.path, _NO_LINKS)
        if not self._is_closing:  # otherwise index.bin is written next
            self._put_index_aside(target.durable)

    def _rewrite(self, durable: bool = False) -> None:
        """Rewrite the file with exactly one line for each id."""
        self._write_pending()
        table = self.table
        if not self._is_own:
            table, left_out = scan_known(self._opened(), table)
            if left_out:
                name = keep_aside(self.path, b"".join(left_out), self._durable)
                self._faults.report(self.path, f"{len(left_out)} lines are not documents; moved to {name}")
        target = Target(self.path, durable=self._durable)
        try:
            with naming(self.path):
                file = OutputBody.of(self.path, target.create())
                size = copy_lines(table, self._output, file)
        except BaseException:
            target.abort()
            raise
        table.relocate()
        is_visible = self._target is None
        self.abort()
        self._target, self._output, self._table, self.size = target, file, table, size
        self._deleted, self._is_own, self._is_read = False, True, True
        if is_visible or durable:
            self._publish(durable)

    def compact(self, durable: bool = False) -> None:
        """Flush, and rewrite the file unless it has exactly one line for each id."""
        self._begin()
        self._write_pending()
        if self._deleted or not self.table.contiguous or self.table.end < self.size:
            self._rewrite(durable)
        self.flush(durable)

    def abort(self) -> None:
        """Remove a new file that does not have its final name yet."""
        if self._target is not None:
            self._target.abort()
            self._target = None

    def finish(self) -> None:
        """Compact, and write the index."""
        self._is_closing = True
        try:
            self.compact()
        finally:
            self._is_closing = False
        index_bin.write(self._index_path, self.table, self._durable, binary=self._policy == index_bin.BINARY)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._aside_path)

    def snapshot(self) -> LineReader:
        """Return a reader of the current state of the collection."""
        self._write_pending()
        table = Table.decode(self.table.encode(), self.size)
        return LineReader(LineFiles(self._opened(), None, False), self._policy, self._faults, table, self._is_read)

    def documents(self) -> Iterator[Document]:
        """Iterate over the documents in file order, in the current state."""
        return self.snapshot().documents()

    def lines(self) -> Iterator[bytes]:
        """Iterate over the lines in file order, in the current state, without their line feeds."""
        return self.snapshot().lines()

    def ids(self) -> Iterator[str]:
        """Iterate over the ids in file order, in the current state."""
        self.table.sort()
        return iter(self.table.ids(0, self.table.n))

    def close(self) -> None:
        """Discard unwritten lines, and release the file."""
        self.abort()
        del self._output

    def end_of_lines(self) -> int:
        """Write pending lines and deletions, and return the position of the next line, in bytes."""
        self._begin()
        self._write_pending()
        if self._deleted:
            self._rewrite()
        return self.size

    @property
    def is_unfinished(self) -> bool:
        """Whether `finish` is needed."""
        return self._is_changed or self._target is not None or self._needs_index

    def write_lines(self, source: Any, name: str, check: Check | None = None) -> int:
        """Add lines as they are.

        In a new file, each block is written as soon as it is checked. If others already read the file, nothing is
        written before everything is checked. For this, the lines of a source file are first written to a temporary
        file.

        Parameters
        ----------
        source, name, check
            As for `checked_lines`.

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
        start = self.end_of_lines()
        n = self.table.n
        blocks = checked_lines(self.table, source, start, name, check)
        try:
            if self._target is not None:
                stop = self._write_blocks(blocks, start)
            elif isinstance(source, bytes | bytearray | memoryview):
                stop = self._write_blocks(list(blocks), start)
            else:
                stop = self._copy_blocks(blocks, start)
        except BaseException:
            self._refuse()
            raise
        self.size = stop
        return self.table.n - n

    def _write_blocks(self, blocks: Iterable[tuple[int, Any]], stop: int) -> int:
        """Write blocks of lines at their positions, and return the end of the last one, or `stop` without any."""
        for place, data in blocks:
            with naming(self.path):
                stop = place + self._output.write(place, data)
        return stop

    def _copy_blocks(self, blocks: Iterable[tuple[int, Any]], start: int) -> int:
        """Do the same as `_write_blocks` after the last block is checked. Until then, they are in a temporary file."""
        stop = start
        with tempfile.TemporaryFile(dir=os.path.dirname(self.path)) as spool:
            checked = OutputBody.of(self.path, os.dup(spool.fileno()))
            for place, data in blocks:
                stop = place + checked.write(place - start, data)
            with naming(self.path):
                self._output.copy(checked, 0, stop - start, start)
        return stop

    def _refuse(self) -> None:
        """Remove bytes that were written after the lines, and their entries in the table."""
        self._output.truncate(self.size)
        if self.table.end > self.size:
            self._table = Scan(self._opened()).run(Silence())
            self._is_read = True


class NoLines(LineReader):
    """Replaces a `LineWriter` for a collection without lines, so that `Changes` needs no distinction."""

    is_unfinished = False
    """`finish` is never needed."""

    def __init__(self) -> None:
        super().__init__(LineFiles(None, None, False), "ignore", Silence())

    def discard(self, id: str) -> bool:
        """Return False: there is no document."""
        return False

    def flush(self, durable: bool = False) -> None:
        """Do nothing."""

    def compact(self) -> None:
        """Do nothing."""

    def finish(self) -> None:
        """Do nothing."""


def sweep(path: str, names: tuple[str, ...]) -> None:
    """Remove files and folders of the given names that killed writers left in the folder of `path`."""
    folder = os.path.dirname(path)
    starts = tuple(f".{name}." for name in names)
    for name in os.listdir(folder):
        if name.startswith(starts) and name.endswith(".tmp"):
            left = os.path.join(folder, name)
            if os.path.isdir(left) and not os.path.islink(left):
                shutil.rmtree(left, ignore_errors=True)
                continue
            with contextlib.suppress(OSError):
                os.unlink(left)


def name_to_keep(path: str) -> str:
    """Return the name of a new file next to data.jsonl."""
    names = (f"{format.TORN}{i}" for i in itertools.count(1))
    return next(name for name in names if not exists(os.path.join(os.path.dirname(path), name), follow=False))


def keep_aside(path: str, data: bytes, durable: bool) -> str:
    """Write bytes that are not lines of documents into a new file next to data.jsonl, and return its name."""
    name = name_to_keep(path)
    files.write_file(os.path.join(os.path.dirname(path), name), [data], True, durable)
    return name


def scan_known(file: FileBody, known: Table) -> tuple[Table, list[bytes]]:
    """Return the positions of the lines of known ids, read from the file, and the lines that are not documents."""
    scan = Scan(file)
    table = scan.run(Silence())
    unknown = [id for id in table.ids(0, table.n) if not known.has(id)]
    for id in unknown:
        table.discard(id)
    return table, [file.read(offset, length) for _, offset, length, _ in scan.left_out]


def copy_lines(table: Table, source: FileBody, target: OutputBody) -> int:
    """Copy the lines of a table in file order; return the number of bytes."""
    raw_offsets, raw_lengths, _ = table.in_file_order()
    offsets, lengths = array("Q", bytes(raw_offsets)), array("I", bytes(raw_lengths))
    place = start = stop = 0
    for offset, length in itertools.chain(zip(offsets, lengths, strict=True), [(-1, 0)]):
        if offset == stop:
            stop += length
            continue
        target.copy(source, start, stop - start, place)
        place += stop - start
        start, stop = offset, offset + length
    return place
