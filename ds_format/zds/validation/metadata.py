"""All that can be wrong with zds.json and manifest.json."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .. import format, schemas
from .. import manifest as facts
from ..json_schemas import json_schema, wrong_values
from ..places import Place
from .findings import ERROR, WARNING, Findings, load_region


def check_manifest(place: Place, collection: str, findings: Findings) -> dict[str, Any] | None:
    """Check manifest.json of a collection, but for its counts; return it, if it can be used."""
    manifest = None
    with findings.of(place.path, collection):
        region = place.open(format.manifest_name(collection))
        manifest = None if region is None else load_region(region, findings, collection, facts.MAX_SIZE)
        if region is not None and manifest is not None:
            for wrong in _wrong_values(manifest, collection):
                findings.add(region.path, wrong, collection=collection, severity=WARNING)
    return manifest


def _wrong_values(manifest: dict[str, Any], collection: str) -> Iterator[str]:
    for key, wrong in wrong_values(manifest, json_schema(format.MANIFEST)):
        yield f"{key}: {wrong}"
    told = manifest.get("collection", collection)
    if told != collection:
        yield f"collection: found {told!r:.100}, expected {collection!r} as the folder says"


def check_count(
    place: Place, collection: str, manifest: dict[str, Any] | None, n_documents: int, findings: Findings
) -> None:
    """Check how many documents manifest.json tells of."""
    told = (manifest or {}).get("doc_count", n_documents)
    region = place.open(format.manifest_name(collection)) if type(told) is int and told != n_documents else None
    if region is not None:
        message = f"doc_count: found {told!r:.100}, there are {n_documents}"
        findings.add(region.path, message, collection=collection, severity=WARNING)


def check_store_file(place: Place, n_documents: dict[str, int | None], findings: Findings) -> None:
    """Check zds.json against the number of documents of each collection; None: they could not be counted."""
    region = place.open(format.STORE_FILE)
    entry = None if region is None else load_region(region, findings, None, facts.MAX_SIZE)
    if region is None or entry is None:
        return
    for key, wrong in wrong_values(entry, json_schema(format.STORE_FILE)):
        severity = ERROR if key == "version" else WARNING
        findings.add(region.path, f"{key:.200}: {wrong}", severity=severity, kind=f"a wrong {key:.7}")
    told = entry.get("collections", {})
    if not isinstance(told, dict):
        return
    for name, value in told.items():
        count = value.get("count") if isinstance(value, dict) else None
        count = count if type(count) is int else None
        if name not in n_documents:
            message = f"there is no collection {name!r:.100}"
        elif count not in {None, n_documents[name]} and n_documents[name] is not None:
            message = f"collection {name!r:.100}: count: found {count!r:.100}, there are {n_documents[name]}"
        else:
            continue
        findings.add(region.path, message, severity=WARNING, kind="a collection that is told of")


def schema_check(manifest: dict[str, Any] | None) -> Callable[[dict[str, Any]], str | None] | None:
    """Return what compares documents with the first one, if the manifest says that all have one schema."""
    if not manifest or manifest.get("strict") is not True:
        return None
    expected: list[Any] = []

    def check(document: dict[str, Any]) -> str | None:
        found = schemas.schema_of(document)
        if not expected:
            expected.append(found)
        wrong = schemas.difference(expected[0], found)
        return wrong and f"breaks the schema of the first document: {wrong}"

    return check
