"""`.md5`: a line for each file, as the program md5sum writes and checks them."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from ..base.progress import Advance
from ..body import open_binary
from ..errors import TruncatedError
from ..kernels.files import ranges

LINE = re.compile(r"([0-9A-Fa-f]{32}) [ *](.+)")
READ_SIZE = 1 << 20


class Sums(NamedTuple):
    """What a file of checksums says."""

    digests: dict[str, str]
    """File name → 32 hexadecimal digits, in lower case."""
    malformed: list[int]
    """Numbers of the lines, from 1 on, that are neither a checksum nor empty."""


def encode(sums: Iterable[tuple[str, str]]) -> bytes:
    r"""Return the file of these names and digests.

    Examples
    --------
    >>> from ds_format.datadings import md5
    >>> md5.encode([("a.msgpack", "d41d8cd98f00b204e9800998ecf8427e")])
    b'd41d8cd98f00b204e9800998ecf8427e  a.msgpack\n'
    """
    return "".join(f"{digest}  {name}\n" for name, digest in sums).encode("utf-8", "surrogateescape")


def decode(data: bytes) -> Sums:
    r"""Read a file of checksums, with all that md5sum takes: `*` for binary, upper case, CR LF, empty lines.

    Examples
    --------
    >>> from ds_format.datadings import md5
    >>> md5.decode(b"D41D8CD98F00B204E9800998ECF8427E *a.msgpack\r\n\n?\n")
    Sums(digests={'a.msgpack': 'd41d8cd98f00b204e9800998ecf8427e'}, malformed=[3])
    """
    digests, malformed = {}, []
    for number, line in enumerate(data.decode("utf-8", "surrogateescape").split("\n"), 1):
        found = LINE.fullmatch(line.rstrip("\r"))
        if found:
            digests[found[2]] = found[1].lower()
        elif line.strip():
            malformed.append(number)
    return Sums(digests, malformed)


def new() -> hashlib._Hash:
    """Return an empty checksum; MD5 is here to find accidents, no attacks."""
    return hashlib.md5(usedforsecurity=False)


def of_file(path: str, size: int | None = None, advance: Advance | None = None) -> str:
    """Return the checksum of a file or its first bytes, as 32 hexadecimal digits, reading it in blocks."""
    with open_binary(path, 0) as file:
        return of_open(file.fileno(), os.fstat(file.fileno()).st_size if size is None else size, advance).hexdigest()


def of_open(fd: int, size: int, advance: Advance | None = None) -> hashlib._Hash:
    """Return the checksum of the first bytes of an open file; `advance` is told how far it is.

    Raises
    ------
    TruncatedError
        If it has fewer.
    """
    sum_ = new()
    buffer = memoryview(bytearray(min(size, READ_SIZE)))
    for start in range(0, size, READ_SIZE):
        piece = buffer[: min(size - start, READ_SIZE)]
        if ranges.read_at(fd, start, piece) < len(piece):
            raise TruncatedError(f"the file became shorter than {size} bytes while it was read")
        sum_.update(piece)
        if advance is not None:
            advance.add(len(piece))
    return sum_


def of_bytes(data: bytes) -> str:
    """Return the checksum of bytes, as 32 hexadecimal digits."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()
