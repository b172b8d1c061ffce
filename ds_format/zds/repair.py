"""What a writer does to files besides adding lines: it removes what was left, keeps what is torn, and copies."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
from array import array

from ..body.body import FileBody
from ..errors import TruncatedError
from ..kernels.files import files, ranges
from ..kernels.files.presence import exists
from ..kernels.zds.zdx import Table
from . import format
from .faults import Silence
from .lines import Scan
from .places import BLOCK_SIZE, Region


def sweep(path: str, names: tuple[str, ...]) -> None:
    """Remove what was left of files and folders with some names, beside a path, by writers that were killed."""
    folder = os.path.dirname(path)
    starts = tuple(f".{name}." for name in names)
    for name in os.listdir(folder):
        if name.startswith(starts) and name.endswith(".tmp"):
            left = os.path.join(folder, name)
            if os.path.isdir(left) and not os.path.islink(left):
                shutil.rmtree(left, ignore_errors=True)
                continue
            with contextlib.suppress(OSError):
                os.unlink(left)


def last_line(region: Region) -> bytes:
    """Return what is behind the last line feed of a file."""
    start, tail = region.size, b""
    while start and b"\n" not in tail:
        before = max(start - BLOCK_SIZE, 0)
        tail, start = region.read(before, start) + tail, before
    return tail[tail.rfind(b"\n") + 1 :]


def name_to_keep(path: str) -> str:
    """Return the name of a file beside data.jsonl that does not exist yet."""
    names = (f"{format.TORN}{i}" for i in itertools.count(1))
    return next(name for name in names if not exists(os.path.join(os.path.dirname(path), name), follow=False))


def keep(path: str, data: bytes, durable: bool) -> str:
    """Put bytes that are no lines of documents into a file of their own beside data.jsonl, and return its name."""
    name = name_to_keep(path)
    files.write_file(os.path.join(os.path.dirname(path), name), [data], True, durable)
    return name


def put_aside(path: str, aside: str, table: Table, durable: bool) -> None:
    """Move index.bin to where others take it for one of the first lines only; if there is none, make it there."""
    try:
        os.replace(path, aside)
    except FileNotFoundError:
        files.write_file(aside, [table.encode()], True, durable)
        return
    if durable:
        files.sync_folder(aside)
        files.sync_folder(path)


def put_empty_aside(path: str, aside: str, durable: bool) -> None:
    """Put an index of no lines there, which is right whatever the file has: others read the lines."""
    files.write_file(aside, [Table().encode()], True, durable)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    if durable:
        files.sync_folder(path)


def sync_aside(path: str, aside: str) -> None:
    """Flush to the disk what `put_aside` or `put_empty_aside` did."""
    fd = os.open(aside, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
    files.sync_folder(aside)
    files.sync_folder(path)


def find_again(region: Region, known: Table) -> tuple[Table, list[bytes]]:
    """Return where the lines of known ids are, as the file itself says, and the lines that are no documents."""
    scan = Scan(region)
    table = scan.run(Silence())
    unknown = [id for id in table.ids(0, table.n) if not known.has(id)]
    for id in unknown:
        table.discard(id)
    return table, [region.read(offset, offset + length) for _, offset, length, _ in scan.left_out]


def copy_lines(table: Table, source: FileBody, target: FileBody) -> int:
    """Copy the lines of a table in file order; return their bytes."""
    raw_offsets, raw_lengths, _ = table.in_file_order()
    offsets, lengths = array("Q", bytes(raw_offsets)), array("I", bytes(raw_lengths))
    place = start = stop = 0
    for offset, length in itertools.chain(zip(offsets, lengths, strict=True), [(-1, 0)]):
        if offset == stop:
            stop += length
            continue
        if ranges.copy_range(source.fd, start, target.fd, place, stop - start) < stop - start:
            raise TruncatedError(f"the file ends before byte {stop}", path=source.name)
        place += stop - start
        start, stop = offset, offset + length
    return place
