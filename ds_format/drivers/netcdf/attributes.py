"""Python and NumPy values → attributes and text of NetCDF files."""

from __future__ import annotations

import json
import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...codec.attributes import to_json
from ...errors import UnsupportedError
from ..strings import as_bytes
from .format import CODES

INT32 = np.iinfo(np.int32)
INT64 = np.iinfo(np.int64)
UINT64 = np.iinfo(np.uint64)


BYTES = "(bytes) is written as text"


class EncodedAttribute(NamedTuple):
    """An attribute as the library takes it."""

    form: Literal["text", "string", "number", "json"]
    """Characters, variable-length strings, numbers, or JSON in characters."""
    value: Any
    """`bytes`, a list of `bytes`, or a NumPy scalar or array."""
    note: str = ""
    """The change that a warning reports; empty if there is none."""


def storable(item: Any, encoding: str = "utf-8", *, inner_nul: bool = True) -> bytes:
    """Return a string as bytes that a file can hold; `inner_nul` says whether they may contain NULs.

    Raises
    ------
    UnsupportedError
        If it is not a string, or not one that a file can hold.
    """
    raw = as_bytes(item, encoding)
    if raw.endswith(b"\0") or (not inner_nul and b"\0" in raw):
        raise UnsupportedError(f"the string {item!r} has a NUL where NetCDF takes it for the end")
    return raw


def encode(value: Any, format: str, as_string: bool = False) -> EncodedAttribute:
    """Return a value in the form in which a file stores it.

    Parameters
    ----------
    value
        Numbers, text, lists and arrays of them. Other values that JSON can represent become JSON text.
    format : str
        Name of the file format.
    as_string : bool
        Whether text gets the type string, if the format has it.

    Raises
    ------
    UnsupportedError
        If there is no way to write it.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0 and not isinstance(value, np.ma.MaskedArray):
        value = value[()]
    if isinstance(value, (bytes, np.bytes_)):
        return EncodedAttribute("text", bytes(value), BYTES)
    if isinstance(value, str):
        return _text(str(value), format, as_string)
    if isinstance(value, (bool, np.bool_)) or value is None or isinstance(value, dict):
        return _json(value)
    if isinstance(value, (int, float, np.number)):
        return _numbers(value, np.asarray(value) if isinstance(value, np.number) else None, format)
    if isinstance(value, np.ndarray):
        return _array(value, format)
    if isinstance(value, (list, tuple)):
        return _list(list(value), format)
    raise UnsupportedError(f"a value of type {type(value).__name__} is not supported by NetCDF")


def _text(value: str, format: str, as_string: bool) -> EncodedAttribute:
    try:
        raw = value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _json(value)
    if raw.endswith(b"\0") or (as_string and b"\0" in raw):
        return _json(value)
    return EncodedAttribute("string", [raw]) if as_string and format == "NETCDF4" else EncodedAttribute("text", raw)


def _array(value: NDArray[Any], format: str) -> EncodedAttribute:
    if isinstance(value, np.ma.MaskedArray):
        raise UnsupportedError("a masked array is not supported as an attribute")
    if value.dtype.kind not in "fiubUSOT":
        raise UnsupportedError(f"an array of type {value.dtype} is not supported by NetCDF")
    if value.ndim != 1 or value.dtype.kind == "b":
        return _json(value.tolist())
    return _numbers(value, value, format) if value.dtype.kind in "fiu" else _list(value.tolist(), format)


def _list(value: list[Any], format: str) -> EncodedAttribute:
    if not value:
        return EncodedAttribute("number", np.zeros(0))
    if all(isinstance(item, (str, bytes)) for item in value):
        return _strings(value, format)
    if any(isinstance(item, (bool, np.bool_)) for item in value):
        return _json(value)
    if all(isinstance(item, (int, np.integer)) for item in value):
        return _numbers(value, None, format)
    if all(isinstance(item, (int, float, np.integer, np.floating)) for item in value):
        floats = np.array(value, dtype=np.float64)
        same = all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(value, floats.tolist(), strict=True))
        return EncodedAttribute("number", floats) if same else _json(value)
    return _json(value)


def _strings(value: list[str | bytes], format: str) -> EncodedAttribute:
    try:
        raw = [item if isinstance(item, bytes) else item.encode("utf-8", "surrogateescape") for item in value]
    except UnicodeEncodeError:
        return _json(value)
    if format != "NETCDF4" or any(b"\0" in item for item in raw):
        return _json(value)
    return EncodedAttribute("string", raw, BYTES if any(isinstance(item, bytes) for item in value) else "")


def _numbers(value: Any, typed: NDArray[Any] | None, format: str) -> EncodedAttribute:
    """Encode numbers with their type; Python's (`typed` is None) with the first type that holds them."""
    codes = CODES[format]
    if typed is not None and typed.dtype.str[1:] in codes:
        return EncodedAttribute("number", typed.astype(typed.dtype.newbyteorder("="))[()])
    if typed is not None and (typed.dtype.kind not in "fiu" or typed.dtype.itemsize > 8):
        raise UnsupportedError(f"a value of type {typed.dtype} is not supported by NetCDF")
    plain = typed.tolist() if typed is not None else value
    items = plain if isinstance(plain, list) else [plain]
    code = _code(items, codes) if items else "i4"
    if code is None:
        return _json(plain)
    is_same_kind = typed is None and (code == "f8") == isinstance(items[0], float)
    note = "" if is_same_kind else f"is written as {np.dtype(code)}"
    return EncodedAttribute("number", np.array(plain, dtype=code)[()], note)


def _code(items: list[Any], codes: tuple[str, ...]) -> str | None:
    """Return the first type of a format that holds numbers exactly."""
    if any(isinstance(item, float) for item in items):
        return "f8"
    low, high = min(items), max(items)
    if low >= INT64.min and high <= INT64.max and "i8" in codes:
        return "i8"
    if low >= 0 and high <= UINT64.max and "u8" in codes:
        return "u8"
    if low >= INT32.min and high <= INT32.max:
        return "i4"
    return "f8" if max(-low, high) <= 2**53 else None


def _json(value: Any) -> EncodedAttribute:
    kind = type(value).__name__
    try:
        text = json.dumps(to_json({"value": value})["value"]).encode("ascii")
    except (UnsupportedError, RecursionError) as error:
        raise UnsupportedError(f"a value of type {kind} is not supported by NetCDF") from error
    return EncodedAttribute("json", text, f"({kind}) is written as JSON text")
