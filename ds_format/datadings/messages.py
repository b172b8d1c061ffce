"""Samples ↔ msgpack messages, with NumPy arrays, NumPy scalars and complex numbers in them.

An array is a map of five entries whose keys are bytes::

    nd     true
    type   str: type string; or the fields of a structured type, each [name, type] or [name, type, shape]
    kind   bytes: empty; `V` for structured and void types; `O` for a pickle, which is never read and never written
    shape  array of integers
    data   bytes of the elements in C order

A NumPy scalar has `nd` false, `type` and `data`; a complex number has `complex` true, and its text as `data`.
Both ends refuse every type that contains objects, and long doubles, whose bytes differ from machine to machine.

Source: the encoding of msgpack-numpy 0.4.8, as datadings 3.4.7 uses it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from ..base.messagepack import Packer, unpackb
from ..errors import DsError, FormatError, TruncatedError, UnsupportedError
from ..kernels.msgpack.objects import pack as kernel_pack
from ..kernels.msgpack.objects import unpack as kernel_unpack
from ..kernels.msgpack.walk import measure
from . import arrays

MAX_STEPS = 64
"""Keys on the way to an entry that cannot be stored, which a message names; further in there is no looking."""
_FAULTS: dict[int, tuple[type[FormatError], str]] = {
    1: (TruncatedError, "it is cut off"),
    2: (FormatError, "found a byte that msgpack does not use"),
    3: (FormatError, "more than 1024 containers inside of one another"),
    4: (FormatError, "an array as key of a map"),
}
"""What `kernels.msgpack.walk.measure` finds."""
_REFUSALS = (TypeError, ValueError, OverflowError, BufferError)
_local = threading.local()  # a packer is not to be shared by threads


def pack(sample: Any) -> bytes:
    """Encode a sample.

    Parameters
    ----------
    sample : dict
        By convention with the entry `key`, which is not looked at here. Values: None, bool, int of 64 bits, float,
        complex, str, bytes, list, tuple, dict, NumPy arrays and scalars, `msgpack.ExtType` and `msgpack.Timestamp`.

    Returns
    -------
    bytes
        One msgpack message.

    Raises
    ------
    UnsupportedError
        If the format cannot hold a value, or it could not be read back; the message names the entry.

    Examples
    --------
    >>> from ds_format.datadings import messages
    >>> messages.pack({"key": "a", "value": 1}).hex(" ")
    '82 a3 6b 65 79 a1 61 a5 76 61 6c 75 65 01'
    """
    data = kernel_pack(sample, arrays.PREFIXES)
    if data is not NotImplemented:
        return data  # type: ignore[no-any-return]
    try:
        packer = _local.packer
    except AttributeError:
        packer = _local.packer = Packer(default=arrays.encode)
    try:
        return _packed(packer, sample)
    except _REFUSALS as error:
        raise _blame(sample, error) from None


def _packed(packer: Packer, value: Any) -> bytes:
    try:
        data: bytes = packer.pack(value)
    except RecursionError:  # of the library in Python
        raise UnsupportedError("more containers inside of one another than msgpack can write") from None
    what = measure(data, 0)[1]
    if what:
        raise UnsupportedError(f"{_FAULTS[what][1]}, which could not be read back")
    return data


def _blame(sample: Any, error: Exception) -> UnsupportedError:
    """Return the error that names the entry that cannot be stored."""
    packer, steps = Packer(default=arrays.encode), ""
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
        One msgpack message and nothing else.
    writable : bool
        Make arrays that can be changed; else they are views of the bytes read, which saves a copy.

    Returns
    -------
    object
        A dict for samples that follow the convention.

    Raises
    ------
    FormatError
        If `data` are no message of msgpack, go on behind it, or an array in them is malformed.
    TruncatedError
        If the message ends too early.
    UnsafeError
        If an array would have to be unpickled, or holds objects.
    UnsupportedError
        If an array has a type that is not portable.

    Examples
    --------
    >>> from ds_format.datadings import messages
    >>> messages.unpack(messages.pack({"key": "a", "value": 1}))
    {'key': 'a', 'value': 1}
    """
    message = data if type(data) is bytes else bytes(data)
    hook = arrays.decode_writable if writable else arrays.decode
    value = kernel_unpack(message, writable, arrays.DTYPES, hook)
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
    """Return the error for what `kernels.msgpack.walk.measure` found at a byte of the message."""
    kind, reason = _FAULTS[what]
    return kind(f"{reason}, at byte {at} of the message")
