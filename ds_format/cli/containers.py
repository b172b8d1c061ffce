"""Commands for containers of samples, documents and objects: `pack`, `unpack`, `reindex` and `inspect`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .. import binpickle, drivers
from ..errors import DriverError, FormatError
from ..many.pack_writing import pack as pack_files
from ..zds import archiving
from . import pst
from .arguments import ArgumentError, Command, Option, Request, choice, integer


def pack(request: Request) -> Iterable[Any]:
    """Pack files, or a store of documents; there is nothing to print.

    Raises
    ------
    DsError, OSError
        If an input cannot be read, or the archive cannot be written.
    """
    first, *others, archive = request.names("INPUT... ARCHIVE")
    append, compression = request.flag("append"), request.get("compression")
    format = None if others else drivers.of_folder(first)
    if (format is not None and format.name == "zds") or not (others or archive.endswith(".zip")):
        if append:
            raise ArgumentError("--append: a store is packed as a whole")
        archiving.pack(first, archive, compression=compression or "store", progress=request.progress)
        return ()
    if compression == "deflate":
        raise ArgumentError("compression: members of a pack are stored, so that they are read in place")
    pack_files([first, *others], archive, append=append, progress=request.progress)
    return ()


def unpack(request: Request) -> Iterable[Any]:
    """Unpack an archive; there is nothing to print.

    Raises
    ------
    DsError, OSError
        If ARCHIVE is not an archive of a store, is unsafe, or cannot be unpacked.
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
        If a file has no records, or cannot be read or written.
    """
    for path in request.names("INPUT..."):
        is_found = drivers.is_known(path) or drivers.of_folder(path) is not None
        format = drivers.find_existing(path) if is_found else drivers.FORMATS["datadings"]
        reindex = drivers.load(format).reindex
        if reindex is None:
            raise DriverError(
                "files of this format have no index: expected .msgpack, or the folder of a store", path=path
            )
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
        If INPUT is not a BinPickle file, is damaged outside its pickle, or cannot be read.
    """
    (path,) = request.exactly("INPUT")
    try:
        with binpickle.BinPickleFile(path) as file:
            header, entries, is_mappable = file.header, file.entries, file.is_mappable
        tree = binpickle.inspect(path)
    except FormatError as error:
        if drivers.is_known(path) and drivers.find(path).name != "binpickle":
            raise DriverError("not a BinPickle file: use `ds info` to print its contents", path=path) from error
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
    """Return position, size and codecs of a buffer as text. Names of codecs come from the file."""
    where = f"{entry.enc_length} bytes at byte {entry.offset}"
    codecs = ", ".join(ascii(step.id)[1:-1][:60] for step in entry.steps)
    return f"{where}, {entry.dec_length} bytes decoded: {codecs}" if codecs else where


COMMANDS = {
    "pack": Command(
        usage=("ds pack [OPTIONS] [--] INPUT... ARCHIVE", "ds pack [OPTIONS] [--] FOLDER ARCHIVE"),
        about="Packs files into one ZIP archive, byte for byte, without compression. All commands read its files by "
        "names and patterns, as if it were a folder: reports.zip/st001.ds. Files keep their folders relative to the "
        "given folder, or to the part of a pattern before its first wildcard. A ZDS store is packed by its folder. An "
        "existing archive is replaced atomically.",
        arguments=(
            ("INPUT", "A file, a folder, or a pattern in quotes with *, ?, [...] and ** for any folders."),
            ("FOLDER", "A ZDS store."),
            ("ARCHIVE", "The archive to write (.zip; .zds for a store)."),
        ),
        options=(
            Option("append", "Keep the files of an existing archive, and add others. Not for stores."),
            Option(
                "compression",
                "Compression of a store: store (the default), or deflate for archives that are only read sequentially.",
                "store | deflate",
                choice("store", "deflate"),
            ),
        ),
        examples=(
            ("Pack files:", "ds pack 'st/*.nc' reports.zip"),
            ("Add files:", "ds pack --append data.ds reports.zip"),
            ("Pack a store:", "ds pack weather weather.zds"),
            ("Pack and compress:", "ds pack weather small.zds compression: deflate"),
        ),
        run=pack,
    ),
    "unpack": Command(
        usage=("ds unpack [OPTIONS] [--] ARCHIVE FOLDER",),
        about="Unpacks a ZDS store from a ZIP archive. Refuses an archive with paths outside FOLDER, with links, or "
        "with more bytes than it declares.",
        arguments=(("ARCHIVE", "The archive (.zds)."), ("FOLDER", "The folder to create.")),
        options=(
            Option(
                "max_size",
                "Refuse an archive whose unpacked size is more than N bytes.",
                "N",
                integer(0, "expected a number of bytes"),
            ),
        ),
        examples=(
            ("Unpack a store:", "ds unpack store.zds folder"),
            ("Unpack at most a megabyte, from an untrusted source:", "ds unpack store.zds folder max_size: 1000000"),
        ),
        run=unpack,
    ),
    "reindex": Command(
        usage=("ds reindex [OPTIONS] [--] INPUT...",),
        about="Rebuilds all index files from the data file of samples, or from the lines of documents in a ZDS store. "
        "Prints the name and the number of samples or documents. Index files of older versions are kept, but are no "
        "longer needed.",
        arguments=(("INPUT", "The data file (.msgpack), or the folder of a store."),),
        options=(
            Option(
                "cut",
                "Truncate the data file after the last complete sample, as after a crash of a writer. An incomplete "
                "last line of documents is moved to a separate file.",
            ),
            Option(
                "binary",
                "Write the binary form of the index of a store. No other Python program can read it.",
            ),
        ),
        examples=(
            ("Rebuild the index of samples:", "ds reindex data.msgpack"),
            ("Rebuild the index of a store:", "ds reindex weather"),
        ),
        run=reindex,
    ),
    "inspect": Command(
        usage=("ds inspect [OPTIONS] [--] INPUT",),
        about="Prints the object in a BinPickle file as a tree with types and shapes of arrays. For each buffer, "
        "prints its position, its size before and after decoding, and its codecs. The object is not created, so that "
        "this is safe for any file. Parts that `load` refuses are marked. For files of other formats use `ds info`.",
        arguments=(("INPUT", "The file (.bpk, or any other suffix)."),),
        options=(Option("all", "Print all buffers, not only the first 20."),),
        examples=(
            ("Contents of a file:", "ds inspect data.bpk"),
            ("The same as JSON:", "ds inspect -j data.bpk"),
        ),
        run=inspect,
    ),
}
