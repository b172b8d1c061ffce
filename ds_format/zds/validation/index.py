"""All that can be wrong with index.bin, beside the lines that it tells of."""

from __future__ import annotations

from typing import NamedTuple

from ...errors import FormatError
from ...kernels.json.check import VALID, check_line
from ...kernels.zds.zdx import Table
from .. import format, index
from ..places import Region
from .findings import ERROR, WARNING, Findings, RepeatedKeyError, load
from .lines import all_ids


class Verdict(NamedTuple):
    """What an index is worth.

    Attributes
    ----------
    is_sound : bool
        Whether each of its entries is the place of a line; ids that it leaves out are deleted then.
    n_absent : int
        Ids with a line in front of the end of the index, but no entry.
    """

    is_sound: bool = False
    n_absent: int = 0


def check_index(
    region: Region, data: Region, lines: Table, findings: Findings, collection: str, is_own: bool
) -> Verdict:
    """Compare an index with the lines.

    Parameters
    ----------
    region, data : Region
        index.bin and data.jsonl.
    lines : Table
        What data.jsonl says by itself.
    findings : Findings
    collection : str
    is_own : bool
        Whether a writer put it aside, because it adds lines.
    """

    def add(message: str, severity: str, kind: str | None = None) -> None:
        findings.add(region.path, message, collection=collection, severity=severity, kind=kind)

    try:
        table = index.decode(region.read(0, region.size), data.size)
        index.check(table, 0 if is_own else lines.end)
    except FormatError as error:
        add(error.message, ERROR)
        return Verdict()
    is_sound = True
    for i in range(table.n):
        wrong = _wrong(table, i, data, lines)
        if wrong:
            is_sound = False
            add(f"entry {i}: {wrong}", ERROR, "an entry that is not the place of a line")
    end = table.end + (data.read(table.end, min(table.end + 1, data.size)) == b"\n")
    if is_own:
        add("was put aside by a writer, which is at work, or was killed", WARNING)
    elif end < data.size:
        add(f"is older than data.jsonl: it ends at byte {end} of {data.size}", WARNING)
    n_absent, first = _absent(table, lines, end)
    if n_absent and is_sound:
        more = f" and {n_absent - 1} more" if n_absent > 1 else ""
        add(f"has no entry for {first!r:.100}{more}: to readers that use it, that is deleted", WARNING)
    return Verdict(is_sound, n_absent)


def _wrong(table: Table, i: int, data: Region, lines: Table) -> str | None:
    """Return what is wrong with an entry: it is to be the last line of its id before the end of the index."""
    entry, id = table.entry(i), table.id(i)
    span = lines.span(id)
    if entry is None or entry == span:
        return None
    if span is None:
        return f"no line is a document with the id {id!r:.100}"
    if (entry[0] == span[0] or span[0] >= table.end) and _is_line(data, *entry, id):
        return None
    found, expected = (f"bytes {offset} to {offset + length}" for offset, length in (entry, span))
    return f"found {id!r:.100} at {found}, expected {expected}"


def _is_line(data: Region, offset: int, length: int, id: str) -> bool:
    """Return whether bytes are a whole line of an id, with or without its end."""
    start, stop = max(0, offset - 1), min(data.size, offset + length + 2)
    piece = data.read(start, stop)
    if offset and piece[:1] != b"\n":
        return False
    line, _, _ = piece[offset - start :].partition(b"\n")
    status = check_line(line)[0]
    if status != VALID or not len(line.rstrip(b"\r")) <= length <= len(line) + 1:
        return False
    try:
        return bool(load(line).get(format.ID) == id)
    except RepeatedKeyError:
        return False


def _absent(table: Table, lines: Table, end: int) -> tuple[int, str]:
    """Return how many ids have a line in front of the end of an index but no entry, and the first of them."""
    n, first = 0, ""
    for id in all_ids(lines):
        span = None if table.has(id) else lines.span(id)
        if span is not None and span[0] < end:
            n, first = n + 1, first or id
    return n, first
