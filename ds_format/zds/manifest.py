"""zds.json and manifest.json: facts about a store and a collection, for other programs. No reader needs them."""

from __future__ import annotations

import contextlib
import json
import os
import time
from typing import Any

from ..body.lock import Lock, now
from ..errors import BusyError, DsError, FormatError
from ..kernels.files import files
from . import format
from .documents import decoder
from .faults import ERROR, WARNING, Faults, Findings, load_object
from .json_schemas import json_schema, wrong_values
from .roots import Folder, StoreRoot

MAX_SIZE = 1 << 24
"""Maximum size of such a file, in bytes."""
WAITS = 100
PAUSE = 0.02
"""Number of tries, and seconds between them, while another process writes zds.json."""
Facts = dict[str, Any]


def read(place: StoreRoot, name: str, faults: Faults) -> Facts | None:
    """Return the contents of a file; an empty dict if it does not exist, None if it cannot be read."""
    try:
        file = place.open(name)
        if file is None:
            return {}
        try:
            if file.size > MAX_SIZE:
                raise FormatError(f"found {file.size} bytes, expected at most {MAX_SIZE}")
            return decoder.one(file.read(0, file.size).removeprefix(format.BOM))
        except FormatError as error:
            raise error.at(path=file.name)
    except DsError as error:
        faults.report(error.path or f"{place.path}/{name}", f"{error.message}; not used")
        return None


def read_manifest(place: StoreRoot, collection: str, faults: Faults) -> Facts | None:
    """Return manifest.json of a collection; as `read`."""
    name = format.manifest_name(collection)
    found = read(place, name, faults)
    if found:
        _note_other_collection(f"{place.path}/{name}", found, collection, faults)
    return found


def _note_other_collection(path: str, manifest: Facts, collection: str, faults: Faults | Findings) -> None:
    named = manifest.get("collection", collection)
    if named != collection:
        faults.note(path, f"found the collection {named!r:.100}, expected {collection!r}, as the folder says")


def read_store(place: StoreRoot, faults: Faults) -> Facts | None:
    """Return zds.json; as `read`."""
    found = read(place, format.STORE_FILE, faults)
    if not found:
        return found
    path = f"{place.path}/{format.STORE_FILE}"
    version = found.get("version", format.STORE_VERSION)
    if str(version).partition(".")[0] != format.STORE_VERSION.partition(".")[0]:
        faults.report(path, f"found version {version!r:.100} of the format, expected {format.STORE_VERSION}")
    listed = found.get("collections")
    if isinstance(listed, dict) and listed:
        there = set(place.collections())
        for name in [name for name in listed if name not in there][:10]:
            faults.note(path, f"there is no collection {name!r:.100}")
    return found


def write_manifest(place: Folder, collection: str, old: Facts, count: int, is_strict: bool, durable: bool) -> None:
    """Write manifest.json of a collection. Keys that the format does not define are kept.

    Parameters
    ----------
    place : Folder
    collection : str
    old : dict
        Its contents so far.
    count : int
        Number of documents.
    is_strict : bool
        Whether all documents have one schema. Otherwise schemas are not counted: their number is the one that another
        program wrote, or 0.
    durable : bool
    """
    n_schemas = old.get("schema_count")
    n_schemas = n_schemas if type(n_schemas) is int and n_schemas > 0 else 0
    facts = {
        "version": format.MANIFEST_VERSION,
        "collection": collection,
        "strict": is_strict,
        "created_at": now(),
        "doc_count": count,
        "schema_count": min(count, 1 if is_strict else n_schemas),
    }
    kept = {key: old[key] for key in ("version", "created_at") if isinstance(old.get(key), str)}
    _write(place, format.manifest_name(collection), facts | old | facts | kept, durable)


def write_store(
    place: Folder, name: str, counts: dict[str, int], durable: bool, facts_to_add: Facts | None = None
) -> None:
    """Write zds.json. Keys that the format does not define are kept, and so are the counts of other collections.

    Parameters
    ----------
    place : Folder
    name : str
        Name of the store, unless it has one already.
    counts : dict
        Current numbers of documents, by collection.
    durable : bool
    facts_to_add : dict, optional
        Further facts, which replace older ones.
    """
    lock = _wait_for_lock(place)
    try:
        old = read_store(place, Faults())
        if old is None:
            return
        entries = old.get("collections")
        entries = entries if isinstance(entries, dict) else {}
        counted = {}
        for collection in filter(format.is_name, place.collections()):
            entry = entries.get(collection)
            entry = entry if isinstance(entry, dict) else {}
            if collection in counts or "count" not in entry:
                entry = {**entry, "count": counts.get(collection, _count_of(place, collection))}
            counted[collection] = entry
        stamp = now()
        name = os.fsencode(name).decode("utf-8", "replace")  # the name of a file may not be valid Unicode
        facts = {"$schema": format.SCHEMA_URL, "version": format.STORE_VERSION, "name": name, "created": stamp}
        facts |= old | (facts_to_add or {}) | {"modified": stamp, "collections": counted}
        _write(place, format.STORE_FILE, facts, durable)
    finally:
        lock.release(remove=True)


def _wait_for_lock(place: Folder) -> Lock:
    """Lock zds.json. Writers of other collections hold the lock for moments only."""
    path = place.locate(format.STORE_LOCK)
    for _ in range(WAITS):
        with contextlib.suppress(BusyError):
            return Lock(path, place.path, in_own_folder=True)
        time.sleep(PAUSE)
    return Lock(path, place.path, in_own_folder=True)


def _count_of(place: Folder, collection: str) -> int:
    """Return the number of documents in the manifest of a collection, or 0."""
    count = (read(place, format.manifest_name(collection), Faults()) or {}).get("doc_count")
    return count if isinstance(count, int) else 0


def _write(place: Folder, name: str, facts: Facts, durable: bool) -> None:
    text = json.dumps(facts, indent=2, ensure_ascii=False) + "\n"
    path = place.locate(name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    files.write_file(path, [text.encode()], True, durable)


def check_manifest(place: StoreRoot, collection: str, findings: Findings) -> dict[str, Any] | None:
    """Check manifest.json of a collection, except its counts, and return it, or None if it cannot be used."""
    manifest = None
    with findings.caught(place.path):
        file = place.open(format.manifest_name(collection))
        manifest = None if file is None else load_object(file, findings, MAX_SIZE)
        if file is not None and manifest is not None:
            for key, wrong in wrong_values(manifest, json_schema(format.MANIFEST)):
                findings.note(file.name, f"{key}: {wrong}")
            _note_other_collection(file.name, manifest, collection, findings)
    return manifest


def check_count(
    place: StoreRoot, collection: str, manifest: dict[str, Any] | None, n_documents: int, findings: Findings
) -> None:
    """Compare the number of documents in manifest.json with the actual one."""
    listed = (manifest or {}).get("doc_count", n_documents)
    file = place.open(format.manifest_name(collection)) if type(listed) is int and listed != n_documents else None
    if file is not None:
        findings.note(file.name, f"doc_count: found {listed!r:.100}, there are {n_documents}")


def check_store_file(place: StoreRoot, n_documents: dict[str, int | None], findings: Findings) -> None:
    """Check zds.json, and compare its counts with the actual numbers; None if a collection could not be counted."""
    file = place.open(format.STORE_FILE)
    entry = None if file is None else load_object(file, findings, MAX_SIZE)
    if file is None or entry is None:
        return
    for key, wrong in wrong_values(entry, json_schema(format.STORE_FILE)):
        severity = ERROR if key == "version" else WARNING
        findings.report(file.name, f"{key:.200}: {wrong}", severity=severity, kind=f"a wrong {key:.7}")
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
        findings.note(file.name, message, kind="a listed collection")
