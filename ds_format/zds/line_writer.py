"""Writing the lines of a collection: appended while it is open, each id once when it is closed.

What is on the disk is whole at any time. Lines are added behind the others; a file that is new, or is written anew
because lines go, appears under its name when it is complete. index.bin is put aside before the first line is added, and
written when the writer is closed; it is removed before a file takes the place of another.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

from ..body import sync_file
from ..body.body import FileBody, OutputBody
from ..body.target import Target, naming
from ..errors import DsError, FormatError, UnsupportedError
from ..kernels.files import files
from ..kernels.files.names import exists
from ..kernels.json.check import VALID, check_line
from ..kernels.zds.lines import Encoder
from ..kernels.zds.zdx import Table
from . import format, index_bin, lines
from .documents import Document, decoder, plain
from .faults import Faults, Silence
from .line_reader import LineFiles, LineReader, open_index
from .lines import Scan, last_line
from .roots import Folder

BUFFER_SIZE = 1 << 20
"""Bytes of lines that are gathered before they are written."""
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)


class LineWriter:
    """data.jsonl of a collection, open for writing. Who makes one holds the lock of the collection.

    Parameters
    ----------
    place : Folder
    collection : str
    is_new : bool
        Begin without any lines. What is there stays until the first `flush`.
    policy : str
        What to do with the index, one of `index_bin.POLICIES`.
    faults : Faults
    durable : bool
        Flush to the disk whenever something is flushed.

    Attributes
    ----------
    path : str
        data.jsonl.
    size : int
        Bytes of the lines that are written.
    """

    def __init__(self, place: Folder, collection: str, is_new: bool, policy: str, faults: Faults, durable: bool):
        self.path = place.locate(format.data_name(collection))
        self._is_changed = False
        self.size = 0
        self._index_path = place.locate(format.index_name(collection))
        self._aside_path = place.locate(format.aside_name(collection))
        self._needs_index = exists(self._aside_path, follow=False)  # a writer was ended before it wrote it
        self._place, self._collection = place, collection
        self._policy, self._faults, self._durable = policy, faults, durable
        self._encoder = Encoder(plain)
        self._deleted = False  # since the file was last written: an id is gone whose line is still there
        self._is_read = True  # the table comes from the lines, not from an index
        self._is_own = False  # all in the file was written here
        self._is_aside_durable = True
        self._target: Target | None = None
        self._table: Table | None = None
        self._pid = os.getpid()
        self._is_closing = False
        for path in (self.path, self._aside_path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        sweep(self.path, (format.DATA, format.INDEX, format.MANIFEST))
        sweep(self._aside_path, (os.path.basename(self._aside_path),))
        if is_new or not exists(self.path, follow=False):
            self._create()
        else:
            self._file = OutputBody.open(self.path, _NO_LINKS)
            self.size = self._file.size
            self._cut_torn()

    def _create(self) -> None:
        self._target = Target(self.path, durable=self._durable)
        with naming(self.path):
            self._file = OutputBody.of(self.path, self._target.create())
        self._table = Table()
        self._is_own = True

    def _cut_torn(self) -> None:
        """Make the file end with a line feed; what is no whole line is kept in another file."""
        tail = last_line(self._file)
        if not tail:
            return
        start = self.size - len(tail)
        if check_line(tail if start else tail.removeprefix(format.BOM))[0] == VALID:
            self._faults.tell(self.path, "the last line has no line feed; it gets one", offset=start)
            self._empty_index(self._durable)
            self._file.write(self.size, b"\n")
            self.size += 1
            return
        message = f"a torn line of {len(tail)} bytes at the end; moved to {name_to_keep(self.path)}"
        self._faults.tell(self.path, message, offset=start)
        keep_aside(self.path, tail, self._durable)
        self._empty_index(self._durable)
        self._file.truncate(start)
        self.size = start

    @property
    def table(self) -> Table:
        """Where the lines are, those that are not written yet behind the others."""
        if self._table is None:
            found, is_own = open_index(self._place, self._collection)
            self._table, used = index_bin.load(self._written_file(), found, is_own, self._policy, self._faults)
            self._is_read = not used
        return self._table

    def __len__(self) -> int:
        return len(self.table)

    def __contains__(self, id: str) -> bool:
        return self.table.has(id)

    def get(self, id: str) -> Document | None:
        """Return the document of an id, None if there is none."""
        span = self.table.span(id)
        if span is None:
            return None
        offset, length = span
        if offset >= self.size:
            return decoder.one(self._encoder.view(offset - self.size, offset - self.size + length))
        start = max(offset - 3, 0)
        data = self._file.read(start, min(offset + length + 1, self.size) - start)
        line = lines.line_at(data, start, offset, offset + length, self.size)
        if line is not None:
            with contextlib.suppress(FormatError):
                document = decoder.one(line)
                if document.get(format.ID) == id:
                    return document
        if self._is_read:
            raise FormatError(f"the line of {id!r:.100} at byte {offset} was changed by somebody else", path=self.path)
        self._faults.tell(self._index_path, f"the index leads from {id!r:.100} to what is not its line; it is not used")
        self._write_pending()
        self._read_lines()
        return self.get(id)

    def _read_lines(self) -> None:
        """Make the table anew from the lines alone."""
        self._table = Scan(self._written_file()).run(self._faults)
        self._is_read = True

    def _written_file(self) -> FileBody:
        """Return the lines that are written, as they are now."""
        return self._file.section(0, self.size)

    def put(self, id: str | None, document: Document) -> str:
        """Add a document, in place of one with the same id; return its id.

        Raises
        ------
        UnsupportedError
            If it cannot be written; nothing has changed then.
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
        """Return the error of a document that cannot be written."""
        return error if isinstance(error, DsError) else UnsupportedError(f"{where}{error}", path=self.path)

    def put_all(self, documents: Iterable[Any]) -> int:
        """Add documents, and return how many.

        Raises
        ------
        UnsupportedError
            If one cannot be written; those before it have been added.
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
        """Forget a document, and return whether there was one. Its line goes with the next `flush`."""
        if not self.table.has(id):
            return False
        self._begin()
        self.get(id)  # an index that leads to another line must not make that one go
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
            if not self._is_read and not table.contiguous:  # what an index leaves out would be found again without it
                self._rewrite()
            else:
                if self._is_read:
                    self._empty_index(self._durable)
                self._put_index_aside(self._durable)
        self._is_changed = True

    def _put_index_aside(self, durable: bool) -> None:
        put_index_aside(self._index_path, self._aside_path, self.table, durable)
        self._is_aside_durable = durable

    def _empty_index(self, durable: bool) -> None:
        put_empty_index_aside(self._index_path, self._aside_path, durable)
        self._is_aside_durable = durable

    def _write_pending(self) -> None:
        """Write the lines that are gathered, behind the others; they stay gathered if that fails."""
        size = self._encoder.size
        if not size:
            return
        try:
            with naming(self.path):
                self._file.write(self.size, self._encoder)
        except BaseException:
            with contextlib.suppress(OSError):
                self._file.truncate(self.size)
            raise
        self.size += size
        self._encoder.clear()

    def flush(self, durable: bool = False) -> None:
        """Hand all changes to the system, so that they outlive this process; with `durable`, to the disk.

        Raises
        ------
        OSError
            If that fails. What was flushed before is there, and nothing is forgotten: another try may succeed.
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
                self._file.sync()
        if durable and not self._is_aside_durable:
            sync_index_aside(self._index_path, self._aside_path)
            self._is_aside_durable = True

    def _publish(self, durable: bool = False) -> None:
        """Give the new file its name."""
        target = self._target
        if target is None:
            return
        target.durable = durable or self._durable
        self._empty_index(target.durable)
        with naming(self.path):
            target.commit()
        self._target = None
        self._is_changed = True  # index.bin is to be written when it is closed
        self._file = OutputBody.open(self.path, _NO_LINKS)
        if not self._is_closing:  # else index.bin follows
            self._put_index_aside(target.durable)

    def _rewrite(self, durable: bool = False) -> None:
        """Write the file anew, with one line for each id and nothing else."""
        self._write_pending()
        table = self.table
        if not self._is_own:
            table, left_out = find_again(self._written_file(), table)
            if left_out:
                name = keep_aside(self.path, b"".join(left_out), self._durable)
                self._faults.tell(self.path, f"{len(left_out)} lines are no documents; moved to {name}")
        target = Target(self.path, durable=self._durable)
        try:
            with naming(self.path):
                file = OutputBody.of(self.path, target.create())
                size = copy_lines(table, self._file, file)
        except BaseException:
            target.abort()
            raise
        table.relocate()
        is_visible = self._target is None
        self.abort()
        self._target, self._file, self._table, self.size = target, file, table, size
        self._deleted, self._is_own, self._is_read = False, True, True
        if is_visible or durable:
            self._publish(durable)

    def compact(self, durable: bool = False) -> None:
        """Flush, and write the file anew if there is anything in it but one line for each id."""
        self._begin()
        self._write_pending()
        if self._deleted or not self.table.contiguous or self.table.end < self.size:
            self._rewrite(durable)
        self.flush(durable)

    def abort(self) -> None:
        """Remove a new file that has no name yet."""
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
        """Return a reader of what is in the collection now."""
        self._write_pending()
        table = Table.decode(self.table.encode(), self.size)
        return LineReader(
            LineFiles(self._written_file(), None, False), self._policy, self._faults, table, self._is_read
        )

    def documents(self) -> Iterator[Document]:
        """Iterate over the documents in file order, as they are now."""
        return self.snapshot().documents()

    def lines(self) -> Iterator[bytes]:
        """Iterate over the lines in file order, as they are now, without their line feeds."""
        return self.snapshot().lines()

    def ids(self) -> Iterator[str]:
        """Iterate over the ids in file order, as they are now."""
        self.table.sort()
        return iter(self.table.ids(0, self.table.n))

    def close(self) -> None:
        """Forget what is not written, and let go of the file."""
        self.abort()
        del self._file

    def end_of_lines(self) -> int:
        """Write what is gathered, also deletions, and return where the next line will begin, in bytes."""
        self._begin()
        self._write_pending()
        if self._deleted:
            self._rewrite()
        return self.size

    @property
    def is_hidden(self) -> bool:
        """Whether nobody else sees yet what is written."""
        return self._target is not None

    @property
    def is_unfinished(self) -> bool:
        """Whether there is something for `finish` to do."""
        return self._is_changed or self.is_hidden or self._needs_index

    def write(self, offset: int, data: Any) -> None:
        """Write bytes behind the lines. A new `size` makes them part of the collection, if the table has their ids."""
        with naming(self.path):
            self._file.write(offset, data)

    def copy(self, file: FileBody, offset: int, size: int) -> None:
        """Write the first `size` bytes of another file; as `write`."""
        with naming(self.path):
            self._file.copy(file, 0, size, offset)

    def refuse(self) -> None:
        """Remove what was written behind the lines, and what the table has of it."""
        self._file.truncate(self.size)
        if self.table.end > self.size:
            self._table = Scan(self._written_file()).run(Silence())
            self._is_read = True


class NoLines(LineReader):
    """A `LineWriter` of a collection that has no lines and gets none, so that a change need not ask for one."""

    is_unfinished = False
    """There never is something for `finish` to do."""

    def __init__(self) -> None:
        super().__init__(LineFiles(None, None, False), "ignore", Silence())

    def discard(self, id: str) -> bool:
        """Return that there was no document."""
        return False

    def flush(self, durable: bool = False) -> None:
        """Do nothing, as `compact` and `finish`."""

    def compact(self) -> None:
        """Do nothing."""

    def finish(self) -> None:
        """Do nothing."""


def sweep(path: str, names: tuple[str, ...]) -> None:
    """Remove what was left of files and folders with some names, beside a path, by writers that were killed."""
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
    """Return the name of a file beside data.jsonl that does not exist yet."""
    names = (f"{format.TORN}{i}" for i in itertools.count(1))
    return next(name for name in names if not exists(os.path.join(os.path.dirname(path), name), follow=False))


def keep_aside(path: str, data: bytes, durable: bool) -> str:
    """Put bytes that are no lines of documents into a file of their own beside data.jsonl, and return its name."""
    name = name_to_keep(path)
    files.write_file(os.path.join(os.path.dirname(path), name), [data], True, durable)
    return name


def put_index_aside(path: str, aside: str, table: Table, durable: bool) -> None:
    """Move index.bin to where others take it for one of the first lines only; if there is none, make it there."""
    try:
        os.replace(path, aside)
    except FileNotFoundError:
        files.write_file(aside, [table.encode()], True, durable)
        return
    if durable:
        files.sync_folder(aside)
        files.sync_folder(path)


def put_empty_index_aside(path: str, aside: str, durable: bool) -> None:
    """Put an index of no lines there, which is right whatever the file has: others read the lines."""
    files.write_file(aside, [Table().encode()], True, durable)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    if durable:
        files.sync_folder(path)


def sync_index_aside(path: str, aside: str) -> None:
    """Flush to the disk what `put_index_aside` or `put_empty_index_aside` did."""
    sync_file(aside)
    files.sync_folder(aside)
    files.sync_folder(path)


def find_again(file: FileBody, known: Table) -> tuple[Table, list[bytes]]:
    """Return where the lines of known ids are, as the file itself says, and the lines that are no documents."""
    scan = Scan(file)
    table = scan.run(Silence())
    unknown = [id for id in table.ids(0, table.n) if not known.has(id)]
    for id in unknown:
        table.discard(id)
    return table, [file.read(offset, length) for _, offset, length, _ in scan.left_out]


def copy_lines(table: Table, source: FileBody, target: OutputBody) -> int:
    """Copy the lines of a table in file order; return their bytes."""
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
