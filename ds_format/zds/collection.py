"""The documents of a collection, from lines and from files of their own, as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import MissingError
from . import query
from .docfiles import DocFiles
from .documents import Document
from .no_lines import NoLines
from .reader import LineReader
from .tables.columns import arrow_stream
from .writer import LineWriter

_NONE: Any = object()


class Documents:
    """What can be read of a collection, whether it is open for reading or for writing.

    Attributes
    ----------
    path : str
        The folder or archive.
    name : str
        The collection.
    """

    path: str
    name: str
    _lines: LineReader | LineWriter | NoLines
    _docs: DocFiles

    def get(self, id: str, default: Any = _NONE) -> Any:
        """Return the document of an id.

        Parameters
        ----------
        id : str
        default : optional
            What to return if there is none.

        Raises
        ------
        MissingError
            If there is none, and no default; it is a KeyError.
        FormatError
            If a file of its own does not hold a document.
        """
        document = self._lines.get(id)
        if document is None:
            document = self._docs.get(id)
            if document is None:
                if default is _NONE:
                    raise MissingError(f"no document {id!r:.100} in the collection {self.name!r}", path=self.path)
                return default
        return document

    __getitem__ = get

    def exists(self, id: object) -> bool:
        """Return whether there is a document of an id."""
        return isinstance(id, str) and (id in self._lines or id in self._docs)

    __contains__ = exists

    def __len__(self) -> int:
        ids = self._docs.ids
        return len(self._lines) + (sum(id not in self._lines for id in ids) if ids else 0)

    def _others_ids(self) -> list[str]:
        """Return the ids of documents that only have files of their own."""
        return [id for id in self._docs.ids if id not in self._lines]

    def ids(self) -> Iterator[str]:
        """Iterate over all ids, in the order of `scan`."""
        yield from self._lines.ids()
        yield from self._others_ids()

    __iter__ = ids

    def scan(self, fields: Iterable[str] | str | None = None, where: query.Where | None = None) -> Iterator[Document]:
        """Iterate over the documents, or some of them.

        Those that are put while this goes on are not seen.

        Parameters
        ----------
        fields : iterable of str, optional
            Dotted paths of what is wanted of each document; see `query.projection`.
        where : str, dict, callable or list, optional
            Which documents are wanted; see `query.predicate`.

        Returns
        -------
        iterator of dict

        Examples
        --------
        >>> from ds_format.zds import ZDSStore
        >>> with ZDSStore.open("people", mode="w") as store:
        ...     n = store.put_many([("ann", {"age": 30, "home": {"city": "Oslo"}}), ("bob", {"age": 8})])
        ...     list(store.scan(fields=["home.city"], where="age>=18"))
        [{'_id': 'ann', 'home.city': 'Oslo'}]
        """
        keep, project = query.predicate(where), query.projection(fields)
        found = self._documents()
        if keep is not None:
            found = filter(keep, found)
        return found if project is None else map(project, found)

    def _documents(self) -> Iterator[Document]:
        yield from self._lines.documents()
        if self._docs.ids:
            yield from self._docs.documents(self._others_ids())

    def scan_raw(self) -> Iterator[bytes]:
        """Iterate over the lines of data.jsonl, without line feeds, then the content of files of documents."""
        yield from self._lines.lines()
        for id in self._others_ids():
            yield self._docs.text(id)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return arrow_stream(self, requested_schema)


class Closed:
    """What a closed store has instead of documents."""

    def __init__(self, path: str):
        self._path = path

    def __getattr__(self, name: str) -> Any:
        raise ValueError(f"{self._path} is closed")

    def __len__(self) -> int:
        return int(self.n)

    def __contains__(self, id: str) -> bool:
        return bool(self.n)
