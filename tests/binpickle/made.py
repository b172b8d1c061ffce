"""Files made by the rules of the format alone, with whatever is wrong about them."""

from __future__ import annotations

import hashlib
import pickle
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgpack

PICKLE = pickle.dumps("an object", 5)


def checksum(data: bytes, version: int) -> int | bytes:
    return zlib.adler32(data) if version == 1 else hashlib.sha256(data).digest()


def entry(data: bytes, place: int, version: int = 1, **changes: Any) -> dict[str, Any]:
    """Return the map of the index for bytes that are stored as they are, with changes."""
    found: dict[str, Any] = {"offset": place, "enc_length": len(data), "dec_length": len(data)}
    sum_ = checksum(data, version)
    rest: dict[str, Any] = (
        {"checksum": sum_, "codec": None} if version == 1 else {"hash": sum_, "info": None, "codecs": []}
    )
    return found | rest | changes


def body(buffers: Sequence[bytes], version: int = 1, **changes: Any) -> tuple[bytes, list[dict[str, Any]]]:
    """Return buffers one after another, and their entries, the first of which has changes."""
    data, entries = b"", []
    for i, buffer in enumerate(buffers):
        entries.append(entry(buffer, 16 + len(data), version, **(changes if i == 0 else {})))
        data += buffer
    return data, entries


def whole(data: bytes, index: Any, version: int = 1, *, flags: int = 0, mac: bytes = b"", **changes: int) -> bytes:
    """Return a file of a body and an index, msgpack or what is to be made of it; the trailer has changes."""
    packed = index if isinstance(index, bytes) else msgpack.packb(index)
    place = {"offset": 16 + len(data), "length": len(packed)} | changes
    sum_ = checksum(packed, version)
    trailer = struct.pack(">QI", place["offset"], place["length"])
    trailer += struct.pack(">I", sum_) if isinstance(sum_, int) else sum_
    rest = data + packed + trailer + mac
    return struct.pack(">4sHHq", b"BPCK", version, flags, 16 + len(rest)) + rest


def write(path: Path, buffers: Sequence[bytes], version: int = 1, **changes: Any) -> Path:
    """Write a file of buffers, the pickle last, the first entry of which has changes."""
    data, entries = body(buffers, version, **changes)
    path.write_bytes(whole(data, entries, version))
    return path
