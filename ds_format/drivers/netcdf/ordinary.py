"""Ordinary small datasets → files, in one step and without a library. All others need a Sink.

One pass makes definitions and values, of which `classic.composing` or `hdf5.composing` makes bytes. They are the same
as those that `definition.Definer` and `writers` make step by step, which takes ten times as long. All that these would
warn of, refuse, or have to search for is left to them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, lru_cache, partial
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...body import Address, path_text
from ...body.target import write_at_once
from ...errors import UnsupportedError
from ...hdf5.composing import MAX_VALUES, NotCovered
from ...kernels.netcdf.describe import Describer, NotOrdinary
from ...model.missing import VALUE_ATTRIBUTES, default_fill, in_type_of_variable
from ...model.settings import NETCDF
from ..library.catalog import BOOL_ATTRIBUTE
from .attributes import EncodedAttribute, encode
from .classic.composing import compose_classic
from .format import (
    BOOL_CODE,
    CDF5_CODES,
    CODES,
    DEFAULT_FORMAT,
    ENCODING_ATTRIBUTE,
    MARKER,
    RESERVED,
    creation_options,
)
from .hdf5.composing import compose
from .options import LEVELS, MIN_SIZE
from .records import Attributes, DimensionRecord, FileRecords, VariableRecord

PROPERTIES = frozenset({".size", ".type", ".missing", ".dtypes", ".dims", NETCDF})
"""Properties that follow from the data, and those that are read by themselves."""
STORAGE = frozenset({"packed", "compression", "level", "shuffle", "fletcher32", "chunks", "endian"})
"""Settings of a variable of numbers that `creation_options` alone turns into options."""
UNUSUAL = frozenset({MARKER, ENCODING_ATTRIBUTE, BOOL_ATTRIBUTE[0], "missing_value", *RESERVED})
"""Names of attributes that mean something for how a variable is stored."""
BOOL = np.dtype(BOOL_CODE)
NUMBERS = {np.dtype(code): np.dtype(code) for code in CDF5_CODES} | {np.dtype(np.bool_): BOOL}
"""Types in memory → types in the file."""
UNICODE = {
    ENCODING_ATTRIBUTE: EncodedAttribute("text", b"utf-8"),
    MARKER: EncodedAttribute("text", json.dumps({"type": "unicode"}).encode()),
}
"""Attributes of characters that are text."""
COMPOSED = frozenset({DEFAULT_FORMAT, "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"})
"""Formats that are written in one step."""


def dumps(arrays: Mapping[str, Any], meta: Mapping[str, Mapping[str, Any]], **options: Any) -> bytes | None:
    """Return the bytes of a file; None if a Sink has to write it. Parameters are those of `write`."""
    if options.keys() - {"format"} and not _changes_nothing(arrays, meta, **options):
        return None
    described = describe(arrays, meta, options.get("format"))
    if described is None or (described[0].format != DEFAULT_FORMAT and "compression" in options):
        return None
    try:
        return (compose if described[0].format == DEFAULT_FORMAT else compose_classic)(*described)
    except (NotCovered, UnsupportedError):  # the Sink names the fault
        return None


def _changes_nothing(
    arrays: Mapping[str, Any],
    meta: Mapping[str, Mapping[str, Any]],
    *,
    format: Any = None,
    compression: Any = None,
    level: Any = None,
    shuffle: Any = None,
    **others: Any,
) -> bool:
    """Return whether options change no variable: `StorageOptions` compresses no small one that was not compressed."""
    if others or compression != "zlib" or type(shuffle) not in (bool, NoneType) or type(level) not in (int, NoneType):
        return False
    return level in (None, *LEVELS[compression]) and all(
        array is not None
        and (array.dtype.hasobject or array.nbytes < MIN_SIZE)
        and "compression" not in (meta.get(name, {}).get(NETCDF) or ())
        for name, array in arrays.items()
    )


def write(
    path: Any,
    arrays: Mapping[str, Any],
    meta: Mapping[str, Mapping[str, Any]],
    *,
    atomic: bool = True,
    durable: bool = False,
    **options: Any,
) -> bool:
    """Write a whole file at once, and return whether this was possible. If not, a Sink has to write it.

    Parameters
    ----------
    path : str, bytes, PathLike or Address
    arrays : dict
        Key → ndarray, MaskedArray, or None for a variable without data.
    meta : Metadata
    atomic, durable : bool
        As for `kernels.files.files.write_file`.
    **options
        Those of `NetCDFSink`. With most of them it is not possible.
    """
    data = dumps(arrays, meta, **options)
    if data is None:
        return False
    write_at_once(path if isinstance(path, Address) else path_text(path), [data], atomic=atomic, durable=durable)
    return True


Described = tuple[FileRecords, dict[str, NDArray[Any]]]
"""A file and the values of its variables, for a composer."""


def describe(
    arrays: Mapping[str, Any], meta: Mapping[str, Mapping[str, Any]], format: str | None = None
) -> Described | None:
    """Return the file of a dataset and its values; None if it is not ordinary.

    Parameters
    ----------
    arrays : dict
        Key → ndarray or MaskedArray; None for a variable without data, which is not ordinary.
    meta : Metadata
    format : str, optional
        As for `creating.create`.
    """
    try:
        return _described(arrays, meta, format)
    except (NotOrdinary, RecursionError):  # of attributes that are too deep
        return None


def _described(arrays: Mapping[str, Any], meta: Mapping[str, Mapping[str, Any]], format: str | None) -> Described:
    of_file: Any = meta.get(".", {})
    if type(of_file) is not dict:
        raise NotOrdinary
    format, unlimited = _settings(of_file, format)
    describer = _describer(format)
    variables, values, sizes, texts = describer.describe(dict(arrays), meta, unlimited)
    if not unlimited.issubset(sizes) or (format != DEFAULT_FORMAT and len(unlimited) > 1):
        raise NotOrdinary
    dimensions = {name: DimensionRecord(name, n, name in unlimited) for name, n in sizes.items()}
    for name, n in texts.items():
        if name in sizes or name in arrays:
            raise NotOrdinary
        dimensions[name] = DimensionRecord(name, n)
    attributes: dict[str, Attributes] = {"": describer.attributes(of_file, None)}
    return FileRecords(format, dimensions=dimensions, attributes=attributes, variables=variables), values


def _settings(entry: Mapping[str, Any], format: str | None) -> tuple[str, set[str]]:
    """Return the format of the file, and its unlimited dimensions."""
    record = entry.get(NETCDF, {})
    if type(record) is not dict or record.keys() - {"unlimited", "format"}:
        raise NotOrdinary
    names, recorded = record.get("unlimited", []), record.get("format", DEFAULT_FORMAT)
    chosen = recorded if format is None else format
    if chosen not in COMPOSED or type(names) is not list:
        raise NotOrdinary
    try:
        return chosen, set(names)
    except TypeError:
        raise NotOrdinary from None


@cache
def _describer(format: str) -> Describer:
    """Return what describes the variables of a format, which is one of `COMPOSED`."""
    types = {dtype: stored for dtype, stored in NUMBERS.items() if stored.str[1:] in CODES[format]}
    return Describer(
        types,
        {stored: default_fill(stored) for stored in types.values()},
        PROPERTIES,
        UNUSUAL,
        frozenset(VALUE_ATTRIBUTES),
        EncodedAttribute,
        VariableRecord,
        partial(_encoded, format=format),
        partial(_options, format=format),
        {BOOL_ATTRIBUTE[0]: EncodedAttribute("text", BOOL_ATTRIBUTE[1].encode())},
        UNICODE,
        format != DEFAULT_FORMAT,
        MAX_VALUES,
    )


def _options(record: Any, shape: tuple[int, ...], unlimited: tuple[bool, ...], *, format: str) -> dict[str, Any]:
    """Return the options of a variable of numbers."""
    if type(record) is not dict:
        raise NotOrdinary
    if "chunks" in record:
        return _made(record, shape, unlimited, format)
    try:
        return {**_shapeless(tuple(record.items()), tuple(map(type, record.values())), bool(shape), format)}
    except TypeError:  # an unhashable setting
        raise NotOrdinary from None


@lru_cache(256)
def _shapeless(
    record: tuple[tuple[str, Any], ...], types: tuple[type, ...], has_axes: bool, format: str
) -> dict[str, Any]:
    """Return the options of a record without chunks. `types` tells 1 and True apart, of which one may be ignored."""
    return _made(dict(record), (1,) * has_axes, (False,) * has_axes, format)


def _made(record: dict[str, Any], shape: tuple[int, ...], unlimited: tuple[bool, ...], format: str) -> dict[str, Any]:
    if not STORAGE.issuperset(record):
        raise NotOrdinary
    options = creation_options(record, shape, unlimited, format)
    if options.get("compression", "zlib") != "zlib":
        raise NotOrdinary
    return options


KEPT = (float, int, list)
MOST = 4096
_kept: dict[tuple[str, str, np.dtype[Any] | None, str], EncodedAttribute] = {}
"""Numbers and lists that were encoded, by name, `repr` and format; at most `MOST`."""


def _encoded(name: str, value: Any, dtype: np.dtype[Any] | None, *, format: str) -> EncodedAttribute:
    """Return an attribute that is not text."""
    if type(value) not in KEPT:
        return _value(name, value, dtype, format)
    key = name, repr(value), dtype if name in VALUE_ATTRIBUTES else None, format
    encoded = _kept.get(key)
    if encoded is None:
        encoded = _value(name, value, dtype, format)
        if len(_kept) < MOST:
            _kept[key] = encoded
    return encoded


def _value(name: str, value: Any, dtype: np.dtype[Any] | None, format: str) -> EncodedAttribute:
    if name in VALUE_ATTRIBUTES and dtype is not None and not isinstance(value, (np.generic, np.ndarray)):
        value = in_type_of_variable(value, dtype)
    try:
        encoded = encode(value, format)
    except UnsupportedError:
        raise NotOrdinary from None
    if encoded.note or encoded.form == "json":
        raise NotOrdinary
    return encoded
