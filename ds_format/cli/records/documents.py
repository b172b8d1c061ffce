"""ZDS for `ds records`."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, SupportsIndex

from ... import drivers
from ...base.wording import on_one_line
from ...datadings.base import Reader
from ...drivers.base import LossWarning
from ...drivers.records import companion
from ...drivers.records.zds import InOrder, packed
from ...errors import MissingError, UnsupportedError
from ...kernels.json.values import dumps
from ...zds.docs import DocFiles, layout_of
from ...zds.faults import Silence
from ...zds.format import COLLECTIONS, DEFAULT_COLLECTION, ID, LINES, data_name, docs_name
from ...zds.store import Layout, ZDSStore
from ...zds.store_access import open_store
from ..arguments import ArgumentError, UsageError

SUFFIX = ".zds"
WRITE_SIZE = 1 << 20
"""Bytes of lines that are written at once."""


def is_store(path: str) -> bool:
    """Whether a path is that of a folder that is a store."""
    return drivers.is_store(path)


def collection_of(path: str, wanted: str | None, *, is_made: bool = False) -> str:
    """Return the collection of a store that is wanted, or the only one, or else `default`.

    Parameters
    ----------
    path : str
    wanted : str, optional
    is_made : bool
        Whether a store without any collection will get it.

    Raises
    ------
    ArgumentError
        If there is none of this name, or several and none is named.
    """
    with contextlib.closing(open_store(path, strict=None)) as place:
        found = place.collections()
    if wanted is None and len(found) == 1:
        return found[0]
    name = DEFAULT_COLLECTION if wanted is None else wanted
    if name not in found and (found or not is_made):
        raise ArgumentError(f'{path}: there is no collection "{name}"; expected one of {", ".join(found) or "none"}')
    return name


class DocumentReader(Reader):
    """A collection; see `formats.RecordReader`.

    Parameters
    ----------
    path : str
    collection : str

    Attributes
    ----------
    store : ZDSStore
    place : StoreRoot
    """

    def __init__(self, path: str, collection: str):
        self.path, self.collection = path, collection
        self.place = open_store(path, strict=None)
        self.store = ZDSStore.open(path, collection)
        self._documents = InOrder(self.store)
        self._places: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.store)

    def get(self, index: SupportsIndex, yield_key: bool = False, raw: bool = False, copy: bool = True) -> Any:
        """Return one document, or its line; see `Samples.get`."""
        key = self.find_key(index)
        found = self.store[key]
        return _shown(found, yield_key, raw)

    def take(
        self,
        indices: Sequence[int],
        yield_key: bool = False,
        raw: bool = False,
        copy: bool = True,
        chunk_size: int | None = None,
    ) -> Iterator[Any]:
        """Iterate over documents; see `Samples.take`."""
        for document in self._documents.take(indices):
            yield _shown(document, yield_key, raw)

    def find(self, key: Hashable) -> Any:
        """Return the document with an id."""
        return self.store[str(key)]

    def find_key(self, index: SupportsIndex) -> str:
        """Return the id of a document."""
        return self._documents.ids[self._locate(index)]

    def find_index(self, key: Hashable) -> int:
        """Return the index of the document with an id."""
        if not self._places:
            self._places = {found: i for i, found in enumerate(self._documents.ids)}
        if key not in self._places:
            raise MissingError(f"no document with the id {key!r:.60}", path=self.path)
        return self._places[str(key)]

    @property
    def data_size(self) -> int:
        """Bytes of all documents."""
        names = [data_name(self.collection), *self.place.names(f"{docs_name(self.collection)}/")]
        return sum(self._size_of(name) or 0 for name in names)

    @property
    def layout(self) -> Any:
        """Whether documents are lines or files; lines where there are none."""
        docs = DocFiles(self.place, self.collection, Silence())
        return layout_of(self.place, self.collection, docs) or LINES

    @property
    def companion_path(self) -> str | None:
        """What tells of attributes and dimensions."""
        name = companion.member_name(self.collection)
        return None if self._size_of(name) is None else f"{self.path}/{name}"

    def _size_of(self, name: str) -> int | None:
        file = self.place.open(name)
        return None if file is None else file.size

    def lines(self) -> Iterator[bytes]:
        """Iterate over the documents as lines of JSON."""
        return map(dumps, self.store.scan())

    def sizes(self) -> list[int]:
        """Return the bytes of each document."""
        return [len(line) + 1 for line in self.lines()]

    def files(self) -> dict[str, int]:
        """Return the names and bytes of all files of the collection, or of the archive."""
        if os.path.isfile(self.path):
            return {os.path.basename(self.path): os.path.getsize(self.path)}
        names = self.place.names(f"{COLLECTIONS}/{self.collection}/")
        return {name: self._size_of(name) or 0 for name in names}

    def facts(self) -> dict[str, Any]:
        """Return how many documents each collection has."""
        counts = {}
        for name in self.store.collections():
            with ZDSStore.open(self.path, name) as store:
                counts[name] = len(store)
        return {"collections": counts}

    def close(self) -> None:
        """Close the store."""
        self.store.close()
        self.place.close()


def _shown(document: dict[str, Any], yield_key: bool, raw: bool) -> Any:
    found = dumps(document) if raw else document
    return (document[ID], found) if yield_key else found


def reader(path: str, collection: str | None, *, mmap: bool = False) -> DocumentReader:
    """Open a collection.

    Raises
    ------
    ArgumentError
        If there is no such one.
    """
    if mmap:
        raise UsageError("bench: --mmap is for datadings; ZDS maps nothing")
    return DocumentReader(path, collection_of(path, collection))


class _Writer:
    """Lines on their way to a store."""

    def __init__(self, store: ZDSStore):
        self._store = store
        self._lines: dict[str, bytes] = {}
        self._size = 0

    def write(self, key: str, line: bytes) -> int:
        """Add a document; return the bytes of its line.

        Raises
        ------
        UnsupportedError
            If there is one with this id already.
        """
        if key in self._lines or key in self._store:
            raise UnsupportedError(f"found the id {key!r:.60} for the second time")
        self._lines[key] = line
        self._size += len(line) + 1
        if self._size >= WRITE_SIZE:
            self.flush()
        return len(line) + 1

    def flush(self) -> None:
        """Hand on what was written."""
        if self._lines:
            self._store.write_jsonl(b"\n".join([*self._lines.values(), b""]))
        self._lines, self._size = {}, 0


@contextlib.contextmanager
def writer(path: str, of: DocumentReader, is_whole: bool, layout: Layout | None) -> Iterator[_Writer]:
    """Open an archive to be written with lines of another store, in its layout; see `formats.RecordFormat`."""
    layout = layout or of.layout
    with packed(path) as folder:
        with ZDSStore.open(folder, of.collection, mode="w", layout=layout) as store:
            lines = _Writer(store)
            yield lines
            lines.flush()
            n = len(store)
        if is_whole and layout == LINES:
            companion.carry(of.place, of.collection, len(of), folder, n)
        elif is_whole and of.companion_path is not None:
            message = on_one_line(f"{of.companion_path}: attributes and dimensions are not kept")
            warnings.warn(message, LossWarning, stacklevel=3)
