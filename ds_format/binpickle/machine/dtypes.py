"""NumPy dtypes, rebuilt from what a pickle says of them.

`dtype.__setstate__` believes offsets and flags that lead it to memory of others, so it is never called: each dtype is
made anew by `numpy.dtype` from parts that have been checked, and has to come out as the pickle says.
"""

from __future__ import annotations

import math
import re
from functools import partial
from typing import Any

import numpy as np

from ...errors import FormatError
from ...kernels.pickle.machine import Pending
from .known import check, check_ints, wrong

SIMPLE = re.compile(r"[biufcSUVOMm][0-9]{1,9}")
"""Kind and size in bytes (of U in characters)."""
ORDERS = {"<", ">", "|", "="}
UNIT = re.compile(rb"generic|Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as")
N_VERSIONS = {3: 8, 4: 9}
"""Items of a state, by the version in its first one."""
MAX_PARTS = 1000
"""Dtypes inside of the fields of a dtype; each could hold the one before it twice, and NumPy walks over all of them."""


def dtype(text: Any, align: Any = False, copy: Any = False) -> Pending:
    """Stand for `numpy.dtype(text, False, True)`, which a state follows."""
    if text is not np.record and (type(text) is not str or not SIMPLE.fullmatch(text)):
        raise wrong("numpy.dtype", text, "a kind and a size")
    return Pending(partial(rebuild, text))


def rebuild(text: Any, state: Any) -> np.dtype[Any]:
    """Return the dtype of a text and a state.

    Raises
    ------
    FormatError, TypeError, ValueError
        If they do not fit each other, or make no dtype.
    """
    check("numpy.dtype: state", state, tuple)
    if not state or type(state[0]) is not int or N_VERSIONS.get(state[0]) != len(state):
        raise FormatError("numpy.dtype: found a state of an unknown version")
    order, subarray, names, fields, size, align, flags = state[1:8]
    if type(order) is not str or order not in ORDERS:
        raise wrong("numpy.dtype: byte order", order, "<, > or |")
    check_ints("numpy.dtype: size, alignment and flags", (size, align, flags), 3)
    metadata, unit = _metadata(text, state)
    if subarray is not None:
        made = _subarray(subarray)
    elif names is not None:
        made = _structure(names, fields, size, is_aligned=bool(flags & 0x80))
    elif text is np.record or fields is not None:
        raise FormatError("numpy.dtype: has no names of fields")
    elif unit is not None:
        made = np.dtype(f"{order}{text}{unit}")
    else:
        made = np.dtype(text) if order == "|" else np.dtype(order + text)
    if text is np.record:
        made = np.dtype((np.record, made))
    elif (made.kind != text[0] and subarray is None) or (names is not None and text != f"V{size}"):
        raise FormatError(f"numpy.dtype: found {_shown(made)}, expected {text}")
    if size not in (-1, made.itemsize) or (size == -1 and made.names is not None):
        raise FormatError(f"numpy.dtype: found {size} bytes, expected {made.itemsize} of {_shown(made)}")
    if flags & 0xFF != made.flags & 0xFF:
        raise FormatError(f"numpy.dtype: found the flags {flags}, expected {made.flags} of {_shown(made)}")
    return np.dtype(made, metadata=metadata) if metadata else made


def _metadata(text: Any, state: tuple[Any, ...]) -> tuple[dict[Any, Any] | None, str | None]:
    """Return what the writer added, and the unit of a time, in brackets."""
    if type(text) is not str or text[0] not in "mM":
        return (None if len(state) == 8 else check("numpy.dtype: metadata", state[8], dict)), None
    own, unit = check("numpy.dtype: unit", state[8] if len(state) == 9 else None, tuple)
    if type(unit) is not tuple or len(unit) != 4 or type(unit[0]) is not bytes or not UNIT.fullmatch(unit[0]):
        raise wrong("numpy.dtype: unit", unit, "a unit of time")
    n, parts, event = check_ints("numpy.dtype: unit", unit[1:], 3)
    if not 0 < n < 1 << 31 or parts != 1 or event not in (0, 1):
        raise FormatError(f"numpy.dtype: found a unit of {n} / {parts}, expected a positive number")
    metadata = None if own is None else check("numpy.dtype: metadata", own, dict)
    return metadata, "" if unit[0] == b"generic" else f"[{n}{unit[0].decode()}]"


def _subarray(subarray: Any) -> np.dtype[Any]:
    base, shape = check("numpy.dtype: subarray", subarray, tuple)
    base, shape = _part(base), shape if type(shape) is tuple else (shape,)
    _check_parts([base])
    if any(n < 0 for n in check_ints("numpy.dtype: shape of a subarray", shape)):
        raise FormatError("numpy.dtype: has a subarray of negative shape")
    if not base.itemsize and math.prod(shape) > MAX_PARTS:
        raise FormatError(f"numpy.dtype: found a subarray of {math.prod(shape)} values of no bytes")
    return np.dtype((base, shape))


def _part(value: Any) -> np.dtype[Any]:
    if not isinstance(value, np.dtype):
        raise wrong("numpy.dtype: part", value, "a dtype")
    return value


def _check_parts(parts: list[np.dtype[Any]]) -> None:
    todo, n = [part for part in parts if part.names is not None or part.subdtype is not None], 0
    while todo:
        part = todo.pop()
        inner = [part.base] if part.subdtype is not None else [field for field, *_ in (part.fields or {}).values()]
        todo += inner
        n += len(inner)
        if n > MAX_PARTS:
            raise FormatError(f"numpy.dtype: found more than {MAX_PARTS} dtypes inside of fields")


def _structure(names: Any, fields: Any, size: int, *, is_aligned: bool) -> np.dtype[Any]:
    """Return a dtype of fields that lie inside of it; NumPy refuses objects that overlap with anything."""
    check("numpy.dtype: names", names, tuple)
    check("numpy.dtype: fields", fields, dict)
    formats, offsets, titles = [], [], []
    for name in names:
        field = check("numpy.dtype: field", fields.get(check("numpy.dtype: name", name, str)), tuple)
        if len(field) not in (2, 3):
            raise FormatError("numpy.dtype: found a field of another form than dtype, offset and title")
        part, offset = _part(field[0]), check("numpy.dtype: offset", field[1], int)
        if offset < 0 or offset + part.itemsize > size:
            raise FormatError(f"numpy.dtype: found a field at bytes {offset} to {offset + part.itemsize} of {size}")
        formats.append(part)
        offsets.append(offset)
        titles.append(None if len(field) == 2 else check("numpy.dtype: title", field[2], str))
    _check_parts(formats)
    if len(fields) != len(names) + sum(title is not None for title in titles):
        raise FormatError(f"numpy.dtype: found {len(fields)} fields, expected those of {len(names)} names")
    parts: Any = {"names": list(names), "formats": formats, "offsets": offsets, "itemsize": size}
    if any(titles):
        parts["titles"] = titles
    made: np.dtype[Any] = np.dtype(parts, align=is_aligned)
    return made


def _shown(value: np.dtype[Any]) -> str:
    return f"{value!s:.100}"


def string_dtype(coerce: Any = True, *na_object: Any) -> np.dtype[Any]:
    """Stand for `numpy._core._internal._convert_to_stringdtype_kwargs`."""
    if type(coerce) not in (bool, int):
        raise wrong("numpy.dtypes.StringDType: coerce", coerce, "a flag")
    if len(na_object) > 1 or (na_object and type(na_object[0]) not in (str, float, type(None))):
        raise wrong("numpy.dtypes.StringDType: na_object", na_object, "None, nan or a text")
    if na_object:
        return np.dtypes.StringDType(coerce=bool(coerce), na_object=na_object[0])
    return np.dtypes.StringDType(coerce=bool(coerce))
