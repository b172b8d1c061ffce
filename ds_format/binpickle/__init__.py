"""BinPickle: one object in a file, its arrays as they are in memory beside a pickle of everything else.

From low to high::

    decoding    how the index describes codecs; bounded decoders
    codecs      encoders, and their words in the index
    format      header, index and trailer, in the order of the file, checksums, and every check that they allow
    machine     pickles without unpickling: what they may contain is a table, nothing in them is looked up or called
    buffers     buffers ↔ the bytes of a file, checksums compared, codecs undone
    writer      an object → a file
    reader      a file → an object, or what is wrong with it
    inspection  what the header alone says, and the tree of an object without building it

Nothing here knows datasets of this package or its drivers. Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .inspection import FileInfo, FileStatus, file_info, inspect
    from .machine.loading import register
    from .reader import BinPickleFile, load
    from .writer import BinPickler, dump

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
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: Any
    if name in ("BinPickler", "dump"):
        from . import writer

        value = getattr(writer, name)
    elif name in ("BinPickleFile", "load"):
        from . import reader

        value = getattr(reader, name)
    else:
        from . import inspection, machine

        value = getattr(machine if name == "register" else inspection, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
