"""The header of classic files (CDF-1, CDF-2 and CDF-5), as the NetCDF format specification lays it out.

The library takes what lies beyond the end of a cut file for zeros. Here is read where each variable ends. All numbers are
big-endian, and everything is padded to 4 bytes::

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
import struct
from typing import BinaryIO

TYPE_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}
"""Bytes of a value by type number: byte, char, short, int, float, double, ubyte, ushort, uint, int64, uint64."""


class _Header:
    """Reads the items of a header one after another."""

    def __init__(self, file: BinaryIO):
        self.file = file
        magic = file.read(4)
        if magic[:3] != b"CDF" or magic[3] not in (1, 2, 5):
            raise ValueError("not a classic file")
        self.count_format = ">q" if magic[3] == 5 else ">i"
        self.begin_format = ">i" if magic[3] == 1 else ">q"

    def number(self, format: str = ">i") -> int:
        value: int = struct.unpack(format, self.file.read(struct.calcsize(format)))[0]
        return value

    def count(self) -> int:
        value = self.number(self.count_format)
        if value < 0:
            raise ValueError("a count below 0")
        return value

    def name(self) -> str:
        n = self.count()
        return self.file.read(_padded(n))[:n].decode("utf-8", "replace")

    def length(self) -> int:
        """The number of items of a list."""
        self.number()
        return self.count()

    def skip_attributes(self) -> None:
        for _ in range(self.length()):
            self.name()
            size = TYPE_SIZES[self.number()]
            self.file.seek(_padded(self.count() * size), 1)


def variable_ends(path: str) -> dict[str, int]:
    """Return where the last byte of each variable of a classic file must lie, as the size of file that it needs.

    Returns
    -------
    dict
        By name; empty if the file is of another format, or does not tell.
    """
    try:
        with open(path, "rb") as file:
            return _variable_ends(_Header(file))
    except (ValueError, LookupError, struct.error, OverflowError, MemoryError):
        # the library has the last word on what is a header
        return {}


def _variable_ends(header: _Header) -> dict[str, int]:
    n_records = header.number(header.count_format)
    dimensions = []
    for _ in range(header.length()):
        header.name()
        dimensions.append(header.count())
    header.skip_attributes()
    fixed: dict[str, int] = {}
    records: dict[str, tuple[int, int]] = {}
    for _ in range(header.length()):
        name = header.name()
        shape = [dimensions[header.count()] for _ in range(header.count())]
        header.skip_attributes()
        item_size = TYPE_SIZES[header.number()]
        header.count()
        begin = header.number(header.begin_format)
        if shape and shape[0] == 0:
            records[name] = begin, item_size * math.prod(shape[1:])
        else:
            size = item_size * math.prod(shape)
            fixed[name] = begin + size if size else 0
    if n_records <= 0:
        return fixed
    # alone it needs no padding
    step = sum(size if len(records) == 1 else _padded(size) for _, size in records.values())
    return fixed | {name: begin + (n_records - 1) * step + size for name, (begin, size) in records.items()}


def _padded(size: int) -> int:
    return -(-size // 4) * 4
