"""Samples ↔ msgpack messages, with NumPy arrays, NumPy scalars and complex numbers in them.

An array is a map with five entries, whose keys are bytes::

    nd     true
    type   str: type string; or the fields of a structured type, each [name, type] or [name, type, shape]
    kind   bytes: empty; `V` for structured and void types; `O` for a pickle, which is neither read nor written
    shape  array of integers
    data   bytes of the elements in C order

A NumPy scalar has `nd` false, `type` and `data`. A complex number has `complex` true, and its text as `data`.
Reading and writing refuse every type that contains objects, and long doubles, whose bytes depend on the machine.

Source: the encoding of msgpack-numpy 0.4.8, as datadings 3.4.7 uses it.
"""

from __future__ import annotations

import contextlib
import functools
import math
import re
import reprlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..base.messagepack import Packer, packb, unpackb
from ..errors import DsError, FormatError, TruncatedError, UnsafeError, UnsupportedError
from ..kernels.msgpack.objects import pack as kernel_pack, unpack as kernel_unpack
from ..kernels.msgpack.walk import measure

MAX_DIMS = 64
"""Maximum number of dimensions of an array, as in NumPy."""
MAX_NESTED = 32
"""Maximum depth of structured types in one another."""
MAX_LEARNT = 1024
"""Maximum number of types that are registered with the kernels."""
PREFIXES: dict[np.dtype[Any], bytes] = {}
"""dtype → the bytes of the map of an array up to its shape; used by `kernels.msgpack.objects`."""
DTYPES: dict[str, np.dtype[Any]] = {}
"""Type string → dtype; used by `kernels.msgpack.objects`."""
LONG_DOUBLES = "gG"
PORTABLE = frozenset("?bBhHiIlLqQefdFDSUVMm")
"""Codes of the types that the format supports."""
TYPE = re.compile(r"[<>|=]?(?:b1|[iu][1248]|f[248]|c(?:8|16)|[SUV]\d{1,10}|[Mm]8(?:\[[^\]]{1,20}\])?)", re.ASCII)
LONG_TYPE = re.compile(r"[<>|=]?(?:f|c)\d+", re.ASCII)
OBJECT_TYPE = re.compile(r"[<>|=]?O\d*", re.ASCII)
MAX_STEPS = 64
"""Maximum number of keys that name an entry that cannot be stored, in a message. Deeper entries are not searched."""
_FAULTS: dict[int, tuple[type[FormatError], str]] = {
    1: (TruncatedError, "it is cut off"),
    2: (FormatError, "found a byte that msgpack does not use"),
    3: (FormatError, "more than 1024 containers inside of one another"),
    4: (FormatError, "an array as key of a map"),
}
"""Results of `kernels.msgpack.walk.measure`: the error, and its message."""
_REFUSALS = (TypeError, ValueError, OverflowError, BufferError)
_local = threading.local()  # a packer is not thread-safe


def pack(sample: Any) -> bytes:
    """Encode a sample.

    Parameters
    ----------
    sample : dict
        By convention with the entry `key`, which is not checked here. Values: None, bool, int of 64 bits, float,
        complex, str, bytes, list, tuple, dict, NumPy arrays and scalars, `msgpack.ExtType` and `msgpack.Timestamp`.

    Returns
    -------
    bytes
        One msgpack message.

    Raises
    ------
    UnsupportedError
        If the format does not support a value, or it could not be read back; the message names the entry.

    Examples
    --------
    >>> from ds_format.datadings import messages
    >>> messages.pack({"key": "a", "value": 1}).hex(" ")
    '82 a3 6b 65 79 a1 61 a5 76 61 6c 75 65 01'
    """
    data = kernel_pack(sample, PREFIXES)
    if data is not NotImplemented:
        return data  # type: ignore[no-any-return]
    try:
        packer = _local.packer
    except AttributeError:
        packer = _local.packer = Packer(default=encode_value)
    try:
        return _packed(packer, sample)
    except _REFUSALS as error:
        raise _blame(sample, error) from None


def _packed(packer: Packer, value: Any) -> bytes:
    try:
        data: bytes = packer.pack(value)
    except RecursionError:  # raised by the library's version in Python
        raise UnsupportedError("more containers inside of one another than msgpack can write") from None
    what = measure(data, 0)[1]
    if what:
        raise UnsupportedError(f"{_FAULTS[what][1]}, which could not be read back")
    return data


def _blame(sample: Any, error: Exception) -> UnsupportedError:
    """Return the error that names the entry that cannot be stored."""
    packer, steps = Packer(default=encode_value), ""
    for _ in range(MAX_STEPS):
        found = _first_refused(packer, sample)
        if found is None:
            break
        step, sample, error = found
        steps += f"[{step!r}]"
    reason = error.message if isinstance(error, DsError) else str(error)
    return UnsupportedError(f"entry {steps}: {reason}" if steps else reason)


def _first_refused(packer: Packer, value: Any) -> tuple[Any, Any, Exception] | None:
    for step, entry in _entries(value):
        try:
            _packed(packer, entry)
        except _REFUSALS as error:
            return step, entry, error
    return None


def _entries(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, (list, tuple)):
        yield from enumerate(value)


def unpack(data: Any, *, writable: bool = False) -> Any:
    """Decode a message.

    Parameters
    ----------
    data : bytes-like
        Exactly one msgpack message.
    writable : bool
        Return writable arrays. Otherwise they are read-only views of the bytes, which saves a copy.

    Returns
    -------
    object
        A dict, if the sample follows the convention.

    Raises
    ------
    FormatError
        If `data` is not a message of msgpack, continues after it, or contains a malformed array.
    TruncatedError
        If the message ends too early.
    UnsafeError
        If an array would have to be unpickled, or contains objects.
    UnsupportedError
        If the type of an array is not portable.

    Examples
    --------
    >>> from ds_format.datadings import messages
    >>> messages.unpack(messages.pack({"key": "a", "value": 1}))
    {'key': 'a', 'value': 1}
    """
    message = data if type(data) is bytes else bytes(data)
    hook = _decode_writable if writable else decode_value
    value = kernel_unpack(message, writable, DTYPES, hook)
    if value is not NotImplemented:
        return value
    end, what = measure(message, 0)
    if what:
        raise fault(what, end)
    if end < len(message):
        raise FormatError(f"{len(message) - end} bytes behind the message, from its byte {end} on")
    try:
        return unpackb(message, object_hook=hook, strict_map_key=False)
    except DsError:
        raise
    except UnicodeDecodeError as error:
        raise FormatError(f"a text that is not UTF-8: {error.reason}") from None
    except (ValueError, TypeError) as error:
        raise FormatError(f"not a message of msgpack: {error}") from None


def fault(what: int, at: int) -> FormatError:
    """Return the error for a result of `kernels.msgpack.walk.measure` and the position, in bytes of the message."""
    kind, reason = _FAULTS[what]
    return kind(f"{reason}, at byte {at} of the message")


def encode_value(value: Any) -> Any:
    """Return the map that represents a NumPy value or a complex number.

    Raises
    ------
    UnsupportedError
        If the format does not support the value.
    """
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray):
            if np.ma.is_masked(value):
                raise UnsupportedError("a masked array: the format has no masks; store data and mask apart")
            value = value.data
        type_, kind = _describe(value.dtype)
        learn(value.dtype)
        return {b"nd": True, b"type": type_, b"kind": kind, b"shape": value.shape, b"data": value.tobytes()}
    if isinstance(value, np.generic):
        type_, kind = _describe(value.dtype)
        if kind:
            raise UnsupportedError("a scalar of a structured or void type; store an array with the shape () instead")
        return {b"nd": False, b"type": type_, b"data": value.tobytes()}
    if isinstance(value, complex):
        return {b"complex": True, b"data": complex.__repr__(value)}
    if isinstance(value, int):
        raise UnsupportedError(f"found the integer {value}, expected one of 64 bits")
    raise UnsupportedError(f"found a value of the type {type(value).__name__}, which msgpack does not hold")


@functools.lru_cache(maxsize=256)
def _describe(dtype: np.dtype[Any]) -> tuple[Any, bytes]:
    """Return the type string or the fields of a dtype, and its kind."""
    _check_portable(dtype)
    if dtype.kind != "V":
        return dtype.str, b""
    try:
        return dtype.descr, b"V"
    except ValueError:
        raise UnsupportedError(f"fields of the dtype {dtype} overlap or are not in the order of their bytes") from None


def learn(dtype: np.dtype[Any]) -> None:
    """Register a dtype, so that the kernel encodes its arrays; UnsupportedError if the format does not support it."""
    if dtype not in PREFIXES and len(PREFIXES) < MAX_LEARNT:
        type_, kind = _describe(dtype)
        head = packb({b"nd": True, b"type": type_, b"kind": kind})
        PREFIXES[dtype] = b"\x85" + head[1:] + packb(b"shape")


def _check_portable(dtype: np.dtype[Any]) -> None:
    if dtype.subdtype is not None:
        _check_portable(dtype.subdtype[0])
    elif dtype.names is not None and dtype.fields is not None:
        for field in dtype.fields.values():
            if len(field) > 2:
                raise UnsupportedError(f"the dtype {dtype} has titles, which cannot be read back")
            _check_portable(field[0])
    elif dtype.char not in PORTABLE:
        reason = "differs from machine to machine" if dtype.char in LONG_DOUBLES else "is not in the format"
        raise UnsupportedError(f"the dtype {dtype} {reason}")


def decode_value(entry: dict[Any, Any], *, writable: bool = False) -> Any:
    """Return the value that a map represents: an array on the bytes or a writable copy, a number, or the map itself.

    Raises
    ------
    FormatError
        If it represents an array, but is malformed.
    UnsafeError
        If the array is a pickle or contains objects.
    UnsupportedError
        If its type is not portable.
    """
    if b"nd" in entry:
        return _array(entry, writable=writable)
    if b"complex" in entry:
        return _complex(entry)
    return entry


_decode_writable = functools.partial(decode_value, writable=True)


def _array(entry: dict[Any, Any], *, writable: bool) -> Any:
    is_array = entry[b"nd"] is True
    if is_array and entry.get(b"kind") == b"O":
        raise UnsafeError("an array of Python objects, stored as a pickle")
    try:
        data, type_, shape = entry[b"data"], entry[b"type"], entry[b"shape"] if is_array else ()
    except KeyError:
        return entry
    dtype = _dtype(type_) if type(type_) is str else _other_dtype(type_)
    if type(data) is not bytes:
        if not isinstance(data, np.ndarray):
            raise FormatError(f"data of an array: found {type(data).__name__}, expected bytes")
        data = data.tobytes()  # other writers nest the array of a masked array in its map
    size = _count(shape) * dtype.itemsize
    if size > len(data):
        raise FormatError(f"array of shape {list(shape)} and dtype {dtype}: needs {size} bytes, found {len(data)}")
    array: Any = np.ndarray(shape, dtype, bytearray(data) if writable and is_array else data)
    return array if is_array else array[()]


def _count(shape: Any) -> int:
    """Check a shape, and return its number of elements."""
    if type(shape) is not list and shape != ():
        raise FormatError(f"shape of an array: found {reprlib.repr(shape)}, expected a list of integers")
    if len(shape) > MAX_DIMS:
        raise FormatError(f"shape of an array: found {len(shape)} dimensions, expected at most {MAX_DIMS}")
    for count in shape:
        if type(count) is not int or not 0 <= count < 1 << 63:
            raise FormatError(f"shape of an array: found {reprlib.repr(shape)}, expected integers of 0 or more")
    n: int = math.prod(shape)
    if n == 0 and math.prod(count for count in shape if count) >= 1 << 63:
        raise FormatError(f"shape of an array: {reprlib.repr(shape)} is too large")
    return n


@functools.lru_cache(maxsize=256)
def _dtype(text: str) -> np.dtype[Any]:
    """Return the dtype of a type string."""
    if TYPE.fullmatch(text):
        with contextlib.suppress(TypeError, ValueError):
            dtype = np.dtype(text)
            if dtype.itemsize and len(DTYPES) < MAX_LEARNT:
                DTYPES[text] = dtype
            return dtype
    elif OBJECT_TYPE.fullmatch(text):
        raise UnsafeError(f"an array of the type {text}: Python objects")
    elif LONG_TYPE.fullmatch(text):
        raise UnsupportedError(f"an array of the type {text}, whose bytes differ from machine to machine")
    raise FormatError(f"type of an array: found {text[:60]!r}, expected a type string of NumPy")


def _other_dtype(type_: Any, depth: int = 0) -> np.dtype[Any]:
    """Return the dtype of a list of fields, or of a type string in bytes."""
    if isinstance(type_, bytes):
        type_ = type_.decode("latin-1")
    if isinstance(type_, str):
        return _dtype(type_)
    if type(type_) is not list or depth > MAX_NESTED:
        raise FormatError(f"type of an array: found {reprlib.repr(type_)}, expected a type string or fields")
    names, formats, offsets, end = [], [], [], 0
    for position, field in enumerate(type_):
        name, format, shape = _field(field)
        dtype = _other_dtype(format, depth + 1)
        if not name and len(type_) == 1 and dtype.kind == "V" and not shape:
            return dtype
        size = _count(shape) * dtype.itemsize
        if name or dtype.kind != "V":  # else padding
            names.append(name or f"f{position}")
            formats.append((dtype, tuple(shape)))
            offsets.append(end)
        end += size
    try:
        return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": end})
    except (TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"type of an array: {error}") from None


def _field(field: Any) -> tuple[str, Any, Any]:
    """Return name, type and shape of a field."""
    if type(field) is list and 2 <= len(field) <= 3:
        name = field[0].decode("utf-8", "replace") if isinstance(field[0], bytes) else field[0]
        if type(name) is str:
            return name, field[1], field[2] if len(field) == 3 else ()
    raise FormatError(f"field of an array: found {reprlib.repr(field)}, expected [name, type] or [name, type, shape]")


def _complex(entry: dict[Any, Any]) -> Any:
    if b"data" not in entry:
        return entry
    data = entry[b"data"]
    text = data.decode("latin-1") if isinstance(data, bytes) else data
    try:
        if isinstance(text, str):
            return complex(text)
    except ValueError:
        pass
    raise FormatError(f"complex number: found {reprlib.repr(data)}, expected its text")
