"""Arrays of n records ↔ lists of n values of documents.

Numbers and text are what they are in JSON, with these additions, which the type of a variable tells apart from text:

=====================  ===================================================================================
missing                null
NaN, infinity          "NaN", "-NaN", "Infinity", "-Infinity"; "NaN(7ff8000000000001)" is a NaN by its bits
float32                the shortest number that is read as this one
str (bytes)            text of one character, U+0000 to U+00FF, for each byte
=====================  ===================================================================================
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....base.dtypes import TYPES, Type
from ....errors import FormatError
from ...strings import as_objects
from ..schema import INTEGER, UNKNOWN, WORD, Description

SCALARS = {int: INTEGER, float: "float64", bool: "bool"}
"""What JSON has; text may be a word that stands for a number."""
WORDS = {"NaN": math.nan, "-NaN": -math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""Numbers that JSON does not know."""
SINGLE = 1 << 24
"""Up to here float32 has all integers."""
BITS = re.compile(r"NaN\(([0-9a-f]{8}|[0-9a-f]{16})\)")
KINDS: dict[str, set[type]] = {"f": {int, float, str}, "i": {int}, "u": {int}, "?": {bool}, "O": {str}}
"""First letter of a type's code → what values of JSON may stand for its values."""


def values_of(array: Any) -> list[Any]:
    """Return an array as values of documents.

    Parameters
    ----------
    array : (n, ...) ndarray or MaskedArray

    Returns
    -------
    list
        n values, or nested lists of these.
    """
    mask: Any
    if array.dtype.kind in "OSUT":
        objects, mask = as_objects(array)
        objects = _texts(objects)
    else:
        data, mask = np.ma.getdata(array), np.ma.getmask(array)
        data = data.astype(data.dtype.newbyteorder("="), copy=False)
        odd = ~np.isfinite(data) if data.dtype.kind == "f" else np.zeros(data.shape, np.bool_)
        shortest = _shortest(data) if data.dtype.name == "float32" else data
        if not np.any(mask) and not odd.any():
            plain: list[Any] = shortest.tolist()
            return plain
        objects = shortest.astype(object)
        objects[odd] = list(map(_word, data[odd]))
    if np.any(mask):
        objects = objects.copy()
        objects[mask] = None
    values: list[Any] = objects.tolist()
    return values


def _texts(objects: NDArray[Any]) -> NDArray[Any]:
    """Return byte strings as text of a character for each byte, and text as it is."""
    values = objects.ravel().tolist()
    if bytes not in {*map(type, values)}:
        return objects
    texts = [value.decode("latin-1") if value else "" for value in values]
    return np.fromiter(texts, object, len(texts)).reshape(objects.shape)


def _shortest(data: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return float64 whose decimals are those of float32."""
    with np.errstate(invalid="ignore", over="ignore"):
        found: NDArray[np.float64] = data.astype("U32").astype(np.float64)
        return np.where(found.astype(np.float32) == data, found, data.astype(np.float64))


def _word(value: np.floating[Any]) -> str:
    """Return what stands for a number that JSON does not know."""
    if np.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    bits = value.view(f"u{value.itemsize}")
    for word in ("NaN", "-NaN"):
        if bits == value.dtype.type(WORDS[word]).view(bits.dtype):
            return word
    return f"NaN({int(bits):0{2 * value.itemsize}x})"


def number(word: str, dtype: np.dtype[Any]) -> Any:
    """Return the number that a word stands for, or None."""
    if word in WORDS:
        return dtype.type(WORDS[word])
    if not word.startswith("NaN("):
        return None
    bits = BITS.fullmatch(word)
    if bits is None:
        return None
    size = len(bits[1]) // 2
    found = np.array(int(bits[1], 16), f"u{size}").view(f"f{size}")[()]
    return found if np.isnan(found) else None


def array_of(values: Sequence[Any], type_name: str, shape: tuple[int, ...], named: Callable[[int], str]) -> Any:
    """Return values of documents as an array.

    Parameters
    ----------
    values : sequence
        n values, as `values_of` makes them; None for whole ones that are missing.
    type_name : str
        The ds type.
    shape : tuple of int
        Of one value.
    named : callable
        What the document of value i is called, for messages.

    Returns
    -------
    (n, *shape) ndarray or MaskedArray

    Raises
    ------
    FormatError
        If a value is not of this type and shape; the message names the document.
    """
    ds_type = TYPES[type_name]
    if 0 in (len(values), *shape):
        return np.zeros((len(values), *shape), ds_type.code)
    out = _array(values, ds_type, shape)
    if out is None:
        i = next(i for i, value in enumerate(values) if _array([value], ds_type, shape) is None)
        raise FormatError(f"{named(i)}: found {_told(values[i])}, expected {_expected(ds_type, shape)}")
    return out


def _array(values: Sequence[Any], ds_type: Type, shape: tuple[int, ...]) -> Any:
    """Return values as an array, or None if one is not of this type and shape."""
    objects = _objects(values, shape)
    if objects is None:
        return None
    kinds = {*map(type, objects.ravel().tolist())}
    gone = None
    if NoneType in kinds:
        gone = np.equal(objects, np.array(None)).astype(np.bool_)
        objects[gone] = "" if ds_type.is_string else 0
        kinds.remove(NoneType)
    try:
        out = _typed(objects, kinds, ds_type) if kinds <= KINDS[ds_type.code[0]] else None
    except (OverflowError, UnicodeEncodeError):
        return None
    return out if gone is None or out is None else np.ma.MaskedArray(out, gone)


def _objects(values: Sequence[Any], shape: tuple[int, ...]) -> NDArray[Any] | None:
    """Return values as objects, or None if one has not this shape."""
    if not shape:
        return np.fromiter(values, object, len(values))
    nothing = np.full(shape, None, object).tolist()
    try:
        objects = np.array([nothing if value is None else value for value in values], object)
    except ValueError:
        return None
    return objects if objects.shape == (len(values), *shape) else None


def _typed(objects: NDArray[Any], kinds: set[type], ds_type: Type) -> NDArray[Any] | None:
    """Return objects of the right kinds as an array of a type, or None if it cannot hold them.

    Raises
    ------
    OverflowError, UnicodeEncodeError
        Likewise.
    """
    if ds_type.name == "str":
        strings = [text.encode("latin-1") for text in objects.flat]
        return np.fromiter(strings, object, len(strings)).reshape(objects.shape)
    if ds_type.is_string:
        return objects
    dtype = np.dtype(ds_type.code)
    if dtype.kind != "f":
        return objects.astype(dtype)
    out = _floats(objects.ravel(), kinds, dtype)
    return None if out is None else out.reshape(objects.shape)


def _floats(objects: NDArray[Any], kinds: set[type], dtype: np.dtype[Any]) -> NDArray[Any] | None:
    """Return numbers, and words that stand for some, as floats; None if there is another word, or a digit is lost."""
    values = objects.tolist() if kinds & {int, str} else []
    words = {i: number(value, dtype) for i, value in enumerate(values) if type(value) is str}
    if any(found is None for found in words.values()):
        return None
    objects[list(words)] = 0.0
    doubles = objects.astype(np.float64)
    with np.errstate(over="ignore"):
        out = doubles.astype(dtype)
    if (np.isinf(out) & np.isfinite(doubles)).any():
        return None
    large = [(i, value) for i, value in enumerate(values) if type(value) is int and abs(value) > SINGLE]
    if any(int(out[i]) != value for i, value in large):
        return None
    for i, found in words.items():
        out[i] = found
    return out


def _told(value: Any) -> str:
    return {dict: "an object", list: "a list", NoneType: "null"}.get(type(value)) or f"{value!r:.60}"


def _expected(ds_type: Type, shape: tuple[int, ...]) -> str:
    return f"values of type {ds_type.name} in the shape {list(shape)}" if shape else f"a value of type {ds_type.name}"


def described(value: Any) -> Description:
    """Return type and shape of a text or list of JSON."""
    if type(value) is str:
        return _WORD if number(value, np.dtype(np.float64)) is not None else _TEXT
    try:
        objects = np.array(value, object)
    except ValueError:
        objects = np.array(None, object)
    leaves = objects.ravel().tolist()
    kinds = {*map(type, leaves)}
    if not isinstance(value, list) or kinds & {list, dict}:
        inner = "objects" if dict in kinds else "lists of different lengths"
        return Description((f"{UNKNOWN}{'object' if isinstance(value, dict) else f'list of {inner}'}",))
    names = {SCALARS[kind] for kind in kinds if kind in SCALARS}
    integers = [leaf for leaf in leaves if type(leaf) is int] or [0]
    if str in kinds:
        names |= {name for leaf in leaves if type(leaf) is str for name in described(leaf).types}
    return Description(tuple(sorted(names)), objects.shape, NoneType in kinds, min(integers), max(integers))


_TEXT, _WORD = Description(("unicode",)), Description((WORD,))
