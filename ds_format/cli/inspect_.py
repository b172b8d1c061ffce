"""`ds inspect`: what is in a BinPickle file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .. import binpickle, drivers
from ..errors import DriverError, FormatError
from . import output
from .arguments import Request, count, text
from .commands import Command, Option

COMMAND = Command(
    usage=("ds inspect [OPTIONS] [--] INPUT",),
    about="Prints the object in a BinPickle file as a tree, with the types and shapes of arrays, and where its buffers "
    "are: their bytes, before and after decoding, and their codecs. Nothing of the object is made, so this is harmless "
    "whatever the file is. What `load` refuses is marked. For files of other formats there is `ds ls -l`.",
    arguments=(("INPUT", "The file (.bpk, or of any other name)."),),
    options=(Option("all", "Print all buffers, not only the first ones."),),
    examples=(
        ("What is in a file:", "ds inspect data.bpk"),
        ("The same as JSON:", "ds inspect -j data.bpk"),
    ),
)
SHOWN = 20
"""Buffers, unless all are wanted."""


def run(request: Request) -> Iterable[Any]:
    """Print the tree as text, or return it.

    Raises
    ------
    DsError, OSError
        If it is no BinPickle file, is damaged outside of its pickle, or cannot be read.
    """
    count(request, 1, 1)
    path = text(request.words[0], "INPUT")
    try:
        with binpickle.BinPickleFile(path) as file:
            header, entries, is_mappable = file.header, file.entries, file.is_mappable
        tree = binpickle.inspect(path)
    except FormatError as error:
        if drivers.is_known(path) and drivers.find(path).name != "binpickle":
            raise DriverError("no BinPickle file: `ds ls -l` lists what is in it", path=path) from error
        raise
    if request.options.get("j"):
        return [{
            "version": header.version,
            "size": header.length,
            "mappable": is_mappable,
            "object": tree.as_json(),
            "entries": [_described(entry) for entry in entries],
        }]  # fmt: skip
    last = len(entries) - 1
    shown = last if request.options.get("all") else min(last, SHOWN)
    about = f"BinPickle version {header.version}, {header.length} bytes{', mappable' if is_mappable else ''}"
    lines = [about, *tree.lines(), *(f"buffer {i}: {_place(entry)}" for i, entry in enumerate(entries[:shown]))]
    if shown < last:
        lines.append(f"... {last - shown} more buffers")
    output.put(f"{line}\n" for line in [*lines, f"pickle: {_place(entries[last])}"])
    return ()


def _described(entry: Any) -> dict[str, Any]:
    sizes = {"offset": entry.offset, "size": entry.enc_length, "decoded_size": entry.dec_length}
    return {**sizes, "codecs": [step.id for step in entry.steps]}


def _place(entry: Any) -> str:
    place = f"{entry.enc_length} bytes at byte {entry.offset}"
    return f"{place}, {entry.dec_length} bytes decoded: {', '.join(_codecs(entry))}" if entry.steps else place


def _codecs(entry: Any) -> Iterator[str]:
    """Iterate over the names of codecs, which come from the file."""
    return (ascii(step.id)[1:-1][:60] for step in entry.steps)
