"""The grammar of headers of classic files (NetCDF User Guide, appendix "NetCDF Classic Format Specification").

All numbers are big-endian, and all items are padded to 4 bytes::

    header    = magic  numrecs  dim_list  gatt_list  var_list
    magic     = "CDF" version                  version 1, 2 or 5
    numrecs   = count | STREAMING
    dim_list  = ABSENT | NC_DIMENSION count dim ...
    att_list  = ABSENT | NC_ATTRIBUTE count attr ...
    var_list  = ABSENT | NC_VARIABLE count var ...
    ABSENT    = 0 0                            a tag and a count
    name      = count characters               UTF-8
    dim       = name count                     a size of 0: the record dimension
    attr      = name nc_type count values
    var       = name count dimid ...  att_list  nc_type  vsize  begin

Counts, sizes, ids and `vsize` have 4 bytes. In CDF-5 they have 8 bytes, and are signed. `begin` has 4 bytes in CDF-1,
and 8 otherwise. Tags and types always have 4. A list with a tag may have no items. Types 7 to 11 are new in CDF-5, but
are read in all versions.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from ..base.dtypes import np
from ..errors import DsError, FormatError, TruncatedError, Unusual

MAGIC = (b"CDF\x01", b"CDF\x02", b"CDF\x05")

FORMATS = {1: "NETCDF3_CLASSIC", 2: "NETCDF3_64BIT_OFFSET", 5: "NETCDF3_64BIT_DATA"}
"""Version → name of the format in the NetCDF libraries."""

STREAMING = {1: 2**32 - 1, 2: 2**32 - 1, 5: 2**64 - 1}
"""Version → the number of records that means: as many as the file holds."""

NC_DIMENSION = 10
NC_VARIABLE = 11
NC_ATTRIBUTE = 12

NC_CHAR = 2

CODES = ("", "i1", "S1", "i2", "i4", "f4", "f8", "u1", "u2", "u4", "i8", "u8")
"""Number of a type → NumPy kind and bytes of a value.

The types are byte, char, short, int, float, double, ubyte, ushort, uint, int64 and uint64.
"""

MAX_RANK = 64
"""Maximum number of dimensions of an array: `NPY_MAXDIMS`."""

Attributes = list[tuple[str, Any]]


class Incomplete(Exception):
    """The header continues after the bytes that were read.

    Parameters
    ----------
    size : int
        Minimum number of bytes, from the start of the file, that are necessary.
    """

    def __init__(self, size: int):
        super().__init__(f"the header has at least {size} bytes")
        self.size = size


class RawVariable(NamedTuple):
    """The fields of a variable in the header, in file order."""

    name: str
    dims: tuple[int, ...]
    attributes: Attributes
    type: int
    """Number of the type: an index of `CODES`."""
    vsize: int
    """Redundant, and wrong for large variables. Not used."""
    begin: int


class RawHeader(NamedTuple):
    """The fields of a header, in file order."""

    version: int
    numrecs: int
    dimensions: list[tuple[str, int]]
    attributes: Attributes
    variables: list[RawVariable]
    size: int
    """Bytes of the header."""


T = TypeVar("T")


class _ItemReader:
    """Reads the items of a header one after another.

    Attributes
    ----------
    where : list of str
        Names of the items that are being read, outermost first, for messages.
    """

    def __init__(self, data: memoryview, file_size: int, takes_all: bool = False):
        self.data = data
        self.file_size = file_size
        self.takes_all = takes_all
        self.position = 4
        self.where: list[str] = []
        self.variable: str | None = None
        self.version = data[3]
        self.is_wide = self.version == 5

    def error(self, kind: type[FormatError], message: str) -> DsError:
        """Return an error that names the item."""
        return kind(
            ": ".join(["header", *([", ".join(self.where)] if self.where else []), message]), variable=self.variable
        )

    def take(self, size: int) -> memoryview:
        """Return the next `size` bytes, and advance."""
        start, end = self.position, self.position + size
        if end > self.file_size:
            message = f"found the end of the file at byte {self.file_size}, expected {size} bytes from byte {start} on"
            raise self.error(TruncatedError, message)
        if end > len(self.data):
            raise Incomplete(end)
        self.position = end
        return self.data[start:end]

    def take_padded(self, size: int) -> memoryview:
        """Return the next `size` bytes, and advance to the next multiple of 4."""
        return self.take(size + -size % 4)[:size]

    def field(self, name: str, code: str) -> int:
        """Read a number."""
        self.where.append(name)
        value: int = struct.unpack(code, self.take(struct.calcsize(code)))[0]
        self.where.pop()
        return value

    def size(self, name: str) -> int:
        """Read a number, which must not be negative."""
        value = self.field(name, ">q" if self.is_wide else ">I")
        if value < 0:
            self.where.append(name)
            raise self.error(FormatError, f"found {value}, expected no negative number")
        return value

    def count(self, name: str, item_size: int) -> int:
        """Read a count of items of at least `item_size` bytes each."""
        n = self.size(name)
        remaining = self.file_size - self.position
        if n * item_size > remaining:
            self.where.append(name)
            message = f"found {n}, expected at most as many as fit into the remaining {remaining} bytes of the file"
            raise self.error(TruncatedError, message)
        return n

    def name(self) -> str:
        """Read a name."""
        raw = bytes(self.take_padded(self.count("name", 1)))
        if not raw and not self.takes_all:
            # reported at once: a hole in a sparse file reads as millions of empty names, which would fill the memory
            raise Unusual(f"the name of {', '.join(self.where)} is empty")
        try:
            return raw.decode()
        except UnicodeDecodeError:
            self.where.append("name")
            raise self.error(FormatError, f"found {raw!r}, expected UTF-8") from None

    def items(self, title: str, tag: int, item_size: int, read: Callable[[], T]) -> list[T]:
        """Read a list: its tag, the number of items, the items."""
        self.where.append(f"list of {title}s")
        number = self.field("tag", ">I")
        n = self.count("count", item_size)
        if number != tag and (number or n):
            self.where.append("tag")
            raise self.error(FormatError, f"found {number}, expected {tag}")
        self.where.pop()
        items = []
        for i in range(n):
            self.where.append(f"{title} {i}")
            items.append(read())
            self.where.pop()
        return items

    def type(self) -> int:
        """Read the number of a type."""
        number = self.field("type", ">I")
        if not 0 < number < len(CODES):
            self.where.append("type")
            raise self.error(FormatError, f"found {number}, expected one of 1 to {len(CODES) - 1}")
        return number

    def dimension(self) -> tuple[str, int]:
        name = self.name()
        self.where[-1] = f'dimension "{name}"'
        return name, self.size("size")

    def attributes(self) -> Attributes:
        return self.items("attribute", NC_ATTRIBUTE, 12 + 4 * self.is_wide, self.attribute)

    def attribute(self) -> tuple[str, Any]:
        name = self.name()
        self.where[-1] = f'attribute "{name}"'
        number = self.type()
        dtype = np.dtype(CODES[number])
        n = self.count("count", dtype.itemsize)
        raw = self.take_padded(n * dtype.itemsize)
        if number == NC_CHAR:
            return name, bytes(raw).rstrip(b"\0").decode("utf-8", "surrogateescape")
        values = np.frombuffer(raw, dtype.newbyteorder(">")).astype(dtype)
        return name, values[0] if n == 1 else values

    def read_variable(self) -> RawVariable:
        self.variable = name = self.name()
        self.where.pop()
        rank = self.count("rank", 8 if self.is_wide else 4)
        if rank > MAX_RANK and not self.takes_all:
            raise Unusual(f'the variable "{name}" has {rank} dimensions')
        dims = tuple(self.size("dimension id") for _ in range(rank))
        attributes = self.attributes()
        number = self.type()
        vsize = self.field("vsize", ">Q" if self.is_wide else ">I")
        begin = self.field("begin", ">I" if self.version == 1 else ">q")
        if begin < 0:
            raise self.error(FormatError, f"begin: found {begin}, expected no negative number")
        self.variable = None
        self.where.append("")
        return RawVariable(name, dims, attributes, number, vsize, begin)

    def header(self) -> RawHeader:
        numrecs = self.field("numrecs", ">Q" if self.is_wide else ">I")
        min_size = 8 + 4 * self.is_wide
        dimensions = self.items("dimension", NC_DIMENSION, min_size + 4 * self.is_wide, self.dimension)
        attributes = self.attributes()
        variables = self.items("variable", NC_VARIABLE, 3 * min_size, self.read_variable)
        return RawHeader(self.version, numrecs, dimensions, attributes, variables, self.position)


def read_items(data: memoryview, file_size: int, *, takes_all: bool = False) -> RawHeader:
    """Read all items of the header of a classic file, without checks across items.

    Parameters
    ----------
    data : memoryview
        The first bytes of the file.
    file_size : int
        Bytes of the whole file.
    takes_all : bool
        Whether empty names, and variables with any number of dimensions, are accepted.

    Raises
    ------
    Incomplete
        If the header continues after `data`, within the file.
    FormatError
        If the header does not follow the grammar, or the file is not a classic file.
    TruncatedError
        If the header continues after the end of the file, or has a count too large for a file of this size.
    Unusual
        If a name is empty, or a variable has too many dimensions for an array, unless `takes_all` is true.
    """
    if len(data) < 4 <= file_size:
        raise Incomplete(4)
    if bytes(data[:4]) not in MAGIC:
        raise FormatError(f"header: magic: found {bytes(data[:4])!r}, expected one of {', '.join(map(repr, MAGIC))}")
    return _ItemReader(data, file_size, takes_all).header()
