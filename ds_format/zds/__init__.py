"""ZDS: collections of JSON documents, which people read with `cat` and programs by id; in a folder or a ZIP archive.

From low to high::

    format          the files of a store, their paths, the names that are allowed, the numbers
    faults          what is done about something that is not as it should be
    documents       lines ↔ documents, exact whatever library decodes; the schemas of documents
    roots           files of a store by name, in a folder; the same protocol for an archive
    lines, index_bin   where the line of each document is: by the lines themselves, by index.bin
    line_reader     lines by id, and in file order
    docs            documents in files of their own; whether documents are lines or files
    json_schemas    what zds.json and manifest.json may say
    manifest        zds.json and manifest.json
    members, archive   a store in a ZIP archive, read where it lies
    archiving       a folder ↔ an archive
    store_access    where a store is read, and where it is written
    line_writer, bulk   lines added, removed, written again
    changes         all that is written of one collection
    findings, checks, validation   everything that is wrong with a store
    reindexing      what data.jsonl alone decides, made again
    query           which documents, and which of their fields
    arrow_columns   documents as columns of Arrow
    store           a collection: all of this together
    training        documents by number or in a row
    tables          documents as tables: pandas, Arrow, DuckDB

data.jsonl is the truth; index.bin is a cache of it. Nothing here knows datasets of this package or its drivers.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .archiving import pack, unpack
    from .faults import ZdsWarning
    from .findings import Finding
    from .json_schemas import json_schema
    from .store import ZDSStore
    from .store_access import list_collections
    from .tables import from_arrow, read_zds, sql, to_arrow, to_zds
    from .training import ZDataset, ZIterableDataset
    from .validation import validate

__all__ = [
    "Finding",
    "ZDSStore",
    "ZDataset",
    "ZIterableDataset",
    "ZdsWarning",
    "from_arrow",
    "json_schema",
    "list_collections",
    "pack",
    "read_zds",
    "sql",
    "to_arrow",
    "to_zds",
    "unpack",
    "validate",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(_home_of(name), name)
    return value


def _home_of(name: str) -> ModuleType:
    """Return the module that has a public name, which is imported when the name is first used."""
    home: ModuleType
    if name == "ZDSStore":
        from . import store as home
    elif name == "ZdsWarning":
        from . import faults as home
    elif name == "json_schema":
        from . import json_schemas as home
    elif name == "list_collections":
        from . import store_access as home
    elif name in ("pack", "unpack"):
        from . import archiving as home
    elif name in ("ZDataset", "ZIterableDataset"):
        from . import training as home
    elif name == "Finding":
        from . import findings as home
    elif name == "validate":
        from . import validation as home
    else:
        from . import tables as home
    return home


def __dir__() -> list[str]:
    return list(__all__)
