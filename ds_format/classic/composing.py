"""The header of a new classic file, and the position of each variable: the grammar of `format`, written.

Values are where the netCDF library has them: after the header, first those of all variables without the record
dimension, then the records, each with a part of every other variable. All of these are padded to 4 bytes, except if
there is a single record variable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..errors import UnsupportedError
from .format import CODES, FORMATS, NC_ATTRIBUTE, NC_CHAR, NC_DIMENSION, NC_VARIABLE

ABSENT = 0

MAX_VSIZE = 2**32 - 1
"""Maximum size of a variable in a header of CDF-1 and CDF-2, which larger ones have, too."""

MAX_LENGTH = {1: 2**31 - 4, 2: 2**32 - 4, 5: 2**63 - 4}
"""Version → maximum length of a dimension, as the library has it."""

MAX_BEGIN = {1: 2**31 - 1, 2: 2**63 - 1, 5: 2**63 - 1}

VERSIONS = {name: version for version, name in FORMATS.items()}

DEFAULT_FILLS: tuple[Any, ...] = (
    0,
    -127,
    b"\0",
    -32767,
    -2147483647,
    9.969209968386869e36,
    9.969209968386869e36,
    255,
    65535,
    4294967295,
    -9223372036854775806,
    18446744073709551614,
)
"""Number of a type → the value that the library fills with (NC_FILL_BYTE, ... in netcdf.h)."""


AttributeToWrite = tuple[str, "bytes | np.ndarray[Any, Any] | np.generic"]
"""Name of an attribute, and its value: characters, or numbers of a type in `CODES`."""


class VariableToWrite(NamedTuple):
    """A variable to write."""

    name: str
    dims: tuple[int, ...]
    """Indices of its dimensions; the first one may be the record dimension."""
    attributes: Sequence[AttributeToWrite]
    type: int
    """Index of `CODES`."""


class Extent(NamedTuple):
    """Where the values of a variable are in a file."""

    begin: int
    size: int
    """Bytes of all values, or of those of one record."""
    padding: int
    """Bytes after them that belong to the variable."""
    records: int
    """1 without the record dimension."""
    step: int
    """Bytes from one record to the next."""
    dtype: np.dtype[Any]
    """Big-endian."""
    fill: bytes
    """One value that is not written, which also pads."""


class ClassicLayout(NamedTuple):
    """A new file."""

    header: bytes
    extents: list[Extent]
    size: int
    """Bytes of the file."""


def compose(
    version: int,
    dimensions: Sequence[tuple[str, int]],
    record_dimension: int | None,
    attributes: Sequence[AttributeToWrite],
    variables: Sequence[VariableToWrite],
) -> ClassicLayout:
    """Return the header and the layout of a file.

    Parameters
    ----------
    version : int
        1, 2 or 5.
    dimensions : sequence of (str, int)
        Names and lengths; the record dimension has the number of records, if a variable has it.
    record_dimension : int, optional
        Its index.
    attributes : sequence of AttributeToWrite
        Those of the file.
    variables : sequence of VariableToWrite

    Raises
    ------
    UnsupportedError
        If the version cannot hold the length of a dimension, or the position of a variable.
    """
    for i, (name, length) in enumerate(dimensions):
        if length > MAX_LENGTH[version] and i != record_dimension:
            raise UnsupportedError(f'the format {FORMATS[version]} cannot hold the length {length} of "{name}"')
    is_record = [bool(each.dims) and each.dims[0] == record_dimension for each in variables]
    sizes = []
    for each, has_records in zip(variables, is_record, strict=True):
        lengths = [dimensions[i][1] for i in each.dims[has_records:]]
        sizes.append(math.prod(lengths) * np.dtype(CODES[each.type]).itemsize)
    numrecs = dimensions[record_dimension][1] if record_dimension is not None and any(is_record) else 0
    items = _HeaderWriter(version)
    places = items.header(numrecs, dimensions, record_dimension, attributes, variables, sizes)
    begins, step, end = _places(len(items.data), sizes, is_record)
    for each, place, begin in zip(variables, places, begins, strict=True):
        if begin > MAX_BEGIN[version]:
            message = f"the format {FORMATS[version]} cannot hold a place beyond {MAX_BEGIN[version]} bytes"
            raise UnsupportedError(message, variable=each.name)
        items.data[place : place + items.begin_size] = begin.to_bytes(items.begin_size, "big")
    extents = []
    for each, begin, size, has_records in zip(variables, begins, sizes, is_record, strict=True):
        dtype = np.dtype(CODES[each.type]).newbyteorder(">")
        padding = -size % 4 if not has_records or is_record.count(True) > 1 else 0
        count = numrecs if has_records else 1
        extents.append(Extent(begin, size, padding, count, step, dtype, _fill(each, dtype)))
    return ClassicLayout(bytes(items.data), extents, end + numrecs * step)


def _places(start: int, sizes: Sequence[int], is_record: Sequence[bool]) -> tuple[list[int], int, int]:
    """Return the begin of each variable, the bytes of a record, and where the records begin."""
    begins = [0] * len(sizes)
    for wanted in (False, True):
        records = start
        for i, size in enumerate(sizes):
            if is_record[i] is wanted:
                begins[i], start = start, start + size + -size % 4
    step = start - records
    if is_record.count(True) == 1:
        step = sizes[is_record.index(True)]
    return begins, step, records


def _fill(variable: VariableToWrite, dtype: np.dtype[Any]) -> bytes:
    own = next((value for name, value in variable.attributes if name == "_FillValue"), None)
    if isinstance(own, bytes):
        own = np.frombuffer(own, "S1")
    if own is not None and own.size == 1 and own.dtype == dtype.newbyteorder("="):
        return np.asarray(own).astype(dtype).tobytes()
    return np.array(DEFAULT_FILLS[variable.type], dtype).tobytes()


KEPT_SIZE = 256
"""Maximum bytes of a text that is kept for the next file."""


@lru_cache(4096)
def _name(name: str, count_size: int) -> bytes:
    raw = name.encode()
    return len(raw).to_bytes(count_size, "big") + raw + bytes(-len(raw) % 4)


@lru_cache(4096)
def _characters(name: str, value: bytes, count_size: int) -> bytes:
    """Return an attribute of characters."""
    return _attribute(name, NC_CHAR, len(value), value, count_size)


@lru_cache(4096)
def _numbers(name: str, dtype: np.dtype[Any], data: bytes, count_size: int) -> bytes:
    """Return an attribute of numbers, from its values in native byte order."""
    values = np.frombuffer(data, dtype)
    raw = values.astype(dtype.newbyteorder(">")).tobytes()
    return _attribute(name, CODES.index(dtype.str[1:]), values.size, raw, count_size)


def _attribute(name: str, number: int, n: int, raw: bytes, count_size: int) -> bytes:
    head = _name(name, count_size) + number.to_bytes(4, "big") + n.to_bytes(count_size, "big")
    return head + raw + bytes(-len(raw) % 4)


class _HeaderWriter:
    """Appends the items of a header, in the order of the grammar."""

    def __init__(self, version: int):
        self.data = bytearray(b"CDF" + bytes([version]))
        self.count_size = 8 if version == 5 else 4
        self.begin_size = 4 if version == 1 else 8

    def number(self, value: int, size: int = 4) -> None:
        self.data += value.to_bytes(size, "big")

    def count(self, value: int) -> None:
        self.number(value, self.count_size)

    def name(self, name: str) -> None:
        self.data += _name(name, self.count_size)

    def list_head(self, tag: int, n: int) -> None:
        self.number(tag if n else ABSENT)
        self.count(n)

    def attribute_list(self, attributes: Sequence[AttributeToWrite]) -> None:
        self.list_head(NC_ATTRIBUTE, len(attributes))
        for name, value in attributes:
            if isinstance(value, bytes):
                make = _characters if len(value) <= KEPT_SIZE else _characters.__wrapped__
                self.data += make(name, value, self.count_size)
            else:
                self.data += _numbers(name, value.dtype, value.tobytes(), self.count_size)

    def header(
        self,
        numrecs: int,
        dimensions: Sequence[tuple[str, int]],
        record_dimension: int | None,
        attributes: Sequence[AttributeToWrite],
        variables: Sequence[VariableToWrite],
        sizes: Sequence[int],
    ) -> list[int]:
        """Append everything after the magic number, and return where the position of each variable goes."""
        places = []
        self.count(numrecs)
        self.list_head(NC_DIMENSION, len(dimensions))
        for i, (name, length) in enumerate(dimensions):
            self.name(name)
            self.count(0 if i == record_dimension else length)
        self.attribute_list(attributes)
        self.list_head(NC_VARIABLE, len(variables))
        for each, size in zip(variables, sizes, strict=True):
            self.name(each.name)
            self.count(len(each.dims))
            for dim in each.dims:
                self.count(dim)
            self.attribute_list(each.attributes)
            self.number(each.type)
            vsize = size + -size % 4
            self.count(vsize if self.count_size == 8 else min(vsize, MAX_VSIZE))
            places.append(len(self.data))
            self.number(0, self.begin_size)
        return places
