"""A small reader of ZDS that shares no code with the package. It reads data.jsonl, docs and an intact index."""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path
from typing import Any

Documents = dict[str, dict[str, Any]]
Files = dict[str, bytes]


def files_of(store: Path) -> Files:
    """Return all files of a folder or archive by their names from the root, litter and a root folder taken away."""
    if store.is_dir():
        found = {path.relative_to(store).as_posix(): path.read_bytes() for path in store.rglob("*") if path.is_file()}
    else:
        with zipfile.ZipFile(store) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
            found = {name.removeprefix("./"): archive.read(name) for name in names}
    found = {name: data for name, data in found.items() if not name.startswith("__MACOSX/")}
    found = {name: data for name, data in found.items() if not name.endswith(".DS_Store")}
    if not store.is_dir() and not any(name.startswith("collections/") for name in found):
        [top] = {name.split("/")[0] for name in found if "/collections/" in name}
        found = {name.removeprefix(f"{top}/"): data for name, data in found.items()}
    return found


def read_store(store: Path, *, use_index: bool = True) -> dict[str, Documents]:
    """Return the documents of each collection in their order, with their `_id`."""
    files = files_of(store)
    names = {name.split("/")[1] for name in files if name.startswith("collections/") and name.count("/") > 1}
    return {name: read_collection(files, name, use_index=use_index) for name in sorted(names)}


def read_collection(files: Files, collection: str, *, use_index: bool = True) -> Documents:
    """Return the documents of a collection: those of data.jsonl in file order, then those that only docs has."""
    folder = f"collections/{collection}"
    data = files.get(f"{folder}/meta/data.jsonl", b"")
    found = read_lines(data)
    packed = files.get(f"{folder}/meta/index.bin")
    if use_index and packed is not None:
        spans = {id: (offset, length) for id, offset, length in read_index(packed)}
        found = {
            id: json.loads(data[start : start + n]) for id, (start, n) in sorted(spans.items(), key=lambda i: i[1])
        }
        assert all(document["_id"] == id for id, document in found.items())
    docs = sorted(name for name in files if name.startswith(f"{folder}/docs/") and name.endswith(".json"))
    for name in docs:
        id = name.removeprefix(f"{folder}/docs/").removesuffix(".json")
        document = json.loads(files[name])
        found.setdefault(id, {**({} if "_id" in document else {"_id": id}), **document})
    return found


def read_lines(data: bytes) -> Documents:
    """Return the documents of data.jsonl in the order of their lines; of several with one id the last one."""
    found: Documents = {}
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        if line.strip():
            document = json.loads(line)
            found.pop(document["_id"], None)
            found[document["_id"]] = document
    return found


def read_index(packed: bytes) -> list[tuple[str, int, int]]:
    """Return the entries of index.bin, in either form: id, offset, length."""
    if packed[:4] not in {b"ISDZ", b"ZDSI"}:
        rows = [row.split("\t") for row in packed.decode().splitlines()]
        return [(id, int(offset), int(length)) for id, offset, length in rows]
    version, count = struct.unpack_from("<IQ", packed, 4)
    assert version == 1
    entries, place = [], 16
    for _ in range(count):
        (size,) = struct.unpack_from("<H", packed, place)
        id = packed[place + 2 : place + 2 + size].decode()
        entries.append((id, *struct.unpack_from("<QI", packed, place + 2 + size)))
        place += 14 + size
    assert place == len(packed)
    return entries
