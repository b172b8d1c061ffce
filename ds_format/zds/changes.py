"""A collection opened for writing: its lock, its lines, its files of documents, and its manifest."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..body.lock import Lock
from ..errors import UnsupportedError
from ..kernels.files.names import exists
from . import format, manifest
from .bulk import Check
from .docs import DocFiles, choose_layout, layout_of
from .documents import Document, difference, schema_of
from .faults import Faults
from .format import LINES
from .line_writer import LineWriter, NoLines, sweep
from .store_access import WritableStore


class OpenOptions(NamedTuple):
    """Options of opening a collection; see `ZDSStore.open`."""

    strict: bool
    layout: str | None
    durable: bool
    policy: str
    """Use of the index, one of `index_bin.POLICIES`."""


class Changes:
    """A collection opened for writing.

    Parameters
    ----------
    workspace : WritableStore
    collection : str
    is_new : bool
        Start without documents. The existing lines stay until the first `flush`. If the layout is "docs", existing
        files of documents are removed at once.
    options : OpenOptions
        `strict`: for a collection without a manifest, require one schema of all documents.
    faults : Faults

    Attributes
    ----------
    lines : LineWriter or NoLines
        `NoLines` if there is no data.jsonl, and none will be written.
    docs : DocFiles
    """

    def __init__(self, workspace: WritableStore, collection: str, is_new: bool, options: OpenOptions, faults: Faults):
        place = workspace.place
        self._workspace, self._place, self._collection = workspace, place, collection
        self._is_new, self._faults, self._durable = is_new, faults, options.durable
        self._is_released = False
        self._facts_to_add: dict[str, str] = {}
        self._data_path = place.locate(format.data_name(collection))
        self._meta = os.path.dirname(self._data_path)
        self._lock = Lock(place.locate(format.lock_name(collection)), f"{place.path}: {collection}", in_own_folder=True)
        try:
            self._facts = manifest.read_manifest(place, collection, faults)
            if is_new and self._facts:
                self._facts.pop("schema_count", None)
            self._is_strict = bool((self._facts or {}).get("strict", options.strict))
            self._changed = is_new or collection not in place.collections()
            self._schema: Any = None
            self._shadows: set[str] = set()
            self.docs = DocFiles(place, collection, faults)
            self._old_docs = list(self.docs.names) if is_new else []
            if is_new:
                layout = options.layout or layout_of(place, collection, self.docs) or LINES
            else:
                layout, self._is_new = choose_layout(options.layout, place, collection, self.docs)
            if self._has_manifest:
                place.locate(format.manifest_name(collection))
            os.makedirs(self._meta, exist_ok=True)
            sweep(self._meta, (format.DOCS,))
            self._into: LineWriter | None = None  # target of new documents; None for separate files
            self.lines = self._open_lines(layout, options.policy)
        except BaseException:
            self._unlock()
            raise

    @property
    def _has_manifest(self) -> bool:
        """Whether a manifest is written. One that cannot be read is left unchanged."""
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
                self.docs.discard(id, durable=self._durable)
            self._old_docs = []
        return NoLines()

    def put(self, id: str | None, document: Document) -> None:
        """Add a document. It replaces one with the same id.

        Raises
        ------
        UnsupportedError
            If it cannot be written. Then nothing has changed.
        """
        self._check(document)
        if self._into is not None:
            id = self._into.put(id, document)
            if id in self.docs.names:
                self._shadows.add(id)
        else:
            id = format.check_id(document.get(format.ID) if id is None else id)
            self.docs.put(id, document, durable=self._durable)
            self.lines.discard(id)
        self._changed = True
        if self._is_strict and self._schema is None:
            self._schema = schema_of(document)

    def put_all(self, documents: Iterable[Any]) -> int:
        """Add documents with `_id`, or pairs of id and document, and return their number.

        Raises
        ------
        UnsupportedError
            If one cannot be written. Those before it have been added.
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
        """Add lines as they are, all or none; see `LineWriter.write_lines` and `DocFiles.write_lines`."""
        lines = self._into
        check: Check | None = self._check_in_turn if self._is_strict else None
        self._changed = True
        if lines is None:
            n, ids = self.docs.write_lines(source, name, check, durable=self._durable)
            for id in ids:
                self.lines.discard(id)
            return n
        lines.end_of_lines()
        before = {id: lines.table.span(id) for id in self.docs.names}
        n = lines.write_lines(source, name, check)
        self._shadows.update(id for id, span in before.items() if lines.table.span(id) != span)
        return n

    def discard(self, id: str) -> bool:
        """Remove a document, and return whether there was one."""
        found = self.lines.discard(id)
        found = self.docs.discard(id, durable=self._durable) or found
        self._changed = self._changed or found
        return found

    def _check(self, document: Document) -> None:
        """Raise an UnsupportedError if all documents must have one schema, and this one has another."""
        if not self._is_strict:
            return
        if self._schema is None:
            first = next(self.lines.documents(), None) or next(self.docs.documents(list(self.docs.ids)), None)
            if first is None:
                return
            self._schema = schema_of(first)
        conflict = difference(self._schema, schema_of(document))
        if conflict is not None:
            raise UnsupportedError(f"the manifest demands one schema: {conflict}", path=self._place.path)

    def _check_in_turn(self, document: Document) -> None:
        self._check(document)
        if self._schema is None:
            self._schema = schema_of(document)

    def describe(self, facts: dict[str, str]) -> None:
        """On closing, add facts about the store to zds.json."""
        self._facts_to_add |= facts
        self._changed = True

    def flush(self, durable: bool) -> None:
        """Write all changes to the operating system; see `LineWriter.flush`."""
        self.lines.flush(durable)
        self._drop_shadowed(durable)

    def _drop_shadowed(self, durable: bool) -> None:
        """Remove the files of documents that are lines now."""
        if self._old_docs:
            old = DocFiles(self._place, self._collection, self._faults)
            for id in self._old_docs:
                old.discard(id, durable=durable)
            self._old_docs = []
        for id in self._shadows:
            self.docs.discard(id, durable=durable)
        self._shadows.clear()

    def compact(self) -> None:
        """Flush, and reduce data.jsonl to one line for each id."""
        self.lines.compact()
        self._changed = self._changed or self.lines.is_unfinished
        self._drop_shadowed(self._durable)

    def close(self) -> None:
        """Write all pending changes, and allow other writers.

        Raises
        ------
        OSError
            If something cannot be written. Then the collection stays open.
        """
        if (self._changed or self.lines.is_unfinished) and not self._is_released:  # or the first one was refused
            if self.lines.is_unfinished:
                self.lines.finish()
            self._drop_shadowed(self._durable)
            self._write_facts()
            self._workspace.changed = True
        self.release()

    def _write_facts(self) -> None:
        """Write manifest.json and zds.json."""
        count = len(self.lines) + sum(id not in self.lines for id in self.docs.ids)
        if self._has_manifest:
            facts = self._facts or {}
            manifest.write_manifest(self._place, self._collection, facts, count, self._is_strict, self._durable)
        counts = {self._collection: count}
        manifest.write_store(self._place, self._workspace.name, counts, self._durable, self._facts_to_add)

    def release(self) -> None:
        """Discard all changes that were not flushed, and allow other writers."""
        if self._is_released:
            return
        self._is_released = True
        self.lines.close()
        self._unlock()
        self._workspace.release(self._durable)

    def _unlock(self) -> None:
        for path in (self._meta, os.path.dirname(self._meta)):
            with contextlib.suppress(OSError):  # only the folder of an abandoned new collection is empty
                os.rmdir(path)
        self._lock.release(remove=True)
