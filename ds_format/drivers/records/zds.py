"""Records in a ZDS archive or folder: documents of JSON.

A document has an `_id`, and a member for each variable that has the dimension, without that dimension. Variables of
groups are in objects::

    {
        "_id": "0",
        "time": 6.0,
        "pressure": [[1000.0, null], [999.5, "NaN"]],
        "name": "Brno",
        "wind": {"speed": 2.5},
    }

The sidecar file is `collections/NAME/meta/dataset.ds`. Archives are written with one collection. Archives and folders
are read, and several collections are groups.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ...base.progress import Progress
from ...base.text import escape, unescape
from ...body import Address, path_text
from ...body.target import naming, resolve
from ...body.temporary import WorkFolder
from ...datasets import META, dims
from ...errors import DsError, FormatError, UnsupportedError
from ...zds import reindexing
from ...zds.archiving import pack
from ...zds.documents import leaves_of
from ...zds.faults import message_at
from ...zds.format import DEFAULT_COLLECTION, ID, SUFFIX, check_id, data_name, is_name
from ...zds.roots import StoreRoot
from ...zds.store import ZDSStore
from ...zds.store_access import open_store, root_of
from ...zds.validation import validate
from ..base import ERROR, OBJECT_SIZE, WARNING, Metadata, Problem, Report, Source
from ..ds.source import DsSource
from ..source import ReopenedSource
from . import sidecar
from .columns import DOCUMENT_SCALARS, array_of_documents, describe_document_value, values_for_documents
from .schema import RecordSchema
from .sidecar import FILE, ONLY_VALUES, create_member, find_member
from .sink import RecordBlock, RecordSink, RecordsPlan, record_blocks
from .source import RecordSource

__all__ = ["check", "create", "open", "reindex"]

SEPARATOR = "/"
"""Separator of the names of groups and variables."""
MAX_DEPTH = 64
"""Limit of nested groups; names with more are not split."""
Path = tuple[str, ...]
ID_PATH: Path = (ID,)


def open(path: Any, *, skip_unsupported: bool = False) -> RecordSource | GroupSource:
    """Open a ZDS archive, or a folder that is a store.

    Parameters
    ----------
    path : str, bytes or PathLike
    skip_unsupported : bool
        See `RecordSource`.

    Raises
    ------
    OSError
        If there is no such file.
    FormatError
        If it is damaged; the message names the file and the line.
    """
    where = root_of(path)
    name = path_text(path)
    place = open_store(where, strict=None)
    sources: dict[str, RecordSource] = {}
    try:
        for collection in filter(is_name, place.collections()):
            sources[collection] = RecordSource(
                DocumentRecords(where, place, collection), skip_unsupported=skip_unsupported
            )
    except BaseException:
        for source in sources.values():
            source.close()
        raise
    finally:
        place.close()
    return next(iter(sources.values())) if len(sources) == 1 else GroupSource(name, sources)


def check(path: Any, report: Report, *, strict: bool, progress: Progress | None = None) -> Source | None:
    """Check all files of a store except sidecar files.

    Returns
    -------
    Source, optional
        If its variables are still to be checked: this package wrote them, and there was no error.

    Raises
    ------
    OSError
        If there is no such file or folder.
    """
    name = path_text(path)
    if isinstance(path, Address):
        report(Problem(name, None, ONLY_VALUES, WARNING))
        return open(path, skip_unsupported=True)
    os.stat(name)
    has_errors = False
    for finding in validate(name, progress=progress):
        has_errors |= finding.severity == ERROR
        report(Problem(finding.path, None, message_at(finding.message, finding.line, finding.offset), finding.severity))
    if has_errors:
        return None
    place = open_store(name, strict=None)
    files = place.names()
    place.close()
    return open(name, skip_unsupported=True) if any(file.endswith("/" + FILE) for file in files) else None


def reindex(path: Any, *, cut: bool = False, binary: bool = False, progress: Progress | None = None) -> int:
    """Rebuild the indices of all collections of a folder; return the number of documents.

    Parameters
    ----------
    path : str, bytes or PathLike
    cut : bool
        Move a torn last line to another file.
    binary : bool
        Write the binary form of the index.
    progress : callable, optional
        Called with the number of bytes processed, and their total.

    Raises
    ------
    OSError
        If a file cannot be read or written.
    DsError
        If there is no store, or a torn line without `cut`.
    """
    return sum(reindexing.reindex(path_text(path), cut=cut, binary=binary, progress=progress).values())


class InOrder:
    """The documents of a collection by their positions in the file.

    Consecutive documents are read in one scan, others by their ids.

    Parameters
    ----------
    store : ZDSStore
        Open for reading; it stays open.
    """

    def __init__(self, store: ZDSStore):
        self._store = store
        self._ids: list[str] | None = None
        self._paused: list[tuple[Iterator[dict[str, Any]], int]] = []
        """A scan that no thread uses, and its position."""

    @property
    def ids(self) -> list[str]:
        """The ids of all documents."""
        if self._ids is None:
            self._ids = list(self._store.ids())
        return self._ids

    def take(self, positions: Iterable[int]) -> Iterator[dict[str, Any]]:
        """Yield the documents at these positions.

        Raises
        ------
        FormatError
            If there are fewer than in the index.
        """
        run = positions if isinstance(positions, range) and positions.step == 1 else None
        scan = None if run is None else self._scan_from(run)
        if run is None or scan is None:
            yield from self._store.take(self.ids[i] for i in positions)
            return
        position = run.start
        for document in islice(scan, len(run)):
            position += 1
            yield document
        if position < run.stop:
            raise FormatError(f"found {position} documents, expected {len(self._store)} as the index says")
        self._paused = [(scan, position)]

    def _scan_from(self, run: range) -> Iterator[dict[str, Any]] | None:
        """Return a scan that continues at the start of a run, if there is one."""
        try:
            scan, position = self._paused.pop()
        except IndexError:
            position = -1
        if position == run.start:
            return scan
        return None if run.start else self._store.scan()


class DocumentRecords:
    """The documents of a collection; see `Records`.

    Parameters
    ----------
    path : str or Address
        The store.
    place : StoreRoot
        The store; it stays open.
    collection : str
    """

    def __init__(self, path: str | Address, place: StoreRoot, collection: str):
        self.path = path_text(path)
        self._store = ZDSStore.open(path, collection)
        try:
            self._documents = InOrder(self._store)
            data = place.open(data_name(collection))
            self.size = 0 if data is None else data.size
            self.sidecar = find_member(place, collection, len(self._store))
        except BaseException:
            self._store.close()
            raise
        names = () if self.sidecar is None else map(unescape, self.sidecar.axes)
        self._paths = document_paths(name for name in names if name != ID) | {ID: ID_PATH}

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
            values = [find_value(document, path) for document in records]
        return array_of_documents(values, type_name, shape, lambda i: f"document {records[i].get(ID)!r:.60}")

    def infer(self) -> tuple[Metadata, dict[str, UnsupportedError]]:
        """Return the metadata of documents of other programs.

        Members of objects have names with a slash. `_id` is omitted if it only numbers the documents.
        """
        schema = RecordSchema(DOCUMENT_SCALARS, describe_document_value)
        objects: set[Path] = set()
        empty: set[Path] = set()
        is_numbered = True
        for number, document in enumerate(self._store.scan()):
            is_numbered = is_numbered and document[ID] == str(number)
            for path, value in leaves_of(document, MAX_DEPTH):
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
                schema.refuse(name, "found empty objects, which a dataset cannot hold")
        return schema.metadata(len(self), self.path, None if is_numbered else ID)

    def _note(self, schema: RecordSchema, path: Path, value: Any) -> None:
        name = SEPARATOR.join(path)
        schema.add(name, value)
        if self._paths.setdefault(name, path) != path:
            schema.refuse(name, "found a member of an object, and a name with a slash")

    def close(self) -> None:
        """Release the files."""
        self._store.close()
        if self.sidecar is not None:
            self.sidecar.source.close()


class GroupSource(ReopenedSource):
    """Collections as groups; see `ds_format.drivers.base.Source`.

    Names of variables, dimensions and attributes begin with the name of the collection and a slash.

    Parameters
    ----------
    path : str
        The store.
    collections : mapping
        Name → source. All are closed with this one.
    """

    meta: Metadata

    def __init__(self, path: str, collections: Mapping[str, RecordSource]):
        self.path = path
        self._collections = collections
        self._places: dict[str, tuple[str, str]] = {}
        self.meta = {}
        self.faults: dict[str, DsError] = {}
        of_all: dict[str, Any] = {}
        for group, source in collections.items():
            for key, entry in source.meta.items():
                if key == META:
                    of_all.update({_within(group, name): value for name, value in entry.items()})
                    continue
                name = _within(group, key)
                self._places[name] = group, key
                names = dims(key, entry, len(entry.get(".size") or ()))
                within = {} if entry.get(".size") is None else {".dims": [group + SEPARATOR + dim for dim in names]}
                self.meta[name] = {**entry, **within}
                if key in source.faults:
                    self.faults[name] = source.faults[key]
                    self.faults[name].variable = unescape(name)
        self.meta[META] = of_all

    def _read(self, name: str, index: tuple[Any, ...] | None) -> Any:
        group, key = self._places[name]
        try:
            return self._collections[group].read(key, index)
        except DsError as error:
            error.variable = unescape(name) if error.variable == unescape(key) else error.variable
            raise

    def _blocks(self, name: str, budget: int) -> Iterator[Any]:
        group, key = self._places[name]
        return self._collections[group].blocks(key, budget)

    def close(self) -> None:
        """Release the files."""
        for source in self._collections.values():
            source.close()


def _within(group: str, key: str) -> str:
    """Return the key of a variable or attribute of a group. Properties have no groups."""
    return key if key.startswith(".") else escape(group + SEPARATOR + unescape(key))


class DocumentSink(RecordSink):
    """Documents being written; see `RecordSink`. By default the text variable `_id` is their ids."""

    KEY = ID

    def _check(self, plan: RecordsPlan) -> None:
        resolve(self.path)

    def _store(self, source: DsSource) -> None:
        plan = self._plan
        paths = document_paths(unescape(key) for key in plan.axes if key != ID)
        with packed(self.path, durable=self._durable) as folder:
            with ZDSStore.open(folder, mode="w") as store:
                for block in record_blocks(source, plan, OBJECT_SIZE):
                    store.put_many(_documents(block, paths, _checked(block.keys, plan, store)))
                n = len(store)
            meta = {**sidecar.with_stored_types(self.meta, source)}
            for key in plan.axes:
                meta[key][".missing"] = source.meta[key].get(".missing", False)
            create_member(folder, DEFAULT_COLLECTION, plan.axes, n, meta, source)


@contextlib.contextmanager
def packed(path: str, *, durable: bool = False) -> Iterator[str]:
    """Make an archive from the files that a block puts into a temporary folder.

    Parameters
    ----------
    path : str
        The archive. It appears when the block ends, but not if the block raises.
    durable : bool
        Flush it to the disk.
    """
    root = ""
    try:
        with naming(path), WorkFolder(path, "store") as folder:
            root = os.path.join(folder, os.path.basename(path).removesuffix(SUFFIX) or DEFAULT_COLLECTION)  # its name
            os.mkdir(root)
            yield root
            pack(root, path, durable=durable)
    except DsError as error:
        if root and error.path is not None and error.path.startswith(root):
            error.path = path + error.path.removeprefix(root).replace(os.sep, "!", 1)
        raise


def _checked(keys: list[str], plan: RecordsPlan, store: ZDSStore) -> Iterator[str]:
    """Yield keys after checking that they are valid and unique ids."""
    variable = None if plan.key is None else unescape(plan.key)
    for key in keys:
        if variable is not None:
            try:
                check_id(key)
            except UnsupportedError as error:
                raise error.at(variable=variable)
            if key in store:
                raise UnsupportedError(f"found the key {key!r:.60} for the second time", variable=variable)
        yield key


def _documents(block: RecordBlock, paths: dict[str, Path], ids: Iterator[str]) -> Iterator[dict[str, Any]]:
    columns = {unescape(key): values_for_documents(array) for key, array in block.arrays.items() if key != ID}
    names = [ID, *columns]
    is_flat = all(len(paths[name]) == 1 for name in columns)
    rows = zip(*columns.values(), strict=True) if columns else iter([()] * len(block.keys))
    for key, row in zip(ids, rows, strict=True):
        if is_flat:
            yield dict(zip(names, (key, *row), strict=True))
            continue
        document: dict[str, Any] = {ID: key}
        for name, value in zip(columns, row, strict=True):
            put_value(document, paths[name], value)
        yield document


def document_paths(names: Iterable[str]) -> dict[str, Path]:
    """Return the paths of variables in a document.

    Parameters
    ----------
    names : iterable of str
        Names of variables, unescaped.

    Returns
    -------
    dict
        Name → keys of nested objects. If these would be ambiguous, each name is a key itself.
    """
    flat: dict[str, Path] = {name: (name,) for name in names}
    nested = {name: tuple(name.split(SEPARATOR)) for name in flat}
    leaves = {*nested.values()}
    for path in leaves:
        if "" in path or len(path) > MAX_DEPTH or any(path[:i] in leaves for i in range(1, len(path))):
            return flat
    if any(path[0] == ID and len(path) > 1 for path in leaves):
        return flat
    return nested


def put_value(document: dict[str, Any], path: Path, value: Any) -> None:
    """Put a value into a document."""
    for key in path[:-1]:
        document = document.setdefault(key, {})
    document[path[-1]] = value


def find_value(document: Any, path: Path) -> Any:
    """Return the value at a path of a document; None if there is none."""
    for key in path:
        document = document.get(key) if type(document) is dict else None
    return document


create = DocumentSink
