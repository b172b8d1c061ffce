"""A collection of documents: found by id, read in a row, changed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Literal, Self

from ..errors import FormatError, MissingError, UnsupportedError
from . import format, index_bin, manifest, query
from .arrow_columns import arrow_stream
from .changes import Changes
from .docs import DocFiles
from .documents import Document
from .faults import Faults, ZdsWarning, message_at
from .findings import ERROR
from .format import LAYOUTS
from .line_reader import LineReader, open_files
from .line_writer import LineWriter
from .roots import StoreRoot
from .store_access import WritableStore, open_store
from .validation import validate

Mode = Literal["r", "a", "w"]
Layout = Literal["jsonl", "docs"]
_NONE: Any = object()


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


class ZDSStore:
    """A collection of documents in a store; `open` makes one.

    Documents are dicts with the types of JSON, and have their id under `_id`. They come in the order of the lines of
    data.jsonl, then those that only have files of their own. An id that has both is read from its line.

    One that is open for reading stays as it was when it was opened, whatever others write; threads may share it, and
    a copy by pickle opens the store anew. One that is open for writing is for one thread. It reads what it wrote.

    Attributes
    ----------
    path : str
        The folder or archive.
    name : str
        The collection.
    mode : str
        "r", "a" or "w".

    Examples
    --------
    >>> from ds_format.zds import ZDSStore
    >>> with ZDSStore.open("animals", "train", mode="w") as store:
    ...     store.put("cat", {"legs": 4})
    ...     store["hen"] = {"legs": 2, "wings": 2}
    >>> with ZDSStore.open("animals", "train") as store:
    ...     len(store), store["cat"], list(store), [bird["_id"] for bird in store.scan(where="wings>=2")]
    (2, {'_id': 'cat', 'legs': 4}, ['cat', 'hen'], ['hen'])
    """

    def __init__(
        self, path: str, name: str, mode: Mode, options: dict[str, Any], workspace: WritableStore | None = None
    ):
        self.path, self.name, self.mode = path, name, mode
        self._options = options
        self._faults = Faults(options["strict"])
        self._others: list[ZDSStore] = []
        self._workspace = workspace
        self._changes: Changes | None = None
        self._place: StoreRoot
        self._lines: LineReader | LineWriter
        self._docs: DocFiles
        self._is_open = True
        if mode == "r":
            self._open_to_read()
        else:
            self._open_to_write()

    @classmethod
    def open(
        cls,
        root_or_archive: str | os.PathLike[str],
        collection: str = format.DEFAULT_COLLECTION,
        mode: Mode = "r",
        *,
        strict: bool = False,
        layout: Layout | None = None,
        durable: bool = False,
        index: str = "verify",
    ) -> Self:
        r"""Open a collection.

        Parameters
        ----------
        root_or_archive : str or PathLike
            The folder of the store, or an archive of it: a file, or to make one, a name that ends in `.zds`.
        collection : str
        mode : {"r", "a", "w"}
            Read; also change what is there, or make it; or replace what is there. "r" writes nothing whatsoever. With
            "w" what is there stays until the first `flush` or `close`; only with layout "docs" it goes at once.
        strict : bool
            Refuse whatever is not as the format wants it, after all has been read; else there are warnings, and what
            cannot be used is left out. A collection that is made so has one schema for all documents.
        layout : {"jsonl", "docs"}, optional
            Where documents are put: they become lines of data.jsonl, or files of their own. Both are read. By default
            a collection keeps the layout that it has, and a new one gets "jsonl"; where there are lines as well as
            files, documents become lines. "w" can change it, "a" only where there are no documents.
        durable : bool
            Let `flush` and `close` wait until all is on the disk.
        index : {"verify", "trust", "ignore", "binary"}
            Use the index if it is possible, and read the lines that it does not cover; use it as it is; do not use it;
            do as the first one, and write the binary form, which Python programs other than this package cannot read.
            What a document says of its id is compared in any case.

        Raises
        ------
        FileNotFoundError
            If there is nothing to read.
        MissingError
            If there is no such collection to read; it is a KeyError.
        FormatError
            If it is no store; or if `strict`, for anything that is wrong in it.
        UnsupportedError
            If this cannot be the name of a collection, or documents would get another layout than those that are there.
        BusyError
            If another process, or another object of this one, writes to the collection; it is a BlockingIOError.

        Examples
        --------
        >>> from ds_format.zds import ZDSStore
        >>> with ZDSStore.open("notes.zds", mode="w") as store:
        ...     store.write_jsonl(b'{"_id":"a","text":"one"}\n{"_id":"b","text":"two"}\n')
        2
        >>> ZDSStore.open("notes.zds")["b"]
        {'_id': 'b', 'text': 'two'}
        """
        options = {"strict": strict, "layout": layout, "durable": durable, "index": index}
        _check_options(mode, options)
        return cls(os.fspath(root_or_archive), format.check_collection(collection), mode, options)

    def _open_to_read(self) -> None:
        strict = self._faults.strict
        self._place = open_store(self.path, strict=strict)
        names = self._place.collections()
        if self.name not in names:
            told = ", ".join(names[:10]) or "none"
            raise MissingError(f"no collection {self.name!r}; there are: {told}", path=self.path)
        if strict:
            self._refuse_faults()
        else:
            manifest.read_store(self._place, self._faults)
            manifest.read_manifest(self._place, self.name, self._faults)
        faults = Faults()  # what is an error for the strict was found before
        self._lines = LineReader(open_files(self._place, self.name), self._options["index"], faults)
        self._docs = DocFiles(self._place, self.name, faults)

    def _refuse_faults(self) -> None:
        for finding in validate(self.path):
            if finding.collection not in {None, self.name}:
                continue
            if finding.severity == ERROR:
                raise FormatError(message_at(finding.message, finding.line, finding.offset), path=finding.path)
            warnings.warn(str(finding), ZdsWarning, stacklevel=5)

    def _open_to_write(self) -> None:
        options = self._options
        if self._workspace is None:
            self._workspace = WritableStore(self.path, self._faults)
        try:
            self._place = self._workspace.place
            self._changes = Changes(
                self._workspace,
                self.name,
                self.mode == "w",
                options["layout"],
                options["strict"],
                options["index"],
                self._faults,
                options["durable"],
            )
        except BaseException:
            self._workspace.give_up()
            raise
        self._lines, self._docs = self._changes.lines, self._changes.docs

    def __reduce__(self) -> tuple[Any, ...]:
        if self._changes is not None:
            raise TypeError("a store that is open for writing cannot be pickled")
        return type(self), (self.path, self.name, self.mode, self._options)

    def __repr__(self) -> str:
        return f"<ZDSStore {self.path!r} {self.name!r} mode {self.mode!r}>"

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
            Dotted paths of the requested fields of each document; see `query.projection`.
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

    def _to_write(self) -> Changes:
        if self._changes is None:
            raise UnsupportedError(f"the collection {self.name!r} is open for reading only", path=self.path)
        return self._changes

    def put(self, id: str, document: Document) -> None:
        """Add a document, in place of one with the same id.

        Parameters
        ----------
        id : str
            Letters a-z A-Z, digits, `_`, `-`, `.`; not `.` at the start, not `..`; up to 255.
        document : dict
            Values are str, int, float, bool, None, dict, list, tuple, or scalars and arrays of NumPy. `_id` need not be
            there.

        Raises
        ------
        UnsupportedError
            If it cannot be written: a NaN, half a surrogate pair, a key that is no str, another `_id`, another type; or
            if another schema is demanded. Nothing has changed then.
        """
        self._to_write().put(format.check_id(id), document)

    __setitem__ = put

    def update(self, id: str, changes: Document) -> None:
        """Set members of a document that is there, and keep its others.

        Raises
        ------
        MissingError
            If there is none; it is a KeyError.
        UnsupportedError
            As for `put`.
        """
        self._to_write().put(format.check_id(id), {**self.get(id), **changes})

    def put_many(self, documents: Iterable[Any]) -> int:
        """Add documents, and return how many.

        Parameters
        ----------
        documents : iterable
            Of dicts with an `_id`, or pairs of id and dict.

        Raises
        ------
        UnsupportedError
            As for `put`. The documents before the one that fails have been added.
        """
        return self._to_write().put_all(documents)

    def write_jsonl(self, source: Any) -> int:
        """Add lines of JSON as they are, and return how many. Each must be a document with its `_id`.

        Parameters
        ----------
        source : bytes, bytearray, memoryview or file
            The file must be open for reading bytes.

        Raises
        ------
        FormatError
            If a line is none; it names line and byte. Nothing is added then.
        UnsupportedError
            If another schema is demanded, or with layout "docs" for an id of more than 250 characters. Nothing is added
            then.
        """
        return self._to_write().write_lines(source, str(getattr(source, "name", "the lines")))

    def delete(self, id: str) -> None:
        """Remove a document. Its line goes with the next `flush`, which writes data.jsonl anew.

        Raises
        ------
        MissingError
            If there is none; it is a KeyError.
        """
        if not self._to_write().discard(id):
            raise MissingError(f"no document {id!r:.100} in the collection {self.name!r}", path=self.path)

    __delitem__ = delete

    def flush(self, durable: bool = False) -> None:
        """Hand all changes to the system, so that they outlive this process; with `durable`, to the disk."""
        self._to_write().flush(durable)

    def compact(self) -> None:
        """Leave nothing in data.jsonl but one line for each id. `close` does so, too, after changes."""
        self._to_write().compact()

    def describe(self, *, name: str | None = None, description: str | None = None) -> None:
        """Set what zds.json calls the store, and says of it, when this is closed.

        Parameters
        ----------
        name, description : str, optional
            None: it stays as it is. A new store has the name of its folder or archive.

        Raises
        ------
        UnsupportedError
            If this is open for reading only.
        TypeError
            If one is no text.
        """
        changes = self._to_write()
        facts = {"name": name, "description": description}
        for key, text in facts.items():
            if text is not None and not isinstance(text, str):
                raise TypeError(f"{key}: found {type(text).__name__}, expected str")
        changes.describe({key: text for key, text in facts.items() if text is not None})

    def collections(self) -> list[str]:
        """Return the names of all collections of the store, sorted."""
        return [name for name in self._place.collections() if format.is_name(name)]

    def collection(self, name: str) -> ZDSStore:
        """Open another collection of the store, with the same options. It is closed with this one, if not before."""
        shared = self._workspace.share() if self._workspace is not None else None
        other = type(self)(self.path, format.check_collection(name), self.mode, self._options, shared)
        self._others.append(other)
        return other

    def close(self) -> None:
        """Write what is not written, compact, write the index and the counts, and let others write.

        Raises
        ------
        OSError
            If something cannot be written. The store is still open then.
        """
        while self._others:
            self._others[-1].close()
            self._others.pop()
        if self._is_open:
            if self._changes is not None:
                self._changes.close()
            self._shut()

    def _shut(self) -> None:
        if self._changes is None:
            self._lines.close()
        self._is_open = False
        self._lines = self._docs = self._changes = Closed(self.path)  # type: ignore[assignment]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._is_open:
            return
        try:
            if kind is None or self.mode != "w":
                self.close()
        finally:
            self.give_up()

    def give_up(self) -> None:
        """Close, and forget what was not flushed."""
        for other in self._others:
            other.give_up()
        if self._is_open:
            if self._changes is not None:
                self._changes.release()
            self._shut()


def _check_options(mode: str, options: dict[str, Any]) -> None:
    for word, value, allowed in (
        ("mode", mode, ("r", "a", "w")),
        ("layout", options["layout"] or LAYOUTS[0], LAYOUTS),
        ("index", options["index"], index_bin.POLICIES),
    ):
        if value not in allowed:
            raise ValueError(f"{word}: found {value!r}, expected one of {', '.join(map(repr, allowed))}")
