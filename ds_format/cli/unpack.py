"""`ds unpack`: make a folder of an archive of documents."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from . import pst
from .arguments import ArgumentError, Request, count, text
from .commands import Command, Option
from .pack import HOME

COMMAND = Command(
    usage=("ds unpack [OPTIONS] [--] ARCHIVE FOLDER",),
    about="Unpacks a ZDS store from a ZIP archive. An archive with names that lead elsewhere, links, or more bytes "
    "than it announces is refused.",
    arguments=(("ARCHIVE", "The archive (.zds)."), ("FOLDER", "The folder to make.")),
    options=(Option("max_size", "Refuse an archive of more than N bytes when it is unpacked.", "N"),),
    examples=(
        ("Unpack a store:", "ds unpack store.zds folder"),
        ("Of a stranger, no more than a megabyte:", "ds unpack store.zds folder max_size: 1000000"),
    ),
)


def run(request: Request) -> Iterator[Any]:
    """Unpack an archive; there is nothing to print.

    Raises
    ------
    DsError, OSError
        If it is no archive of a store, does harm, or cannot be unpacked.
    """
    count(request, 2, 2)
    limits = {name: request.options[name] for name in ("max_size",) if name in request.options}
    for name, value in limits.items():
        if type(value) is not int or value < 0:
            raise ArgumentError(f"{name}: expected a number of bytes, found {pst.encode([value], False)}")
    archive, folder = text(request.words[0], "ARCHIVE"), text(request.words[1], "FOLDER")
    importlib.import_module(HOME).unpack(archive, folder, **limits, progress=request.progress)
    return iter(())
