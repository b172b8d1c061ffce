"""ZDS: collections of JSON documents, which people read with `cat` and programs by id; in a folder or a ZIP archive.

From low to high::

    format       the files of a store, their paths, the names that are allowed, the numbers
    faults       what is done about something that is not as it should be
    documents    lines ↔ documents, exact whatever library decodes
    places       files of a store by name, in a folder; the same protocol for an archive
    locks        one writer at a time, of whom nothing stays behind
    lines, index      where the line of each document is: by the lines themselves, by index.bin
    scanning     lines in file order, many at a time
    reader       lines by id, and in file order
    docs, docfiles    documents in files of their own
    layouts      whether documents are lines or files
    schemas      the shape of documents, where all have the same
    json_schemas what zds.json and manifest.json may say
    manifest     zds.json and manifest.json
    repair, writer, bulk      lines added, removed, written anew
    no_lines     what stands in for a writer where there are no lines
    docimport    lines that become files
    archives     a store in a ZIP archive: read where it lies, packed, unpacked
    workspace    where a store is read, and where it is written
    changes      all that is written of one collection
    validation   everything that is wrong with a store
    collection, store    a collection: all of this together
    query        which documents, and which of their fields
    datasets, streams    documents by number or in a row, for training
    tables       documents as tables: pandas, Arrow, DuckDB

data.jsonl is the truth; index.bin is a cache of it. Nothing here knows datasets of this package or its drivers.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .archives.packing import pack, unpack
    from .datasets import ZDataset
    from .json_schemas import json_schema
    from .store import ZDSStore
    from .streams import ZIterableDataset
    from .tables.arrow_ import from_arrow, to_arrow
    from .tables.duckdb_ import sql
    from .tables.pandas_ import read_zds, to_zds
    from .validation import Finding, validate
    from .warnings_ import ZdsWarning
    from .workspace import list_collections

_HOMES = {
    "Finding": "validation",
    "ZDSStore": "store",
    "ZDataset": "datasets",
    "ZIterableDataset": "streams",
    "ZdsWarning": "warnings_",
    "from_arrow": "tables.arrow_",
    "json_schema": "json_schemas",
    "list_collections": "workspace",
    "pack": "archives.packing",
    "read_zds": "tables.pandas_",
    "sql": "tables.duckdb_",
    "to_arrow": "tables.arrow_",
    "to_zds": "tables.pandas_",
    "unpack": "archives.packing",
    "validate": "validation",
}

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
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f".{home}", __name__), name)
    return value


def __dir__() -> list[str]:
    return list(__all__)
