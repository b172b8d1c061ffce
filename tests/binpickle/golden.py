"""The golden files, and the parts of one that is stored as it is, read without the package."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import msgpack

FOLDER = Path(__file__).parents[1] / "golden" / "binpickle"
CORRUPT = FOLDER / "corrupt"
FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("v*/*.bpk"))
LISTED = json.loads((CORRUPT / "manifest.json").read_text())
MANIFEST = {entry["file"]: entry for entry in LISTED if (CORRUPT / entry["file"]).exists()}
TRAILERS = {1: (16,), 2: (44, 76)}


def expected(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / name).with_suffix(".expected.json").read_text())


def parts(path: Path) -> tuple[bytes, list[bytearray]]:
    """Return the pickle and the buffers, still encoded if they are."""
    data = path.read_bytes()
    version, length = struct.unpack_from(">H2xq", data, 4)
    for size in TRAILERS[version]:
        start, n = struct.unpack_from(">QI", data, length - size)
        if start + n == length - size:
            entries = msgpack.unpackb(data[start : start + n])
    *buffers, pickle = [data[entry["offset"] :][: entry["enc_length"]] for entry in entries]
    return pickle, [bytearray(buffer) for buffer in buffers]


def is_stored(name: str) -> bool:
    """Return whether nothing in the file is encoded, and it has an object."""
    entries = expected(name)["entries"]
    return bool(entries) and not any(entry.get("codec") or entry.get("codecs") for entry in entries)
