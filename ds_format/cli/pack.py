"""`ds pack`: put a store of documents into one file."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from . import pst
from .arguments import ArgumentError, Request, count, text
from .commands import Command, Option

COMMAND = Command(
    usage=("ds pack [OPTIONS] [--] FOLDER ARCHIVE",),
    about="Packs a ZDS store into a ZIP archive. By default documents are stored as they are, so that they are found "
    "in the archive as fast as in the folder. An archive that exists is replaced when all is done.",
    arguments=(("FOLDER", "The store."), ("ARCHIVE", "The archive to write (.zds).")),
    options=(
        Option("compression", "store (the default) or deflate, for archives that are only read in a row.", "NAME"),
    ),
    examples=(
        ("Pack a store:", "ds pack weather weather.zds"),
        ("Pack it to be sent:", "ds pack weather small.zds compression: deflate"),
    ),
)
HOME = "ds_format.zds.archiving"
"""Imported to pack, not to tell of it."""
COMPRESSIONS = ("store", "deflate")


def run(request: Request) -> Iterator[Any]:
    """Pack a store; there is nothing to print.

    Raises
    ------
    DsError, OSError
        If it is no store, or cannot be packed.
    """
    count(request, 2, 2)
    compression = request.options.get("compression", COMPRESSIONS[0])
    if compression not in COMPRESSIONS:
        raise ArgumentError(
            f"compression: expected {' or '.join(COMPRESSIONS)}, found {pst.encode([compression], False)}"
        )
    folder, archive = text(request.words[0], "FOLDER"), text(request.words[1], "ARCHIVE")
    importlib.import_module(HOME).pack(folder, archive, compression=compression, progress=request.progress)
    return iter(())
