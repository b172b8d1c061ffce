"""Validation of a store: all faults of its collections, and of the store as a whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..base.progress import Advance, Progress
from ..body.body import Body
from ..errors import FormatError
from . import format
from .checks import LineCheck, Verdict, check_docs, check_index
from .documents import difference, schema_of
from .findings import ERROR, WARNING, Finding, Findings, load_object
from .json_schemas import json_schema, wrong_values
from .line_reader import open_index
from .manifest import MAX_SIZE
from .roots import StoreRoot
from .store_access import open_store, root_of


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
    with findings.of(os.fspath(path)):
        place = open_store(root_of(path), strict=None)
        try:
            there = place.collections()
            for name in there if collection is None else [collection]:
                if format.is_name(name):
                    with findings.of(place.path, name):
                        counts[name] = check_collection(place, name, findings, strict, advance)
                else:
                    findings.add(place.path, f"{name!r:.100} cannot be the name of a collection", collection=name)
            with findings.of(place.path):
                check_store_file(
                    place, {key: counts[key].documents if key in counts else None for key in there}, findings
                )
            _check_others(place, findings)
            for one in place.unused():
                findings.add(place.path_of(one.name), one.error.message)
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
        Called with the bytes done and the bytes in total of all lines found so far.

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
            findings.add(path, "left over from writing that was interrupted", severity=WARNING)
        elif last.startswith(format.TORN):
            findings.add(path, f"the torn end of {format.DATA}, which was cut off", severity=WARNING)
        elif place.kind == "archive" and not name.startswith(f"{format.COLLECTIONS}/"):
            with findings.of(path):
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
    manifest = check_manifest(place, name, findings)
    data = place.open(format.data_name(name))
    lines = None if data is None else _check_lines(data, name, manifest, findings, strict, advance)
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
    check_count(place, name, manifest, documents, findings)
    return Counts(documents, live, superseded, verdict.n_absent)


def _check_lines(
    data: Body, name: str, manifest: dict[str, Any] | None, findings: Findings, strict: bool, advance: Advance
) -> LineCheck:
    lines = LineCheck(data, findings, name, strict=strict, check_schema=schema_check(manifest))
    lines.run(advance)
    return lines


def _check_index(
    place: StoreRoot, name: str, data: Body | None, lines: LineCheck | None, findings: Findings
) -> Verdict:
    verdict = Verdict()
    with findings.of(place.path, name):
        file, is_own = open_index(place, name)
        if file is not None and (data is None or lines is None):
            raise FormatError(f"there is no {format.DATA} next to it", path=file.name)
        if file is not None and data is not None and lines is not None:
            verdict = check_index(file, data, lines.table, findings, name, is_own)
    return verdict


def check_manifest(place: StoreRoot, collection: str, findings: Findings) -> dict[str, Any] | None:
    """Check manifest.json of a collection, except its counts, and return it, or None if it cannot be used."""
    manifest = None
    with findings.of(place.path, collection):
        file = place.open(format.manifest_name(collection))
        manifest = None if file is None else load_object(file, findings, collection, MAX_SIZE)
        if file is not None and manifest is not None:
            for wrong in _wrong_values(manifest, collection):
                findings.add(file.name, wrong, collection=collection, severity=WARNING)
    return manifest


def _wrong_values(manifest: dict[str, Any], collection: str) -> Iterator[str]:
    for key, wrong in wrong_values(manifest, json_schema(format.MANIFEST)):
        yield f"{key}: {wrong}"
    listed = manifest.get("collection", collection)
    if listed != collection:
        yield f"collection: found {listed!r:.100}, expected {collection!r} as the folder says"


def check_count(
    place: StoreRoot, collection: str, manifest: dict[str, Any] | None, n_documents: int, findings: Findings
) -> None:
    """Compare the number of documents in manifest.json with the actual one."""
    listed = (manifest or {}).get("doc_count", n_documents)
    file = place.open(format.manifest_name(collection)) if type(listed) is int and listed != n_documents else None
    if file is not None:
        message = f"doc_count: found {listed!r:.100}, there are {n_documents}"
        findings.add(file.name, message, collection=collection, severity=WARNING)


def check_store_file(place: StoreRoot, n_documents: dict[str, int | None], findings: Findings) -> None:
    """Check zds.json, and compare its counts with the actual numbers; None if a collection could not be counted."""
    file = place.open(format.STORE_FILE)
    entry = None if file is None else load_object(file, findings, None, MAX_SIZE)
    if file is None or entry is None:
        return
    for key, wrong in wrong_values(entry, json_schema(format.STORE_FILE)):
        severity = ERROR if key == "version" else WARNING
        findings.add(file.name, f"{key:.200}: {wrong}", severity=severity, kind=f"a wrong {key:.7}")
    listed = entry.get("collections", {})
    if not isinstance(listed, dict):
        return
    for name, value in listed.items():
        count = value.get("count") if isinstance(value, dict) else None
        count = count if type(count) is int else None
        if name not in n_documents:
            message = f"there is no collection {name!r:.100}"
        elif count not in {None, n_documents[name]} and n_documents[name] is not None:
            message = f"collection {name!r:.100}: count: found {count!r:.100}, there are {n_documents[name]}"
        else:
            continue
        findings.add(file.name, message, severity=WARNING, kind="a listed collection")


def schema_check(manifest: dict[str, Any] | None) -> Callable[[dict[str, Any]], str | None] | None:
    """Return a function that compares documents with the first one, if the manifest requires one schema."""
    if not manifest or manifest.get("strict") is not True:
        return None
    expected: list[Any] = []

    def check(document: dict[str, Any]) -> str | None:
        found = schema_of(document)
        if not expected:
            expected.append(found)
        wrong = difference(expected[0], found)
        return wrong and f"breaks the schema of the first document: {wrong}"

    return check
