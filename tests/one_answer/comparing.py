"""What two readers say of one file, compared."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np


class Disagreement(NamedTuple):
    """Two readers say different things."""

    reader: str
    other: str
    aspect: str
    """`opens`, `values`, `mask`, `dtype`, `dims`, `attributes`, `order`, `encoding: NAME` and so on."""
    key: str
    """Name of the variable; empty for the file."""
    found: Any
    expected: Any
    options: str = ""
    """Decoding options of xarray."""

    def __str__(self) -> str:
        found, expected = self.found, self.expected
        if isinstance(found, np.ndarray) and isinstance(expected, np.ndarray) and found.shape == expected.shape:
            one, two = np.ma.asarray(found).ravel().tolist(), np.ma.asarray(expected).ravel().tolist()
            differ = [i for i, (a, b) in enumerate(zip(one, two, strict=True)) if not is_same(a, b)][:3]
            found, expected = ({i: values[i] for i in differ} for values in (one, two))
        parts = (self.reader, self.other, self.options, self.aspect, self.key, short(found), short(expected))
        return " | ".join(parts)


class Failure(NamedTuple):
    """An error in place of a result."""

    error: BaseException

    def __repr__(self) -> str:
        return f"{type(self.error).__name__}: {self.error}"


def attempt(what: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return a result, or the failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return what(*arguments, **options)
        except Exception as error:  # noqa: BLE001 - another reader may fail, too
            return Failure(error)


def short(value: Any) -> str:
    """Return the beginning of a value on one line."""
    return " ".join(repr(value).split())[:200]


class Comparisons:
    """Counts comparisons, and collects disagreements."""

    def __init__(self) -> None:
        self.count = 0
        self.found: list[Disagreement] = []
        self.options = ""

    def _differ(self, reader: str, other: str, aspect: str, key: str, found: Any, expected: Any) -> None:
        self.found.append(Disagreement(reader, other, aspect, key, found, expected, self.options))

    def equal(self, reader: str, other: str, aspect: str, key: str, found: Any, expected: Any) -> bool:
        """Compare anything: attributes and metadata with their types."""
        self.count += 1
        if is_same(found, expected):
            return True
        self._differ(reader, other, aspect, key, found, expected)
        return False

    def values(self, reader: str, other: str, key: str, found: Any, expected: Any, what: str = "") -> None:
        """Compare values: failures, shape, dtype, mask, then present values bit by bit."""
        what = f" {what}" if what else ""
        if isinstance(found, Failure) or isinstance(expected, Failure):
            self.count += 1
            if not (isinstance(found, Failure) and isinstance(expected, Failure)):
                self._differ(reader, other, f"reads{what}", key, found, expected)
            return
        if found is None or expected is None:
            self.equal(reader, other, f"values{what}", key, found, expected)
            return
        one, two = array_of(found), array_of(expected)
        if two is np.ma.masked:  # of no dtype
            two = np.ma.MaskedArray(np.zeros((), one.dtype), True)
        if not self.equal(reader, other, f"shape{what}", key, one.shape, two.shape):
            return
        if not self.equal(reader, other, f"dtype{what}", key, one.dtype.str, two.dtype.str):
            return
        masks = np.ma.getmaskarray(one), np.ma.getmaskarray(two)
        self.count += 2
        if one.dtype.names is None and not np.array_equal(*masks):
            self._differ(reader, other, f"mask{what}", key, found, expected)
            return
        present = ~masks[0] if one.dtype.names is None else np.ones(one.shape, bool)
        if not same_bits(np.ma.getdata(one)[present], np.ma.getdata(two)[present]):
            self._differ(reader, other, f"values{what}", key, found, expected)


def attributes_of(entry: Any) -> Any:
    """Return metadata without properties, which begin with a dot."""
    return entry if entry is None else {key: value for key, value in entry.items() if not key.startswith(".")}


def same_entry(reader: str, other: str, key: str, found: Any, expected: Any, compared: Comparisons) -> None:
    """Compare metadata of a variable or of a dataset: attributes in order, and properties."""
    if found is None:
        compared.equal(reader, other, "metadata", key, found, expected)
        return
    compared.equal(reader, other, "attributes", key, attributes_of(found), attributes_of(expected))
    for name in {*found, *expected}:
        if name.startswith("."):
            one, two = found.get(name), expected.get(name)
            if name == ".netcdf":
                for item in {*(one or {}), *(two or {})}:
                    compared.equal(reader, other, f".netcdf {item}", key, (one or {}).get(item), (two or {}).get(item))
            else:
                compared.equal(reader, other, name, key, one, two)


def array_of(value: Any) -> Any:
    """Return an array in native byte order; of objects for text."""
    if isinstance(value, (str, bytes)):
        return np.array(value, object)
    array = np.asanyarray(value)
    if array is np.ma.masked:
        return array
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def same_bits(one: Any, two: Any) -> bool:
    """Whether arrays of one dtype and shape are the same: numbers bit by bit, except that all NaN are the same."""
    if one.dtype.kind in "OV":  # with bytes between fields
        return all(is_same(a, b) for a, b in zip(one.ravel().tolist(), two.ravel().tolist(), strict=True))
    if one.dtype.kind == "f":
        empty = np.isnan(one)
        if not np.array_equal(empty, np.isnan(two)):
            return False
        one, two = one[~empty], two[~empty]
    return bool(np.ascontiguousarray(one).tobytes() == np.ascontiguousarray(two).tobytes())


def is_same(one: Any, two: Any) -> bool:
    """Whether two things are the same: type, value with NaN, and the order of keys."""
    if isinstance(one, np.ndarray) or isinstance(two, np.ndarray):
        return (
            isinstance(one, np.ndarray) and isinstance(two, np.ndarray)
            and one.dtype == two.dtype and one.shape == two.shape
            and same_bits(one.reshape(-1), two.reshape(-1))
        )  # fmt: skip
    if type(one) is not type(two):
        return False
    if isinstance(one, np.bytes_):  # NumPy cuts NULs at the end
        return bool(one.rstrip(b"\0") == two.rstrip(b"\0"))
    if isinstance(one, (list, tuple)):
        return len(one) == len(two) and all(map(is_same, one, two))
    if isinstance(one, Mapping):
        return [*one] == [*two] and all(is_same(one[key], two[key]) for key in one)
    if isinstance(one, (float, np.floating)):
        return repr(one) == repr(two)
    if hasattr(one, "calendar"):
        return bool(one == two and one.calendar == two.calendar)
    return bool(one == two)
