"""The metadata of an HDF5 file: body → `HDF5File`.

Files, or parts of them, are left to a library (`Unusual`) if they have:

- a user block (see `content`), addresses that do not have 8 bytes, a driver that spreads the file or an image of the
  metadata cache, or are open for writing;
- external links, groups that are nested deeper than 32, links whose names have slashes;
- messages that are shared in a heap, heaps with filters, references to regions;
- names that are empty or not UTF-8, two attributes with one name;
- a structure of a version that is not in "HDF5 File Format Specification Version 3.0".
"""

from __future__ import annotations

import math
from typing import cast

from ..base import signatures
from ..base.dtypes import MAX_COUNT, TypedNumbers
from ..body.body import Body
from ..errors import FormatError, Unusual
from ..kernels.hdf5.objects import Parser
from .reading import Segments, first_bytes, read_known
from .records import (
    HDF5Attribute,
    HDF5Dataset,
    HDF5File,
    HDF5Filter,
    HDF5Group,
    HDF5Layout,
    HDF5Type,
)

SIGNATURE = signatures.HDF5

_records = (HDF5Type, HDF5Attribute, HDF5Filter, HDF5Layout, HDF5Dataset, HDF5Group, HDF5File)
_parser = Parser(_records)
_header_parser = Parser(_records, TypedNumbers)


def content(body: Body) -> Body | None:
    """Return the body of an HDF5 file without its user block; None if it has no signature of HDF5."""
    start = 0
    while start + len(SIGNATURE) <= body.size:
        if bytes(body.read(start, len(SIGNATURE))) == SIGNATURE:
            return body.section(start) if start else body
        start = 2 * start or signatures.HDF5_START
    return None


def read_file(body: Body, *, netcdf: bool = False, share: bool = False) -> HDF5File:
    """Read the metadata of a file.

    Parameters
    ----------
    body : Body
        The bytes of the file.
    netcdf : bool
        Whether attributes are given as netCDF has them; see `records.HDF5Dataset`.
    share : bool
        With `netcdf`, whether attributes of an object may be the same dict as those of another one, in any file, that
        has the same ones. Then they must not be changed.

    Raises
    ------
    OSError
        As the operating system says.
    FormatError, TruncatedError
        If it is damaged: with the structure and its position.
    Unusual
        If a library must read the file.
    """
    return _usual(_read(body, _parser, netcdf, share))


def read_partly(body: Body, *, netcdf: bool = False) -> HDF5File:
    """Do the same as `read_file`; of a file that a library must read, return what is known, and why."""
    return _read(body, _parser, netcdf, False)


def read_header(body: Body) -> HDF5File:
    """Do the same as `read_file` for `netcdf`, without NumPy: numbers of attributes are `TypedNumbers`."""
    return _usual(_read(body, _header_parser, True, False))


def _usual(file: HDF5File) -> HDF5File:
    if file.unusual:
        raise Unusual(file.unusual)
    return file


def _read(body: Body, parser: Parser, netcdf: bool, share: bool) -> HDF5File:
    def parse(segments: Segments, size: int) -> HDF5File | list[tuple[int, int]]:
        return cast("HDF5File | list[tuple[int, int]]", parser.parse(segments, size, netcdf, share))

    return read_known(body, parse, first_bytes(body))


MAX_CHUNK_SIZE = 2**32
"""Bytes of a chunk in memory."""
OF_VALUES = ("number", "enum", "text", "string")
"""Kinds of types whose values are read."""


def check_dataset(dataset: HDF5Dataset) -> tuple[tuple[int, ...], int]:
    """Return the shape of a dataset and the bytes of its values, after checks of everything except its filters.

    Raises
    ------
    FormatError
        If layout, type and dataspace do not fit each other.
    Unusual
        If a library must read the values: for their type or their layout.
    """
    type_, shape, layout, fill = dataset.type, dataset.shape, dataset.layout, dataset.fill
    item_size = type_.size
    if type_.kind not in OF_VALUES:
        raise Unusual(f"values of the type {type_.kind}")
    if shape is None:
        raise Unusual("a dataset without values")
    if layout.kind == "unusual":
        raise Unusual("a layout of several datasets or files")
    size = math.prod(shape) * item_size
    if size > MAX_COUNT or (shape and max(shape) > MAX_COUNT):
        raise Unusual("more values than can be counted")
    if fill is not None and len(fill) != item_size:
        raise FormatError(f"fill value: found {len(fill)} bytes, expected {item_size}")
    if layout.chunk is not None:
        _check_chunk(layout, len(shape), item_size)
    elif layout.size < size and layout.address is not None:
        raise FormatError(f"layout: found {layout.size} bytes of values, expected {size}")
    return shape, size


def _check_chunk(layout: HDF5Layout, rank: int, item_size: int) -> None:
    chunk = layout.chunk or ()
    if len(chunk) != rank or 0 in chunk:
        raise FormatError(f"layout: found chunks of the shape {chunk}, expected {rank} numbers that are not 0")
    if math.prod(chunk) * item_size > MAX_CHUNK_SIZE:
        raise Unusual("chunks of more than 4 GiB")
    if layout.size != item_size:
        raise FormatError(f"layout: found values of {layout.size} bytes, expected {item_size}")
