"""All that can be wrong with the lines of data.jsonl."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any

from ...base.progress import Advance
from ...errors import UnsupportedError
from ...kernels.zds import lines as kernel
from ...kernels.zds.zdx import Table
from .. import format
from ..lines import ODD, Found, whole_lines
from ..places import Region
from .findings import ERROR, SHOWN, WARNING, Findings, RepeatedKeyError, load

BOM = b"\xef\xbb\xbf"
DEVICES = frozenset(["con", "prn", "aux", "nul", *(f"{name}{i}" for name in ("com", "lpt") for i in range(10))])
"""Names that no file can have on Windows, whatever follows behind a dot."""
LONG = 100_000_000
"""Bytes of the longest line that the specification of the format recommends."""
CHUNK = 1 << 16
"""Ids that are looked at at once."""
_COMPACT = b'{"' + format.ID.encode() + b'":"'


class LineCheck:
    """The check of one data.jsonl.

    Parameters
    ----------
    region : Region
        The file.
    findings : Findings
    collection : str
    strict : bool
        Warn also of what is allowed, but not understood by all programs.
    check_schema : callable, optional
        Takes a document, and returns what is wrong with its schema.

    Attributes
    ----------
    table : Table
        The ids, each with the place of its last line.
    superseded : list of tuple
        The first of the lines whose id an earlier line has.
    """

    def __init__(
        self,
        region: Region,
        findings: Findings,
        collection: str,
        *,
        strict: bool = False,
        check_schema: Callable[[dict[str, Any]], str | None] | None = None,
    ):
        self.table = Table()
        self.superseded: list[Found] = []
        self._region, self._findings, self._collection = region, findings, collection
        self._strict, self._check_schema = strict, check_schema

    def run(self, advance: Advance) -> None:
        """Check all lines, and the ids among one another."""
        advance.total += self._region.size
        base, line, size = 0, 1, self._region.size
        for data in whole_lines(self._region.blocks()):
            end = base + len(data)
            _, found = kernel.add_lines(self.table, data, base, whole=end == size)
            left_out = {fault[1] for fault in found if fault[0] not in kernel.REMARKS}
            for fault in found:
                if fault[0] == kernel.SUPERSEDED:
                    self.superseded += [fault] if len(self.superseded) < SHOWN else []
                elif fault[0] != kernel.NO_NEWLINE or fault[1] not in left_out:
                    self._tell(fault, data, base, line)
            line = self._check_documents(data, base, line, left_out)
            base = end
            advance.add(len(data))
        self._check_ids()

    def tell_superseded(self, severity: str) -> None:
        """Tell which lines are no longer documents, with the numbers of both lines."""
        numbers = _line_numbers(
            self._region, sorted(place for fault in self.superseded for place in (fault[1], fault[3]))
        )
        for _, offset, _, earlier in self.superseded:
            message = f"has the id of line {numbers[earlier]}, which is no document any more"
            self._add(message, numbers[offset], offset, severity)
        more = self.table.n_dead - len(self.superseded)
        if more:
            self._add(f"{more} more lines have the id of an earlier one", None, None, severity)

    def _add(self, message: str, line: int | None, offset: int | None, severity: str, kind: str | None = None) -> None:
        self._findings.add(
            self._region.path,
            message,
            collection=self._collection,
            line=line,
            offset=offset,
            severity=severity,
            kind=kind,
        )

    def _tell(self, fault: Found, data: bytes, base: int, line: int) -> None:
        kind, offset, length, place = fault
        start = offset - base
        text = data[start : start + length]
        message = kernel.KINDS[kind]
        if kind == kernel.ESCAPED_ID and not self._strict:
            return
        if kind not in kernel.REMARKS and not text.endswith(b"\n"):
            message, place = f"a torn last line of {length} bytes: {message}", offset
        elif kind == kernel.UNUSUAL_ID:
            message = _refusal(text)
        severity = WARNING if kind in ODD or kind == kernel.ESCAPED_ID else ERROR
        self._add(message, line + data.count(b"\n", 0, start), place, severity, kernel.KINDS[kind])

    def _check_documents(self, data: bytes, base: int, line: int, left_out: set[int]) -> int:
        """Look into the documents of some lines; return the number of the next line."""
        place = base
        for text in data.split(b"\n"):
            if text and place not in left_out:
                self._check_document(text.removeprefix(BOM), line, place)
            place += len(text) + 1
            line += 1
        return line - 1

    def _check_document(self, text: bytes, line: int, place: int) -> None:
        if len(text) > LONG:
            message = f"a line of {len(text)} bytes: other programs may read no line of more than {LONG}"
            self._add(message, line, place, WARNING)
        try:
            document = load(text)
        except RepeatedKeyError as repeated:
            self._add(str(repeated), line, place, ERROR, "a key more than once in one object")
            return
        except ValueError:
            return  # a blank line
        if self._strict and not text.startswith(_COMPACT):
            message = f"does not begin with {_COMPACT.decode()}, without which zippy makes no index"
            self._add(message, line, place, WARNING, message)
        wrong = self._check_schema(document) if self._check_schema else None
        if wrong:
            self._add(wrong, line, place, WARNING, "breaks the schema")

    def _check_ids(self) -> None:
        for id in all_ids(self.table):
            if id.partition(".")[0].lower() in DEVICES or id.endswith("."):
                self._tell_id(id, "no file can have this name on Windows")
        for id, other in same_but_for_case(self.table):
            self._tell_id(id, f"differs only in upper and lower case from {other!r:.100}")

    def _tell_id(self, id: str, kind: str) -> None:
        span = self.table.span(id)
        self._add(f"the id {id!r:.100}: {kind}", None, span and span[0], WARNING, kind.partition(" from")[0])


def _refusal(text: bytes) -> str:
    """Return why the id of a line would not be written."""
    try:
        format.check_id(load(text.removeprefix(BOM))[format.ID])
    except UnsupportedError as error:
        return error.message
    except RepeatedKeyError:
        pass
    return kernel.KINDS[kernel.UNUSUAL_ID]


def _line_numbers(region: Region, places: list[int]) -> dict[int, int]:
    """Return the numbers of the lines that begin at some places, which are sorted."""
    numbers: dict[int, int] = {}
    base, line = 0, 1
    for block in region.blocks() if places else ():
        end, done = base + len(block), 0
        for place in places[bisect_left(places, base) : bisect_left(places, end)]:
            line += block.count(b"\n", done, place - base)
            done = place - base
            numbers[place] = line
        line += block.count(b"\n", done)
        base = end
    return numbers


def all_ids(table: Table) -> Iterator[str]:
    """Yield all ids of a table."""
    for start in range(0, table.n, CHUNK):
        yield from table.ids(start, start + CHUNK)


def same_but_for_case(table: Table) -> Iterator[tuple[str, str]]:
    """Yield pairs of ids that are one name to file systems that do not tell upper from lower case."""
    folded: dict[str, str] = {}
    for id in all_ids(table):
        lower = id.casefold()
        if lower != id:
            other = lower if table.has(lower) else folded.setdefault(lower, id)
            if other != id:
                yield id, other
