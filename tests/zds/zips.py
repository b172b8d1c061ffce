"""ZIP archives of a few bytes, right and wrong."""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from . import golden

DATA = f"{golden.META}/data.jsonl"
LINES = golden.D1 + golden.D2
LOCAL, ENTRY, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"


def info(name: str, mode: int = stat.S_IFREG | 0o644) -> zipfile.ZipInfo:
    found = zipfile.ZipInfo(name)
    found.create_system, found.external_attr = 3, mode << 16
    return found


def make(path: Path, *extra: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    """Write an archive with a data.jsonl and what else is given."""
    with zipfile.ZipFile(path, "w", method) as file:
        for name, data in ((DATA, LINES), *extra):
            file.writestr(name, data, method)
    return path


def patch(path: Path, mark: bytes, at: int, format: str, *values: int, nth: int = 0) -> Path:
    """Change fields of the n-th record that begins with some bytes."""
    data = bytearray(path.read_bytes())
    place = -1
    for _ in range(nth + 1):
        place = data.index(mark, place + 1)
    struct.pack_into("<" + format, data, place + at, *values)
    path.write_bytes(data)
    return path


def raw(path: Path, compressed: bytes, size: int, method: int = 8, crc: int | None = None, name: str = DATA) -> Path:
    """Write an archive of one member whose records say what is given, and whose data are what is given."""
    checksum = zlib.crc32(LINES) if crc is None else crc
    common = struct.pack("<5H3I2H", 20, 0, method, 0, 33, checksum, len(compressed), size, len(name), 0)
    local = LOCAL + common + name.encode() + compressed
    entry = ENTRY + struct.pack("<H", 20) + common + struct.pack("<3H2I", 0, 0, 0, 0, 0) + name.encode()
    path.write_bytes(local + entry + END + struct.pack("<4H2IH", 0, 0, 1, 1, len(entry), len(local), 0))
    return path


def deflate(data: bytes) -> bytes:
    engine = zlib.compressobj(9, zlib.DEFLATED, -15)
    return engine.compress(data) + engine.flush()


Made = Callable[[Path], Path]
"""A function that writes an archive to a path, and returns the path."""


def patched(
    mark: bytes,
    at: int,
    format: str,
    *values: int,
    extra: tuple[str, bytes] | None = None,
    nth: int = 0,
    method: int = zipfile.ZIP_STORED,
) -> Made:
    """Return what makes an archive in which one field is wrong."""
    return lambda path: patch(
        make(path, *([extra] if extra else []), method=method), mark, at, format, *values, nth=nth
    )


def holding(compressed: bytes, size: int, method: int = 8, crc: int | None = None, name: str = DATA) -> Made:
    """Return what makes an archive of one member; as `raw`."""
    return lambda path: raw(path, compressed, size, method, crc, name)
