"""Objects → variables.

A dictionary with metadata under `"."` is a dataset written by this package. Otherwise dictionaries, and lists of
objects that are not plain values, are groups. Objects that can be arrays are variables. Data frames of pandas are
groups of columns. pandas is not imported here, because a program with such an object has imported it.

The values of an object are counted, because a small pickle can have a list ten times in another one, that one ten times
in the next, and so on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...base.dtypes import TYPES
from ...base.text import escape, unescape
from ...binpickle.machine.allowed import PostponedArray, PostponedMasked
from ...codec.attributes import from_json, to_json
from ...codec.encode import properties_of, type_of
from ...codec.header import CONTAINERS, DEPTH, PRIVATE, check_dims
from ...datasets import META, as_array
from ...errors import DsError, FormatError, UnsupportedError
from ...timeaxis.datetimes import UNITS, units_attributes
from ..base import Metadata
from ..strings import check_kind

REPEATED = 1 << 20
"""Limit of the values of repeated parts, in all."""
TIMES = 16
"""Limit of repetitions of each part, above that limit."""
POSTPONED = (PostponedArray, PostponedMasked)
PLAIN = (str, bytes, bool, int, float, type(None), np.generic)


class Measure:
    """Counts the lists and values of an object: with repetitions, and without."""

    def __init__(self) -> None:
        self._sizes: dict[tuple[int, bool], int | str] = {}
        """Sizes of lists, by identity and whether arrays may be in them; or an error message."""
        self._arrays: dict[int, int] = {}
        """Sizes of arrays, by address, or by the complement of their number if they are not in memory."""
        self._held: list[Any] = []
        """Objects that stay alive, because others would get their identities."""
        self._n = self._total = 0
        """Lists and values, without repetitions and with them."""

    def check(self, value: Any, *, arrays: bool) -> None:
        """Refuse nested lists that would take far more memory than in the file, alone or with earlier ones.

        Parameters
        ----------
        value : object
            Anything; lists, tuples and dictionaries are gone through.
        arrays : bool
            Whether arrays may be in lists. Else only plain values may.

        Raises
        ------
        UnsupportedError
            If there is too much, or something else.
        """
        if type(value) in CONTAINERS:
            total = self._total + self._size(value, 0, arrays)
        elif isinstance(value, np.ndarray):
            total = self._total + self._size_of_array(value)
        else:
            return
        self._compare(total)
        self._total = total

    def check_array(self, number: int, size: int) -> None:
        """Count an array of `size` values, buffer `number` of the file, that is not in memory; see `check`."""
        total = self._total + self._known(~number, size)
        self._compare(total)
        self._total = total

    def _known(self, place: int, size: int) -> int:
        """Count an array at an address, and return its size."""
        known = self._arrays.get(place, 0)
        if size > known:
            self._arrays[place] = size
            self._n += size - known
        return size

    def _compare(self, size: int) -> None:
        if size > REPEATED and size > TIMES * self._n:
            raise UnsupportedError(f"found lists that repeat their parts: {size} values")

    def _size(self, value: Any, depth: int, arrays: bool) -> int:
        key = id(value), arrays
        if key not in self._sizes:
            if depth > DEPTH:
                raise UnsupportedError(f"found lists nested deeper than {DEPTH}")
            self._sizes[key] = "found a list that contains itself"
            self._held.append(value)
            self._n += 1
            size = 1
            try:
                for part in value.values() if type(value) is dict else value:
                    if type(part) in CONTAINERS:
                        size += self._size(part, depth + 1, arrays)
                    elif isinstance(part, PLAIN):
                        self._n += 1
                        size += 1
                    else:
                        size += self._other(part, arrays)
            except UnsupportedError as error:
                self._sizes[key] = error.message
                raise
            self._sizes[key] = size
        found = self._sizes[key]
        if isinstance(found, str):
            raise UnsupportedError(found)
        self._compare(found)
        return found

    def _other(self, item: Any, arrays: bool) -> int:
        if not arrays:
            found = "arrays" if isinstance(item, (np.ndarray, *POSTPONED)) else type(item).__name__
            raise UnsupportedError(f"a list holds {found}; expected plain values")
        return self._size_of_array(item) if isinstance(item, np.ndarray) else 1

    def _size_of_array(self, array: Any) -> int:
        """Return the number of values of an array, including those inside of objects."""
        size = self._known(array.ctypes.data, array.size)
        self._held.append(array)
        if array.dtype.kind == "O":
            nested = [part for part in np.ma.getdata(array).ravel().tolist() if type(part) in CONTAINERS]
            size += sum(self._size(part, 1, arrays=True) for part in nested)
        return size


INDEX = "index"
"""Name of an index without a name."""
VALUES = "data"
"""Name of values without a name."""


class FrameColumn(NamedTuple):
    """Values along one dimension."""

    name: str
    dim: str
    values: Any
    """Series or index."""


def is_frame(value: Any) -> bool:
    """Whether this is a frame, a series or an index."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, (pandas.DataFrame, pandas.Series, pandas.Index))


def columns(value: Any) -> Iterator[FrameColumn]:
    """Iterate over the columns of a frame, a series or an index, and its index, unless it only numbers the rows."""
    pandas: Any = sys.modules["pandas"]
    index = value if isinstance(value, pandas.Index) else value.index
    dim = INDEX if index.name is None else str(index.name)
    if isinstance(index, pandas.MultiIndex):
        for i, name in enumerate(index.names):
            yield FrameColumn(f"{INDEX}_{i}" if name is None else str(name), dim, index.get_level_values(i))
    elif index is value or not index.equals(pandas.RangeIndex(len(index))):
        yield FrameColumn(dim, dim, index)
    if isinstance(value, pandas.DataFrame):
        for i, name in enumerate(value.columns):
            yield FrameColumn(str(name), dim, value.iloc[:, i])
    elif isinstance(value, pandas.Series):
        yield FrameColumn(VALUES if value.name is None else str(value.name), dim, value)


def frame_array(values: Any) -> Any:
    """Return a series or an index as an array, (n,), masked where a value is missing; NaN among floats is a value."""
    mask = np.asarray(values.isna())
    plain = getattr(values.dtype, "numpy_dtype", None)
    if isinstance(values.dtype, np.dtype) and values.dtype.kind != "O":
        return values.to_numpy()
    if isinstance(plain, np.dtype) and plain.kind in "biuf":
        array = values.to_numpy(plain, na_value=plain.type(0)) if mask.any() else values.to_numpy(plain)
    elif getattr(values.dtype, "tz", None) is not None:
        return values.to_numpy("M8[ns]")
    else:
        array = values.to_numpy(object)
    return np.ma.MaskedArray(array, mask) if mask.any() else array


class Variables(NamedTuple):
    """The variables of an object."""

    arrays: dict[str, Any]
    """Key → array, postponed array, or None without data."""
    meta: Metadata
    faults: dict[str, UnsupportedError]
    """Key of each part that cannot be a variable → the reason."""
    is_own: bool
    """Whether the object has metadata of a dataset."""


class _Found(NamedTuple):
    """The variables so far."""

    arrays: dict[str, Any]
    meta: Metadata
    faults: dict[str, UnsupportedError]
    measure: Measure


def variables(root: Any) -> Variables:
    """Return the variables of an object.

    Raises
    ------
    UnsupportedError, FormatError
        If its metadata do not fit a dataset, or two parts have the same name.
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
            raise UnsupportedError(f"attribute {key!r:.60}: found a name that is not text")
    measure.check(entry, arrays=True)
    return from_json(to_json(entry, PRIVATE))


def _walk(value: Any, prefix: str, found: _Found, seen: set[int]) -> None:
    """Add the variables of a group. Each group is visited once, because objects may contain themselves."""
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
    """Whether an item is a group: a dictionary, a frame, or a list of other objects than values."""
    if type(item) in (list, tuple):
        return any(isinstance(part, (np.ndarray, *POSTPONED)) or type(part) is dict or is_frame(part) for part in item)
    return type(item) is dict or is_frame(item)


def _label(key: Any, measure: Measure) -> str:
    """Return the text of a key, unless it is far longer than the key."""
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
    """Return data as an array, with strings as objects, and attributes of dates."""
    if isinstance(value, POSTPONED):
        for part in value if isinstance(value, PostponedMasked) else [value]:
            measure.check_array(part.number, part.size)
        return value, {}
    measure.check(value, arrays=False)
    array = as_array(frame_array(value) if is_frame(value) else value, hint)
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
    return np.ma.MaskedArray(numbers, gone) if gone.any() else numbers, units_attributes(array.dtype)


def _flags(array: Any) -> Any:
    mask = np.ma.getmask(array)
    return None if mask is np.ma.nomask else mask
