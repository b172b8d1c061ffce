"""One variable of a file → where its chunks are, and how Zarr reads them; or its values, if they are few."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import classic, hdf5
from ..base.text import unescape
from ..codec.filters import BZIP2, FLETCHER32, HDF5, SHUFFLE, ZLIB_NUMBER, ZSTD
from ..codec.pipeline import ChunkFilter
from ..codec.slab_reading import chunk_positions
from ..codec.stored import Stored
from ..drivers.base import check_faults
from ..drivers.ds.parts import has_legacy_strings
from ..drivers.ds.source import DsSource
from ..drivers.native import NativeSource
from ..drivers.netcdf.classic.source import ClassicSource
from ..drivers.netcdf.hdf5.source import NetCDF4Source
from ..errors import DsError, TruncatedError, UnsupportedError, Unusual
from ..model.missing import FILL_ATTRIBUTE, fitting
from .codec import CODEC_ID, ChunkCodec, fill_of_type

Config = Mapping[str, Any]
"""The configuration of a codec, with the keys of numcodecs."""

BLOSC = 32001
FILTERS: dict[int, Config] = {
    ZLIB_NUMBER: {"id": "zlib", "level": 1},
    SHUFFLE: {"id": "shuffle"},
    FLETCHER32: {"id": "fletcher32"},
    BZIP2: {"id": "bz2", "level": 1},
    ZSTD: {"id": "zstd", "level": 1},
    BLOSC: {"id": "blosc"},
}
"""Number of a filter in HDF5 → the codec of numcodecs that decodes it. Decoding ignores levels."""
TEXT_CODECS = {"unicode": "vlen-utf8", "str": "vlen-bytes"}
"""Type of text → the codec of Zarr that makes objects of it."""
PLACED = frozenset({"number", "bool", "char"})
"""Kinds of values of NetCDF files whose bytes Zarr can read."""


class Chunks(NamedTuple):
    """The chunks of a variable in one file."""

    dtype: np.dtype[Any]
    """As Zarr has it: in the byte order of the file; object for text."""
    shape: tuple[int, ...]
    chunk: tuple[int, ...] | None
    """None: the values are contiguous, and may be divided along the outer axes."""
    filters: tuple[Config, ...]
    """In the order of encoding."""
    positions: list[NDArray[np.int64]]
    """For each axis (N,): position of each chunk that was written, in units of chunks."""
    offsets: NDArray[np.uint64]
    sizes: NDArray[np.uint64]
    """(N,): position and bytes of each chunk in the file."""
    unwritten: np.generic | None = None
    """Value of chunks that were not written; None: all were written."""


def fill_value(attributes: Mapping[str, Any], dtype: np.dtype[Any]) -> np.generic | None:
    """Return the number that marks missing values of an array by its attribute `_FillValue`; None if there is none."""
    given = attributes.get(FILL_ATTRIBUTE)
    if dtype.kind == "S":
        return np.bytes_(given.encode("utf-8", "surrogateescape")[:1]) if isinstance(given, str) and given else None
    found = fitting(given, dtype.newbyteorder("=")) if given is not None and dtype.kind in "iuf" else []
    return found[0] if found else None


def masked_fill(attributes: Mapping[str, Any], type_name: str, dtype: np.dtype[Any]) -> np.generic:
    """Return the number in place of masked values: NaN for floats, else `_FillValue`, else the default of NetCDF."""
    given = None if dtype.kind == "f" else fill_value(attributes, dtype)
    return fill_of_type(type_name) if given is None else given


def find_chunks(source: Any, key: str, attributes: Mapping[str, Any]) -> Chunks:
    """Return the chunks of a variable with data.

    Parameters
    ----------
    source : Source
    key : str
    attributes : dict
        Attributes of the variable.

    Raises
    ------
    UnsupportedError
        If Zarr cannot read it from the file.
    FormatError
        If it is damaged.
    """
    try:
        check_faults(source.faults, [key])
        if isinstance(source, DsSource):
            return _in_ds_file(source, key, attributes)
        return _in_native_file(source, key)
    except DsError as error:
        raise error.at(path=source.path, variable=unescape(key))


def check_source(source: Any) -> None:
    """Check that a file is of a format, and of a form, whose values Zarr can read.

    Raises
    ------
    UnsupportedError
        If it is not.
    """
    if isinstance(source, (DsSource, ClassicSource, NetCDF4Source)):
        return
    reader = getattr(source, "reader", None)
    reason = f"{reader.library} reads this one: {reader.reason}" if reader and reader.reason else "found another format"
    message = f"references need a ds file, or a NetCDF file that is read without a library; {reason}"
    raise UnsupportedError(message, path=source.path)


def _in_ds_file(source: DsSource, key: str, attributes: Mapping[str, Any]) -> Chunks:
    var = source.variable(key)
    ds_type, shape = var.type, var.size
    if ds_type is None or shape is None:
        raise UnsupportedError("has no data")
    if has_legacy_strings(source.header.version, var):
        raise UnsupportedError("text in the layout 2.0.1, for which there is no codec: write the file again")
    first, end = source.extent(var)
    offset = source.header.body + first
    if ds_type.is_number and not var.missing:
        dtype = np.dtype(ds_type.code).newbyteorder(">" if var.big else "<")
        return _contiguous(Stored(dtype, shape, offset), shape)
    codec = ChunkCodec(ds_type.name, shape, var.big, var.missing)
    if var.missing and not ds_type.is_string:
        codec = replace(codec, fill=masked_fill(attributes, ds_type.name, codec.dtype).item())
    filters: tuple[Config, ...] = ({"id": CODEC_ID, **codec.config()},)
    if ds_type.is_string:
        filters = ({"id": TEXT_CODECS[ds_type.name]}, *filters)
    n = int(0 not in shape)
    positions, offsets = [np.zeros(n, np.int64)] * len(shape), np.full(n, offset, np.uint64)
    return Chunks(codec.dtype, shape, shape, filters, positions, offsets, np.full(n, end - first, np.uint64))


def _contiguous(stored: Stored, shape: tuple[int, ...]) -> Chunks:
    n = int(stored.offset is not None and 0 not in shape)
    positions = [np.zeros(n, np.int64)] * len(shape)
    offsets, sizes = np.full(n, stored.offset or 0, np.uint64), np.full(n, stored.size, np.uint64)
    unwritten = None if n or stored.fill is None or 0 in shape else stored.fill.flat[0]
    return Chunks(stored.dtype, shape, None, (), positions, offsets, sizes, unwritten)


def _in_native_file(source: NativeSource, key: str) -> Chunks:
    variable, size = source.variables[key], source.body.size
    if variable.kind not in PLACED:
        raise UnsupportedError(f"values of the kind {variable.kind}, for which Zarr has no codec")
    try:
        stored = (classic if isinstance(source, ClassicSource) else hdf5).stored_of(source.body, variable.place)
    except Unusual as reason:
        raise UnsupportedError(f"stored in a way that only a library reads: {reason}") from None
    shape = variable.shape_in_file
    if stored.shape != shape and getattr(variable.place, "fill", None) is None:
        raise UnsupportedError(f"found the shape {[*stored.shape]}, expected {[*shape]}, or a fill value for the rest")
    if stored.chunk is None:
        end = 0 if stored.offset is None else stored.offset + stored.size
        if end > size:
            raise TruncatedError(f"found {size} bytes in the file, expected at least {end}")
        if end and stored.shape != shape:
            raise UnsupportedError(f"found the shape {[*stored.shape]}, expected {[*shape]} as of its dimensions")
        return _contiguous(stored, shape)
    if stored.chunks is None:
        raise UnsupportedError("found no index of its chunks")
    _, offsets, sizes, masks = stored.chunks
    if (outside := (sizes > size) | (offsets > size - np.minimum(sizes, np.uint64(size)))).any():
        i = int(outside.argmax())
        found = f"found a chunk of {sizes[i]} bytes at {offsets[i]}"
        raise TruncatedError(f"{found}, expected it within the {size} bytes of the file")
    if masks.any():
        raise UnsupportedError("some chunks skip a filter, which Zarr cannot express")
    positions = chunk_positions(stored.chunks.numbers, stored.grid)
    filters = tuple(_config(each) for each in stored.filters)
    n = math.prod(-(-n // step) for n, step in zip(shape, stored.chunk, strict=True))
    unwritten = None if len(offsets) == n or stored.fill is None else stored.fill.flat[0]
    return Chunks(stored.dtype, shape, stored.chunk, filters, positions, offsets, sizes, unwritten)


def _config(step: ChunkFilter) -> Config:
    """Return the codec of Zarr for a filter of HDF5.

    Raises
    ------
    UnsupportedError
        If there is none.
    """
    config = FILTERS.get(step.number)
    if config is None:
        raise UnsupportedError(f"the filter {HDF5[step.number].name}, for which Zarr has no codec")
    return {**config, "elementsize": step.size} if step.number == SHUFFLE else config
