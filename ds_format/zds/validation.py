"""Validation of a store: all faults of its files, of its collections, and of the store as a whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..base.progress import Advance, Progress
from ..body.body import Body
from ..errors import DsError, FormatError, UnsupportedError
from ..kernels.zds import lines as kernel
from ..kernels.zds.zdx import Table
from . import format, index_bin, manifest
from .docs import wrong_lines
from .documents import decoder, difference, schema_of
from .faults import ERROR, LISTED, WARNING, Faults, Finding, Findings, RepeatedKeyError, Silence, load, load_object
from .line_reader import open_index
from .lines import ODD, LineFault, Scan, all_ids, line_numbers, read_line
from .roots import StoreRoot, lines_of
from .store_access import open_store, root_of

DEVICES = frozenset(["con", "prn", "aux", "nul", *(f"{name}{i}" for name in ("com", "lpt") for i in range(10))])
"""Names that no file can have on Windows, with any suffix."""
LONG = 100_000_000
"""Maximum bytes of a line that the specification of the format recommends."""
_COMPACT = b'{"' + format.ID.encode() + b'":"'


class Report(NamedTuple):
    """Result of validating a store.

    Attributes
    ----------
    findings : list of Finding
    counts : dict
        Name of the collection → counts.
    """

    findings: list[Finding]
    counts: dict[str, Counts]


def examine(
    path: str | os.PathLike[str],
    collection: str | None = None,
    *,
    strict: bool = False,
    progress: Progress | None = None,
) -> Report:
    r"""Read a whole store, and return its faults and its counts.

    Parameters
    ----------
    path, collection, strict, progress
        As for `validate`.

    Examples
    --------
    >>> import os
    >>> from ds_format.zds.validation import examine
    >>> os.makedirs("counted/collections/train/meta")
    >>> with open("counted/collections/train/meta/data.jsonl", "w") as file:
    ...     size = file.write('{"_id":"a","x":1}\n{"_id":"b"}\n{"_id":"a","x":2}\n')
    >>> examine("counted").counts
    {'train': Counts(documents=2, live=2, superseded=1, absent=0)}
    """
    findings = Findings()
    counts: dict[str, Counts] = {}
    advance = Advance(progress)
    with findings.caught(os.fspath(path)):
        place = open_store(root_of(path), strict=None)
        try:
            there = place.collections()
            for name in there if collection is None else [collection]:
                own = findings.within(name)
                if format.is_name(name):
                    with own.caught(place.path):
                        counts[name] = check_collection(place, name, own, strict, advance)
                else:
                    own.report(place.path, f"{name!r:.100} cannot be the name of a collection")
            with findings.caught(place.path):
                manifest.check_store_file(
                    place, {key: counts[key].documents if key in counts else None for key in there}, findings
                )
            _check_others(place, findings)
            for one in place.unused():
                findings.report(place.path_of(one.name), one.error.message)
        finally:
            place.close()
    return Report(findings.listed(), counts)


def validate(
    path: str | os.PathLike[str],
    collection: str | None = None,
    *,
    strict: bool = False,
    progress: Progress | None = None,
) -> list[Finding]:
    r"""Read a whole store, and return all its faults. Nothing is changed.

    Memory is bounded by the index of the largest collection and its longest line.

    Parameters
    ----------
    path : str or PathLike
        A folder or an archive.
    collection : str, optional
        Check only this collection, and the store as a whole; by default all collections.
    strict : bool
        Also warn of content that is allowed, but not supported by all programs.
    progress : callable, optional
        Called with the number of bytes processed, and their total in all lines found so far.

    Returns
    -------
    list of Finding
        Empty if no fault is found. Faults of the store never raise an error.

    Examples
    --------
    >>> import os
    >>> from ds_format.zds.validation import validate
    >>> os.makedirs("store/collections/train/meta")
    >>> with open("store/collections/train/meta/data.jsonl", "w") as file:
    ...     size = file.write('{"_id":"a","x":1}\n{"_id":"b","x":NaN}\n')
    >>> for finding in validate("store"):
    ...     print(finding)
    store/collections/train/meta/data.jsonl: line 2, byte 33: NaN and Infinity are not JSON
    """
    return examine(path, collection, strict=strict, progress=progress).findings


def _check_others(place: StoreRoot, findings: Findings) -> None:
    """Report leftover files, and check that other files of an archive can be read."""
    for name in place.names():
        last = name.rpartition("/")[2]
        path = place.path_of(name)
        if last.endswith(".tmp"):
            findings.note(path, "left over from writing that was interrupted")
        elif last.startswith(format.TORN):
            findings.note(path, f"the torn end of {format.DATA}, which was cut off")
        elif place.kind == "archive" and not name.startswith(f"{format.COLLECTIONS}/"):
            with findings.caught(path):
                file = place.open(name)
                for _ in file.blocks() if file else ():
                    pass


class Counts(NamedTuple):
    """Counts of a collection.

    Attributes
    ----------
    documents : int
        Number of documents that are read: the last line of each id, unless a valid index deletes it, and documents that
        are only in `docs`.
    live : int
        Number of lines of data.jsonl that are the last one of their id.
    superseded : int
        Number of lines of data.jsonl whose id occurs again later.
    absent : int
        Number of live lines without an entry in the index: deleted for programs that use it.
    """

    documents: int
    live: int
    superseded: int
    absent: int


def check_collection(place: StoreRoot, name: str, findings: Findings, strict: bool, advance: Advance) -> Counts:
    """Check a collection, and return its counts.

    Raises
    ------
    DsError, OSError
        If data.jsonl cannot be read completely.
    """
    facts = manifest.check_manifest(place, name, findings)
    data = place.open(format.data_name(name))
    lines = None if data is None else _check_lines(data, facts, findings, strict, advance)
    verdict = _check_index(place, name, data, lines, findings)
    if lines is not None and lines.table.n_dead:
        lines.report_superseded(WARNING if verdict.is_sound else ERROR)

    def line_of(id: str) -> bytes | None:
        span = None if lines is None else lines.table.span(id)
        return None if data is None or span is None else data.read(*span)

    docs = check_docs(place, name, line_of, findings)
    n_only_docs = len(docs) if lines is None else sum(not lines.table.has(id) for id in docs)
    live, superseded = (0, 0) if lines is None else (len(lines.table), lines.table.n_dead)
    documents = live + n_only_docs - (verdict.n_absent if verdict.is_sound else 0)
    manifest.check_count(place, name, facts, documents, findings)
    return Counts(documents, live, superseded, verdict.n_absent)


def _check_lines(
    data: Body, facts: dict[str, Any] | None, findings: Findings, strict: bool, advance: Advance
) -> LineCheck:
    lines = LineCheck(data, findings, strict=strict, check_schema=schema_check(facts))
    advance.total += data.size
    lines.run(Silence(), advance)
    return lines


def _check_index(
    place: StoreRoot, name: str, data: Body | None, lines: LineCheck | None, findings: Findings
) -> Verdict:
    verdict = Verdict()
    with findings.caught(place.path):
        file, is_own = open_index(place, name)
        if file is not None and (data is None or lines is None):
            raise FormatError(f"there is no {format.DATA} next to it", path=file.name)
        if file is not None and data is not None and lines is not None:
            verdict = check_index(file, data, lines.table, findings, is_own)
    return verdict


def schema_check(facts: dict[str, Any] | None) -> Callable[[dict[str, Any]], str | None] | None:
    """Return a function that compares documents with the first one, if the manifest requires one schema."""
    if not facts or facts.get("strict") is not True:
        return None
    expected: list[Any] = []

    def check(document: dict[str, Any]) -> str | None:
        found = schema_of(document)
        if not expected:
            expected.append(found)
        wrong = difference(expected[0], found)
        return wrong and f"breaks the schema of the first document: {wrong}"

    return check


class LineCheck(Scan):
    """The check of one data.jsonl.

    Parameters
    ----------
    file : Body
        The file.
    findings : Findings
    strict : bool
        Also warn of content that is allowed, but not supported by all programs.
    check_schema : callable, optional
        Takes a document, and returns a description of the fault in its schema, or None.

    Attributes
    ----------
    table : Table
        The ids, each with the position of its last line.
    superseded : list of tuple
        The first lines whose id an earlier line has.
    """

    def __init__(
        self,
        file: Body,
        findings: Findings,
        *,
        strict: bool = False,
        check_schema: Callable[[dict[str, Any]], str | None] | None = None,
    ):
        super().__init__(file)
        self.superseded: list[LineFault] = []
        self._silent = set() if strict else {kernel.ESCAPED_ID}
        self._findings, self._strict, self._check_schema = findings, strict, check_schema

    def report_superseded(self, severity: str) -> None:
        """Report the lines that are no longer documents, with the numbers of both lines."""
        numbers = line_numbers(self._file, sorted(place for fault in self.superseded for place in (fault[1], fault[3])))
        for _, offset, _, earlier in self.superseded:
            message = f"has the id of line {numbers[earlier]}, which is no longer a document"
            self._add(message, numbers[offset], offset, severity)
        more = self.table.n_dead - len(self.superseded)
        if more:
            self._add(f"{more} more lines have the id of an earlier one", None, None, severity)

    def _add(self, message: str, line: int | None, offset: int | None, severity: str, kind: str | None = None) -> None:
        self._findings.report(self._file.name, message, line, offset, severity=severity, kind=kind)

    def _report(self, fault: LineFault, data: bytes, base: int, faults: Faults) -> None:
        kind, offset, length, place = fault
        if kind == kernel.SUPERSEDED:
            self.superseded += [fault] if len(self.superseded) < LISTED else []
            return
        start = offset - base
        text = data[start : start + length]
        message = kernel.KINDS[kind]
        if kind not in kernel.REMARKS and not text.endswith(b"\n"):
            message, place = f"a torn last line of {length} bytes: {message}", offset
        elif kind == kernel.UNUSUAL_ID:
            message = _refusal(text)
        severity = WARNING if kind in ODD or kind == kernel.ESCAPED_ID else ERROR
        self._add(message, self._line + data.count(b"\n", 0, start), place, severity, kernel.KINDS[kind])

    def _scanned(self, data: bytes, base: int, left_out: set[int]) -> None:
        for line, text in enumerate(data.split(b"\n"), self._line):
            if text and base not in left_out:
                self._check_document(text.removeprefix(format.BOM), line, base)
            base += len(text) + 1

    def _check_document(self, text: bytes, line: int, place: int) -> None:
        if len(text) > LONG:
            message = f"a line of {len(text)} bytes: other programs may only read lines of at most {LONG}"
            self._add(message, line, place, WARNING)
        try:
            document = load(text)
        except RepeatedKeyError as repeated:
            self._add(str(repeated), line, place, ERROR, "a key more than once in one object")
            return
        except ValueError:
            return  # a blank line
        if self._strict and not text.startswith(_COMPACT):
            message = f"does not begin with {_COMPACT.decode()}, without which zippy does not write an index"
            self._add(message, line, place, WARNING, message)
        wrong = self._check_schema(document) if self._check_schema else None
        if wrong:
            self._add(wrong, line, place, WARNING, "breaks the schema")

    def _end(self, faults: Faults) -> None:
        """Compare the ids with one another. The table is not sorted, which would lose dead entries."""
        for id in all_ids(self.table):
            if id.partition(".")[0].lower() in DEVICES or id.endswith("."):
                self._report_id(id, "no file can have this name on Windows")
        for id, other in same_but_for_case(self.table):
            self._report_id(id, f"differs only in upper and lower case from {other!r:.100}")

    def _report_id(self, id: str, kind: str) -> None:
        span = self.table.span(id)
        self._add(f"the id {id!r:.100}: {kind}", None, span and span[0], WARNING, kind.partition(" from")[0])


def _refusal(text: bytes) -> str:
    """Return the reason why the id of a line would not be written."""
    try:
        format.check_id(load(text.removeprefix(format.BOM))[format.ID])
    except UnsupportedError as error:
        return error.message
    except RepeatedKeyError:
        pass
    return kernel.KINDS[kernel.UNUSUAL_ID]


def same_but_for_case(table: Table) -> Iterator[tuple[str, str]]:
    """Iterate over pairs of ids that are the same name on file systems that ignore case."""
    folded: dict[str, str] = {}
    for id in all_ids(table):
        lower = id.casefold()
        if lower != id:
            other = lower if table.has(lower) else folded.setdefault(lower, id)
            if other != id:
                yield id, other


class Verdict(NamedTuple):
    """Result of checking an index.

    Attributes
    ----------
    is_sound : bool
        Whether each of its entries is the position of a line. If so, the ids without an entry are deleted.
    n_absent : int
        Number of ids that have a line before the end of the index, but no entry.
    """

    is_sound: bool = False
    n_absent: int = 0


def check_index(file: Body, data: Body, lines: Table, findings: Findings, is_own: bool) -> Verdict:
    """Compare an index with the lines.

    Parameters
    ----------
    file, data : Body
        index.bin and data.jsonl.
    lines : Table
        The ids according to data.jsonl.
    findings : Findings
    is_own : bool
        Whether a writer set the index aside, because it adds lines.
    """
    try:
        table = index_bin.decode(file.read(0, file.size), data.size)
        index_bin.check(table, 0 if is_own else data.size)
    except FormatError as error:
        findings.report(file.name, error.message)
        return Verdict()
    is_sound = True
    for i in range(table.n):
        wrong = _wrong(table, i, data, lines)
        if wrong:
            is_sound = False
            findings.report(file.name, f"entry {i}: {wrong}", kind="an entry that is not the place of a line")
    end = table.end + (data.read(table.end, min(1, data.size - table.end)) == b"\n")
    if is_own:
        findings.note(file.name, "was set aside by a writer, which is still writing or was killed")
    elif end < data.size:
        findings.note(file.name, f"is older than data.jsonl: it ends at byte {end} of {data.size}")
    n_absent, first = _absent(table, lines, end)
    if n_absent and is_sound:
        more = f" and {n_absent - 1} more" if n_absent > 1 else ""
        findings.note(file.name, f"has no entry for {first!r:.100}{more}, deleted for readers that use it")
    return Verdict(is_sound, n_absent)


def _wrong(table: Table, i: int, data: Body, lines: Table) -> str | None:
    """Return the fault of an entry, or None. It must be the last line of its id before the end of the index."""
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


def _is_line(data: Body, offset: int, length: int, id: str) -> bool:
    """Return whether bytes are the whole line of an id, with or without its line feed."""
    line = read_line(data, offset, length)
    try:
        return line is not None and decoder.one(line).get(format.ID) == id
    except FormatError:
        return False


def _absent(table: Table, lines: Table, end: int) -> tuple[int, str]:
    """Return the number of ids that have a line before the end of an index but no entry, and the first of them."""
    n, first = 0, ""
    for id in all_ids(lines):
        span = None if table.has(id) else lines.span(id)
        if span is not None and span[0] < end:
            n, first = n + 1, first or id
    return n, first


def check_docs(
    place: StoreRoot, collection: str, lines: Callable[[str], bytes | None], findings: Findings
) -> list[str]:
    """Check the files of the folder `docs`; return the ids of valid ones.

    Parameters
    ----------
    place : StoreRoot
    collection : str
    lines : callable
        Takes an id, and returns its line in data.jsonl, or None.
    findings : Findings
    """
    folder = format.docs_name(collection) + "/"
    found = []
    for name in place.names(folder):
        path = place.path_of(name)
        id = name.removeprefix(folder).removesuffix(format.DOCUMENT_SUFFIX)
        if name.endswith(".tmp") or format.is_litter(name):
            continue
        if not name.endswith(format.DOCUMENT_SUFFIX) or not format.is_document_name(id):
            findings.report(path, "not the name of a document; it is left out")
        else:
            with findings.caught(path):
                file = place.open(name)
                if file is not None and _check_document(file, id, lines, findings):
                    found.append(id)
    _check_order(place, collection, set(found), findings)
    return found


def _check_document(file: Body, id: str, lines: Callable[[str], bytes | None], findings: Findings) -> bool:
    document = load_object(file, findings)
    if document is None:
        return False
    if document.get(format.ID, id) != id:
        message = f"found the {format.ID} {document[format.ID]!r:.100}, expected {id!r} as the name of the file says"
        findings.report(file.name, message)
    line = lines(id)
    if line is not None and _differ({format.ID: id, **document}, line):
        findings.note(file.name, f"differs from the document {id!r} in {format.DATA}, which counts")
    return True


def _differ(document: dict[str, Any], line: bytes) -> bool:
    try:
        return document != decoder.one(line)
    except DsError:
        return True


def _check_order(place: StoreRoot, collection: str, ids: set[str], findings: Findings) -> None:
    """Check the list of ids that zippy writes. It is only used for their order."""
    file = place.open(format.order_name(collection))
    if file is None or not file.size:
        return
    listed = lines_of(file)
    for number, id, is_id in wrong_lines(listed, ids):
        message, severity = f"{id!r:.100} is not an id", ERROR
        if is_id:
            message, severity = f"there is no document {id!r:.100}", WARNING
        findings.report(file.name, message, number, severity=severity, kind=f"an id of {format.ORDER}")
    missing = ids.difference(listed)
    if missing:
        findings.note(file.name, f"{min(missing)!r:.100} is not listed, nor are {len(missing) - 1} more")
