r"""Documents in files of their own, `collections/NAME/docs/ID.json`.

What is written is the line that data.jsonl would have, `_id` first, and a line feed: JSON allows white space behind a
value, and so these files, one after another, are a data.jsonl. What is read may lie over several lines and have no
`_id`; the name of the file is the id in any case.
"""

from __future__ import annotations

import os

from ..errors import FormatError, UnsafeError, UnsupportedError
from ..kernels.files import files
from ..kernels.zds.lines import Encoder
from . import format
from .documents import Document, decoder, plain
from .faults import SHOWN, Faults
from .places import Folder, Place, Region, is_litter

ORDER = "order.ids"
"""The file in `meta` in which other programs keep ids in the order in which they were put, one on each line."""
_BOM = b"\xef\xbb\xbf"


def list_ids(place: Place, collection: str, faults: Faults) -> list[str]:
    """Return the ids of a collection that have a file, which is not opened.

    Parameters
    ----------
    place : Place
    collection : str
    faults : Faults
        Gets what is in the folder but is no document, and what is wrong with `order.ids`.

    Returns
    -------
    list of str
        First those that `order.ids` has, in its order, then the others, sorted by their bytes.

    Examples
    --------
    >>> from ds_format.zds import docs
    >>> from ds_format.zds.faults import Faults
    >>> from ds_format.zds.places import Folder
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
        elif not is_litter(file):
            odd.append(f"{file!r} is not the file of a document")
    odd += [str(one) for one in place.unused(folder)]
    path = f"{place.path}/{folder}"
    for message in odd[:SHOWN]:
        faults.tell(path, f"{message}; left out")
    if len(odd) > SHOWN:
        faults.tell(path, f"{len(odd) - SHOWN} more names left out")
    return _ordered(ids, place.open(f"{format.COLLECTIONS}/{collection}/{format.META}/{ORDER}"), faults)


def _ordered(ids: list[str], order: Region | None, faults: Faults) -> list[str]:
    """Return sorted ids in the order that a file gives; what it says about which there are counts for nothing."""
    if order is None or not order.size:
        return ids
    listed = order.read(0, order.size).decode("utf-8", "replace").split("\n")
    rest = dict.fromkeys(ids)
    found, n_absent, n_invalid = [], 0, 0
    for line in dict.fromkeys(line.removesuffix("\r") for line in listed):
        if line in rest:
            found.append(line)
            del rest[line]
        elif format.is_name(line):
            n_absent += 1
        elif line:
            n_invalid += 1
            if n_invalid <= SHOWN:
                faults.tell(order.path, f"{line!r:.100} cannot be the id of a document; left out")
    if n_absent or rest:
        faults.note(
            order.path, f"{n_absent} ids have no file, and {len(rest)} files are not in it; only its order counts"
        )
    return [*found, *rest]


def read(place: Place, collection: str, id: str, faults: Faults) -> Document | None:
    """Read a document; None if there is none.

    Parameters
    ----------
    place : Place
    collection : str
    id : str
        One that no file can have is one that is not there.
    faults : Faults
        Gets what is odd about the file.

    Returns
    -------
    dict
        With its id under `_id`; first, if the file has none.

    Raises
    ------
    FormatError
        If the file does not hold one JSON object.
    UnsafeError
        If it is a link.

    Examples
    --------
    >>> from ds_format.zds import docs
    >>> from ds_format.zds.faults import Faults
    >>> from ds_format.zds.places import Folder
    >>> place = Folder("notes")
    >>> docs.write(place, "default", "a", {"n": 1})
    >>> docs.read(place, "default", "a", Faults())
    {'_id': 'a', 'n': 1}
    """
    if not format.is_document_name(id):
        return None
    region = place.open(format.document_name(collection, id))
    if region is None:
        return None
    text = region.read(0, region.size)
    if text.startswith(_BOM):
        faults.tell(region.path, "a byte order mark; skipped")
        text = text[len(_BOM) :]
    try:
        document = decoder.one(text)
    except FormatError as error:
        raise error.at(path=region.path)
    found = document.get(format.ID)
    if found == id:
        return document
    if format.ID not in document:
        return {format.ID: id, **document}
    faults.tell(region.path, f"{format.ID} is {found!r:.100}, and not the name of the file, which counts")
    document[format.ID] = id
    return document


def encode(id: str, document: Document) -> bytes:
    r"""Return the content of the file of a document.

    Raises
    ------
    UnsupportedError
        If it has another id in it, or cannot be written as JSON.

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
    r"""Write a document, in place of one with the same id; the file is there as a whole or not at all.

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
        If there is a link in the way.

    Examples
    --------
    >>> from ds_format.zds import docs
    >>> from ds_format.zds.places import Folder
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
    """Remove the file of a document, and return whether there was one.

    Examples
    --------
    >>> from ds_format.zds import docs
    >>> from ds_format.zds.places import Folder
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
