"""Ordinary small datasets → files, in one step and without a library. All others need a Sink.

One pass makes definitions and values, of which `classic.composing` or `hdf5.composing` makes bytes. They are the same
as those that `definition.Definer` and `writers` make step by step, which takes ten times as long. All that these would
warn of, refuse, or have to search for is left to them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...body import Address, path_text
from ...body.target import write_at_once
from ...errors import UnsupportedError
from ...hdf5.composing import NotCovered
from ...model.missing import FILL_ATTRIBUTE, VALUE_ATTRIBUTES, default_fill, in_type_of_variable, is_default_missing
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
    MAX_NAME_SIZE,
    POSSIBLE,
    RESERVED,
    creation_options,
)
from .hdf5.composing import CHARACTER, MAX_RANK, MAX_SIZE, STRING_SIZE, compose
from .records import DimensionRecord, FileRecords, VariableRecord

DERIVED = frozenset({".size", ".type", ".missing", ".dtypes"})
"""Properties that follow from the data."""
STORAGE = frozenset({"packed", "compression", "level", "shuffle", "fletcher32", "chunks", "endian"})
"""Settings of a variable of numbers that `creation_options` alone turns into options."""
UNUSUAL = frozenset({MARKER, ENCODING_ATTRIBUTE, BOOL_ATTRIBUTE[0], "missing_value", *RESERVED})
"""Names of attributes that mean something for how a variable is stored."""
BOOL = np.dtype(BOOL_CODE)
NUMBERS = {np.dtype(code): np.dtype(code) for code in CDF5_CODES} | {np.dtype(np.bool_): BOOL}
"""Types in memory → types in the file."""
IS_BOOL = EncodedAttribute("text", BOOL_ATTRIBUTE[1].encode())
UNICODE = {
    ENCODING_ATTRIBUTE: EncodedAttribute("text", b"utf-8"),
    MARKER: EncodedAttribute("text", json.dumps({"type": "unicode"}).encode()),
}
"""Attributes of characters that are text."""
COMPOSED = frozenset({DEFAULT_FORMAT, "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"})
"""Formats that are written in one step."""
SMALL = 2
"""Bytes of numbers all of whose values may well occur."""


class _Other(Exception):
    """Something that is not ordinary."""


def dumps(arrays: Mapping[str, Any], meta: Mapping[str, Mapping[str, Any]], **options: Any) -> bytes | None:
    """Return the bytes of a file; None if a Sink has to write it. Parameters are those of `write`."""
    if options.keys() - {"format"}:
        return None
    described = describe(arrays, meta, options.get("format"))
    if described is None:
        return None
    try:
        return (compose if described[0].format == DEFAULT_FORMAT else compose_classic)(*described)
    except (NotCovered, UnsupportedError):  # the Sink names the fault
        return None


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
    except (_Other, RecursionError):  # of attributes that are too deep
        return None


def _described(arrays: Mapping[str, Any], meta: Mapping[str, Mapping[str, Any]], format: str | None) -> Described:
    of_file = meta.get(".", {})
    format, unlimited = _settings(of_file, format)
    is_classic = format != DEFAULT_FORMAT
    records = FileRecords(format, attributes={"": _attributes(of_file, None, format)})
    values: dict[str, NDArray[Any]] = {}
    sizes: dict[str, int] = {}
    total = 0
    for name, array in arrays.items():
        entry = meta.get(name, {})
        if not _is_name(name) or array is None or not array.size:
            raise _Other
        total += array.size * (STRING_SIZE if array.dtype.hasobject else array.itemsize)
        dims = entry.get(".dims")
        names = tuple([f"{name}_{i}" for i in range(1, array.ndim + 1)] if dims is None or not dims else dims)
        if len(names) != array.ndim or array.ndim >= MAX_RANK:
            raise _Other
        for dim, n in zip(names, array.shape, strict=True):
            if sizes.setdefault(dim, n) != n or not _is_name(dim):
                raise _Other
        if is_classic and not unlimited.isdisjoint(names[1:]):
            raise _Other
        records.variables[name], values[name] = _variable(name, array, entry, names, unlimited, format)
    if total > MAX_SIZE or not unlimited.issubset(sizes) or (is_classic and len(unlimited) > 1):
        raise _Other
    records.dimensions = {name: DimensionRecord(name, n, name in unlimited) for name, n in sizes.items()}
    for record in records.variables.values():
        if record.type == "char":
            name = record.dims[-1]
            if name in sizes or name in arrays:
                raise _Other
            records.dimensions[name] = DimensionRecord(name, values[record.path].shape[-1])
    return records, values


def _settings(entry: Mapping[str, Any], format: str | None) -> tuple[str, set[str]]:
    """Return the format of the file, and its unlimited dimensions."""
    record = entry.get(NETCDF, {})
    if type(record) is not dict or record.keys() - {"unlimited", "format"}:
        raise _Other
    names, recorded = record.get("unlimited", []), record.get("format", DEFAULT_FORMAT)
    chosen = recorded if format is None else format
    if chosen not in COMPOSED or type(names) is not list:
        raise _Other
    try:
        return chosen, set(names)
    except TypeError:
        raise _Other from None


@lru_cache(4096)
def _is_name(name: Any) -> bool:
    """Return whether NetCDF can hold a name, without looking at characters beyond ASCII, groups, and escapes."""
    if type(name) is not str or not name.isascii() or len(name) > MAX_NAME_SIZE or name in RESERVED:
        return False
    return POSSIBLE.fullmatch(name) is not None


# --- attributes ---


def _attributes(entry: Mapping[str, Any], dtype: np.dtype[Any] | None, format: str) -> dict[str, EncodedAttribute]:
    """Return the attributes of a variable of numbers, or of anything else (`dtype` is None)."""
    found = {}
    for name, value in entry.items():
        if name[:1] == ".":
            if name not in DERIVED and name != ".dims" and name != NETCDF:
                raise _Other
            continue
        if type(value) is str:
            found[name] = _text(name, value)
            continue
        if type(value) in KEPT:
            key = name, repr(value), dtype if name in VALUE_ATTRIBUTES else None, format
            encoded = _kept.get(key)
            if encoded is None:
                encoded = _value(name, value, dtype, format)
                if len(_kept) < MOST:
                    _kept[key] = encoded
            found[name] = encoded
        else:
            found[name] = _value(name, value, dtype, format)
    return found


KEPT = (float, int, list)
MOST = 4096
_kept: dict[tuple[str, str, np.dtype[Any] | None, str], EncodedAttribute] = {}
"""Numbers and lists that were encoded, by name, `repr` and format; at most `MOST`."""


def _value(name: str, value: Any, dtype: np.dtype[Any] | None, format: str) -> EncodedAttribute:
    """Return an attribute that is not text."""
    if not _is_name(name) or name in UNUSUAL:
        raise _Other
    if name in VALUE_ATTRIBUTES and dtype is not None and not isinstance(value, (np.generic, np.ndarray)):
        value = in_type_of_variable(value, dtype)
    try:
        encoded = encode(value, format)
    except UnsupportedError:
        raise _Other from None
    if encoded.note or encoded.form == "json":
        raise _Other
    return encoded


@lru_cache(4096)
def _text(name: str, value: str) -> EncodedAttribute:
    """Return a text. Those of all files of an archive are encoded once."""
    if not _is_name(name) or name in UNUSUAL or value[-1:] == "\0":
        raise _Other
    try:
        return EncodedAttribute("text", value.encode())
    except UnicodeEncodeError:
        raise _Other from None


# --- variables ---


def _variable(
    name: str, array: Any, entry: Mapping[str, Any], dims: tuple[str, ...], unlimited: set[str], format: str
) -> tuple[VariableRecord, NDArray[Any]]:
    stored = NUMBERS.get(array.dtype)
    record = entry.get(NETCDF)
    options: dict[str, Any] = {}
    if record is not None:
        if stored is None or type(record) is not dict or not STORAGE.issuperset(record):
            raise _Other
        if len(record) > ("packed" in record):
            free = tuple([dim in unlimited for dim in dims])
            options = creation_options(record, array.shape, free, format)
            if options.get("compression", "zlib") != "zlib":
                raise _Other
    if stored is None:
        return _text_variable(name, array, entry, dims, format)
    if stored.str[1:] not in CODES[format]:
        raise _Other
    attributes = _attributes(entry, stored, format)
    fill = attributes.get(FILL_ATTRIBUTE)
    values, mask, has_missing = array, np.ma.nomask, False
    if type(array) is not np.ndarray:
        values, mask = np.ma.getdata(array), np.ma.getmask(array)
        has_missing = mask is not np.ma.nomask and bool(mask.any())
    if stored is BOOL and array.dtype.kind == "b":
        if fill is not None or has_missing:
            raise _Other
        attributes[BOOL_ATTRIBUTE[0]] = IS_BOOL
    elif fill is not None or has_missing:
        if fill is None:
            if stored.itemsize <= SMALL:
                raise _Other
            fill = EncodedAttribute("number", default_fill(stored))
            attributes = {FILL_ATTRIBUTE: fill, **attributes}
        values = _marked(values, mask, has_missing, fill.value, entry.get(FILL_ATTRIBUTE, fill.value), stored)
    if fill is None:
        # in a classic file, this value means missing to readers
        if (
            format != DEFAULT_FORMAT
            and is_default_missing(entry, stored.kind)
            and (values == default_fill(stored)).any()
        ):
            raise _Other
        options["fill_value"] = False
    values = values.astype(stored, copy=False)
    if "endian" in options:
        stored = stored.newbyteorder(">")
    return VariableRecord(name, stored, dims, attributes, None, options), values


def _marked(
    values: NDArray[Any], mask: Any, has_missing: bool, fill: Any, given: Any, stored: np.dtype[Any]
) -> NDArray[Any]:
    """Return values with missing ones marked."""
    if not isinstance(given, np.generic) or given.dtype != stored or fill != fill or np.ndim(fill):
        raise _Other  # another type, several values, or NaN
    hits = values == fill
    if (hits & ~mask if has_missing else hits).any():
        raise _Other
    return np.where(mask, fill, values) if has_missing else values


def _text_variable(
    name: str, array: Any, entry: Mapping[str, Any], dims: tuple[str, ...], format: str
) -> tuple[VariableRecord, NDArray[Any]]:
    attributes = _attributes(entry, None, format)
    mask = np.ma.getmask(array)
    if not array.dtype.hasobject or FILL_ATTRIBUTE in attributes or (mask is not np.ma.nomask and mask.any()):
        raise _Other
    values = np.ma.getdata(array)
    texts = values.ravel().tolist()
    kinds = set(map(type, texts))
    if kinds == {str}:
        try:
            encoded = [text.encode() for text in texts]
        except UnicodeEncodeError:
            raise _Other from None
        if any(b"\0" in text for text in encoded):
            raise _Other
        if format != DEFAULT_FORMAT:
            return _characters(name, encoded, values.shape, dims, {**attributes, **UNICODE})
        out = np.empty(len(texts), object)
        out[:] = encoded
        return VariableRecord(name, "string", dims, attributes), out.reshape(values.shape)
    if kinds != {bytes} or any(text.endswith(b"\0") for text in texts):
        raise _Other
    return _characters(name, texts, values.shape, dims, attributes)


def _characters(
    name: str,
    texts: list[bytes],
    shape: tuple[int, ...],
    dims: tuple[str, ...],
    attributes: dict[str, EncodedAttribute],
) -> tuple[VariableRecord, NDArray[Any]]:
    """Return a variable of characters, along a dimension of the longest text."""
    size = max(max(map(len, texts)), 1)
    characters = np.array(texts, f"S{size}").reshape(*shape, 1).view(CHARACTER)
    return VariableRecord(name, "char", (*dims, f"string{size}"), attributes), characters
