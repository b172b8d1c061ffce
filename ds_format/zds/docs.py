r"""Documents in separate files, `collections/NAME/docs/ID.json`.

Writing: a file contains the same line as data.jsonl would, with `_id` first, and a line feed. JSON allows white space
after a value, so these files, one after another, are a data.jsonl. Reading: a document may have several lines and no
`_id`. The name of the file is always the id.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..body.body import Body
from ..errors import FormatError, UnsafeError, UnsupportedError
from ..kernels.files import files
from ..kernels.zds.lines import Encoder
from . import format
from .documents import Document, decoder, plain
from .faults import SHOWN, Faults
from .roots import Folder, StoreRoot, lines_of

_LAYOUT_NAMES = {format.LINES: f"lines of {format.DATA}", format.DOCS: f"one file per document in {format.DOCS}/"}


def list_ids(place: StoreRoot, collection: str, faults: Faults) -> list[str]:
    """Return the ids of a collection that have a file. The files are not opened.

    Parameters
    ----------
    place : StoreRoot
    collection : str
    faults : Faults
        Gets reports of files that are not documents, and of faults in `order.ids`.

    Returns
    -------
    list of str
        First those in `order.ids`, in its order, then the others, sorted by their bytes.

    Examples
    --------
    >>> from ds_format.zds import docs
    >>> from ds_format.zds.faults import Faults
    >>> from ds_format.zds.roots import Folder
    >>> place = Folder("notes")
    >>> for id in ("b", "a"):
    ...     docs.write(place, "default", id, {"n": 1})
    >>> docs.list_ids(place, "default", Faults())
    ['a', 'b']
    """
    folder = format.docs_name(collection) + "/"
    ids, odd = [], []
    for name in place.names(folder):
        file = name.removeprefix(folder)
        id = file.removesuffix(format.DOCUMENT_SUFFIX)
        if id != file and format.is_document_name(id):
            ids.append(id)
        elif not format.is_litter(file):
            odd.append(f"{file!r} is not the file of a document")
    odd += [str(one) for one in place.unused(folder)]
    path = f"{place.path}/{folder}"
    for message in odd[:SHOWN]:
        faults.report(path, f"{message}; left out")
    if len(odd) > SHOWN:
        faults.report(path, f"{len(odd) - SHOWN} more names left out")
    return _ordered(ids, place.open(format.order_name(collection)), faults)


def _ordered(ids: list[str], order: Body | None, faults: Faults) -> list[str]:
    """Return sorted ids in the order given by a file. Ids without a file are ignored, and missing ones appended."""
    if order is None or not order.size:
        return ids
    rest = dict.fromkeys(ids)
    found, n_absent, n_invalid = [], 0, 0
    for line in dict.fromkeys(lines_of(order)):
        if line in rest:
            found.append(line)
            del rest[line]
        elif format.is_name(line):
            n_absent += 1
        elif line:
            n_invalid += 1
            if n_invalid <= SHOWN:
                faults.report(order.name, f"{line!r:.100} cannot be the id of a document; left out")
    if n_absent or rest:
        faults.note(
            order.name, f"{n_absent} ids have no file, and {len(rest)} files are not in it; only its order counts"
        )
    return [*found, *rest]


def read(place: StoreRoot, collection: str, id: str, faults: Faults) -> Document | None:
    """Read a document, or return None if there is none.

    Parameters
    ----------
    place : StoreRoot
    collection : str
    id : str
        An id that cannot be the name of a file has no document.
    faults : Faults
        Gets reports of unusual content of the file.

    Returns
    -------
    dict
        With its id under `_id`, which is first if the file has none.

    Raises
    ------
    FormatError
        If the file does not contain exactly one JSON object.
    UnsafeError
        If it is a link.

    Examples
    --------
    >>> from ds_format.zds import docs
    >>> from ds_format.zds.faults import Faults
    >>> from ds_format.zds.roots import Folder
    >>> place = Folder("notes")
    >>> docs.write(place, "default", "a", {"n": 1})
    >>> docs.read(place, "default", "a", Faults())
    {'_id': 'a', 'n': 1}
    """
    if not format.is_document_name(id):
        return None
    file = place.open(format.document_name(collection, id))
    if file is None:
        return None
    text = file.read(0, file.size)
    if text.startswith(format.BOM):
        faults.report(file.name, "a byte order mark; skipped")
        text = text[len(format.BOM) :]
    try:
        document = decoder.one(text)
    except FormatError as error:
        raise error.at(path=file.name)
    found = document.get(format.ID)
    if found == id:
        return document
    if format.ID not in document:
        return {format.ID: id, **document}
    faults.report(file.name, f"{format.ID} is {found!r:.100}, and not the name of the file, which counts")
    document[format.ID] = id
    return document


def encode(id: str, document: Document) -> bytes:
    r"""Return the bytes of the file of a document.

    Raises
    ------
    UnsupportedError
        If it contains another id, or cannot be encoded as JSON.

    Examples
    --------
    >>> from ds_format.zds import docs
    >>> docs.encode("a", {"n": 1})
    b'{"_id":"a","n":1}\n'
    """
    encoder = Encoder(plain)
    try:
        encoder.add(id, document)
    except UnsupportedError:
        raise
    except (ValueError, TypeError) as error:
        raise UnsupportedError(str(error)) from None
    return encoder.take()


def write(place: Folder, collection: str, id: str, document: Document, *, durable: bool = False) -> None:
    r"""Write a document atomically. It replaces one with the same id.

    Parameters
    ----------
    place : Folder
    collection : str
    id : str
    document : dict
    durable : bool
        Flush file and folder to the disk.

    Raises
    ------
    UnsupportedError
        If the id cannot be the name of a file, or the document cannot be written.
    UnsafeError
        If a link has the name of the file or of its folder.

    Examples
    --------
    >>> from ds_format.zds import docs
    >>> from ds_format.zds.roots import Folder
    >>> docs.write(Folder("notes"), "default", "a", {"n": 1})
    >>> with open("notes/collections/default/docs/a.json") as file:
    ...     file.read()
    '{"_id":"a","n":1}\n'
    """
    path = place.locate(format.document_name(collection, id))
    data = encode(id, document)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if not files.write_file(path, [data], True, durable):
        raise UnsafeError("something that is not a file is in the way", path=path)


def delete(place: Folder, collection: str, id: str, *, durable: bool = False) -> bool:
    """Remove the file of a document, and return whether it existed.

    Examples
    --------
    >>> from ds_format.zds import docs
    >>> from ds_format.zds.roots import Folder
    >>> place = Folder("notes")
    >>> docs.write(place, "default", "a", {"n": 1})
    >>> docs.delete(place, "default", "a"), docs.delete(place, "default", "a")
    (True, False)
    """
    if not format.is_document_name(id):
        return False
    path = place.locate(format.document_name(collection, id))
    try:
        os.unlink(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    if durable:
        files.sync_folder(path)
    return True


class DocFiles:
    """The folder `docs` of a collection. It is listed once.

    Parameters
    ----------
    place : StoreRoot
    collection : str
    faults : Faults
    is_empty : bool
        Treat the folder as empty.
    """

    def __init__(self, place: StoreRoot, collection: str, faults: Faults, is_empty: bool = False):
        self._place, self._collection, self._faults = place, collection, faults
        self._names: dict[str, None] | None = {} if is_empty else None
        self._ids: dict[str, None] | None = {} if is_empty else None

    @property
    def names(self) -> dict[str, None]:
        """The ids that have a file, with any content, in order."""
        if self._names is None:
            self._names = dict.fromkeys(list_ids(self._place, self._collection, self._faults))
        return self._names

    @property
    def ids(self) -> dict[str, None]:
        """The ids whose file is a document, in order."""
        if self._ids is None:
            self._ids = {document[format.ID]: None for document in self.documents(list(self.names))}
        return self._ids

    def __contains__(self, id: str) -> bool:
        return id in self.ids if self._ids is not None else id in self.names and self._is_document(id)

    def _is_document(self, id: str) -> bool:
        return any(True for _ in self.documents([id]))

    def get(self, id: str) -> Document | None:
        """Return a document, or None if there is none; see `read`."""
        if self._names is not None and id not in self._names:
            return None
        return read(self._place, self._collection, id, self._faults)

    def text(self, id: str) -> bytes:
        """Return the bytes of the file of a document."""
        file = self._place.open(format.document_name(self._collection, id))
        return b"" if file is None else file.read(0, file.size)

    def documents(self, ids: list[str]) -> Iterator[Document]:
        """Iterate over the given documents. Invalid files are reported, and left out."""
        for id in ids:
            try:
                document = read(self._place, self._collection, id, self._faults)
            except (FormatError, UnsafeError) as error:
                self._faults.report(error.path or self._place.path, f"{error.message}; left out")
                continue
            if document is not None:
                yield document

    def put(self, place: Folder, id: str, document: Document, durable: bool) -> None:
        """Write a document; see `write`."""
        write(place, self._collection, id, document, durable=durable)
        self.add(id)

    def add(self, id: str) -> None:
        """Record the id of a document that was written."""
        self.names[id] = None
        if self._ids is not None:
            self._ids[id] = None

    def discard(self, place: Folder, id: str, durable: bool) -> bool:
        """Remove a document, and return whether it existed."""
        if id not in self.names:
            return False
        delete(place, self._collection, id, durable=durable)
        del self.names[id]
        if self._ids is not None:
            self._ids.pop(id, None)
        return True


def layout_of(place: StoreRoot, collection: str, docs: DocFiles) -> str | None:
    """Return the layout of an existing collection; None if there is no collection yet.

    If there are both lines and files, the layout is lines, which also take precedence in reading. If there are no
    documents, other files decide: data.jsonl or index.bin mean lines, a manifest alone means separate files.

    Parameters
    ----------
    place : StoreRoot
    collection : str
    docs : DocFiles
        Files of the collection.

    Examples
    --------
    >>> from ds_format.zds import ZDSStore
    >>> from ds_format.zds.docs import DocFiles
    >>> from ds_format.zds.faults import Faults
    >>> from ds_format.zds.docs import layout_of
    >>> from ds_format.zds.roots import Folder
    >>> with ZDSStore.open("notes", "drafts", mode="w", layout="docs") as store:
    ...     store.put("a", {"text": "one"})
    >>> place = Folder("notes")
    >>> layout_of(place, "drafts", DocFiles(place, "drafts", Faults()))
    'docs'
    """
    if _has_lines(place, collection):
        return format.LINES
    if docs.names:
        return format.DOCS
    if any(place.open(name(collection)) is not None for name in (format.data_name, format.index_name)):
        return format.LINES
    return None if place.open(format.manifest_name(collection)) is None else format.DOCS


def choose_layout(requested: str | None, place: StoreRoot, collection: str, docs: DocFiles) -> tuple[str, bool]:
    """Return the layout for new documents of a collection, and whether the collection starts empty.

    It is the existing layout. Another one is only possible if there are no documents; the collection then starts empty.

    Raises
    ------
    UnsupportedError
        If another layout is requested, and there are documents.
    """
    found = layout_of(place, collection, docs)
    layout = requested or found or format.LINES
    has = (
        {format.LINES: _has_lines(place, collection), format.DOCS: bool(docs.names)}
        if layout != found
        else {layout: True}
    )
    if found is not None and not has[layout] and any(has.values()):
        raise UnsupportedError(
            f"the collection {collection!r} has {_LAYOUT_NAMES[found]}, and keeps them: found the layout {layout!r}, "
            f"which is for a new collection, or one that is replaced",
            path=place.path,
        )
    return layout, not any(has.values())


def _has_lines(place: StoreRoot, collection: str) -> bool:
    file = place.open(format.data_name(collection))
    return file is not None and file.size > 0
