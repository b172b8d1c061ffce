r"""Documents in separate files, `collections/NAME/docs/ID.json`.

Writing: a file contains the same line as data.jsonl would, with `_id` first, and a line feed. JSON allows white space
after a value, so these files, one after another, are a data.jsonl. Reading: a document may have several lines and no
`_id`. The name of the file is always the id.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Container, Iterator
from typing import Any

from ..body.body import Body
from ..body.temporary import WorkFolder
from ..errors import FormatError, UnsafeError, UnsupportedError
from ..kernels.files import files
from ..kernels.zds.lines import Encoder
from ..kernels.zds.zdx import Table
from . import format
from .bulk import Check, checked_lines
from .documents import Document, decoder, plain
from .faults import SHOWN, Faults
from .roots import StoreRoot, lines_of

_LAYOUT_NAMES = {format.LINES: f"lines of {format.DATA}", format.DOCS: f"one file per document in {format.DOCS}/"}


class DocFiles:
    r"""The folder `docs` of a collection. It is listed once.

    Parameters
    ----------
    place : StoreRoot
    collection : str
    faults : Faults
        Gets reports of files that are not documents, of unusual content, and of faults in `order.ids`.
    is_empty : bool
        Treat the folder as empty.

    Examples
    --------
    >>> from ds_format.zds.docs import DocFiles
    >>> from ds_format.zds.faults import Faults
    >>> from ds_format.zds.roots import Folder
    >>> docs = DocFiles(Folder("notes"), "default", Faults())
    >>> for id in ("b", "a"):
    ...     docs.put(id, {"n": 1})
    >>> with open("notes/collections/default/docs/a.json") as file:
    ...     file.read()
    '{"_id":"a","n":1}\n'
    >>> docs.get("a"), docs.discard("a"), docs.discard("a"), list(docs.names)
    ({'_id': 'a', 'n': 1}, True, False, ['b'])
    """

    def __init__(self, place: StoreRoot, collection: str, faults: Faults, is_empty: bool = False):
        self._place, self._collection, self._faults = place, collection, faults
        self._names: dict[str, None] | None = {} if is_empty else None
        self._ids: dict[str, None] | None = {} if is_empty else None

    @property
    def names(self) -> dict[str, None]:
        """The ids that have a file, with any content.

        First those in `order.ids`, in its order, then the others, sorted by their bytes. The files are not opened.
        """
        if self._names is None:
            self._names = self._list()
        return self._names

    def _list(self) -> dict[str, None]:
        folder = format.docs_name(self._collection) + "/"
        ids, odd = [], []
        for name in self._place.names(folder):
            file = name.removeprefix(folder)
            id = file.removesuffix(format.DOCUMENT_SUFFIX)
            if id != file and format.is_document_name(id):
                ids.append(id)
            elif not format.is_litter(file):
                odd.append(f"{file!r} is not the file of a document")
        odd += [str(one) for one in self._place.unused(folder)]
        path = f"{self._place.path}/{folder}"
        for message in odd[:SHOWN]:
            self._faults.report(path, f"{message}; left out")
        if len(odd) > SHOWN:
            self._faults.report(path, f"{len(odd) - SHOWN} more names left out")
        return _ordered(ids, self._place.open(format.order_name(self._collection)), self._faults)

    @property
    def ids(self) -> dict[str, None]:
        """The ids whose file is a document, in order."""
        if self._ids is None:
            self._ids = {document[format.ID]: None for document in self.documents(list(self.names))}
        return self._ids

    def __contains__(self, id: str) -> bool:
        return id in self.ids if self._ids is not None else id in self.names and any(True for _ in self.documents([id]))

    def get(self, id: str) -> Document | None:
        """Return a document, or None if there is none.

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
        """
        is_absent = not format.is_document_name(id) or (self._names is not None and id not in self._names)
        file = None if is_absent else self._place.open(format.document_name(self._collection, id))
        if file is None:
            return None
        text = file.read(0, file.size)
        if text.startswith(format.BOM):
            self._faults.report(file.name, "a byte order mark; skipped")
            text = text[len(format.BOM) :]
        try:
            document = decoder.one(text, file.name)
        except FormatError as error:
            raise error.at(path=file.name)
        found = document.get(format.ID)
        if found == id:
            return document
        if format.ID not in document:
            return {format.ID: id, **document}
        self._faults.report(file.name, f"{format.ID} is {found!r:.100}, and not the name of the file, which counts")
        document[format.ID] = id
        return document

    def text(self, id: str) -> bytes:
        """Return the bytes of the file of a document."""
        file = self._place.open(format.document_name(self._collection, id))
        return b"" if file is None else file.read(0, file.size)

    def documents(self, ids: list[str]) -> Iterator[Document]:
        """Iterate over the given documents. Invalid files are reported, and left out."""
        for id in ids:
            try:
                document = self.get(id)
            except (FormatError, UnsafeError) as error:
                self._faults.report(error.path or self._place.path, f"{error.message}; left out")
                continue
            if document is not None:
                yield document

    def put(self, id: str, document: Document, *, durable: bool = False) -> None:
        """Write a document atomically. It replaces one with the same id.

        Parameters
        ----------
        id : str
        document : dict
        durable : bool
            Flush file and folder to the disk.

        Raises
        ------
        UnsupportedError
            If the id cannot be the name of a file, or the document contains another id, or cannot be encoded as JSON.
        UnsafeError
            If a link has the name of the file or of its folder.
        """
        path = self._place.locate(format.document_name(self._collection, id))
        encoder = Encoder(plain)
        try:
            encoder.add(id, document)
        except UnsupportedError:
            raise
        except (ValueError, TypeError) as error:
            raise UnsupportedError(str(error)) from None
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not files.write_file(path, [encoder.take()], True, durable):
            raise UnsafeError("something that is not a file is in the way", path=path)
        self._add(id)

    def write_lines(
        self, source: Any, name: str, check: Check | None = None, *, durable: bool = False
    ) -> tuple[int, list[str]]:
        """Add lines as they are, each as the file of a document. If several have the same id, the last one counts.

        The files are written into a folder next to `docs` while they are checked, and renamed if all are valid.

        Parameters
        ----------
        source, name, check
            As for `checked_lines`.
        durable : bool
            Flush files and folders to the disk.

        Returns
        -------
        n : int
            Number of lines.
        ids : list of str
            Their ids.

        Raises
        ------
        FormatError
            If a line is not a document; the message names line and byte. Then nothing is added.
        UnsupportedError
            If an id cannot be the name of a file. Then nothing is added.
        OSError
            If writing fails. Then nothing is added, unless renaming itself fails.
        """
        n = 0
        final = os.path.join(self._place.path, *format.docs_name(self._collection).split("/"))
        targets: dict[str, str] = {}
        os.makedirs(os.path.dirname(final), exist_ok=True)
        with WorkFolder(final, "import") as beside:
            for _, data in checked_lines(Table(), source, 0, name, check):
                lines = bytes(data).split(b"\n")[:-1]
                for line, document in zip(lines, decoder.many(lines), strict=True):
                    id = document[format.ID]
                    try:
                        targets[id] = self._place.locate(format.document_name(self._collection, id))
                    except UnsupportedError as error:
                        raise error.at(path=name)
                    files.write_file(os.path.join(beside, os.path.basename(targets[id])), [line, b"\n"], True, durable)
                n += len(lines)
            os.makedirs(final, exist_ok=True)
            for id, target in targets.items():
                os.replace(os.path.join(beside, os.path.basename(target)), target)
                self._add(id)
            if durable and targets:
                files.sync_folder(next(iter(targets.values())))
        return n, list(targets)

    def _add(self, id: str) -> None:
        """Record the id of a document that was written."""
        self.names[id] = None
        if self._ids is not None:
            self._ids[id] = None

    def discard(self, id: str, *, durable: bool = False) -> bool:
        """Remove a document, and return whether it existed."""
        if id not in self.names:
            return False
        path = self._place.locate(format.document_name(self._collection, id))
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
            if durable:
                files.sync_folder(path)
        del self.names[id]
        if self._ids is not None:
            self._ids.pop(id, None)
        return True


def _ordered(ids: list[str], order: Body | None, faults: Faults) -> dict[str, None]:
    """Return sorted ids in the order given by a file. Ids without a file are ignored, and missing ones appended."""
    rest = dict.fromkeys(ids)
    if order is None or not order.size:
        return rest
    lines = lines_of(order)
    found = [id for id in dict.fromkeys(lines) if id in rest]
    wrong = {id: is_id for _, id, is_id in wrong_lines(lines, rest)}
    for id in [id for id, is_id in wrong.items() if not is_id][:SHOWN]:
        faults.report(order.name, f"{id!r:.100} cannot be the id of a document; left out")
    n_absent, n_others = sum(wrong.values()), len(rest) - len(found)
    if n_absent or n_others:
        others = f"{n_others} files are not in it"
        faults.note(order.name, f"{n_absent} ids have no file, and {others}; only its order counts")
    return dict.fromkeys([*found, *rest])


def wrong_lines(lines: list[str], ids: Container[str]) -> Iterator[tuple[int, str, bool]]:
    """Iterate over the lines of `order.ids` that are not ids of documents. Empty lines do not count.

    Yields
    ------
    number : int
        Number of the line, from 1 on.
    id : str
    is_id : bool
        Whether it can be the id of a document. Then there is no such document.
    """
    for number, id in enumerate(lines, 1):
        if id and id not in ids:
            yield number, id, format.is_document_name(id)


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
