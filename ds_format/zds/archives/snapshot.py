"""What a reader sees of a collection at one moment: its whole lines, and an index that fits them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...errors import FormatError
from ...kernels.json.check import VALID, check_line
from ...kernels.zds import zdx_text
from ...kernels.zds.lines import add_lines
from ...kernels.zds.zdx import Table
from .. import format, index
from ..faults import Faults
from ..lines import whole_lines
from ..places import BLOCK_SIZE, Place, Region
from ..reader import LineFiles, LineReader, open_files

_BOM = b"\xef\xbb\xbf"


class Start:
    """The first bytes of a region; see `places.Region`."""

    def __init__(self, region: Region, size: int):
        self._region = region
        self.path = region.path
        self.size = size

    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes from `start` up to before `stop`."""
        return self._region.read(start, stop)

    def blocks(self, start: int = 0, size: int = BLOCK_SIZE) -> Iterator[bytes]:
        """Iterate over the bytes from `start` to the end."""
        for place in range(start, self.size, size):
            yield self._region.read(place, min(place + size, self.size))

    def in_file(self) -> tuple[int, int] | None:
        """Return the descriptor of the file, which may hold more, and where the bytes begin."""
        return self._region.in_file()

    def close(self) -> None:
        """Let go of the region."""
        self._region.close()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A collection at one moment.

    Attributes
    ----------
    lines : Region
        The whole lines of data.jsonl.
    newline : bytes
        What the last one lacks at its end: nothing, or a line feed.
    index : bytes or None
        The content of an index.bin; None if the collection has none.
    """

    lines: Region
    newline: bytes
    index: bytes | None

    @property
    def size(self) -> int:
        """Bytes of data.jsonl."""
        return self.lines.size + len(self.newline)

    def blocks(self) -> Iterator[bytes]:
        """Iterate over the bytes of data.jsonl."""
        yield from self.lines.blocks()
        if self.newline:
            yield self.newline


def take(place: Place, collection: str, faults: Faults) -> Snapshot | None:
    """Return a collection as it is now, while a writer may be at work; None if it has no data.jsonl.

    A last line without a line feed counts if it is a JSON object; else it is left out and `faults` are told, as of an
    index that is wrong. All lines are compared with what the index says of them.
    """
    files = open_files(place, collection)
    if files.data is None:
        return None
    lines, newline = _whole_lines(files.data, faults)
    return Snapshot(
        lines, newline, None if files.index_file is None else _fitting(lines, files, files.index_file, faults)
    )


def _whole_lines(region: Region, faults: Faults) -> tuple[Start, bytes]:
    start, tail = region.size, b""
    while start and b"\n" not in tail:
        before = max(0, start - BLOCK_SIZE)
        tail = region.read(before, start) + tail
        start = before
    rest = tail[tail.rfind(b"\n") + 1 :]
    end = region.size - len(rest)
    if not rest:
        return Start(region, end), b""
    if check_line(rest if end else rest.removeprefix(_BOM))[0] == VALID:
        return Start(region, region.size), b"\n"
    faults.tell(region.path, f"a torn line of {len(rest)} bytes at the end, left out", offset=end)
    return Start(region, end), b""


def _fitting(lines: Start, files: LineFiles, found: Region, faults: Faults) -> bytes | None:
    """Return the content of an index if it fits, else of one that does; None if there can be none."""
    stored = found.read(0, found.size)
    table = Table()
    base = 0
    for data in whole_lines(lines.blocks()):
        add_lines(table, data, base, whole=base + len(data) == lines.size)
        base += len(data)
    if stored in (table.encode(), zdx_text.encode(table)):
        return stored
    reader = LineReader(files._replace(data=lines), "verify", faults)
    for _ in reader.documents():
        pass
    try:
        is_read = not index.is_binary(stored) or stored.startswith(format.INDEX_MAGIC)
        same = is_read and index.decode(stored, lines.size).encode() == reader.table.encode()
    except FormatError:
        same = False
    return stored if same else zdx_text.encode(reader.table)
