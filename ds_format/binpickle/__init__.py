"""BinPickle: one object in a file, its arrays as they are in memory beside a pickle of everything else.

From low to high::

    codecs      what buffers go through: descriptions, bounded decoders, encoders
    index       what the index says, checked
    format      header, index and trailer, in the order of the file, and every check that they allow
    checksums   Adler-32 and SHA-256
    machine     pickles without unpickling: what they may contain is a table, nothing in them is looked up or called
    file_bytes  the bytes of a file: copied, or mapped into memory
    body        buffers → the bytes of a file, at once or piece by piece
    writer      an object → a file
    reader      a file → an object, or what is wrong with it
    information what the header alone says
    inspection  a file → the tree of its object, without building it

Nothing here knows datasets of this package or its drivers. Names are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .information import FileInfo, FileStatus, file_info
    from .inspection import inspect
    from .machine.registry import register
    from .reader import BinPickleFile, load
    from .writer import BinPickler, dump

_HOMES = {
    "BinPickleFile": "reader",
    "BinPickler": "writer",
    "FileInfo": "information",
    "FileStatus": "information",
    "dump": "writer",
    "file_info": "information",
    "inspect": "inspection",
    "load": "reader",
    "register": "machine.registry",
}

__all__ = [
    "BinPickleFile",
    "BinPickler",
    "FileInfo",
    "FileStatus",
    "dump",
    "file_info",
    "inspect",
    "load",
    "register",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
