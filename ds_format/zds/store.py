"""A collection of documents: reading by id and in sequence, and writing."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Literal, Self

from ..base.batches import batched
from ..body import Address, path_text
from ..errors import FormatError, MissingError, UnsupportedError
from ..tables.document_columns import Columns
from . import format, index_bin, manifest, query
from .changes import Changes, OpenOptions
from .docs import DocFiles
from .documents import Document
from .faults import ERROR, Faults, ZdsWarning, message_at
from .format import ID, LAYOUTS
from .line_reader import LineReader, open_files
from .roots import StoreRoot
from .store_access import WritableStore, open_store, root_of
from .validation import validate

Mode = Literal["r", "a", "w"]
Layout = Literal["jsonl", "docs"]
_NONE: Any = object()
TAKEN = 1024
"""Documents at an address that are read side by side."""


class Closed:
    """Replaces the documents of a closed store: any use raises an error."""

    def __init__(self, path: str):
        self._path = path

    def __getattr__(self, name: str) -> Any:
        raise ValueError(f"{self._path} is closed")

    def __len__(self) -> int:
        return int(self.n)

    def __contains__(self, id: str) -> bool:
        return bool(self.n)


class ZDSStore:
    """A collection of documents in a store, opened by `open`.

    Documents are dicts with the types of JSON, and have their id under `_id`. Their order is that of the lines of
    data.jsonl, followed by documents that are only separate files. If an id has both, its line is read.

    A store opened for reading stays in its state, even if others write to it. Threads may share it, and a copy by
    pickle opens it again. A store opened for writing is not thread-safe. It reads its own changes.

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
    ...     (
    ...         len(store),
    ...         store["cat"],
    ...         list(store),
    ...         [bird["_id"] for bird in store.scan(where="wings>=2")],
    ...     )
    (2, {'_id': 'cat', 'legs': 4}, ['cat', 'hen'], ['hen'])
    """

    def __init__(
        self,
        path: str | Address,
        name: str,
        mode: Mode,
        options: OpenOptions,
        workspace: WritableStore | None = None,
    ):
        self.path, self.name, self.mode = path_text(path), name, mode
        self._where = path
        self._options = options
        self._faults = Faults(options.strict)
        self._others: list[ZDSStore] = []
        self._workspace = workspace
        self._changes: Changes | None = None
        self._place: StoreRoot
        self._lines: LineReader
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
        storage_options: Mapping[str, Any] | None = None,
        store: Any = None,
    ) -> Self:
        r"""Open a collection.

        Parameters
        ----------
        root_or_archive : str, PathLike or address
            The folder of the store, or an archive: an existing file, or a new name that ends in `.zds`. At an address,
            the index is read first, then only the requested documents. A folder there needs its file `zds.json`, which
            names the collections.
        collection : str
        mode : {"r", "a", "w"}
            "r": read only; nothing is written to the disk. "a": read and change, or create. "w": replace. The old
            documents stay until the first `flush` or `close`; only with layout "docs" they are removed at once.
        strict : bool
            Check everything on opening, and refuse a store with any fault. Otherwise faults are warnings, and unusable
            parts are left out. A collection created with `strict` requires one schema of all documents.
        layout : {"jsonl", "docs"}, optional
            Write documents as lines of data.jsonl, or as separate files. Both are read. By default the existing layout,
            and "jsonl" for a new collection; if there are both lines and files, new documents become lines. "w" can
            change the layout, "a" only if there are no documents.
        durable : bool
            `flush` and `close` return after everything is on the disk.
        index : {"verify", "trust", "ignore", "binary"}
            Use the index if it is valid, and read the lines that it does not cover; use it unchecked; ignore it; or do
            as for "verify", and write the binary form, which Python programs other than this package cannot read. The
            id in a document is always compared.
        storage_options, store
            As of `ds_format.read`.

        Raises
        ------
        FileNotFoundError
            If there is nothing to read.
        MissingError
            If the collection to read does not exist. It is a `KeyError`.
        FormatError
            If it is not a store; with `strict`, for any fault in it.
        UnsupportedError
            If the name of the collection is not allowed, or existing documents have another layout. If an address is to
            be written, or the files of a folder at an address are to be checked.
        BusyError
            If another process, or another object of this one, writes to the collection. It is a `BlockingIOError`.

        Examples
        --------
        >>> from ds_format.zds import ZDSStore
        >>> with ZDSStore.open("notes.zds", mode="w") as store:
        ...     store.write_jsonl(b'{"_id":"a","text":"one"}\n{"_id":"b","text":"two"}\n')
        2
        >>> ZDSStore.open("notes.zds")["b"]
        {'_id': 'b', 'text': 'two'}
        """
        options = OpenOptions(strict, layout, durable, index)
        _check_options(mode, options)
        where = root_of(root_or_archive, storage_options, store)
        if isinstance(where, Address) and mode != "r":
            raise UnsupportedError("stores at an address are read only: write a local store", path=where.name)
        return cls(where, format.check_collection(collection), mode, options)

    def _open_to_read(self) -> None:
        strict = self._faults.strict
        self._place = open_store(self._where, strict=strict)
        names = self._place.collections()
        if self.name not in names:
            listed = ", ".join(names[:10]) or "none"
            raise MissingError(f"no collection {self.name!r}; there are: {listed}", path=self.path)
        if strict:
            self._refuse_faults()
        else:
            manifest.read_store(self._place, self._faults)
            manifest.read_manifest(self._place, self.name, self._faults)
        faults = Faults()  # in strict mode, errors have been raised before
        self._lines = LineReader(open_files(self._place, self.name), self._options.policy, faults)
        self._docs = DocFiles(self._place, self.name, faults)

    def _refuse_faults(self) -> None:
        if self._place.kind == "address":
            raise UnsupportedError("files of a folder at an address cannot be listed to check them", path=self.path)
        for finding in validate(self._where):
            if finding.collection not in {None, self.name}:
                continue
            if finding.severity == ERROR:
                raise FormatError(message_at(finding.message, finding.line, finding.offset), path=finding.path)
            warnings.warn(str(finding), ZdsWarning, stacklevel=5)

    def _open_to_write(self) -> None:
        if self._workspace is None:
            self._workspace = WritableStore(self.path, self._faults)
        try:
            self._place = self._workspace.place
            self._changes = Changes(self._workspace, self.name, self.mode == "w", self._options, self._faults)
        except BaseException:
            self._workspace.give_up()
            raise
        self._lines, self._docs = self._changes.lines, self._changes.docs

    def __reduce__(self) -> tuple[Any, ...]:
        if self._changes is not None:
            raise TypeError("a store that is open for writing cannot be pickled")
        return type(self), (self._where, self.name, self.mode, self._options)

    def __repr__(self) -> str:
        return f"<ZDSStore {self.path!r} {self.name!r} mode {self.mode!r}>"

    def get(self, id: str, default: Any = _NONE) -> Any:
        """Return the document with an id.

        Parameters
        ----------
        id : str
        default : optional
            Returned if there is none.

        Raises
        ------
        MissingError
            If there is none, and no default. It is a `KeyError`.
        FormatError
            If a separate file does not contain a document.
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

    def take(self, ids: Iterable[str]) -> Iterator[Document]:
        """Iterate over the documents with some ids, in this order. Those at an address come side by side.

        Raises
        ------
        MissingError
            If there is none with an id. It is a `KeyError`.
        """
        for some in batched(ids, TAKEN):
            self._lines.announce(some)
            yield from map(self.get, some)

    def exists(self, id: object) -> bool:
        """Return whether there is a document with an id."""
        return isinstance(id, str) and (id in self._lines or id in self._docs)

    __contains__ = exists

    def __len__(self) -> int:
        ids = self._docs.ids
        return len(self._lines) + (sum(id not in self._lines for id in ids) if ids else 0)

    def _others_ids(self) -> list[str]:
        """Return the ids of documents that are only separate files."""
        return [id for id in self._docs.ids if id not in self._lines]

    def ids(self) -> Iterator[str]:
        """Iterate over all ids, in the order of `scan`."""
        yield from self._lines.ids()
        yield from self._others_ids()

    __iter__ = ids

    def scan(self, fields: Iterable[str] | str | None = None, where: query.Where | None = None) -> Iterator[Document]:
        """Iterate over the documents, or some of them.

        Documents that are written during the iteration are not included.

        Parameters
        ----------
        fields : iterable of str, optional
            Dotted paths of the requested fields of each document; see `query.projection`.
        where : str, dict, callable or list, optional
            Condition for the documents; see `query.predicate`.

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
        """Iterate over the lines of data.jsonl, without line feeds, then over the contents of separate files."""
        yield from self._lines.lines()
        for id in self._others_ids():
            yield self._docs.text(id)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return columns_of(self).__arrow_c_stream__(requested_schema)

    def _to_write(self) -> Changes:
        if self._changes is None:
            raise UnsupportedError(f"the collection {self.name!r} is open for reading only", path=self.path)
        return self._changes

    def put(self, id: str, document: Document) -> None:
        """Add a document. It replaces one with the same id.

        Parameters
        ----------
        id : str
            Letters a-z A-Z, digits, `_`, `-`, `.`; no `.` at the start, no `..`; at most 255 characters.
        document : dict
            Values are str, int, float, bool, None, dict, list, tuple, or scalars and arrays of NumPy. `_id` may be
            missing.

        Raises
        ------
        UnsupportedError
            If it cannot be written: a NaN, an unpaired surrogate, a key that is not a str, another `_id`, another type;
            or if the collection requires another schema. Then nothing has changed.
        """
        self._to_write().put(format.check_id(id), document)

    __setitem__ = put

    def update(self, id: str, changes: Document) -> None:
        """Set members of an existing document, and keep its other members.

        Raises
        ------
        MissingError
            If there is none. It is a `KeyError`.
        UnsupportedError
            As for `put`.
        """
        self._to_write().put(format.check_id(id), {**self.get(id), **changes})

    def put_many(self, documents: Iterable[Any]) -> int:
        """Add documents, and return their number.

        Parameters
        ----------
        documents : iterable
            Dicts with an `_id`, or pairs of id and dict.

        Raises
        ------
        UnsupportedError
            As for `put`. The documents before the failing one have been added.
        """
        return self._to_write().put_all(documents)

    def write_jsonl(self, source: Any) -> int:
        """Add lines of JSON as they are, and return their number. Each must be a document with its `_id`.

        Parameters
        ----------
        source : bytes, bytearray, memoryview or file
            The file must be open for reading bytes.

        Raises
        ------
        FormatError
            If a line is not a document; the message names line and byte. Then nothing is added.
        UnsupportedError
            If the collection requires another schema, or, with layout "docs", an id has more than 250 characters. Then
            nothing is added.
        """
        return self._to_write().write_lines(source, str(getattr(source, "name", "the lines")))

    def delete(self, id: str) -> None:
        """Remove a document. The next `flush` rewrites data.jsonl without its line.

        Raises
        ------
        MissingError
            If there is none. It is a `KeyError`.
        """
        if not self._to_write().discard(id):
            raise MissingError(f"no document {id!r:.100} in the collection {self.name!r}", path=self.path)

    __delitem__ = delete

    def flush(self, durable: bool = False) -> None:
        """Write all changes to the operating system, so that they survive the process; with `durable`, to the disk."""
        self._to_write().flush(durable)

    def compact(self) -> None:
        """Reduce data.jsonl to one line for each id. After changes, `close` does this, too."""
        self._to_write().compact()

    def describe(self, *, name: str | None = None, description: str | None = None) -> None:
        """Set the name and description of the store in zds.json. They are written on closing.

        Parameters
        ----------
        name, description : str, optional
            None: unchanged. By default a new store has the name of its folder or archive.

        Raises
        ------
        UnsupportedError
            If the store is open for reading only.
        TypeError
            If one is not a str.
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
        """Open another collection of the store, with the same options. It is closed with this one at the latest."""
        shared = self._workspace.share() if self._workspace is not None else None
        other = type(self)(self._where, format.check_collection(name), self.mode, self._options, shared)
        self._others.append(other)
        return other

    def close(self) -> None:
        """Write all pending changes, compact, write index and counts, and allow other writers.

        Raises
        ------
        OSError
            If something cannot be written. Then the store stays open.
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
        """Close, and discard changes that were not flushed."""
        for other in self._others:
            other.give_up()
        if self._is_open:
            if self._changes is not None:
                self._changes.release()
            self._shut()


def _check_options(mode: str, options: OpenOptions) -> None:
    for word, value, allowed in (
        ("mode", mode, ("r", "a", "w")),
        ("layout", options.layout or LAYOUTS[0], LAYOUTS),
        ("index", options.policy, index_bin.POLICIES),
    ):
        if value not in allowed:
            raise ValueError(f"{word}: found {value!r}, expected one of {', '.join(map(repr, allowed))}")


def columns_of(
    store: ZDSStore,
    fields: Iterable[str] | str | None = None,
    where: query.Where | None = None,
    schema: Any = None,
) -> Columns:
    """Return documents as a stream of Arrow batches; see `tables.to_arrow`."""
    if schema is not None and fields is None:
        fields = [*schema.names, *([] if ID in schema.names else ["-" + ID])]
    fields = query.listed(fields)
    names = None if fields is None else query.paths_of(fields)
    if schema is not None and names != schema.names:
        raise ValueError(f"schema with the fields {schema.names}: expected {names}, as in fields")
    return Columns(lambda: store.scan(fields=fields, where=where), ID, names, schema, ZdsWarning)
