"""The rules of the format for what is written, and what the two halves of the reference program would read of it."""

from __future__ import annotations

import io
import json
import re
import struct
from pathlib import Path
from typing import Any

from . import oracle

ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,254}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
MANIFEST = {"version", "collection", "strict", "created_at", "doc_count", "schema_count"}


def broken(store: Path) -> list[str]:
    """Return which rules a store that was written here breaks; none of its collections is open."""
    files = oracle.files_of(store)
    found = [
        f"{name} is left over"
        for name in files
        if not name.startswith(".zds/") and (name.endswith((".tmp", "~")) or "/." in f"/{name}" or "torn" in name)
    ]
    collections = sorted({name.split("/")[1] for name in files if name.startswith("collections/")})
    counts = {}
    for collection in collections:
        folder = f"collections/{collection}/meta"
        if f"{folder}/data.jsonl" in files:
            data = files[f"{folder}/data.jsonl"]
            counts[collection] = data.count(b"\n")
            found += [f"{collection}: {fault}" for fault in _data(data)]
            found += [f"{collection}: {fault}" for fault in _index(files.get(f"{folder}/index.bin"), data)]
        else:
            counts[collection] = sum(name.startswith(f"collections/{collection}/docs/") for name in files)
        found += [f"{collection}: {fault}" for fault in _manifest(files, collection, counts[collection])]
    return found + _zds(files, counts)


def _data(data: bytes) -> list[str]:
    found = []
    if data and not data.endswith(b"\n"):
        found.append("no LF at the end")
    if b"\r" in data or data.startswith(b"\xef\xbb\xbf"):
        found.append("CR or BOM")
    ids = []
    for i, line in enumerate(data.split(b"\n")[:-1], 1):
        match = re.match(rb'\{"_id":"([^"\\]*)"[,}]', line)
        if match is None:
            found.append(f"line {i} does not begin with its _id")
            continue
        document = json.loads(line)
        ids.append(document["_id"])
        if match[1].decode() != document["_id"] or not ID.fullmatch(document["_id"]) or ".." in document["_id"]:
            found.append(f"line {i}: id {document['_id']!r}")
        if canonical(document) != line:
            found.append(f"line {i} is not compact")
    if len(set(ids)) < len(ids):
        found.append("an id is there twice")
    return found


def canonical(document: dict[str, Any]) -> bytes:
    """Return a document as it is written."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _index(packed: bytes | None, data: bytes) -> list[str]:
    """The index names every line, in file order, lengths with their LF; as text, or binary as the seed has it."""
    if packed is None:
        return ["no index.bin"]
    expected, place = [], 0
    for line in data.split(b"\n")[:-1]:
        expected.append((json.loads(line)["_id"], place, len(line) + 1))
        place += len(line) + 1
    if b"\0" in packed and packed[:4] != b"ISDZ":
        return [f"the magic of index.bin is {packed[:4]!r}"]
    return [] if oracle.read_index(packed) == expected else ["index.bin differs from the lines"]


def _manifest(files: oracle.Files, collection: str, count: int) -> list[str]:
    packed = files.get(f"collections/{collection}/meta/manifest.json")
    if packed is None:
        return ["no manifest.json"]
    manifest = json.loads(packed)
    found = [f"manifest.json has no {key}" for key in sorted(MANIFEST - manifest.keys())]
    if manifest.get("collection") != collection:
        found.append(f"manifest.json is of {manifest.get('collection')!r}")
    if manifest.get("doc_count") != count:
        found.append(f"manifest.json counts {manifest.get('doc_count')}, found {count}")
    if not TIME.fullmatch(str(manifest.get("created_at"))) or not isinstance(manifest.get("strict"), bool):
        found.append("manifest.json: time or strict")
    return found


def _zds(files: oracle.Files, counts: dict[str, int]) -> list[str]:
    if "zds.json" not in files:
        return []
    entry = json.loads(files["zds.json"])
    found = [
        f"zds.json: {key}" for key in ("version", "name", "created", "modified", "collections") if key not in entry
    ]
    told = {name: value.get("count") for name, value in entry.get("collections", {}).items()}
    if told != counts:
        found.append(f"zds.json counts {told}, found {counts}")
    if entry.get("version") != "1.0" or not all(TIME.fullmatch(str(entry.get(key))) for key in ("created", "modified")):
        found.append("zds.json: version or times")
    return found


def native(data: bytes | None, index: bytes | None) -> dict[str, tuple[int, int]]:
    """Return where the compiled half of the reference finds each id: it believes an index, else looks for a pattern."""
    if data is None:
        return {}
    spans = _native_binary(index) if index is not None else None
    if spans is None and index is not None:
        spans = _native_text(index)
    if spans:
        return spans
    spans, place = {}, 0
    for line in data.split(b"\n"):
        start = line.find(b'"_id":"')
        end = line.find(b'"', start + 7) if start >= 0 else -1
        if end >= 0:
            spans[line[start + 7 : end].decode("utf-8", "replace")] = (
                place,
                len(line) + (place + len(line) < len(data)),
            )
        place += len(line) + 1
    return spans


def _native_binary(packed: bytes) -> dict[str, tuple[int, int]] | None:
    """Return the entries of a binary index, None if it cannot be read to its end."""
    if len(packed) < 16 or packed[:4] != b"ISDZ" or packed[4:8] != struct.pack("<I", 1):
        return None
    spans, place = {}, 16
    for _ in range(struct.unpack_from("<Q", packed, 8)[0]):
        size = int.from_bytes(packed[place : place + 2], "little")
        if place + 14 + size > len(packed):
            return None
        id = packed[place + 2 : place + 2 + size].decode("utf-8", "replace")
        spans[id] = struct.unpack_from("<QI", packed, place + 2 + size)
        place += 14 + size
    return spans


def _native_text(packed: bytes) -> dict[str, tuple[int, int]]:
    rows = [row.split("\t") for row in packed.decode("utf-8", "replace").split("\n")]
    return {row[0]: (_number(row[1]), _number(row[2])) for row in rows if len(row) == 3}


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def native_documents(data: bytes | None, index: bytes | None) -> oracle.Documents:
    """Return what the compiled half hands out: slices of the file that parse."""
    found = {}
    for id, (offset, length) in native(data, index).items():
        piece = (data or b"")[offset : offset + length]
        try:
            document = json.loads(piece) if len(piece) == length else None
        except ValueError:
            continue
        if isinstance(document, dict):
            found[id] = document
    return found


def pure_python(data: bytes | None, index: bytes | None) -> oracle.Documents:
    """Return what the pure-Python half hands out: a text index is believed, without one each line is parsed.

    It opens any index as text, where lines end as on any system, and strips them.

    Raises
    ------
    ValueError
        Where it fails in opening, too; of a binary index as soon as that has a byte from 0x80 on.
    """
    if index is not None:
        spans = _python_text(index)
        return {id: json.loads((data or b"")[offset : offset + n]) for id, (offset, n) in spans.items()}
    found = {}
    for line in (data or b"").split(b"\n"):
        try:
            document = json.loads(line.decode(), parse_constant=_refuse)
        except (ValueError, RecursionError):
            continue
        if document.get("_id"):
            found[document["_id"]] = document
    return found


def _python_text(index: bytes) -> dict[str, tuple[int, int]]:
    rows = (line.strip().split("\t") for line in io.TextIOWrapper(io.BytesIO(index), "utf-8"))
    return {row[0]: (int(row[1]), int(row[2])) for row in rows if len(row) == 3}


def _refuse(word: str) -> None:
    raise ValueError(word)
