"""The definitions of a netCDF-4 file and its values → the bytes of a small file, without a library.

The HDF5 objects are those that the library makes (`libhdf5/hdf5file.c` and `nc4hdf.c` of netCDF-C), see `description`.
The library writes the whole file if something is `NotCovered`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...._version import __version__
from ....codec.filters import BZIP2, ZLIB_NUMBER, ZSTD
from ....codec.pipeline import ChunkFilter, encoder
from ....hdf5.composing import (
    COMMITTED,
    CONSTANT,
    DATASPACE,
    DATATYPE,
    MAX_VALUES,
    NULL,
    SCALAR,
    STRING,
    STRING_SIZE,
    Filters,
    NewAttribute,
    NewObject,
    NewStorage,
    NotCovered,
    compose_file,
    enum_type,
    fill_message,
    number_type,
    space,
    stored_chunks,
    text_type,
)
from ....model.missing import FILL_ATTRIBUTE, default_fill
from ....model.settings import NON_COORDINATE, PURE_DIMENSION, SCALE_CLASS
from ...library.catalog import split
from ..format import DEFAULT_FORMAT, chunk_of
from ..records import Attributes, DimensionRecord, FileRecords, VariableRecord

LEVEL = 4
"""Level of zlib if none is given, as of netCDF4."""
POINTER_SIZE = 8
"""Bytes of a string where the library chooses chunks."""
PROPERTIES = f"version=2,ds_format={__version__}".encode()
"""The program that wrote a file, in the form of netCDF-C."""
PURE_TYPE = np.dtype(">f4")
"""Type of a dimension scale that is no variable."""
CHARACTER = np.dtype("S1")
UNFILTERED = frozenset({"fill_value", "endian", "chunksizes"})
"""Options that are about no filter."""


class Streamed(NamedTuple):
    """Values that are in the file already."""

    shape: tuple[int, ...]
    storage: NewStorage


def compose(file: FileRecords, values: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the bytes of a file; parameters and errors as of `objects_of`."""
    return compose_file(objects_of(file, values))


def objects_of(file: FileRecords, values: Mapping[str, NDArray[Any] | Streamed]) -> list[NewObject]:
    """Return the objects of a file.

    Parameters
    ----------
    file : FileRecords
    values : mapping
        Path of a variable → all its values, in the shape of its dimensions; strings as objects of the class `bytes`.
        Values that are left out are not written.

    Raises
    ------
    NotCovered
        If the library must write it: with the reason.
    """
    root = [_text("_NCProperties", PROPERTIES)]
    if file.format != DEFAULT_FORMAT:
        root.append(_integer("_nc3_strict", 1))
    objects = [NewObject(b"", 0, [], root, usual=file.attributes.get("", {}))]
    places = {"": 0}
    for name in file.groups:
        places[name] = len(objects)
        objects.append(_new(name, places, [], [], usual=file.attributes.get(name, {})))
    for name, dtype, members in file.enums.values():
        objects.append(_new(name, places, [(DATATYPE, COMMITTED, enum_type(dtype, members))], []))
    own = {name for name in file.dimensions if name in file.variables and file.variables[name].dims[:1] == (name,)}
    scales: dict[str, int] = {}
    for number, (name, dimension) in enumerate(file.dimensions.items()):
        if name not in own:
            scales[name] = len(objects)
            objects.append(_pure_dimension(dimension, number, places[_link(name)[0]]))
    if own:
        scales.update({name: i for i, name in enumerate(file.variables, len(objects)) if name in own})
    numbers = {name: number for number, name in enumerate(file.dimensions)}
    axes: dict[tuple[str, ...], _Axes] = {}
    for name, variable in file.variables.items():
        dims = variable.dims
        if dims not in axes:
            found = [file.dimensions[dim] for dim in dims]
            is_unlimited = tuple([each.is_unlimited for each in found])
            empty = tuple([0 if each.is_unlimited else each.size for each in found])
            own_numbers, own_scales = [tuple([number[dim] for dim in dims]) for number in (numbers, scales)]
            axes[dims] = _Axes(is_unlimited, empty, own_numbers, own_scales)
        objects.append(_variable(variable, values.get(name), axes[dims], name in scales, places))
    return objects


class _Axes(NamedTuple):
    """The dimensions of a variable."""

    is_unlimited: tuple[bool, ...]
    empty: tuple[int, ...]
    """The shape without records."""
    numbers: tuple[int, ...]
    scales: tuple[int, ...]
    """Numbers of their objects."""


def _new(
    name: str,
    places: Mapping[str, int],
    messages: list[tuple[int, int, bytes]],
    attributes: list[NewAttribute],
    scales: tuple[int, ...] = (),
    storage: NewStorage | None = None,
    usual: Attributes = MappingProxyType({}),
) -> NewObject:
    group, base = _link(name)
    return NewObject(base, places[group], messages, attributes, scales, storage, usual)


@lru_cache(1024)
def _link(name: str) -> tuple[str, bytes]:
    """Return the group of an object, and the name of its link."""
    group, base = split(name)
    return group, base.encode()


# --- attributes ---


@lru_cache(4096)
def _text(name: str, value: bytes) -> NewAttribute:
    return NewAttribute(name.encode(), text_type(max(len(value), 1)), SCALAR if value else NULL, value)


def _ended(name: str, value: str) -> NewAttribute:
    """Return the attribute of a dimension scale, which ends with a NUL."""
    return _text(name, value.encode() + b"\0")


@lru_cache(256)
def _integer(name: str, *values: int, is_list: bool = False) -> NewAttribute:
    array = np.array(values, "<i4")
    shape = space((len(values),)) if is_list else SCALAR
    return NewAttribute(name.encode(), number_type(array.dtype), shape, array.tobytes())


# --- dimensions and variables ---


@lru_cache(1024)
def _pure_dimension(dimension: DimensionRecord, number: int, parent: int) -> NewObject:
    is_unlimited = dimension.is_unlimited
    shape = (0 if is_unlimited else dimension.size,)
    attributes = [
        _ended("CLASS", SCALE_CLASS),
        _ended("NAME", f"{PURE_DIMENSION}{shape[0]:10d}"),
        _integer("_Netcdf4Dimid", number),
    ]
    messages = [
        (DATASPACE, 0, space(shape, (is_unlimited,))),
        (DATATYPE, CONSTANT, number_type(PURE_TYPE)),
        fill_message(None, is_written=True, is_chunked=is_unlimited),
    ]
    size = PURE_TYPE.itemsize
    storage = NewStorage((1,), size, []) if is_unlimited else NewStorage(None, size * shape[0], None)
    return NewObject(_link(dimension.path)[1], parent, messages, attributes, (), storage)


def _variable(
    variable: VariableRecord,
    values: NDArray[Any] | Streamed | None,
    axes: _Axes,
    is_named_as_dimension: bool,
    places: Mapping[str, int],
) -> NewObject:
    name, dims = variable.path, variable.dims
    shape = axes.empty if values is None else values.shape
    is_scale = dims[:1] == (name,)
    layout = layout_of(variable, shape, axes.is_unlimited)
    attributes = [*_own_attributes(name if is_scale else None, axes.numbers)]
    if is_named_as_dimension and not is_scale:
        group, base = split(name)
        name = f"{group}/{NON_COORDINATE}{base}" if group else NON_COORDINATE + base
    if variable.enum is not None and layout.fill is not None:
        attributes.insert(bool(dims), NewAttribute(FILL_ATTRIBUTE.encode(), layout.type, space((1,)), layout.fill))
    storage = values.storage if isinstance(values, Streamed) else _storage(layout, shape, values)
    scales = () if is_scale else axes.scales
    return _new(name, places, layout.messages, attributes, scales, storage, variable.attributes)


def _storage(layout: DatasetLayout, shape: tuple[int, ...], values: NDArray[Any] | None) -> NewStorage:
    dtype, content = layout.dtype, values
    if values is not None and dtype is not None:
        content = np.ascontiguousarray(values, dtype) if shape else np.asarray(values, dtype)
    if layout.chunk is None:
        items: Any = values.ravel().tolist() if values is not None and dtype is None else content
        return NewStorage(None, layout.item_size * math.prod(shape), items)
    if content is None:
        return NewStorage(layout.chunk, layout.item_size, [])
    if math.prod(layout.chunk) * layout.item_size > MAX_VALUES:
        raise NotCovered("large chunks")
    return NewStorage(layout.chunk, layout.item_size, stored_chunks(content, layout.chunk, layout.encode, layout.empty))


@lru_cache(1024)
def _own_attributes(scale: str | None, dims: tuple[int, ...]) -> tuple[NewAttribute, ...]:
    """Return the attributes that give a variable its dimensions, and if it is a scale those of its name."""
    found = [_integer("_Netcdf4Coordinates", *dims, is_list=True)] if dims else []
    if scale is not None:
        found += [_ended("CLASS", SCALE_CLASS), _ended("NAME", split(scale)[1]), _integer("_Netcdf4Dimid", dims[0])]
    return tuple(found)


class DatasetLayout(NamedTuple):
    """The description of a dataset without its name and attributes. Variables of the same form share it."""

    type: bytes
    dtype: np.dtype[Any] | None
    """Values in the file; None: strings of any length."""
    fill: bytes | None
    messages: list[tuple[int, int, bytes]]
    item_size: int
    chunk: tuple[int, ...] | None
    encode: Callable[[Any], Any]
    """Applies the filters of a chunk."""
    empty: Any
    """Value beyond the edge."""


def layout_of(variable: VariableRecord, shape: tuple[int, ...], is_unlimited: tuple[bool, ...]) -> DatasetLayout:
    """Return how the values of a variable are stored.

    Parameters
    ----------
    variable : VariableRecord
    shape : tuple of int
    is_unlimited : tuple of bool
        Which of its dimensions are.
    """
    options = variable.options
    dtype = _stored_type(variable.type)
    fill = None if dtype is None else _fill(variable, dtype)
    members = None if variable.enum is None else tuple(variable.enum.members.items())
    given = options.get("chunksizes")
    is_written = options.get("fill_value") is not False
    filters = _filters(variable)
    is_big = options.get("endian") == "big"
    return _layout(dtype, is_big, members, shape, is_unlimited, fill, is_written, given and tuple(given), filters)


@lru_cache(1024)
def _layout(
    dtype: np.dtype[Any] | None,
    is_big: bool,
    members: tuple[tuple[str, int], ...] | None,
    shape: tuple[int, ...],
    is_unlimited: tuple[bool, ...],
    fill: bytes | None,
    is_written: bool,
    chunksizes: tuple[int, ...] | None,
    filters: Filters | None,
) -> DatasetLayout:
    item_size = STRING_SIZE if dtype is None else dtype.itemsize
    known_size = POINTER_SIZE if dtype is None else item_size
    chunk = chunk_of(chunksizes, shape, is_unlimited, known_size, filters is not None)
    type_ = STRING if dtype is None else text_type(1) if dtype == CHARACTER else number_type(dtype, is_big)
    if members is not None and dtype is not None:
        type_ = enum_type(dtype, dict(members))
    messages = [
        (DATASPACE, 0, space(shape, is_unlimited)),
        (DATATYPE, CONSTANT, type_),
        fill_message(fill, is_written=is_written, is_chunked=chunk is not None),
    ]
    steps: tuple[ChunkFilter, ...] = ()
    if filters is not None and chunk is not None:
        steps = filters.steps(item_size)
        messages.append(filters.message(item_size))
    empty = b"" if dtype is None else np.frombuffer(fill or bytes(item_size), dtype)[0]
    return DatasetLayout(type_, dtype, fill, messages, item_size, chunk, encoder(steps), empty)


@lru_cache(64)
def _stored_type(type_: np.dtype[Any] | str) -> np.dtype[Any] | None:
    """Return the type in the file, whose numbers are little-endian unless the record says otherwise."""
    if isinstance(type_, str):
        return CHARACTER if type_ == "char" else None
    return type_ if type_.str[0] == ">" else type_.newbyteorder("<")


def _fill(variable: VariableRecord, dtype: np.dtype[Any]) -> bytes | None:
    """Return the value of what is not written; None: there is none."""
    given = variable.options.get("fill_value")
    if given is False:
        return None
    if given is not None:
        return np.asarray(given).astype(dtype).tobytes()
    own = variable.attributes.get(FILL_ATTRIBUTE)
    if dtype == CHARACTER:
        return own.value[:1] if own is not None and own.form == "text" and own.value else b"\0"
    if variable.enum is not None:
        return None
    if own is None:
        return _default_fill(dtype)
    if isinstance(own.value, np.generic) and own.value.dtype == dtype:
        return own.value.tobytes()
    return np.asarray(own.value).reshape(-1)[:1].astype(dtype).tobytes()


@lru_cache(64)
def _default_fill(dtype: np.dtype[Any]) -> bytes:
    return np.asarray(default_fill(dtype.newbyteorder("="))).astype(dtype).tobytes()


def _filters(variable: VariableRecord) -> Filters | None:
    options = variable.options
    if not options or not variable.dims or variable.type == "string" or options.keys() <= UNFILTERED:
        return None
    get = options.get
    return _chosen_filters(get("compression"), get("complevel"), get("shuffle"), get("fletcher32"))


COMPRESSIONS = {"zlib": ZLIB_NUMBER, "bzip2": BZIP2, "zstd": ZSTD}


@lru_cache(64)
def _chosen_filters(compression: Any, level: Any, shuffle: Any, fletcher32: Any) -> Filters | None:
    if compression is not None and compression not in COMPRESSIONS:
        raise NotCovered(f"compression {compression}")
    number = LEVEL if level is None else int(level)
    is_shuffled = bool(compression) and shuffle in (None, True)
    if compression is None or (compression == "zlib" and not number):
        found = Filters(None, is_shuffled, bool(fletcher32))
    else:
        found = Filters(number, is_shuffled, bool(fletcher32), COMPRESSIONS[compression])
    return found if found != Filters() else None
