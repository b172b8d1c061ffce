"""What data.jsonl alone says: the lines that are documents, and where they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ..base.progress import Advance
from ..kernels.zds import lines as kernel
from ..kernels.zds.zdx import Table
from .faults import SHOWN, Faults
from .places import Region

Found = tuple[int, int, int, int]
"""A fault: its kind, offset and length of the line, and the place, all in bytes of the file."""
ODD = frozenset({kernel.BLANK, kernel.CRLF, kernel.NO_NEWLINE, kernel.NUMBER_RANGE})
"""Kinds that are a warning even for the strict."""


def whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    r"""Iterate over blocks that end with a line feed, except perhaps the last one.

    Examples
    --------
    >>> from ds_format.zds.lines import whole_lines
    >>> list(whole_lines([b"a\nb", b"b", b"b\nc\nd"]))
    [b'a\n', b'bbb\nc\n', b'd']
    """
    pieces: list[bytes] = []
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if not end:
            pieces.append(block)
            continue
        pieces.append(block[:end])
        yield b"".join(pieces) if len(pieces) > 1 else pieces[0]
        pieces = [block[end:]] if end < len(block) else []
    if pieces:
        yield b"".join(pieces)


class Scan:
    """Lines of a file, added to a table.

    Parameters
    ----------
    region : Region
        The file.
    table : Table, optional
        What is known of the lines before `start`.
    start : int
        The first byte, which begins a line.
    updates : bool
        Whether lines may take the place of earlier ones, so that nothing is said of it.

    Attributes
    ----------
    table : Table
    left_out : list of tuple
        Faults of the lines that are no documents.
    """

    def __init__(self, region: Region, table: Table | None = None, start: int = 0, updates: bool = False):
        self.table = Table() if table is None else table
        self.left_out: list[Found] = []
        self._region = region
        self._start = start
        self._line = 1
        self._n_before: int | None = None if start else 0
        self._silent = {kernel.ESCAPED_ID, kernel.SUPERSEDED} if updates else {kernel.ESCAPED_ID}
        self._told: Counter[int] = Counter()

    def run(self, faults: Faults, advance: Advance | None = None) -> Table:
        """Add all lines, tell of faults, and return the table, in file order; `advance` is told how far it is.

        Raises
        ------
        FormatError
            At the first fault, if the faults are strict.
        """
        region, base, size = self._region, self._start, self._region.size
        for data in whole_lines(region.blocks(base)):
            end = base + len(data)
            _, found = kernel.add_lines(self.table, data, base, whole=end == size)
            left_out = {fault[1] for fault in found if fault[0] not in kernel.REMARKS}
            for fault in found:
                if fault[0] not in self._silent and not (fault[0] == kernel.NO_NEWLINE and fault[1] in left_out):
                    self._tell(fault, data, base, faults)
            self._line += data.count(b"\n")
            base = end
            if advance is not None:
                advance.add(len(data))
        for kind, n in self._told.items():
            if n > SHOWN:
                faults.tell(region.path, f"{kernel.KINDS[kind]}: so have {n - SHOWN} more lines")
        self.table.sort()
        return self.table

    def _tell(self, fault: Found, data: bytes, base: int, faults: Faults) -> None:
        kind, offset, length, place = fault
        if kind not in kernel.REMARKS:
            self.left_out.append(fault)
        self._told[kind] += 1
        if self._told[kind] > SHOWN:
            return
        line = self._line + self._lines_before() + data.count(b"\n", 0, offset - base)
        is_torn = kind not in kernel.REMARKS and not data.endswith(b"\n") and offset + length == self._region.size
        if is_torn:
            faults.tell(self._region.path, f"a torn line of {length} bytes at the end, left out", line, offset)
        elif kind == kernel.SUPERSEDED:
            faults.tell(self._region.path, f"{kernel.KINDS[kind]}, at byte {place}; the last one counts", line, offset)
        else:
            tell = faults.note if kind in ODD else faults.tell
            left_out = "" if kind in kernel.REMARKS else "; the line is left out"
            tell(self._region.path, f"{kernel.KINDS[kind]}{left_out}", line, place)

    def _lines_before(self) -> int:
        """Return the number of lines before the first one, which are counted only if somebody wants to know."""
        if self._n_before is None:
            self._n_before = sum(block.count(b"\n") for block in _until(self._region, self._start))
        return self._n_before


def _until(region: Region, end: int) -> Iterator[bytes]:
    """Iterate over the bytes before `end`, in blocks."""
    for block in region.blocks():
        yield block[: max(end, 0)]
        end -= len(block)
        if end <= 0:
            break
