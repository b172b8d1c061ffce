"""Arrays of n records ↔ lists of n values: for samples, which can have arrays, and for documents of JSON.

In documents, numbers and text are those of JSON, with these additions. The type of the variable distinguishes them
from text:

=====================  ===================================================================================
missing                null
NaN, infinity          "NaN", "-NaN", "Infinity", "-Infinity"; "NaN(7ff8000000000001)" is a NaN by its bits
float16, float32       the shortest number that identifies it
str (bytes)            text with one character, U+0000 to U+00FF, for each byte
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

from ...base.dtypes import TYPES, Type
from ...base.exact import exact_array, shortest
from ...codec.encode import type_of
from ...datasets import as_array
from ...errors import FormatError, UnsupportedError
from ..strings import as_objects
from .schema import INTEGER, UNKNOWN, WORD, Description

MASK = ".mask"
"""Suffix of the entry with the mask of missing values of an array."""
PLAIN = ("int64", "float64", "bool")
"""Types of numbers that msgpack has."""
SAMPLE_SCALARS = {int: INTEGER, float: "float64", bool: "bool", str: "unicode", bytes: "str"}
"""Types of msgpack; each integer has its smallest form."""
DOCUMENT_SCALARS = {int: INTEGER, float: "float64", bool: "bool"}
"""Types of JSON; text may be a word for a number."""
WORDS = {"NaN": math.nan, "-NaN": -math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""Words for numbers that JSON does not have."""
HALF = 1 << 11
"""Limit up to which floats of all types hold all integers."""
BITS = re.compile(r"NaN\(([0-9a-f]{4}|[0-9a-f]{8}|[0-9a-f]{16})\)")
KINDS: dict[str, set[type]] = {"f": {int, float, str}, "i": {int}, "u": {int}, "?": {bool}, "O": {str}}
"""First letter of a type code → types of its values in JSON."""
_TEXT, _WORD = Description(("unicode",)), Description((WORD,))


def values_for_samples(array: Any) -> tuple[list[Any], NDArray[np.bool_] | None]:
    """Convert an array to entries of samples.

    Parameters
    ----------
    array : (n, ...) ndarray or MaskedArray

    Returns
    -------
    list
        n values. Scalars, or None where missing; arrays of numbers, 0 where missing; nested lists of strings, None
        where missing.
    ndarray or None
        (n, ...) bool: mask of missing values for arrays of numbers, if any is missing.
    """
    data, mask = _parts(array)
    if data.dtype.kind == "O":
        return _lists(data, mask), None
    if data.ndim == 1:
        scalars = data.tolist() if data.dtype.name in PLAIN else list(data)
        if mask is not None:
            scalars = [None if gone else value for value, gone in zip(scalars, mask.tolist(), strict=True)]
        return scalars, None
    if mask is not None:
        data = np.where(mask, np.zeros((), data.dtype), data)
    return list(np.ascontiguousarray(data)), mask


def _parts(array: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return strings as objects, or numbers in native byte order; and the mask of missing values, if any is missing."""
    if array.dtype.kind in "OSUT":
        return as_objects(array)
    data, mask = np.ma.getdata(array), np.ma.getmask(array)
    return data.astype(data.dtype.newbyteorder("="), copy=False), mask if np.any(mask) else None


def _lists(objects: NDArray[Any], mask: NDArray[np.bool_] | None) -> list[Any]:
    """Return objects in nested lists, with None where they are missing."""
    if mask is not None:
        objects = objects.copy()
        objects[mask] = None
    lists: list[Any] = objects.tolist()
    return lists


def array_of_samples(
    values: Sequence[Any], masks: Sequence[Any] | None, type_name: str, shape: tuple[int, ...], numbers: Sequence[int]
) -> Any:
    """Convert entries of samples to an array.

    Parameters
    ----------
    values : sequence
        n values, as from `values_for_samples`.
    masks : sequence, optional
        n masks, or None for samples without one.
    type_name : str
        The ds type.
    shape : tuple of int
        Shape of one value.
    numbers : sequence of int
        Numbers of the samples, for messages.

    Returns
    -------
    (n, *shape) ndarray or MaskedArray

    Raises
    ------
    FormatError
        If a value has another type or shape; the message names the sample.
    """
    ds_type = TYPES[type_name]
    gone = np.zeros((len(values), *shape), np.bool_)
    if shape:
        out = _arrays(values, gone, ds_type, numbers)
    elif ds_type.is_string:
        out = _strings(values, gone, ds_type, numbers)
    else:
        out = _scalars(values, gone, ds_type, numbers)
    for i, mask in enumerate(masks or ()):
        if mask is not None:
            gone[i] |= _one(mask, "bool", np.dtype("?"), shape, numbers[i])[0]
    return np.ma.MaskedArray(out, gone) if gone.any() else out


def _arrays(values: Sequence[Any], gone: NDArray[np.bool_], ds_type: Type, numbers: Sequence[int]) -> NDArray[Any]:
    """Join arrays, and set the mask `gone` of missing values."""
    out = np.zeros(gone.shape, ds_type.code)
    shape = out.shape[1:]
    if ds_type.is_string:
        out.fill(_kind(ds_type)())
    for i, value in enumerate(values):
        if value is None:
            gone[i] = True
        elif type(value) is np.ndarray and value.dtype == out.dtype and value.shape == shape and not ds_type.is_string:
            out[i] = value
        elif math.prod(shape):
            out[i], gone[i] = _one(value, ds_type.name, out.dtype, shape, numbers[i])
    return out


def _one(value: Any, type_name: str, dtype: np.dtype[Any], shape: tuple[int, ...], i: int) -> tuple[Any, Any]:
    """Return values and mask of an array or nested lists."""
    try:
        array = as_array(value)
    except UnsupportedError as error:
        raise FormatError(f"sample {i}: {error.message}") from None
    if array.shape != shape:
        raise FormatError(f"sample {i}: found the shape {list(array.shape)}, expected {list(shape)}")
    mask = np.ma.getmaskarray(array)
    data = np.ma.getdata(array)
    found = "unicode" if data.dtype.kind == "U" else "str" if data.dtype.kind == "S" else type_name
    if dtype.kind == "O":
        data = data.astype(object)
        expected = _kind(TYPES[type_name])
        wrong = {type(item) for item in data[~mask].tolist()} - {expected}
        found = wrong.pop().__name__ if wrong else found
        data[mask] = expected()
    elif mask.all():
        data = np.zeros(shape, dtype)
    elif data.dtype.newbyteorder("=") != dtype and not (type(value) is list and data.dtype.kind + dtype.char == "id"):
        found = data.dtype.name
    if found != type_name:
        raise FormatError(f"sample {i}: found values of type {found}, expected {type_name}")
    return data, mask


def _kind(ds_type: Type) -> type[str] | type[bytes]:
    return bytes if ds_type.name == "str" else str


def _strings(values: Sequence[Any], gone: NDArray[np.bool_], ds_type: Type, numbers: Sequence[int]) -> NDArray[Any]:
    """Convert strings to an array, and set the mask `gone` of missing values."""
    kind = _kind(ds_type)
    if {*map(type, values)} != {kind}:
        for i, value in enumerate(values):
            if type(value) not in (kind, NoneType):
                raise FormatError(f"sample {numbers[i]}: found {type(value).__name__}, expected {kind.__name__}")
        gone[:] = [value is None for value in values]
        values = [kind() if value is None else value for value in values]
    out = np.empty(len(values), object)
    out[:] = values
    return out


def _scalars(values: Sequence[Any], gone: NDArray[np.bool_], ds_type: Type, numbers: Sequence[int]) -> NDArray[Any]:
    """Convert numbers to an array, and set the mask `gone` of missing values."""
    dtype = np.dtype(ds_type.code)
    out = np.zeros(len(values), dtype)
    gone[:] = [value is None for value in values]
    present = [value for value in values if value is not None]
    kinds = {*map(type, present)}
    is_plain = dtype.itemsize == 8 and kinds <= ({int, float} if dtype.kind == "f" else {int})
    try:
        found = exact_array(present, dtype) if is_plain or not present else np.array(present)
    except (ValueError, TypeError, OverflowError):
        found = np.empty(0, object)
    if found.shape != (len(present),) or found.dtype.newbyteorder("=") != dtype:
        raise _wrong_number(values, ds_type, numbers)
    out[~gone] = found
    return out


def _wrong_number(values: Sequence[Any], ds_type: Type, numbers: Sequence[int]) -> FormatError:
    """Return the error that names the first value of another type."""
    for i, value in enumerate(values):
        alone = np.asarray(value)
        if value is not None and (alone.shape or alone.dtype.newbyteorder("=") != np.dtype(ds_type.code)):
            found = f"an array of shape {list(alone.shape)}" if alone.shape else repr(value)
            return FormatError(f"sample {numbers[i]}: found {found:.60}, expected a value of type {ds_type.name}")
    return FormatError(f"samples {numbers[0]} to {numbers[-1]}: found values that are not all of type {ds_type.name}")


def describe_sample_value(value: Any) -> Description:
    """Return type and shape of a value that is not a scalar of msgpack."""
    kind = type(value).__name__
    if isinstance(value, (list, np.ndarray, np.generic)):
        try:
            array = as_array(value)
            return Description((type_of(array).name,), array.shape, isinstance(array, np.ma.MaskedArray))
        except UnsupportedError:
            kind = str(value.dtype) if isinstance(value, (np.ndarray, np.generic)) else kind
    return Description((UNKNOWN + kind,))


def values_for_documents(array: Any) -> list[Any]:
    """Convert an array to values of documents.

    Parameters
    ----------
    array : (n, ...) ndarray or MaskedArray

    Returns
    -------
    list
        n values, or nested lists.
    """
    data, mask = _parts(array)
    if data.dtype.kind == "O":
        return _lists(_texts(data), mask)
    objects = shortest(data)
    odd = ~np.isfinite(data) if data.dtype.kind == "f" else np.zeros(data.shape, np.bool_)
    if mask is not None or odd.any():
        objects = objects.astype(object)
        objects[odd] = list(map(_word, data[odd]))
    return _lists(objects, mask)


def _texts(objects: NDArray[Any]) -> NDArray[Any]:
    """Convert byte strings to text with a character for each byte. Text stays as it is."""
    values = objects.ravel().tolist()
    if bytes not in {*map(type, values)}:
        return objects
    texts = [value.decode("latin-1") if value else "" for value in values]
    return np.fromiter(texts, object, len(texts)).reshape(objects.shape)


def _word(value: np.floating[Any]) -> str:
    """Return the word for a number that JSON does not have."""
    if np.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    bits = value.view(f"u{value.itemsize}")
    for word in ("NaN", "-NaN"):
        if bits == value.dtype.type(WORDS[word]).view(bits.dtype):
            return word
    return f"NaN({int(bits):0{2 * value.itemsize}x})"


def number(word: str, dtype: np.dtype[Any]) -> Any:
    """Return the number of a word, or None."""
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


def array_of_documents(
    values: Sequence[Any], type_name: str, shape: tuple[int, ...], named: Callable[[int], str]
) -> Any:
    """Convert values of documents to an array.

    Parameters
    ----------
    values : sequence
        n values, as from `values_for_documents`; None if a whole one is missing.
    type_name : str
        The ds type.
    shape : tuple of int
        Shape of one value.
    named : callable
        Returns the name of the document of value i, for messages.

    Returns
    -------
    (n, *shape) ndarray or MaskedArray

    Raises
    ------
    FormatError
        If a value has another type or shape; the message names the document.
    """
    ds_type = TYPES[type_name]
    if 0 in (len(values), *shape):
        return np.zeros((len(values), *shape), ds_type.code)
    out = _document_array(values, ds_type, shape)
    if out is None:
        i = next(i for i, value in enumerate(values) if _document_array([value], ds_type, shape) is None)
        raise FormatError(f"{named(i)}: found {_shown(values[i])}, expected {_expected(ds_type, shape)}")
    return out


def _document_array(values: Sequence[Any], ds_type: Type, shape: tuple[int, ...]) -> Any:
    """Convert values to an array; None if one has another type or shape."""
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
    """Convert values to an array of objects; None if one has another shape."""
    if not shape:
        return np.fromiter(values, object, len(values))
    nothing = np.full(shape, None, object).tolist()
    try:
        objects = np.array([nothing if value is None else value for value in values], object)
    except ValueError:
        return None
    return objects if objects.shape == (len(values), *shape) else None


def _typed(objects: NDArray[Any], kinds: set[type], ds_type: Type) -> NDArray[Any] | None:
    """Convert objects of the right kinds to an array of a type; None if it cannot hold them.

    Raises
    ------
    OverflowError, UnicodeEncodeError
        Also if it cannot hold them.
    """
    if ds_type.name == "str":
        strings = [text.encode("latin-1") for text in objects.flat]
        return np.fromiter(strings, object, len(strings)).reshape(objects.shape)
    if ds_type.is_string:
        return objects
    dtype = np.dtype(ds_type.code)
    if dtype.kind != "f":
        return exact_array(objects, dtype)
    out = _floats(objects.ravel(), kinds, dtype)
    return None if out is None else out.reshape(objects.shape)


def _floats(objects: NDArray[Any], kinds: set[type], dtype: np.dtype[Any]) -> NDArray[Any] | None:
    """Convert numbers, and words for numbers, to floats; None if there is another word, or a digit would be lost."""
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
    large = [(i, value) for i, value in enumerate(values) if type(value) is int and abs(value) > HALF]
    if any(int(out[i]) != value for i, value in large):
        return None
    for i, found in words.items():
        out[i] = found
    return out


def _shown(value: Any) -> str:
    return {dict: "an object", list: "a list", NoneType: "null"}.get(type(value)) or f"{value!r:.60}"


def _expected(ds_type: Type, shape: tuple[int, ...]) -> str:
    return f"values of type {ds_type.name} in the shape {list(shape)}" if shape else f"a value of type {ds_type.name}"


def describe_document_value(value: Any) -> Description:
    """Return type and shape of a string or list of JSON."""
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
    names = {DOCUMENT_SCALARS[kind] for kind in kinds if kind in DOCUMENT_SCALARS}
    integers = [leaf for leaf in leaves if type(leaf) is int] or [0]
    if str in kinds:
        names |= {name for leaf in leaves if type(leaf) is str for name in describe_document_value(leaf).types}
    return Description(tuple(sorted(names)), objects.shape, NoneType in kinds, min(integers), max(integers))
