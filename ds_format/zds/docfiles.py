"""The documents of a collection that have files of their own, as one thing."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import FormatError, UnsafeError
from . import docs, format
from .documents import Document
from .faults import Faults
from .places import Folder, Place


class DocFiles:
    """The folder `docs` of a collection. Which files there are is asked once.

    Parameters
    ----------
    place : Place
    collection : str
    faults : Faults
    is_empty : bool
        Take the folder for empty, whatever is in it.
    """

    def __init__(self, place: Place, collection: str, faults: Faults, is_empty: bool = False):
        self._place, self._collection, self._faults = place, collection, faults
        self._names: dict[str, None] | None = {} if is_empty else None
        self._ids: dict[str, None] | None = {} if is_empty else None

    @property
    def names(self) -> dict[str, None]:
        """The ids that have a file, whatever is in it, in their order."""
        if self._names is None:
            self._names = dict.fromkeys(docs.list_ids(self._place, self._collection, self._faults))
        return self._names

    @property
    def ids(self) -> dict[str, None]:
        """The ids whose file holds a document, in their order."""
        if self._ids is None:
            self._ids = {document[format.ID]: None for document in self.documents(list(self.names))}
        return self._ids

    def __contains__(self, id: str) -> bool:
        return id in self.ids if self._ids is not None else id in self.names and self._is_document(id)

    def _is_document(self, id: str) -> bool:
        return any(True for _ in self.documents([id]))

    def get(self, id: str) -> Document | None:
        """Return a document, None if there is none; see `docs.read`."""
        if self._names is not None and id not in self._names:
            return None
        return docs.read(self._place, self._collection, id, self._faults)

    def text(self, id: str) -> bytes:
        """Return the content of the file of a document."""
        region = self._place.open(format.document_name(self._collection, id))
        return b"" if region is None else region.read(0, region.size)

    def documents(self, ids: list[str]) -> Iterator[Document]:
        """Iterate over some documents; files that hold none are told of, and left out."""
        for id in ids:
            try:
                document = docs.read(self._place, self._collection, id, self._faults)
            except (FormatError, UnsafeError) as error:
                self._faults.tell(error.path or self._place.path, f"{error.message}; left out")
                continue
            if document is not None:
                yield document

    def put(self, place: Folder, id: str, document: Document, durable: bool) -> None:
        """Write a document; see `docs.write`."""
        docs.write(place, self._collection, id, document, durable=durable)
        self.note(id)

    def note(self, id: str) -> None:
        """Know of a document that was written."""
        self.names[id] = None
        if self._ids is not None:
            self._ids[id] = None

    def discard(self, place: Folder, id: str, durable: bool) -> bool:
        """Remove a document, and return whether there was one."""
        if id not in self.names:
            return False
        docs.delete(place, self._collection, id, durable=durable)
        del self.names[id]
        if self._ids is not None:
            self._ids.pop(id, None)
        return True
