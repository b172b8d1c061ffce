"""Objects → variables.

A dictionary with metadata under `"."` is a dataset as this package writes it. In all else dictionaries, and lists of
what is no plain value, are groups; whatever can be an array is a variable; frames of pandas are groups of columns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...base.dtypes import TYPES
from ...base.names import escape, unescape
from ...binpickle.machine.postponed import PostponedMasked
from ...codec.attributes import from_json, to_json
from ...codec.encode import properties_of, type_of
from ...codec.header import PRIVATE, check_dims
from ...dataset import META, as_array
from ...errors import DsError, FormatError, UnsupportedError
from ..base import Metadata
from ..strings import check_kind
from .bounds import POSTPONED, Measure
from .frames import VALUES, array_of, columns, is_frame

UNITS = {
    "D": "days",
    "h": "hours",
    "m": "minutes",
    "s": "seconds",
    "ms": "milliseconds",
    "us": "microseconds",
    "ns": "nanoseconds",
}
"""Units of NumPy's dates and differences of dates → those of attributes."""
EPOCH = "1970-01-01"


class Variables(NamedTuple):
    """What an object consists of."""

    arrays: dict[str, Any]
    """Key → array, one that is postponed, or None without data."""
    meta: Metadata
    faults: dict[str, UnsupportedError]
    """Key of each part that is no variable → why not."""
    is_own: bool
    """Whether the object has metadata as datasets have them."""


class _Found(NamedTuple):
    """What was found so far."""

    arrays: dict[str, Any]
    meta: Metadata
    faults: dict[str, UnsupportedError]
    measure: Measure


def variables(root: Any) -> Variables:
    """Return the variables of an object.

    Raises
    ------
    UnsupportedError, FormatError
        If it has metadata that do not fit a dataset, or two parts of one name.
    """
    given = root.get(META) if type(root) is dict else None
    found = _Found({}, {}, {}, Measure())
    if type(given) is dict:
        _take_dataset(root, given, found)
    elif _is_group(root):
        _walk(root, "", found, set())
    else:
        _put(VALUES, root, {}, found)
    found.meta.setdefault(META, {})
    return Variables(found.arrays, found.meta, found.faults, is_own=type(given) is dict)


def _take_dataset(root: dict[Any, Any], given: dict[Any, Any], found: _Found) -> None:
    for raw in [*root, *(raw for raw in given if raw not in root)]:
        if raw == META:
            continue
        if type(raw) is not str or raw.startswith("."):
            raise FormatError(f"found the name {raw!r}, expected text that does not begin with a dot")
        entry = given.get(raw, {})
        name = unescape(raw)
        if type(entry) is not dict:
            raise FormatError(f"metadata: found {type(entry).__name__}, expected a dict", variable=name)
        try:
            meta = _attributes(entry, found.measure)
            _put(name, root.get(raw), meta, found)
            if meta.get(".dims") is not None and escape(name) not in found.faults:
                array = found.arrays[escape(name)]
                check_dims(meta[".dims"], None if array is None else array.shape)
        except DsError as error:
            raise error.at(variable=name)
    of_dataset = given.get(META, {})
    if type(of_dataset) is not dict:
        raise FormatError(f"metadata: found {type(of_dataset).__name__}, expected a dict")
    found.meta[META] = _attributes(of_dataset, found.measure)


def _attributes(entry: dict[Any, Any], measure: Measure) -> dict[str, Any]:
    for key in entry:
        if type(key) is not str:
            raise UnsupportedError(f"attribute {key!r:.60}: found a name that is no text")
    measure.check(entry, arrays=True)
    return from_json(to_json(entry, PRIVATE))


def _walk(value: Any, prefix: str, found: _Found, seen: set[int]) -> None:
    """Take what is in a group; none is gone through twice, since objects may contain themselves."""
    seen.add(id(value))
    if is_frame(value):
        for column in columns(value):
            _put(prefix + column.name, column.values, {".dims": [prefix + column.dim]}, found)
        return
    for key, item in value.items() if type(value) is dict else enumerate(value):
        name = prefix + _label(key, found.measure)
        if id(item) in seen:
            _refuse(name, UnsupportedError("is in the object for the second time"), found)
        elif _is_group(item):
            if name.count("/") > 64:
                raise UnsupportedError("found more than 64 nested groups", variable=name)
            _walk(item, f"{name}/", found, seen)
        else:
            _put(name, item, {}, found)


def _is_group(item: Any) -> bool:
    """Whether this has parts: a dictionary, a frame, or a list of more than values."""
    if type(item) in (list, tuple):
        return any(isinstance(part, (np.ndarray, *POSTPONED)) or type(part) is dict or is_frame(part) for part in item)
    return type(item) is dict or is_frame(item)


def _label(key: Any, measure: Measure) -> str:
    """Return what a key is called, if that is not far longer than the key."""
    if type(key) is frozenset:
        raise UnsupportedError("found a frozenset as key, expected text")
    measure.check(key, arrays=False)
    try:
        return str(key) if isinstance(key, (str, int, float)) else repr(key)
    except ValueError:
        raise UnsupportedError("found an integer of thousands of digits as key, expected text") from None


def _put(name: str, value: Any, meta: dict[str, Any], found: _Found) -> None:
    """Add a variable, or a fault."""
    key = escape(name)
    if key in found.meta:
        raise UnsupportedError("two parts of the object have this name", variable=name)
    hint = meta.get(".type") if meta.get(".type") in TYPES else None
    try:
        array, more = _array(value, hint, found.measure)
        found.meta[key] = {**meta, **more, ".type": hint, **_properties(array, hint)}
        if array is not None and array.dtype.kind == "O":
            check_kind(np.ma.getdata(array), _flags(array), found.meta[key][".type"])
    except UnsupportedError as error:
        _refuse(name, error, found)
    except (ValueError, TypeError, OverflowError) as error:
        _refuse(name, UnsupportedError(f"{type(error).__name__}: {error}"), found)
    else:
        found.arrays[key] = array
        # how many are missing is not known before all of a mask is read
        found.meta[key][".missing"] = isinstance(array, (np.ma.MaskedArray, PostponedMasked))


def _properties(array: Any, hint: str | None) -> dict[str, Any]:
    if isinstance(array, POSTPONED):
        return {".size": list(array.shape), ".type": type_of(np.empty(0, array.dtype), hint).name}
    return properties_of(array, hint)


def _refuse(name: str, error: UnsupportedError, found: _Found) -> None:
    key = escape(name)
    found.faults[key] = error
    found.arrays.pop(key, None)
    found.meta[key] = {".size": None, ".type": None}


def _array(value: Any, hint: str | None, measure: Measure) -> tuple[Any, dict[str, Any]]:
    """Return data as an array, strings as objects, and the attributes that dates need."""
    if isinstance(value, POSTPONED):
        for part in value if isinstance(value, PostponedMasked) else [value]:
            measure.check_array(part.number, part.size)
        return value, {}
    measure.check(value, arrays=False)
    array = as_array(array_of(value) if is_frame(value) else value, hint)
    if array is None:
        return None, {}
    if type(array) not in (np.ndarray, np.ma.MaskedArray):
        array = np.asarray(array)
    if array.dtype.kind in "mM":
        return _counted(array)
    if array.dtype.kind == "T":
        objects = array.astype(object)
        absent = np.fromiter((type(item) is not str for item in objects.flat), np.bool_, objects.size)
        return (np.ma.MaskedArray(objects, absent.reshape(objects.shape)) if absent.any() else objects), {}
    return array, {}


def _counted(array: Any) -> tuple[Any, dict[str, Any]]:
    """Return dates, or differences of dates, as integers with their units."""
    unit, n = np.datetime_data(array.dtype)
    if unit not in UNITS or n != 1:
        raise UnsupportedError(f"dtype: found {array.dtype}, expected dates in one of {' '.join(UNITS)}")
    data = np.ma.getdata(array)
    gone = np.isnat(data) | np.ma.getmaskarray(array)
    numbers = data.view(np.dtype("i8").newbyteorder(data.dtype.byteorder))
    is_date = array.dtype.kind == "M"
    more = {"units": f"{UNITS[unit]} since {EPOCH}", "calendar": "proleptic_gregorian"}
    return (
        np.ma.MaskedArray(numbers, gone) if gone.any() else numbers,
        more if is_date else {"units": UNITS[unit]},
    )


def _flags(array: Any) -> Any:
    mask = np.ma.getmask(array)
    return None if mask is np.ma.nomask else mask
