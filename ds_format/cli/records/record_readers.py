"""Readers and writers of single records: samples of datadings, and documents of ZDS."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Hashable, Iterable, Iterator
from itertools import pairwise
from typing import Any, SupportsIndex

from ... import drivers
from ...base.text import on_one_line
from ...datadings import format as datadings_format
from ...datadings.base import Reader, TakeOptions
from ...datadings.reader import MsgpackReader
from ...datadings.sample_index import SampleIndex
from ...datadings.writer import RawWriter
from ...drivers.base import LossWarning
from ...drivers.records import sidecar
from ...drivers.records.zds import InOrder, packed
from ...errors import DriverError, MissingError, UnsupportedError
from ...kernels.files.names import exists, is_folder
from ...kernels.json.values import dumps
from ...zds.docs import DocFiles, layout_of
from ...zds.documents import plain
from ...zds.faults import Silence
from ...zds.format import COLLECTIONS, DEFAULT_COLLECTION, ID, LINES, data_name, docs_name
from ...zds.roots import StoreRoot
from ...zds.store import ZDSStore
from ...zds.store_access import open_store
from ..arguments import ArgumentError, Request, UsageError, text

WRITE_SIZE = 1 << 20
"""Bytes of lines to write at once."""


class SampleReader(MsgpackReader):
    """A dataset.

    Parameters
    ----------
    path : str
    collection : str, optional
        There is none in this format.
    **options
        As of `MsgpackReader`.

    Raises
    ------
    ArgumentError
        If a collection is asked for.
    """

    title = "datadings"
    suffix = ".msgpack"

    def __init__(self, path: str, collection: str | None, **options: Any):
        if collection is not None:
            raise ArgumentError(f"{path}: collection is not possible with this format")
        super().__init__(path, **options)

    @property
    def sidecar_path(self) -> str | None:
        """The file with attributes and dimensions, if there is one."""
        path = self.path + sidecar.SUFFIX
        return path if exists(path) else None

    def lines(self) -> Iterator[bytes]:
        """Iterate over the samples as JSON.

        Raises
        ------
        UnsupportedError
            If there is something that JSON does not have; the message names the sample.
        """
        for i, sample in enumerate(self):
            try:
                yield dumps(sample, plain)
            except (UnsupportedError, ValueError, TypeError) as error:
                message = error.message if isinstance(error, UnsupportedError) else str(error)
                raise UnsupportedError(f"sample {i}: {message}", path=self.path) from None

    def sizes(self) -> list[int]:
        """Return the bytes of each sample."""
        index = SampleIndex(self.path)
        return [stop - start for start, stop in pairwise(index.spans(0, len(index)))]

    def files(self) -> dict[str, int]:
        """Return the names and bytes of all files."""
        suffixes = (
            "",
            *datadings_format.INDEX,
            datadings_format.MD5,
            datadings_format.LEGACY_INDEX,
            sidecar.SUFFIX,
        )
        paths = [self.path + suffix for suffix in suffixes]
        return {os.path.basename(path): os.path.getsize(path) for path in paths if exists(path)}

    def facts(self) -> dict[str, Any]:
        """Return other facts about the file."""
        return {}

    @contextlib.contextmanager
    def writer(self, path: str, is_whole: bool, layout: str | None) -> Iterator[RawWriter]:
        """Open a dataset to be written with messages of this one.

        Parameters
        ----------
        path : str
        is_whole : bool
            Whether it gets all of them, so that what is known of attributes and dimensions fits it.
        layout : str, optional
            There is none in this format.

        Raises
        ------
        ArgumentError
            If a layout is asked for.
        """
        if layout is not None:
            raise ArgumentError(f"{path}: layout is not possible with this format")
        found = sidecar.find_file(self.path, len(self), self.data_size) if is_whole else None
        with contextlib.ExitStack() as stack:
            if found is not None:
                stack.enter_context(contextlib.closing(found.source))
            yield stack.enter_context(sidecar.SidecarWriter(path, found))


def collection_of(path: str, name: str | None, *, is_made: bool = False) -> str:
    """Return the collection of a store with a name; without a name the only one, or else `default`.

    Parameters
    ----------
    path : str
    name : str, optional
    is_made : bool
        Whether a store without any collection will get it.

    Raises
    ------
    ArgumentError
        If there is none of this name, or several and none is named.
    """
    with contextlib.closing(open_store(path, strict=None)) as root:
        found = root.collections()
    if name is None:
        name = found[0] if len(found) == 1 else DEFAULT_COLLECTION
    if name not in found and (found or not is_made):
        raise ArgumentError(f'{path}: there is no collection "{name}"; expected one of {", ".join(found) or "none"}')
    return name


class DocumentReader(Reader):
    """A collection; see `collection_of`.

    Parameters
    ----------
    path : str
    collection : str, optional
    mmap : bool
        Not possible with this format.

    Attributes
    ----------
    store : ZDSStore
    root : StoreRoot
    """

    title = "ZDS"
    suffix = ".zds"

    def __init__(self, path: str, collection: str | None, *, mmap: bool = False):
        if mmap:
            raise UsageError("bench: --mmap is only possible for datadings")
        self.path, self.collection = path, collection_of(path, collection)
        self.root = open_store(path, strict=None)
        self.store = ZDSStore.open(path, self.collection)
        self._documents = InOrder(self.store)
        self._positions: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.store)

    def get(self, index: SupportsIndex, yield_key: bool = False, raw: bool = False, copy: bool = True) -> Any:
        """Return one document, or its line; see `Samples.get`."""
        return _shown(self.store[self.find_key(index)], yield_key, raw)

    def take_each(self, indices: Iterable[int], options: TakeOptions) -> Iterator[Any]:
        """Iterate over documents; consecutive ones are read in one scan."""
        return (_shown(document, options.yield_key, options.raw) for document in self._documents.take(indices))

    def find(self, key: Hashable) -> Any:
        """Return the document with an id."""
        return self.store[str(key)]

    def find_key(self, index: SupportsIndex) -> str:
        """Return the id of a document."""
        return self._documents.ids[self._locate(index)]

    def find_index(self, key: Hashable) -> int:
        """Return the index of the document with an id."""
        if not self._positions:
            self._positions = {found: i for i, found in enumerate(self._documents.ids)}
        if key not in self._positions:
            raise MissingError(f"no document with the id {key!r:.60}", path=self.path)
        return self._positions[str(key)]

    @property
    def data_size(self) -> int:
        """Bytes of all documents."""
        return document_size(self.root, self.collection)

    @property
    def sidecar_path(self) -> str | None:
        """The file with attributes and dimensions, if there is one."""
        name = sidecar.member_name(self.collection)
        return None if size_in(self.root, name) is None else f"{self.path}/{name}"

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
        names = self.root.names(f"{COLLECTIONS}/{self.collection}/")
        return {name: size_in(self.root, name) or 0 for name in names}

    def facts(self) -> dict[str, Any]:
        """Return how many documents each collection has."""
        counts = {}
        for name in self.store.collections():
            with ZDSStore.open(self.path, name) as store:
                counts[name] = len(store)
        return {"collections": counts}

    @contextlib.contextmanager
    def writer(self, path: str, is_whole: bool, layout: Any) -> Iterator[DocumentLineWriter]:
        """Open an archive to be written with lines of this store, in its layout; see `SampleReader.writer`."""
        layout = layout or layout_in(self.root, self.collection) or LINES
        with packed(path) as folder:
            with ZDSStore.open(folder, self.collection, mode="w", layout=layout) as store:
                lines = DocumentLineWriter(store)
                yield lines
                lines.flush()
                n = len(store)
            if is_whole and layout == LINES:
                sidecar.copy_member(self.root, self.collection, len(self), folder, n)
            elif is_whole and self.sidecar_path is not None:
                message = on_one_line(f"{self.sidecar_path}: attributes and dimensions are not kept")
                warnings.warn(message, LossWarning, stacklevel=3)

    def close(self) -> None:
        """Close the store."""
        self.store.close()
        self.root.close()


def size_in(root: StoreRoot, name: str) -> int | None:
    """Return the bytes of a file of a store; None if there is none."""
    file = root.open(name)
    return None if file is None else file.size


def document_size(root: StoreRoot, collection: str) -> int:
    """Return the bytes of all documents of a collection."""
    names = [data_name(collection), *root.names(f"{docs_name(collection)}/")]
    return sum(size_in(root, name) or 0 for name in names)


def layout_in(root: StoreRoot, collection: str) -> str | None:
    """Return whether the documents of a collection are lines or files; None where there are none."""
    return layout_of(root, collection, DocFiles(root, collection, Silence()))


def _shown(document: dict[str, Any], yield_key: bool, raw: bool) -> Any:
    found = dumps(document) if raw else document
    return (document[ID], found) if yield_key else found


class DocumentLineWriter:
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


RecordReader = type[SampleReader | DocumentReader]
FORMATS: dict[str, RecordReader] = {reader.suffix: reader for reader in (SampleReader, DocumentReader)}
"""By suffix. Folders that are stores are ZDS, and files with an unknown suffix datadings."""


def find(path: str) -> RecordReader:
    """Return what reads the records of a file or folder.

    Raises
    ------
    DriverError
        If the suffix is that of files which have no records.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix in FORMATS:
        return FORMATS[suffix]
    if drivers.of_folder(path) is drivers.FORMATS["zds"]:
        return DocumentReader
    if drivers.is_known(path):
        raise DriverError(f"a file without records: expected {' or '.join(FORMATS)}", path=path)
    return SampleReader


def reader(request: Request, path: str, **options: Any) -> Any:
    """Open what records are read from.

    Raises
    ------
    ArgumentError
        If it has no collections, but one is asked for, or several, but none is.
    """
    return find(path)(path, request.get("collection"), **options)


def check_targets(request: Request, sources: list[str], targets: list[str]) -> None:
    """Check that files can be written, before the first one is.

    Raises
    ------
    ArgumentError
        If one exists and is not to be replaced, is one of those that are read, is there twice, or is of another format
        than those that are read.
    """
    formats = {find(path).title: path for path in sources}
    for target in targets:
        for name, path in formats.items():
            if find(target).title != name:
                raise ArgumentError(f"{target}: expected {find(path).suffix} as {path}; `ds select` converts records")
        if exists(target):
            if any(exists(source) and os.path.samefile(source, target) for source in sources):
                raise ArgumentError(f"{target}: is read, and cannot be written at the same time")
            if not request.flag("y"):
                raise ArgumentError(f"{target}: file exists; -y replaces it")
    if len(set(map(os.path.abspath, targets))) < len(targets):
        raise ArgumentError("expected names of files that differ")


def store(request: Request, tool: str, *, is_made: bool = False) -> str:
    """Return the store that a request begins with.

    Parameters
    ----------
    request : Request
    tool : str
        For the message.
    is_made : bool
        Whether it need not exist.

    Raises
    ------
    UsageError
        If that is no store.
    OSError
        If it does not exist.
    """
    path = text(request.words[0], "STORE")
    if exists(path) or not is_made:
        os.stat(path)
        is_store = find(path) is DocumentReader or (is_made and is_folder(path) and not os.listdir(path))
    else:
        is_store = find(path) is DocumentReader or not os.path.splitext(path)[1]
    if not is_store:
        raise UsageError(f"{tool}: {path} is no ZDS store: expected a folder, or {DocumentReader.suffix}")
    return path
