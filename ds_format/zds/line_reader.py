"""The lines of a collection, found by id and read in a row."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal, NamedTuple, TypeVar

from ..base.threads import renew_lock
from ..body.body import PIECE_SIZE, Body, FileBody
from ..body.stamp import Stamp
from ..errors import FormatError
from ..kernels.zds.zdx import Table
from . import format, index_bin, lines
from .documents import Document, decoder
from .faults import Faults
from .lines import Scan
from .roots import StoreRoot

if os.name == "posix":
    from ..kernels.zds.document_fetch import fetch_document
else:
    fetch_document = None  # type: ignore[assignment]


Item = TypeVar("Item")
ShortWay = Callable[[str], Document | Literal[False] | None]
"""From an id to its document; None if there is none, False if it takes more to tell."""
TRIES = 20
"""How often a collection is opened anew, when a writer replaces it in that moment."""
PAUSE = 0.002
"""Seconds between two tries."""


class LineFiles(NamedTuple):
    """The open files of a collection, which belong together.

    Attributes
    ----------
    data : Body or None
    index_file : Body or None
    is_own : bool
        Whether a writer of this package put the index aside, because it adds lines.
    """

    data: Body | None
    index_file: Body | None
    is_own: bool


def open_files(place: StoreRoot, collection: str) -> LineFiles:
    """Open the lines and the index of a collection as they belong together, while a writer may be at work.

    The index is opened first, so that the data do not end before it does; and once more at the end, in order to see
    that it was not replaced in between: a writer that replaces the data replaces the index before.
    """
    sizes = set()
    for _ in range(TRIES):
        found, is_own = open_index(place, collection)
        data = place.open(format.data_name(collection))
        if not isinstance(data, FileBody):
            break
        if _identity(*open_index(place, collection)) == _identity(found, is_own):
            sizes.add(data.size)
            if not is_own or not data.size or data.read(data.size - 1, 1) == b"\n":
                break
            time.sleep(PAUSE)  # a line is being written
    if len(sizes) > 1 and isinstance(data, FileBody):
        data = data.section(0, _end_of_lines(data))
    return LineFiles(data, found, is_own)


def _end_of_lines(data: Body) -> int:
    """Return where the last whole line of a file ends."""
    stop = data.size
    while stop:
        start = max(stop - PIECE_SIZE, 0)
        end: int = data.read(start, stop - start).rfind(b"\n") + 1
        if end:
            return start + end
        stop = start
    return 0


def open_index(place: StoreRoot, collection: str) -> tuple[Body | None, bool]:
    """Open the index of a collection, and return whether it is one that was put aside."""
    name = format.index_name(collection)
    found = place.open(name)
    if found is None and place.kind == "folder":
        own = place.open(format.aside_name(collection))
        if own is not None:
            return own, True
        found = place.open(name)  # a writer that is done makes this one before it removes the other
    return found, False


def _identity(file: Body | None, is_own: bool) -> tuple[Stamp, bool] | None:
    """Return what tells an index from another one; one that is put aside remains the same file."""
    stamp = None if file is None else file.watch.stamp
    return None if stamp is None else (stamp, is_own)


def _no_way(id: str) -> Literal[False]:
    """Say of any id that it takes more: no file holds the lines as they are."""
    return False


class LineReader:
    """data.jsonl of a collection, as it was when it was opened.

    The index is loaded when it is needed first. Any number of threads may share a reader, and a process that is forked
    may go on with it.

    Parameters
    ----------
    files : LineFiles
    policy : str
        What to do with the index, one of `index_bin.POLICIES`.
    faults : Faults
    table : Table, optional
        Where the lines are, if that is known.
    is_read : bool
        Whether the lines themselves say so; else an index does.
    """

    def __init__(
        self, files: LineFiles, policy: str, faults: Faults, table: Table | None = None, is_read: bool = False
    ):
        self._files = files
        self._policy = policy
        self._faults = faults
        self._lock = threading.RLock()
        renew_lock(self, threading.RLock)
        self._table = table
        self._is_read = is_read
        self._file = files.data
        self._path = "" if files.data is None else files.data.name
        self._short_way: ShortWay | None = None

    @property
    def table(self) -> Table:
        """Where the lines are, in file order."""
        if self._table is None:
            with self._lock:
                if self._table is None:
                    data, found, is_own = self._files
                    if data is None:
                        self._table = Table()
                    else:
                        self._table, used = index_bin.load(data, found, is_own, self._policy, self._faults)
                        self._is_read = not used
        return self._table

    def __len__(self) -> int:
        return len(self.table)

    def __contains__(self, id: str) -> bool:
        return self.table.find(id) >= 0

    def get(self, id: str) -> Document | None:
        """Return the document of an id, None if there is none.

        Raises
        ------
        FormatError
            If the file was changed in place.
        """
        document = (self._short_way or self._find_short_way())(id)
        return document if document is not False else self._get_the_long_way(id)

    def _find_short_way(self) -> ShortWay:
        """Return what finds most documents in one call; it is kept for as long as table and file are the same."""
        with self._lock:
            table = self.table
            where = None if self._file is None else self._file.in_file()
            self._short_way = _no_way
            if where is not None and fetch_document is not None:
                self._short_way = way = partial(fetch_document, table, *where, decoder.loads)
                vars(way)["file"] = self._file  # open for as long as a thread is on this way
            return self._short_way

    def _get_the_long_way(self, id: str) -> Document | None:
        """Return the document of an id, and do without the index if that leads elsewhere."""
        span = self.table.span(id)
        if span is None:
            return None
        line = self.line(*span)
        reason = "where no line is"
        if line is not None:
            try:
                document = decoder.one(line, self._path)
                if document.get(format.ID) == id:
                    return document
                reason = f"where the document with the {format.ID} {document.get(format.ID)!r:.100} is"
            except FormatError as error:
                reason = f"where no document is: {error.message}"
        self._read_lines(f"the index leads from {id!r:.100} to byte {span[0]}, {reason}")
        return self._get_the_long_way(id)

    def raw(self, id: str) -> bytes | None:
        """Return the line of an id, without its line feed; None if there is none."""
        if self.get(id) is None:
            return None
        span = self.table.span(id)
        return None if span is None else self.line(*span)

    def line(self, offset: int, length: int) -> bytes | None:
        """Return the line at some place, without its line feed; None if that is not one line."""
        file = self._opened()
        start, stop = max(offset - 3, 0), min(offset + length + 1, file.size)
        data = file.read(start, stop - start)
        return lines.line_at(data, start, offset, offset + length, file.size)

    def _opened(self) -> Body:
        if self._file is None:
            raise ValueError("the collection is closed")
        return self._file

    def _read_lines(self, reason: str) -> None:
        """Do without the index from now on, because it is wrong.

        Raises
        ------
        FormatError
            If the index was not used at all: then the file was changed meanwhile.
        """
        with self._lock:
            file, found = self._opened(), self._files.index_file
            if self._is_read:
                raise FormatError(f"{reason}; the file was changed while it was open", path=file.name)
            self._faults.tell((found or file).name, f"{reason}; the index is not used any more")
            self._table = Scan(file).run(self._faults)
            self._is_read = True
            self._short_way = None

    def documents(self) -> Iterator[Document]:
        """Iterate over the documents in file order."""
        return self._scan(lines.scan_documents)

    def lines(self) -> Iterator[bytes]:
        """Iterate over the lines in file order, without their line feeds."""
        return self._scan(lines.scan_lines)

    def _scan(self, scan: Callable[[Table, Body], Iterator[tuple[int, list[Item]]]]) -> Iterator[Item]:
        seen: set[str] = set()
        while self._files.data is not None:
            table = self.table
            try:
                for first, items in scan(table, self._opened()):
                    if seen:
                        ids = table.ids(first, first + len(items))
                        items = [item for id, item in zip(ids, items, strict=True) if id not in seen]
                    yield from items
                break
            except lines.StaleIndex as error:
                seen.update(table.ids(0, error.first))
                self._read_lines(error.message)

    def ids(self) -> Iterator[str]:
        """Iterate over the ids in file order."""
        table = self.table
        for start in range(0, table.n, 4096):
            yield from table.ids(start, start + 4096)

    def close(self) -> None:
        """Let go of the files. They are closed when no thread reads them any more."""
        self._short_way = self._file = None
        self._files = LineFiles(None, None, False)
