"""A collection that is open for writing: its lock, its lines, its files of documents, and what is told about it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from typing import Any

from ..body.lock import Lock
from ..errors import UnsupportedError
from ..kernels.files.presence import exists
from . import format, manifest
from .bulk import write_documents, write_lines
from .docs import DocFiles, choose_layout, layout_of
from .documents import Document, difference, schema_of
from .faults import Faults
from .format import LINES
from .line_writer import LineWriter, NoLines, sweep
from .store_access import WritableStore


class Changes:
    """A collection that is open for writing.

    Parameters
    ----------
    workspace : WritableStore
    collection : str
    is_new : bool
        Begin without documents. What is there stays until the first `flush`, but for files of documents if the layout
        is "docs": these go at once.
    layout : {"jsonl", "docs"} or None
        Whether documents become lines of data.jsonl or files of their own; None: whichever stands there.
    is_strict : bool
        For a collection that has no manifest: let all documents have one schema.
    policy : str
        What to do with the index, one of `index_bin.POLICIES`.
    faults : Faults
    durable : bool
        Flush to the disk whenever something is flushed.

    Attributes
    ----------
    lines : LineWriter or NoLines
        The latter if there is no data.jsonl, and none is written.
    docs : DocFiles
    """

    def __init__(
        self,
        workspace: WritableStore,
        collection: str,
        is_new: bool,
        layout: str | None,
        is_strict: bool,
        policy: str,
        faults: Faults,
        durable: bool,
    ):
        place = workspace.place
        self._workspace, self._place, self._collection = workspace, place, collection
        self._is_new, self._faults, self._durable = is_new, faults, durable
        self._is_released = False
        self._told: dict[str, str] = {}
        self._data_path = place.locate(format.data_name(collection))
        self._meta = os.path.dirname(self._data_path)
        self._lock = Lock(place.locate(format.lock_name(collection)), f"{place.path}: {collection}", in_own_folder=True)
        try:
            self._facts = manifest.read_manifest(place, collection, faults)
            if is_new and self._facts:
                self._facts.pop("schema_count", None)
            self._is_strict = bool((self._facts or {}).get("strict", is_strict))
            self._changed = is_new or collection not in place.collections()
            self._schema: Any = None
            self._shadows: set[str] = set()
            self.docs = DocFiles(place, collection, faults)
            self._old_docs = list(self.docs.names) if is_new else []
            if is_new:
                layout = layout or layout_of(place, collection, self.docs) or LINES
            else:
                layout, self._is_new = choose_layout(layout, place, collection, self.docs)
            if self._tells:
                place.locate(format.manifest_name(collection))
            os.makedirs(self._meta, exist_ok=True)
            sweep(self._meta, (format.DOCS,))
            self._into: LineWriter | None = None  # where documents are put; files of their own if None
            self.lines = self._open_lines(layout, policy)
        except BaseException:
            self._unlock()
            raise

    @property
    def _tells(self) -> bool:
        """Whether there will be a manifest; one that cannot be read stays as it is."""
        return self._facts is not None or self._is_new

    def _open_lines(self, layout: str, policy: str) -> LineWriter | NoLines:
        if layout == LINES or (not self._is_new and exists(self._data_path, follow=False)):
            writer = LineWriter(self._place, self._collection, self._is_new, policy, self._faults, self._durable)
            self._changed = self._changed or writer.is_unfinished
            self._into = writer if layout == LINES else None
            if self._is_new:
                self.docs = DocFiles(self._place, self._collection, self._faults, is_empty=True)
            return writer
        if self._is_new:
            for name in (format.data_name, format.index_name, format.aside_name):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._place.locate(name(self._collection)))
            for id in self._old_docs:
                self.docs.discard(self._place, id, self._durable)
            self._old_docs = []
        return NoLines()

    def put(self, id: str | None, document: Document) -> None:
        """Add a document, in place of one with the same id.

        Raises
        ------
        UnsupportedError
            If it cannot be written; nothing has changed then.
        """
        self._check(document)
        if self._into is not None:
            id = self._into.put(id, document)
            if id in self.docs.names:
                self._shadows.add(id)
        else:
            id = format.check_id(document.get(format.ID) if id is None else id)
            self.docs.put(self._place, id, document, self._durable)
            self.lines.discard(id)
        self._changed = True
        if self._is_strict and self._schema is None:
            self._schema = schema_of(document)

    def put_all(self, documents: Iterable[Any]) -> int:
        """Add documents with `_id`, or pairs of id and document, and return how many.

        Raises
        ------
        UnsupportedError
            If one cannot be written; those before it have been added.
        """
        if self._into is not None and not self._is_strict and not self.docs.names:
            self._changed = True
            return self._into.put_all(documents)
        n = 0
        for item in documents:
            id, document = item if isinstance(item, tuple) else (None, item)
            self.put(id, document)
            n += 1
        return n

    def write_lines(self, source: Any, name: str) -> int:
        """Add lines as they are, all or none of them; see `bulk.write_lines` and `bulk.write_documents`."""
        lines = self._into
        check: Callable[[Document], None] | None = self._check_in_turn if self._is_strict else None
        self._changed = True
        if lines is None:
            return self._write_documents(source, name, check)
        lines.end_of_lines()
        before = {id: lines.table.span(id) for id in self.docs.names}
        n = write_lines(lines, source, name, check)
        self._shadows.update(id for id, span in before.items() if lines.table.span(id) != span)
        return n

    def _write_documents(self, source: Any, name: str, check: Callable[[Document], None] | None) -> int:
        n, ids = write_documents(self._place, self._collection, self.docs, source, name, check, self._durable)
        for id in ids:
            self.lines.discard(id)
        return n

    def discard(self, id: str) -> bool:
        """Remove a document, and return whether there was one."""
        found = self.lines.discard(id)
        found = self.docs.discard(self._place, id, self._durable) or found
        self._changed = self._changed or found
        return found

    def _check(self, document: Document) -> None:
        """Raise an UnsupportedError if a document has not the schema of the others, and has to."""
        if not self._is_strict:
            return
        if self._schema is None:
            first = next(self.lines.documents(), None) or next(self.docs.documents(list(self.docs.ids)), None)
            if first is None:
                return
            self._schema = schema_of(first)
        told = difference(self._schema, schema_of(document))
        if told is not None:
            raise UnsupportedError(f"the manifest demands one schema: {told}", path=self._place.path)

    def _check_in_turn(self, document: Document) -> None:
        self._check(document)
        if self._schema is None:
            self._schema = schema_of(document)

    def describe(self, facts: dict[str, str]) -> None:
        """Have zds.json say something of the store, when this is closed."""
        self._told |= facts
        self._changed = True

    def flush(self, durable: bool) -> None:
        """Hand all changes to the system; see `LineWriter.flush`."""
        self.lines.flush(durable)
        self._drop_shadowed(durable)

    def _drop_shadowed(self, durable: bool) -> None:
        """Remove the files of documents that now are lines."""
        if self._old_docs:
            old = DocFiles(self._place, self._collection, self._faults)
            for id in self._old_docs:
                old.discard(self._place, id, durable)
            self._old_docs = []
        for id in self._shadows:
            self.docs.discard(self._place, id, durable)
        self._shadows.clear()

    def compact(self) -> None:
        """Flush, and leave nothing in data.jsonl but one line for each id."""
        self.lines.compact()
        self._changed = self._changed or self.lines.is_unfinished
        self._drop_shadowed(self._durable)

    def close(self) -> None:
        """Write all that is not written yet, and let others write.

        Raises
        ------
        OSError
            If something cannot be written; the collection is open then as before.
        """
        if (self._changed or self.lines.is_unfinished) and not self._is_released:  # also after a refused first document
            if self.lines.is_unfinished:
                self.lines.finish()
            self._drop_shadowed(self._durable)
            self._tell()
            self._workspace.changed = True
        self.release()

    def _tell(self) -> None:
        """Write manifest.json and zds.json."""
        count = len(self.lines) + sum(id not in self.lines for id in self.docs.ids)
        if self._tells:
            facts = self._facts or {}
            manifest.write_manifest(self._place, self._collection, facts, count, self._is_strict, self._durable)
        manifest.write_store(self._place, self._workspace.name, {self._collection: count}, self._durable, self._told)

    def release(self) -> None:
        """Let others write, and forget what was not flushed."""
        if self._is_released:
            return
        self._is_released = True
        self.lines.close()
        self._unlock()
        self._workspace.release(self._durable)

    def _unlock(self) -> None:
        for path in (self._meta, os.path.dirname(self._meta)):
            with contextlib.suppress(OSError):  # it is not empty, but for a collection that was given up
                os.rmdir(path)
        self._lock.release(remove=True)
