"""The header of classic files (CDF-1, CDF-2 and CDF-5), as the NetCDF format specification lays it out.

The library takes what lies beyond the end of a cut file for zeros, and believes any count. Here both are checked before
it sees the file. All numbers are big-endian, and everything is padded to 4 bytes::

    header = "CDF" version  numrecs  list of dimension  list of attribute  list of variable
    list = tag  count  items        a tag of 0 and a count of 0 if there are none
    name = length  characters
    dimension = name  size          size 0: the record dimension
    attribute = name  type  count  values
    variable = name  rank  dimension ids  list of attribute  type  vsize  begin

Counts, sizes and ids have 4 bytes, 8 in CDF-5; `begin` has 4 in CDF-1, else 8; tags and types have 4.
"""

from __future__ import annotations

import math
import os
import struct
from typing import BinaryIO

from ...errors import TruncatedError
from ...regular import open_binary

TYPE_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}
"""Bytes of a value by type number: byte, char, short, int, float, double, ubyte, ushort, uint, int64, uint64."""

STREAMING = {">I": 2**32 - 1, ">Q": 2**64 - 1}
"""Number of records that says: as many as there are."""

MIN_DIMENSION = 8
MIN_ATTRIBUTE = 12
MIN_VARIABLE = 24


class _Header:
    """Reads the items of a header one after another."""

    def __init__(self, file: BinaryIO):
        self.file = file
        self.size = os.fstat(file.fileno()).st_size
        magic = file.read(4)
        if magic[:3] != b"CDF" or magic[3] not in (1, 2, 5):
            raise ValueError("not a classic file")
        # the specification calls them signed and not negative; the library takes them as they come
        self.count_format = ">Q" if magic[3] == 5 else ">I"
        self.begin_format = ">I" if magic[3] == 1 else ">Q"

    def number(self, format: str = ">I") -> int:
        value: int = struct.unpack(format, self.file.read(struct.calcsize(format)))[0]
        return value

    def count(self, item_size: int = 0) -> int:
        """Read a count of items that have at least so many bytes each."""
        value = self.number(self.count_format)
        left = self.size - self.file.tell()
        if value * item_size > left:
            raise TruncatedError(f"header: found {left} bytes, expected {value} items of at least {item_size} bytes")
        return value

    def name(self) -> str:
        n = self.count(1)
        return self.file.read(_padded(n))[:n].decode("utf-8", "replace")

    def length(self, item_size: int) -> int:
        """Read tag and count of a list."""
        self.number()
        return self.count(item_size)

    def skip_attributes(self) -> None:
        for _ in range(self.length(MIN_ATTRIBUTE)):
            self.name()
            size = TYPE_SIZES[self.number()]
            self.file.seek(_padded(self.count(size) * size), os.SEEK_CUR)


def variable_ends(path: str) -> dict[str, int]:
    """Return the sizes that a classic file must have to hold each of its variables.

    Returns
    -------
    dict
        Variable name → bytes. Empty if the file is of another format, or damaged in a way that the library tells.

    Raises
    ------
    OSError
        As `open` would, or if it is no file, which the library would wait for.
    TruncatedError
        If the header promises more than the file has bytes.
    """
    with open_binary(path) as file:
        try:
            return _variable_ends(_Header(file))
        except TruncatedError as error:
            raise error.at(path=path) from None
        except (ValueError, LookupError, struct.error):
            return {}


def _variable_ends(header: _Header) -> dict[str, int]:
    n_records = header.number(header.count_format)
    dimensions = []
    for _ in range(header.length(MIN_DIMENSION)):
        header.name()
        dimensions.append(header.count())
    header.skip_attributes()
    fixed: dict[str, int] = {}
    records: dict[str, tuple[int, int]] = {}
    for _ in range(header.length(MIN_VARIABLE)):
        name = header.name()
        shape = [dimensions[header.count()] for _ in range(header.count(4))]
        header.skip_attributes()
        item_size = TYPE_SIZES[header.number()]
        header.number(header.count_format)
        begin = header.number(header.begin_format)
        if shape and shape[0] == 0:
            records[name] = begin, item_size * math.prod(shape[1:])
        else:
            size = item_size * math.prod(shape)
            fixed[name] = begin + size if size else 0
    if n_records in (0, STREAMING[header.count_format]):
        return fixed
    # alone it needs no padding
    step = sum(size if len(records) == 1 else _padded(size) for _, size in records.values())
    return fixed | {name: begin + (n_records - 1) * step + size for name, (begin, size) in records.items()}


def _padded(size: int) -> int:
    return -(-size // 4) * 4
