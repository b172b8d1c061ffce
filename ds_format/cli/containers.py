"""Commands for containers of samples, documents and objects: `pack`, `unpack`, `reindex` and `inspect`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .. import binpickle, drivers
from ..errors import DriverError, FormatError
from ..zds import archiving
from . import pst
from .arguments import Command, Option, Request, choice, integer


def pack(request: Request) -> Iterable[Any]:
    """Pack a store; there is nothing to print.

    Raises
    ------
    DsError, OSError
        If it is no store, or cannot be packed.
    """
    folder, archive = request.exactly("FOLDER", "ARCHIVE")
    archiving.pack(folder, archive, compression=request.get("compression", "store"), progress=request.progress)
    return ()


def unpack(request: Request) -> Iterable[Any]:
    """Unpack an archive; there is nothing to print.

    Raises
    ------
    DsError, OSError
        If it is no archive of a store, does harm, or cannot be unpacked.
    """
    archive, folder = request.exactly("ARCHIVE", "FOLDER")
    size = request.get("max_size")
    limits = {} if size is None else {"max_size": size}
    archiving.unpack(archive, folder, **limits, progress=request.progress)
    return ()


def reindex(request: Request) -> Iterator[Any]:
    """Yield a list of the name and the number of records for each file.

    Raises
    ------
    DsError, OSError
        If the data are no records, or a file cannot be read or written.
    """
    for path in request.at_least(1, "INPUT"):
        is_found = drivers.is_known(path) or drivers.is_store(path)
        format = drivers.find_existing(path) if is_found else drivers.FORMATS["datadings"]
        reindex = drivers.load(format).reindex
        if reindex is None:
            raise DriverError("a file without an index: expected .msgpack, or the folder of a store", path=path)
        options: dict[str, Any] = {"cut": request.flag("cut"), "progress": request.progress}
        if request.flag("binary"):
            if format is not drivers.FORMATS["zds"]:
                raise DriverError("only the index of a store of documents has a binary form", path=path)
            options["binary"] = True
        yield [path, reindex(path, **options)]


SHOWN = 20
"""Buffers that `inspect` prints without `--all`."""


def inspect(request: Request) -> Iterable[Any]:
    """Print the tree as text, or return it.

    Raises
    ------
    DsError, OSError
        If it is no BinPickle file, is damaged outside of its pickle, or cannot be read.
    """
    (path,) = request.exactly("INPUT")
    try:
        with binpickle.BinPickleFile(path) as file:
            header, entries, is_mappable = file.header, file.entries, file.is_mappable
        tree = binpickle.inspect(path)
    except FormatError as error:
        if drivers.is_known(path) and drivers.find(path).name != "binpickle":
            raise DriverError("no BinPickle file: `ds ls -l` lists what is in it", path=path) from error
        raise
    if request.flag("j"):
        return [{
            "version": header.version,
            "size": header.length,
            "mappable": is_mappable,
            "object": tree.as_json(),
            "entries": [_described(entry) for entry in entries],
        }]  # fmt: skip
    last = len(entries) - 1
    shown = last if request.flag("all") else min(last, SHOWN)
    about = f"BinPickle version {header.version}, {header.length} bytes{', mappable' if is_mappable else ''}"
    lines = [about, *tree.lines(), *(f"buffer {i}: {_where(entry)}" for i, entry in enumerate(entries[:shown]))]
    if shown < last:
        lines.append(f"... {last - shown} more buffers")
    pst.put(f"{line}\n" for line in [*lines, f"pickle: {_where(entries[last])}"])
    return ()


def _described(entry: Any) -> dict[str, Any]:
    sizes = {"offset": entry.offset, "size": entry.enc_length, "decoded_size": entry.dec_length}
    return {**sizes, "codecs": [step.id for step in entry.steps]}


def _where(entry: Any) -> str:
    """Return where a buffer is, and its codecs, whose names come from the file."""
    where = f"{entry.enc_length} bytes at byte {entry.offset}"
    codecs = ", ".join(ascii(step.id)[1:-1][:60] for step in entry.steps)
    return f"{where}, {entry.dec_length} bytes decoded: {codecs}" if codecs else where


COMMANDS = {
    "pack": Command(
        usage=("ds pack [OPTIONS] [--] FOLDER ARCHIVE",),
        about="Packs a ZDS store into a ZIP archive. By default documents are stored as they are, so that they are "
        "found in the archive as fast as in the folder. An archive that exists is replaced when all is done.",
        arguments=(("FOLDER", "The store."), ("ARCHIVE", "The archive to write (.zds).")),
        options=(
            Option(
                "compression",
                "store (the default) or deflate, for archives that are only read in a row.",
                "NAME",
                choice("store", "deflate"),
            ),
        ),
        examples=(
            ("Pack a store:", "ds pack weather weather.zds"),
            ("Pack it to be sent:", "ds pack weather small.zds compression: deflate"),
        ),
        run=pack,
    ),
    "unpack": Command(
        usage=("ds unpack [OPTIONS] [--] ARCHIVE FOLDER",),
        about="Unpacks a ZDS store from a ZIP archive. An archive with names that lead elsewhere, links, or more bytes "
        "than it announces is refused.",
        arguments=(("ARCHIVE", "The archive (.zds)."), ("FOLDER", "The folder to make.")),
        options=(
            Option(
                "max_size",
                "Refuse an archive of more than N bytes when it is unpacked.",
                "N",
                integer(0, "expected a number of bytes"),
            ),
        ),
        examples=(
            ("Unpack a store:", "ds unpack store.zds folder"),
            ("Of a stranger, no more than a megabyte:", "ds unpack store.zds folder max_size: 1000000"),
        ),
        run=unpack,
    ),
    "reindex": Command(
        usage=("ds reindex [OPTIONS] [--] INPUT...",),
        about="Makes all index files anew: of samples from their data file, of a ZDS store from the lines of its "
        "documents. Prints the name and the number of samples or documents. An index of older versions is kept, and no "
        "more needed.",
        arguments=(("INPUT", "The data file (.msgpack), or the folder of a store."),),
        options=(
            Option(
                "cut",
                "Cut off all from the first byte on that is no whole sample with a key, as after a crash of a writer; "
                "a torn last line of documents is moved to a file of its own.",
            ),
            Option(
                "binary",
                "Write the binary form of the index of a store, which programs in Python other than this one cannot "
                "read.",
            ),
        ),
        examples=(("Make the index of a dataset:", "ds reindex data.msgpack"), ("Of a store:", "ds reindex weather")),
        run=reindex,
    ),
    "inspect": Command(
        usage=("ds inspect [OPTIONS] [--] INPUT",),
        about="Prints the object in a BinPickle file as a tree, with the types and shapes of arrays, and where its "
        "buffers are: their bytes, before and after decoding, and their codecs. Nothing of the object is made, so "
        "this is harmless whatever the file is. What `load` refuses is marked. For files of other formats there is "
        "`ds ls -l`.",
        arguments=(("INPUT", "The file (.bpk, or of any other name)."),),
        options=(Option("all", "Print all buffers, not only the first ones."),),
        examples=(
            ("What is in a file:", "ds inspect data.bpk"),
            ("The same as JSON:", "ds inspect -j data.bpk"),
        ),
        run=inspect,
    ),
}
