"""ZDS: collections of JSON documents in a folder or a ZIP archive; people read them with `cat`, programs by id.

From low to high::

    format          the files of a store, their paths, allowed names, numbers
    faults          reports of faults: warnings, errors, or a list of findings
    documents       lines ↔ documents, exact with any decoder; schemas of documents
    members         the members of a ZIP archive as bodies
    roots           files of a store by name: in a folder, in an archive, at an address
    lines, index_bin   position of the line of each document: from the lines themselves, from index.bin
    line_reader     lines by id, and in file order
    bulk            existing lines of JSON, to be added: read in blocks, and checked
    docs            documents in separate files; the layout of a collection, lines or files
    json_schemas    JSON schemas of zds.json and manifest.json
    manifest        zds.json and manifest.json
    archiving       a folder ↔ an archive
    store_access    the place from which a store is read, and to which it is written
    line_writer     adding, removing and replacing lines
    changes         all changes of one collection
    validation      all faults of a store
    reindexing      rebuilding all files that follow from data.jsonl
    query           selecting documents and their fields
    store           a collection: all of this together
    training        documents by number or in sequence
    tables          documents as tables: pandas, Arrow, DuckDB

data.jsonl has the data; index.bin is a cache of it. This room does not use datasets of this package or its drivers. It
makes tables by the room `ds_format.tables`.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .archiving import pack, unpack
    from .faults import Finding, ZdsWarning
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
    """Return the module of a public name, which is imported when the name is first used."""
    home: ModuleType
    if name == "ZDSStore":
        from . import store as home
    elif name in ("Finding", "ZdsWarning"):
        from . import faults as home
    elif name == "json_schema":
        from . import json_schemas as home
    elif name == "list_collections":
        from . import store_access as home
    elif name in ("pack", "unpack"):
        from . import archiving as home
    elif name in ("ZDataset", "ZIterableDataset"):
        from . import training as home
    elif name == "validate":
        from . import validation as home
    else:
        from . import tables as home
    return home


def __dir__() -> list[str]:
    return list(__all__)
