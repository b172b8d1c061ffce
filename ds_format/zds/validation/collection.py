"""The check of one collection: its files, each by itself and against one another."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...base.progress import Advance
from ...errors import FormatError
from .. import format
from ..places import Place, Region
from ..reader import open_index
from .docs import check_docs
from .findings import ERROR, WARNING, Findings
from .index import Verdict, check_index
from .lines import LineCheck
from .metadata import check_count, check_manifest, schema_check


class Counts(NamedTuple):
    """What a collection has.

    Attributes
    ----------
    documents : int
        Documents that are read: the last line of each id that a sound index does not leave out, and those that only
        `docs` has.
    live : int
        Lines of data.jsonl that are the last one of their id.
    superseded : int
        Lines of data.jsonl whose id comes again later.
    absent : int
        Live lines that the index leaves out: deleted, for those who believe it.
    """

    documents: int
    live: int
    superseded: int
    absent: int


def check_collection(place: Place, name: str, findings: Findings, strict: bool, advance: Advance) -> Counts:
    """Check a collection, and return what it has.

    Raises
    ------
    DsError, OSError
        If data.jsonl cannot be read to its end.
    """
    manifest = check_manifest(place, name, findings)
    data = place.open(format.data_name(name))
    lines = None if data is None else _check_lines(data, name, manifest, findings, strict, advance)
    verdict = _check_index(place, name, data, lines, findings)
    if lines is not None and lines.table.n_dead:
        lines.tell_superseded(WARNING if verdict.is_sound else ERROR)

    def line_of(id: str) -> bytes | None:
        span = None if lines is None else lines.table.span(id)
        return None if data is None or span is None else data.read(span[0], sum(span))

    docs = check_docs(place, name, line_of, findings)
    n_only_docs = len(docs) if lines is None else sum(not lines.table.has(id) for id in docs)
    live, superseded = (0, 0) if lines is None else (len(lines.table), lines.table.n_dead)
    documents = live + n_only_docs - (verdict.n_absent if verdict.is_sound else 0)
    check_count(place, name, manifest, documents, findings)
    return Counts(documents, live, superseded, verdict.n_absent)


def _check_lines(
    data: Region, name: str, manifest: dict[str, Any] | None, findings: Findings, strict: bool, advance: Advance
) -> LineCheck:
    lines = LineCheck(data, findings, name, strict=strict, check_schema=schema_check(manifest))
    lines.run(advance)
    return lines


def _check_index(place: Place, name: str, data: Region | None, lines: LineCheck | None, findings: Findings) -> Verdict:
    verdict = Verdict()
    with findings.of(place.path, name):
        region, is_own = open_index(place, name)
        if region is not None and (data is None or lines is None):
            raise FormatError(f"there is no {format.DATA} beside it", path=region.path)
        if region is not None and data is not None and lines is not None:
            verdict = check_index(region, data, lines.table, findings, name, is_own)
    return verdict
