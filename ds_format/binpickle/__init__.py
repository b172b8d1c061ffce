"""BinPickle: one object in a file, with its arrays as they are in memory, and a pickle of everything else.

From low to high::

    decoding    descriptions of codecs in the index; decoders
    codecs      encoders, and their descriptions in the index
    format      header, index and trailer in the order of the file, checksums, and every check that they allow
    machine     pickles without unpickling: a table has the allowed names, and nothing else is looked up or called
    buffers     buffers ↔ the bytes of a file, with checksums and codecs
    writer      an object → a file
    reader      a file → an object, or its errors
    inspection  the content of the header, and the tree of an object without building it

Nothing here knows datasets of this package or its drivers. Names are loaded on first use.
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
