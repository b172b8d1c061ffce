"""Objects of a small HDF5 file → its bytes. The kernel `kernels.hdf5.compose` puts them together.

A file is written as HDF5 1.8 or later reads it: superblock 2, object headers 2 that track the order of creation, links
and attributes in messages, chunks in the one leaf of a B-tree 1, text of variable length in the global heap.

Source of all facts: "HDF5 File Format Specification Version 3.0", The HDF Group.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..codec.filters import FLETCHER32, SHUFFLE, ZLIB_NUMBER
from ..codec.pipeline import ChunkFilter
from ..kernels.hdf5.compose import compose

DATASPACE, DATATYPE, FILL, FILTERS = 1, 3, 5, 11
"""Numbers of messages."""
CONSTANT = 1
"""Flag of messages that do not change."""
COMMITTED = 5
"""Flags of the datatype message of a committed type: it is constant, and never shared in a heap."""
MAX_VALUES = 1 << 20
"""Bytes of all values of a file, and of a chunk."""
MAX_SIZE = 0xFFFF
"""Bytes of a message, of a name, and of an attribute with its name, type and shape."""
MAX_CHUNKS = 1024
"""Most chunks of a dataset: all are in one leaf."""
LEAST_HALF, USUAL_HALF = 4, 32
"""Half the chunks that the nodes of all B-trees have place for: of a small file at least, so that other programs can
append some; and usually (HDF5_BTREE_CHUNK_IK_DEF)."""
LATE, INCREMENTAL = 2, 3
"""When space is allocated: for all values, or chunk by chunk."""
NEVER, IF_SET = 1 << 2, 2 << 2
"""When fill values are written."""
HAS_VALUE = 0x20
"""Flag of a fill value message."""
OPTIONAL = 1
"""Flag of a filter."""
FIRST_NAMED = 256
"""Filters from this number on may have a name."""
UNLIMITED = 2**64 - 1
FLOATS = {2: (15, 10, 5, 0, 10, 15), 4: (31, 23, 8, 0, 23, 127), 8: (63, 52, 11, 0, 52, 1023)}
"""Bytes of an IEEE number → positions of sign and exponent, bits of the exponent, position and bits of the mantissa,
bias of the exponent."""
STRING, ASCII_STRING, OCTETS = [
    bytes.fromhex(f"19{first}00 10000000 10000000 01000000 00000800") for first in ("0101", "0100", "0000")
]
"""Datatypes of variable length: strings in UTF-8 and in ASCII, and sequences of unsigned numbers of one byte."""
STRING_SIZE = 16
"""Bytes of a reference to a value of variable length."""
MAX_RANK = 32
"""Most axes of a dataset (H5S_MAX_RANK)."""
NUMBERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
SCALAR, NULL = b"\2\0\0\0", b"\2\0\0\2"
"""Dataspaces of one value and of none."""


class NotCovered(Exception):
    """A file that is left to a library. It never reaches a user."""


class NewAttribute(NamedTuple):
    """An attribute."""

    name: bytes
    type: bytes
    """Bodies of its datatype and dataspace messages."""
    space: bytes
    value: Any
    """A C-contiguous buffer as in the file, or a list of `bytes`: strings of variable length."""


class NewStorage(NamedTuple):
    """The values of a dataset."""

    chunk: tuple[int, ...] | None
    """Shape of a chunk; None: contiguous."""
    size: int
    """Bytes of a value of chunks; bytes of all values that are contiguous."""
    values: Any
    """As for an attribute; None: they are not written; a number: they, or the index of their chunks, are in the file
    already, at this address. For chunks, a list of their first indices and their values as stored, in C order."""


class NewObject(NamedTuple):
    """A group, a dataset, or a committed type."""

    name: bytes
    """Without its groups; of the root group: empty."""
    parent: int
    """Number of its group, which comes before it."""
    messages: list[tuple[int, int, bytes]]
    """Number, flags and body of those that are not made from what follows. A group has none."""
    attributes: list[NewAttribute]
    scales: tuple[int, ...] = ()
    """Numbers of the dimension scales of its axes."""
    storage: NewStorage | None = None
    """None: it is not a dataset."""
    usual: Mapping[str, Any] = MappingProxyType({})
    """Attributes after those in `attributes`: name → a tuple. Its second item is `bytes` for a text in UTF-8, a list of
    `bytes` for strings of variable length, or a scalar or 1-d array of numbers."""


@lru_cache(64)
def number_type(dtype: np.dtype[Any], is_big: bool = False) -> bytes:
    """Return the body of the datatype message of numbers; `is_big` is the byte order of those that have only one."""
    size, is_big = dtype.itemsize, is_big or dtype.str[0] == ">"
    if dtype.kind == "f":
        sign, *fields = FLOATS[size]
        return struct.pack("<4BI2H4BI", 0x11, 0x20 | is_big, sign, 0, size, 0, 8 * size, *fields)
    return struct.pack("<4BI2H", 0x10, is_big | (dtype.kind == "i") << 3, 0, 0, size, 0, 8 * size)


@cache
def _usual_types() -> dict[Any, bytes]:
    """Return the bodies of datatype messages of usual attributes, as the kernel needs them."""
    found: dict[Any, bytes] = {np.dtype(code): number_type(np.dtype(code)) for code in NUMBERS}
    return {**found, list: STRING}


def text_type(size: int) -> bytes:
    """Return the body of the datatype message of text of fixed length that ends with a NUL, or with its type."""
    return struct.pack("<II", 0x13, size)


def enum_type(dtype: np.dtype[Any], members: Mapping[str, int]) -> bytes:
    """Return the body of the datatype message of an enumeration."""
    names = b"".join(_padded(name.encode()) for name in members)
    values = np.array([*members.values()], dtype).tobytes()
    return struct.pack("<BHBI", 0x18, len(members), 0, dtype.itemsize) + number_type(dtype) + names + values


def _padded(name: bytes) -> bytes:
    return name + bytes(8 - len(name) % 8)


@lru_cache(256)
def space(shape: tuple[int, ...], unlimited: tuple[bool, ...] = ()) -> bytes:
    """Return the body of the dataspace message of a shape."""
    if not shape:
        return SCALAR
    limits = [UNLIMITED if each else n for n, each in zip(shape, unlimited, strict=True)] if any(unlimited) else []
    return struct.pack(f"<4B{len(shape) + len(limits)}Q", 2, len(shape), bool(limits), 1, *shape, *limits)


@lru_cache(256)
def fill_message(fill: bytes | None, *, is_written: bool, is_chunked: bool) -> tuple[int, int, bytes]:
    """Return the fill value message.

    Parameters
    ----------
    fill : bytes, optional
        One value.
    is_written : bool
        Whether values that were never written are fill values.
    is_chunked : bool
    """
    flags = (INCREMENTAL if is_chunked else LATE) | (IF_SET if is_written else NEVER)
    if fill is None:
        return FILL, CONSTANT, bytes((3, flags))
    return FILL, CONSTANT, bytes((3, flags | HAS_VALUE)) + len(fill).to_bytes(4, "little") + fill


class Filters(NamedTuple):
    """The usual filters of chunks."""

    level: int | None = None
    """Level of compression; None: there is none."""
    is_shuffled: bool = False
    has_checksum: bool = False
    """Whether chunks have a Fletcher-32 checksum, of the values before the other filters."""
    compression: int = ZLIB_NUMBER
    """zlib, bzip2 or zstd."""

    def steps(self, item_size: int) -> tuple[ChunkFilter, ...]:
        """Return the filters in the order in which they are applied."""
        return _steps(self, item_size)

    def message(self, item_size: int) -> tuple[int, int, bytes]:
        """Return the filter pipeline message."""
        return _filter_message(self.steps(item_size))


@lru_cache(64)
def _steps(filters: Filters, item_size: int) -> tuple[ChunkFilter, ...]:
    found = [ChunkFilter(FLETCHER32)] if filters.has_checksum else []
    if filters.is_shuffled:
        found.append(ChunkFilter(SHUFFLE, item_size))
    if filters.level is not None:
        found.append(ChunkFilter(filters.compression, level=filters.level))
    return tuple(found)


@lru_cache(64)
def _filter_message(steps: tuple[ChunkFilter, ...]) -> tuple[int, int, bytes]:
    body = bytes((2, len(steps)))
    for each in steps:
        values = [] if each.number == FLETCHER32 else [each.size if each.number == SHUFFLE else each.level]
        name_length = [0] if each.number >= FIRST_NAMED else []
        is_optional = OPTIONAL if values else 0
        numbers = each.number, *name_length, is_optional, len(values)
        body += struct.pack(f"<{len(numbers)}H{len(values)}i", *numbers, *values)
    return FILTERS, CONSTANT, body


def stored_chunks(
    values: NDArray[Any], chunk: tuple[int, ...], encode: Callable[[Any], Any], fill: Any
) -> list[tuple[tuple[int, ...], Any]]:
    """Return the first indices and the stored bytes of all chunks of an array.

    Parameters
    ----------
    values : ndarray
        As in the file; strings of variable length as `bytes` without filters.
    chunk : tuple of int
    encode : callable
        Makes what is stored of the bytes of a chunk.
    fill : scalar
        Value beyond the edge of the array.

    Raises
    ------
    NotCovered
        If there are too many for one leaf.
    """
    if values.shape == chunk and values.dtype != object:
        return [((0,) * len(chunk), encode(np.ascontiguousarray(values)))]
    axes = [range(0, n, step) for n, step in zip(values.shape, chunk, strict=True)]
    if math.prod(map(len, axes)) > MAX_CHUNKS:
        raise NotCovered("many chunks")
    found = []
    for start in itertools.product(*axes):
        part = values[tuple([slice(i, i + n) for i, n in zip(start, chunk, strict=True)])]
        if part.shape != chunk:
            whole = np.full(chunk, fill, values.dtype)
            whole[tuple([slice(n) for n in part.shape])] = part
            part = whole
        if values.dtype == object:
            found.append((start, part.ravel().tolist()))
        else:
            found.append((start, encode(np.ascontiguousarray(part))))
    return found


def compose_file(objects: Sequence[NewObject], shift: int = 0) -> bytes:
    """Return the bytes of a file.

    Parameters
    ----------
    objects : sequence of NewObject
        The root group first, each group before what is in it. Links have this order.
    shift : int
        Bytes of the file between the superblock and the metadata, which are not in the result.

    Raises
    ------
    NotCovered
        If the library must write it.
    """
    counts = [len(each.storage.values) for each in objects if each.storage is not None and _has_chunks(each.storage)]
    half = max((max(counts) + 1) // 2, LEAST_HALF) if counts and not shift else USUAL_HALF
    try:
        return compose(list(objects), half, _usual_types(), shift)
    except OverflowError as error:
        raise NotCovered(f"{error}") from None


def _has_chunks(storage: NewStorage) -> bool:
    return storage.chunk is not None and isinstance(storage.values, list)
