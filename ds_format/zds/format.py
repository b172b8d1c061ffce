"""The files of a store of documents: their paths, allowed names, and numbers, in the order of the format.

::

    ROOT/                                     or ROOT.zds: the same as a ZIP archive
      zds.json                                the name of the store, and the number of documents of each collection
      collections/NAME/meta/data.jsonl        one JSON object per line: the documents, each with its `_id`
      collections/NAME/meta/index.bin         the position of the line of each id; a cache, which may be missing
      collections/NAME/meta/manifest.json     facts about the collection; optional
      collections/NAME/docs/ID.json           documents in separate files; in addition to data.jsonl or instead of it
      .zds/NAME.lock                          the process that writes to the collection

Sources: the specification "ZDS format" and, where it is silent, the files that zippy 0.1.2 writes.
"""

from __future__ import annotations

import os
import re

from ..errors import UnsafeError, UnsupportedError

SUFFIX = ".zds"
"""Suffix of an archive."""

STORE_FILE = "zds.json"
STORE_VERSION = "1.0"
"""`version` of zds.json: that of the format."""
SCHEMA_URL = "https://zippydata.org/schemas/zds/1.0.json"
"""`$schema` of zds.json."""

COLLECTIONS = "collections"
META = "meta"
DOCS = "docs"
DATA = "data.jsonl"
INDEX = "index.bin"
MANIFEST = "manifest.json"
ORDER = "order.ids"
"""A file in `meta` in which other programs store the ids of `docs` in the order of insertion, one on each line."""
DOCUMENT_SUFFIX = ".json"
LINES = "jsonl"
LAYOUTS = (LINES, DOCS)
"""Layouts of a collection: documents as lines of data.jsonl, or as separate files in `docs`."""
BOM = b"\xef\xbb\xbf"
"""A byte order mark, which some programs write at the start of a file."""

MANIFEST_VERSION = "0.1.0"
"""`version` of manifest.json: that of the layout."""

PRIVATE = ".zds"
"""The folder of locks."""
LOCK_SUFFIX = ".lock"
ASIDE_SUFFIX = ".index"
STORE_LOCK = ".zds/.lock"
"""Locked while zds.json is written. No collection has a name that begins with a dot."""
TORN = "data.jsonl.torn-"
"""Start of the names of files that contain torn ends of data.jsonl."""

ID = "_id"
"""The member of a document that is its unique id in the collection."""
DEFAULT_COLLECTION = "default"

# index.bin: a header, then `count` entries back to back; all integers are little-endian, nothing is aligned
INDEX_MAGIC = b"ISDZ"
INDEX_HEADER_SIZE = 16
"""Bytes: magic 4, version u32, count u64."""

MAX_ID_SIZE = 255
"""Maximum bytes of an id, and of the name of a collection."""
MAX_DOCUMENT_ID_SIZE = 250
"""Maximum bytes of an id whose file in `docs` has a name that file systems accept."""
MAX_LINE_SIZE = (1 << 32) - 1
"""Maximum bytes of a line that an index can represent, including its LF."""
MAX_DEPTH = 512
"""Maximum depth of arrays and objects in a document."""

# limits of reading an archive
MAX_INFLATED_SIZE = 1 << 36
"""Maximum size of a member that is inflated, and of an unpacked archive, in bytes, by default."""
MAX_RATIO = 200
"""Maximum ratio of size and compressed size of a large member, by default."""

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,254}")
_LITTER = re.compile(r"(?:^|/)(?:\._|(?:\.DS_Store|__MACOSX)(?:/|$))")
_RULE = "letters a-z A-Z, digits, _ - . are allowed, no dot at the start, no .. inside, 1 to 255 characters"


def is_name(name: object) -> bool:
    """Return whether a value is allowed as the id of a document, or as the name of a collection, in writing.

    Examples
    --------
    >>> from ds_format.zds import format
    >>> [format.is_name(name) for name in ("doc_001", "../x", "a..b", "", "é")]
    [True, False, False, False, False]
    """
    return isinstance(name, str) and _NAME.fullmatch(name) is not None and ".." not in name


def check_id(id: object) -> str:
    """Return an id that is allowed in writing.

    Raises
    ------
    UnsupportedError
        If the format does not allow it.
    """
    if not is_name(id):
        raise UnsupportedError(f"{id!r:.100} cannot be the id of a document: {_RULE}")
    return str(id)


def is_document_name(id: object) -> bool:
    """Return whether an id can be the name of a file in `docs`, without its suffix.

    Examples
    --------
    >>> from ds_format.zds import format
    >>> format.is_document_name("a" * 250), format.is_document_name("a" * 251)
    (True, False)
    """
    return is_name(id) and len(str(id)) <= MAX_DOCUMENT_ID_SIZE


def check_collection(name: object) -> str:
    """Return the name of a collection that is allowed in a path.

    Raises
    ------
    UnsupportedError
        If the name is not allowed.
    """
    if not is_name(name):
        raise UnsupportedError(f"{name!r:.100} cannot be the name of a collection: {_RULE}")
    return str(name)


def data_name(collection: str) -> str:
    """Return the path of data.jsonl of a collection, from the root, with forward slashes.

    Examples
    --------
    >>> from ds_format.zds import format
    >>> format.data_name("train")
    'collections/train/meta/data.jsonl'
    """
    return f"{COLLECTIONS}/{check_collection(collection)}/{META}/{DATA}"


def index_name(collection: str) -> str:
    """Return the path of index.bin of a collection; as `data_name`."""
    return f"{COLLECTIONS}/{check_collection(collection)}/{META}/{INDEX}"


def aside_name(collection: str) -> str:
    """Return the path where a writer sets the index aside while it adds lines that the index does not cover.

    Other programs use an index without checking the data, so they must not find an outdated one.
    """
    return f"{PRIVATE}/{check_collection(collection)}{ASIDE_SUFFIX}"


def lock_name(collection: str) -> str:
    """Return the path of the lock file of a collection; as `data_name`."""
    return f"{PRIVATE}/{check_collection(collection)}{LOCK_SUFFIX}"


def manifest_name(collection: str) -> str:
    """Return the path of manifest.json of a collection; as `data_name`."""
    return f"{COLLECTIONS}/{check_collection(collection)}/{META}/{MANIFEST}"


def order_name(collection: str) -> str:
    """Return the path of order.ids of a collection; as `data_name`."""
    return f"{COLLECTIONS}/{check_collection(collection)}/{META}/{ORDER}"


def docs_name(collection: str) -> str:
    """Return the path of the folder `docs` of a collection, without a trailing slash; as `data_name`."""
    return f"{COLLECTIONS}/{check_collection(collection)}/{DOCS}"


def document_name(collection: str, id: str) -> str:
    """Return the path of the file of a document in `docs`; as `data_name`.

    Raises
    ------
    UnsupportedError
        If the id cannot be the name of a file.
    """
    if not is_document_name(id):
        raise UnsupportedError(f"{id!r:.100} cannot be the name of a file: {_RULE}, at most {MAX_DOCUMENT_ID_SIZE}")
    return f"{docs_name(collection)}/{id}{DOCUMENT_SUFFIX}"


def name_parts(name: str) -> list[str]:
    """Return the parts of a name.

    Raises
    ------
    UnsafeError
        If the name leads outside of the root, or is invalid.

    Examples
    --------
    >>> from ds_format.zds.format import name_parts
    >>> name_parts("collections/train/meta/data.jsonl")
    ['collections', 'train', 'meta', 'data.jsonl']
    >>> name_parts("collections/../../secret")
    Traceback (most recent call last):
        ...
    ds_format.errors.UnsafeError: the name 'collections/../../secret' has a part '..'
    """
    parts = name.split("/")
    for part in parts:
        if part in {"", ".", ".."}:
            raise UnsafeError(f"the name {name!r} has a part {part!r}")
        if "\0" in part or "\\" in part or (os.name == "nt" and ":" in part):
            raise UnsafeError(f"the name {name!r} has a character that no file of a store has")
    return parts


def is_litter(name: str) -> bool:
    """Return whether a name is a file-manager leftover.

    Examples
    --------
    >>> from ds_format.zds.format import is_litter
    >>> [is_litter(name) for name in ("__MACOSX/a.json", "a/.DS_Store", "a/._b.json", "a/b._c")]
    [True, True, True, False]
    """
    return _LITTER.search(name) is not None
