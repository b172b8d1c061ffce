"""The lines of a collection, by id and in sequence."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Literal, NamedTuple, TypeVar

from ..base.threads import renew_lock
from ..body.body import Body, FileBody
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
FetchDocument = Callable[[str], Document | Literal[False] | None]
"""From an id to its document; None if there is none, False if only the slower way can determine this."""
TRIES = 20
"""How often a collection is opened again if a writer is replacing it."""
PAUSE = 0.002
"""Seconds between two tries."""


class LineFiles(NamedTuple):
    """The open files of a collection, of one state.

    Attributes
    ----------
    data : Body or None
    index_file : Body or None
    is_own : bool
        Whether a writer of this package set the index aside, because it adds lines.
    """

    data: Body | None
    index_file: Body | None
    is_own: bool


def open_files(place: StoreRoot, collection: str) -> LineFiles:
    """Open the lines and the index of a collection in one state, also while another process writes it.

    The index is opened first, so that it does not end after the data. It is opened again at the end, to check that it
    was not replaced in between: a writer that replaces the data replaces the index first.
    """
    place.open_together([format.index_name(collection), format.data_name(collection)])
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
        data = data.section(0, data.size - len(lines.last_line(data)[0]))
    return LineFiles(data, found, is_own)


def open_index(place: StoreRoot, collection: str) -> tuple[Body | None, bool]:
    """Open the index of a collection, and return whether a writer set it aside."""
    name = format.index_name(collection)
    found = place.open(name)
    if found is None and place.kind == "folder":
        own = place.open(format.aside_name(collection))
        if own is not None:
            return own, True
        found = place.open(name)  # a writer writes this one before it removes the other
    return found, False


def _identity(file: Body | None, is_own: bool) -> tuple[Stamp, bool] | None:
    """Return a value that identifies an index. An index that is set aside remains the same file."""
    stamp = None if file is None else file.watch.stamp
    return None if stamp is None else (stamp, is_own)


def _no_fetch(id: str) -> Literal[False]:
    """Return False for any id: there is no file from which the kernel could read a line."""
    return False


class LineReader:
    """data.jsonl of a collection, in the state in which it was opened.

    The index is loaded on demand. Threads may share a reader, and a forked process may use it further.

    Parameters
    ----------
    files : LineFiles
    policy : str
        Use of the index, one of `index_bin.POLICIES`.
    faults : Faults
    table : Table, optional
        The positions of the lines, if known.
    is_read : bool
        Whether the table was read from the lines themselves, not from an index.
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
        self._fetch: FetchDocument | None = None

    @property
    def table(self) -> Table:
        """The positions of the lines, in file order."""
        if self._table is None:
            with self._lock:
                if self._table is None:
                    self._table = self._load()
        return self._table

    def _load(self) -> Table:
        data, found, is_own = self._current_files()
        if data is None:
            return Table()
        table, used = index_bin.load(data, found, is_own, self._policy, self._faults)
        self._is_read = not used
        return table

    def _current_files(self) -> LineFiles:
        """Return the files from which the table is loaded."""
        return self._files

    def __len__(self) -> int:
        return len(self.table)

    def __contains__(self, id: str) -> bool:
        return self.table.has(id)

    def get(self, id: str) -> Document | None:
        """Return the document of an id, or None if there is none.

        Raises
        ------
        FormatError
            If the file was modified in place.
        """
        document = (self._fetch or self._make_fetch())(id)
        return document if document is not False else self._get_checked(id)

    def _make_fetch(self) -> FetchDocument:
        """Return a function that reads most documents in one call. It is valid while table and file are the same."""
        with self._lock:
            table = self.table
            where = None if self._file is None else self._file.in_file()
            self._fetch = _no_fetch
            if where is not None and fetch_document is not None:
                self._fetch = fetch = partial(fetch_document, table, *where, decoder.loads)
                vars(fetch)["file"] = self._file  # stays open while a thread uses this function
            return self._fetch

    def _get_checked(self, id: str) -> Document | None:
        """Return the document of an id. Without the index, if this leads to another line."""
        span = self.table.span(id)
        if span is None:
            return None
        line = lines.read_line(self._opened(), *span)
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
        return self._get_checked(id)

    def announce(self, ids: Iterable[str]) -> None:
        """Announce lines that will be read by their ids. Those of a file at an address then come side by side."""
        if self._file is None or not self._file.is_far:
            return
        found = [span for id in ids if (span := self.table.span(id)) is not None]
        starts = [max(offset - 3, 0) for offset, _ in found]
        stops = [min(offset + length + 1, self._file.size) for offset, length in found]
        self._file.announce_spans(zip(starts, (b - a for a, b in zip(starts, stops, strict=True)), strict=True))

    def _opened(self) -> Body:
        if self._file is None:
            raise ValueError("the collection is closed")
        return self._file

    def _read_lines(self, reason: str) -> None:
        """Replace the index, which is wrong, by the positions read from the lines.

        Raises
        ------
        FormatError
            If the index was not in use: then the file was modified.
        """
        with self._lock:
            file, found = self._opened(), self._current_files().index_file
            if self._is_read:
                raise FormatError(f"{reason}; the file was changed while it was open", path=file.name)
            self._faults.report((found or file).name, f"{reason}; the index is no longer used")
            self._table = Scan(file).run(self._faults)
            self._is_read = True
            self._fetch = None

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
        return lines.all_ids(self.table)

    def close(self) -> None:
        """Release the files. They are closed as soon as no thread reads them."""
        self._fetch = self._file = None
        self._files = LineFiles(None, None, False)
