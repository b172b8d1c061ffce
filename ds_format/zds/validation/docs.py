"""All that can be wrong with the folder `docs` of a collection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import DsError
from .. import format
from ..docs import ORDER
from ..documents import decoder
from ..places import Place, Region, is_litter
from .findings import ERROR, WARNING, Findings, load_region


def check_docs(place: Place, collection: str, lines: Callable[[str], bytes | None], findings: Findings) -> list[str]:
    """Check the files of a folder; return the ids that they have.

    Parameters
    ----------
    place : Place
    collection : str
    lines : callable
        Takes an id, and returns its line in data.jsonl, if there is one.
    findings : Findings
    """
    folder = format.docs_name(collection) + "/"
    found = []
    for name in place.names(folder):
        path = f"{place.path}{'!' if place.kind == 'archive' else '/'}{name}"
        id = name.removeprefix(folder).removesuffix(format.DOCUMENT_SUFFIX)
        if name.endswith(".tmp") or is_litter(name):
            continue
        if not name.endswith(format.DOCUMENT_SUFFIX) or not format.is_document_name(id):
            findings.add(path, "not the name of a document; it is left out", collection=collection)
        else:
            with findings.of(path, collection):
                region = place.open(name)
                if region is not None and _check_document(region, id, lines, findings, collection):
                    found.append(id)
    _check_order(place, collection, set(found), findings)
    return found


def _check_document(
    region: Region, id: str, lines: Callable[[str], bytes | None], findings: Findings, collection: str
) -> bool:
    document = load_region(region, findings, collection)
    if document is None:
        return False
    if document.get(format.ID, id) != id:
        message = f"found the {format.ID} {document[format.ID]!r:.100}, expected {id!r} as the name of the file says"
        findings.add(region.path, message, collection=collection)
    line = lines(id)
    if line is not None and _differ({format.ID: id, **document}, line):
        message = f"differs from the document {id!r} in {format.DATA}, which counts"
        findings.add(region.path, message, collection=collection, severity=WARNING)
    return True


def _differ(document: dict[str, Any], line: bytes) -> bool:
    try:
        return document != decoder.one(line)
    except DsError:
        return True


def _check_order(place: Place, collection: str, ids: set[str], findings: Findings) -> None:
    """Check the list of ids that zippy keeps; it is only a hint for their order."""
    region = place.open(f"{format.COLLECTIONS}/{collection}/{format.META}/{ORDER}")
    if region is None:
        return
    told = region.read(0, region.size).decode("utf-8", "replace").splitlines()
    for number, id in enumerate(told, 1):
        if not format.is_document_name(id):
            message, severity = f"{id!r:.100} is no id", ERROR
        elif id not in ids:
            message, severity = f"there is no document {id!r:.100}", WARNING
        else:
            continue
        findings.add(
            region.path, message, collection=collection, line=number, severity=severity, kind=f"an id of {ORDER}"
        )  # fmt: skip
    missing = ids.difference(told)
    if missing:
        message = f"{min(missing)!r:.100} is not listed, nor are {len(missing) - 1} more"
        findings.add(region.path, message, collection=collection, severity=WARNING)
