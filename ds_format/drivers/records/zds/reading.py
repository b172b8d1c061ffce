"""Documents as records."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from ....base.names import unescape
from ....errors import FormatError, UnsupportedError
from ....zds.format import COLLECTIONS, ID, STORE_FILE, data_name
from ....zds.places import Folder, Place
from ....zds.store import ZDSStore
from ....zds.workspace import open_archive
from ...base import Metadata
from ..schema import Schema
from . import companion_member
from .columns import SCALARS, array_of, described
from .names import SEPARATOR, Path, find, leaves_of, paths_of

ID_PATH: Path = (ID,)


def open_place(path: str) -> Place:
    """Open a folder or an archive.

    Raises
    ------
    OSError
        If it does not exist.
    FormatError
        If it is no store.
    """
    os.stat(path)
    # what is left out of an archive the store tells
    place: Place = Folder(path) if os.path.isdir(path) else open_archive(path, strict=None)
    if not place.is_store():
        raise FormatError(f"neither {COLLECTIONS}/ nor {STORE_FILE}: no ZDS store", path=path)
    return place


class InOrder:
    """The documents of a collection by their positions in the file.

    What is asked for in a row is read in a row, and all else by id.

    Parameters
    ----------
    store : ZDSStore
        Open to read; it stays so.
    """

    def __init__(self, store: ZDSStore):
        self._store = store
        self._ids: list[str] | None = None
        self._left: list[tuple[Iterator[dict[str, Any]], int]] = []
        """A scan, and the position where it goes on, while nobody uses it."""

    @property
    def ids(self) -> list[str]:
        """The ids of all documents."""
        if self._ids is None:
            self._ids = list(self._store.ids())
        return self._ids

    def take(self, positions: Sequence[int]) -> Iterator[dict[str, Any]]:
        """Yield the documents at these positions.

        Raises
        ------
        FormatError
            If there are fewer than the index says.
        """
        run = positions if isinstance(positions, range) and positions.step == 1 else None
        rest = None if run is None else self._scan_from(run)
        if run is None or rest is None:
            yield from (self._store[self.ids[i]] for i in positions)
            return
        place = run.start
        for document in islice(rest, len(run)):
            place += 1
            yield document
        if place < run.stop:
            raise FormatError(f"found {place} documents, expected {len(self._store)} as the index says")
        self._left = [(rest, place)]

    def _scan_from(self, run: range) -> Iterator[dict[str, Any]] | None:
        """Return a scan that goes on where a run begins, if that is to be had."""
        try:
            rest, place = self._left.pop()
        except IndexError:
            place = -1
        if place == run.start:
            return rest
        return None if run.start else self._store.scan()


class DocumentRecords:
    """The documents of a collection; see `Records`.

    Parameters
    ----------
    path : str
        Of the store, for messages.
    place : Place
        Of the store; it stays open.
    collection : str
    """

    def __init__(self, path: str, place: Place, collection: str):
        self.path = path
        self._store = ZDSStore.open(path, collection)
        try:
            self._documents = InOrder(self._store)
            region = place.open(data_name(collection))
            self.size = 0 if region is None else region.size
            self.companion = companion_member.find(place, collection, len(self._store))
        except BaseException:
            self._store.close()
            raise
        names = () if self.companion is None else map(unescape, self.companion.axes)
        self._paths = paths_of(name for name in names if name != ID) | {ID: ID_PATH}

    def __len__(self) -> int:
        return len(self._store)

    def take(self, positions: Sequence[int]) -> Iterator[Any]:
        """Yield documents."""
        return self._documents.take(positions)

    def column(
        self, name: str, records: Sequence[Any], numbers: Sequence[int], type_name: str, shape: tuple[int, ...]
    ) -> Any:
        """Return a variable of some documents; see `Records.column`."""
        path = self._paths[unescape(name)]
        if len(path) == 1:
            values = [document.get(path[0]) for document in records]
        else:
            values = [find(document, path) for document in records]
        return array_of(values, type_name, shape, lambda i: f"document {records[i].get(ID)!r:.60}")

    def infer(self) -> tuple[Metadata, dict[str, UnsupportedError]]:
        """Return the metadata of documents of other programs.

        What is in objects has their names and a slash before its own. `_id` is left out where it only numbers them.
        """
        schema = Schema(SCALARS, described)
        objects: set[Path] = set()
        empty: set[Path] = set()
        is_numbered = True
        for number, document in enumerate(self._store.scan()):
            is_numbered = is_numbered and document[ID] == str(number)
            for path, value in leaves_of(document):
                if len(path) > 1:
                    objects.update(path[:depth] for depth in range(1, len(path)))
                if value == {}:
                    empty.add(path)
                elif path != ID_PATH:
                    self._note(schema, path, value)
        for path in objects | empty:
            name = SEPARATOR.join(path)
            if schema.n(name):
                schema.refuse(name, "found objects and other values")
            elif path in objects:
                schema.forget(name)
            else:
                schema.refuse(name, "found objects without members, which are none of a dataset")
        return schema.metadata(len(self), self.path, None if is_numbered else ID)

    def _note(self, schema: Schema, path: Path, value: Any) -> None:
        name = SEPARATOR.join(path)
        schema.add(name, value)
        if self._paths.setdefault(name, path) != path:
            schema.refuse(name, "found it in an object, and as a name with a slash")

    def close(self) -> None:
        """Release the files."""
        self._store.close()
        if self.companion is not None:
            self.companion.source.close()
