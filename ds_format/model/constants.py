"""Comparing variables that are not merged, but taken from the first dataset that has them.

Values are compared after conversion to common units and packing. Differences are reported, because the merged dataset
has the values of the first dataset for the data of all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import timeaxis
from ..base import modes
from ..base.text import unescape
from ..errors import UnsupportedError
from ..kernels.header.memory import are_alike
from .merge_plan import MergeInput, MergePlan, Way, reconcile
from .packing import ATTRIBUTES, is_packed, unpack

MEANING = frozenset((".type", "units", "calendar", *ATTRIBUTES))
"""Metadata that decide what the values of a variable mean."""
MAX_TEXT = 60
"""Maximum number of characters of a value in a message."""


class Value(NamedTuple):
    """The value of a variable in one dataset."""

    name: str
    """Name of the file or dataset, for messages."""
    entry: Mapping[str, Any]
    """Its metadata."""
    array: Any
    """(1, *shape) array or MaskedArray, or a part of it. Not used if `.size` of two values differs."""


class Constants:
    """Compares the values of variables that a plan takes from the first dataset, and reports those that differ.

    Parameters
    ----------
    plans : sequence of MergePlan
    inputs : sequence of MergeInput
    dim : str
        Dimension of the merge.
    """

    def __init__(self, plans: Sequence[MergePlan], inputs: Sequence[MergeInput], dim: str):
        self._inputs = inputs
        self._dim = dim
        self._first: dict[str, Value] = {}
        self._bytes: dict[str, bytes | None] = {}
        self._found: dict[str, str] = {}
        keys = [plan.key for plan in plans if plan.way is Way.FIRST and plan.shape is not None]
        self.keys = [[key for key in keys if given.meta.get(key, {}).get(".size") is not None] for given in inputs]
        """For each input, the keys of variables to compare."""

    def compare(self, i: int, read: Callable[[str], Any]) -> Callable[[str], Any]:
        """Compare the values of an input, and return a function that reads it, each variable once.

        Parameters
        ----------
        i : int
            Its position.
        read : callable
            Key → array of shape (count, *shape).
        """
        if not self.keys[i]:
            return read
        given = self._inputs[i]
        values = {key: read(key) for key in self.keys[i]}
        for key, stack in values.items():
            if key in self._found or (len(stack) == 1 and key not in given.unlike and self._is_same(i, key, stack)):
                continue
            value = Value(given.name or f"dataset {i + 1}", given.meta[key], stack[:1])
            self.add(key, value)
            if key in given.unlike:
                name, array = given.unlike[key]
                self.add(key, value._replace(name=str(name), array=array))
            elif len(stack) > 1:
                row = int(equal_rows(stack, stack[:1]).argmin())
                self.add(key, value._replace(name=str(given.names[row]), array=stack[row : row + 1]))
        return lambda key: values[key] if key in values else read(key)

    def _is_same(self, i: int, key: str, stack: Any) -> bool:
        """Return whether bytes and metadata are those of the first value, which takes less time than other ways."""
        first = self._first.get(key)
        if first is None:
            return False
        if key not in self._bytes:
            self._bytes[key] = _plain_bytes(first.array)
        found = self._bytes[key]
        return (
            found is not None
            and stack.dtype == first.array.dtype
            and stack.shape == first.array.shape
            and found == _plain_bytes(stack)
            and _mean_the_same(first.entry, self._inputs[i].meta[key])
        )

    def add(self, key: str, value: Value, start: Sequence[int] = ()) -> None:
        """Compare a value with the first one.

        Parameters
        ----------
        key : str
        value : Value
        start : sequence of int, optional
            Position of its first element in the variable, if it is a part of it.
        """
        first = self._first.setdefault(key, value)
        if first is not value and key not in self._found:
            text = difference(first, value, start)
            if text is not None:
                self._found[key] = text

    def is_different(self, key: str) -> bool:
        """Return whether a variable is known to differ, so that more values need not be added."""
        return key in self._found

    def forget(self) -> None:
        """Forget all first values: the next ones are those of other parts of the variables."""
        self._first.clear()

    def report(self, *, can_stack: bool = True) -> None:
        """Report the variables that differ; with `can_stack` the message says how to keep all of them.

        Raises
        ------
        UnsupportedError
            In strict mode; otherwise it is a warning.
        """
        for key, text in self._found.items():
            message = f'{text}. It has no dimension "{self._dim}", so only the first value is kept'
            if can_stack:
                message += "; name it in `stack` to keep all of them along the dimension"
            modes.warn_or_raise(UnsupportedError(message, variable=unescape(key)))


def difference(first: Value, other: Value, start: Sequence[int] = ()) -> str | None:
    """Return a phrase that names two datasets and their values, if these differ, otherwise None.

    Parameters
    ----------
    first, other : Value
    start : sequence of int, optional
        As for `Constants.add`.
    """
    sizes = [list(value.entry[".size"]) for value in (first, other)]
    if sizes[0] != sizes[1]:
        return _phrase(first, other, f"size {sizes[0]}", f"size {sizes[1]}")
    is_same_unit = True
    if not _mean_the_same(first.entry, other.entry):
        times = timeaxis.is_time(first.entry) and timeaxis.is_time(other.entry)
        is_same_unit = times or first.entry.get("units") == other.entry.get("units")
        if is_same_unit:
            first, other = _comparable(first, other)
    same = _same(other.array, first.array) if is_same_unit else np.zeros(first.array.shape, np.bool_)
    if same.all():
        return None
    at = np.unravel_index(int(same.argmin()), same.shape)
    texts = [_text(value, at, with_units=not is_same_unit) for value in (first, other)]
    place = [int(i) + k for i, k in zip(at[1:], start or [0] * len(at), strict=False)]
    where = f" at {place}" if math.prod(sizes[0]) > 1 else ""
    return _phrase(first, other, texts[0] + where, texts[1])


def _plain_bytes(array: Any) -> bytes | None:
    """Return the bytes of numbers of which none is missing; None for other values."""
    if array.dtype == object or np.ma.getmask(array) is not np.ma.nomask:
        return None
    return np.ndarray.tobytes(array)


def _mean_the_same(left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    return left is right or are_alike({"": dict(left)}, {"": dict(right)}, MEANING)


def _phrase(first: Value, other: Value, left: str, right: str) -> str:
    return f"found {left} in {first.name}, but {right} in {other.name}"


def _comparable(first: Value, other: Value) -> tuple[Value, Value]:
    """Return values with common units and packing, as far as they can be converted."""
    try:
        converts, _, _ = reconcile("", [first.entry, other.entry], False, [first.name, other.name])
    except UnsupportedError:
        return first, other
    pairs = zip((first, other), converts, strict=True)
    left, right = [value if one is None else value._replace(array=one(value.array), entry={}) for value, one in pairs]
    return left, right


def _text(value: Value, at: tuple[Any, ...], *, with_units: bool) -> str:
    item: Any = value.array[at]
    if item is np.ma.masked:
        return "no value"
    if is_packed(value.entry, value.entry.get(".type")):
        item = unpack(np.asarray(item), value.entry)
    text = short_text(item)
    return f"{text} in units {value.entry.get('units')!r}" if with_units else text


def short_text(value: Any) -> str:
    """Return a value as it is in a message, of at most `MAX_TEXT` characters."""
    text = repr(value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value)
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 4]}...{text[-1]}"


def equal_rows(stack: Any, first: Any) -> NDArray[np.bool_]:
    """Return the rows of a stack that equal the single row of another. Missing values are equal, and so are NaN."""
    same = _same(stack, first)
    return np.asarray(same.reshape(len(stack), -1).all(1))


def _same(stack: Any, first: Any) -> NDArray[np.bool_]:
    """Return the values of a stack that equal those of a single row."""
    data, expected = np.ma.getdata(stack), np.ma.getdata(first)
    if data.dtype.kind == expected.dtype.kind == "f" and data.dtype != expected.dtype:
        narrow = min(data.dtype, expected.dtype, key=lambda dtype: dtype.itemsize)
        data, expected = data.astype(narrow), expected.astype(narrow)  # the same number, written twice
    same = np.asarray(data == expected)
    if same.shape != data.shape:  # values of kinds that NumPy does not compare
        same = np.zeros(data.shape, np.bool_)
    if data.dtype.kind == "f":
        same |= (data != data) & (expected != expected)
    mask, expected_mask = np.ma.getmask(stack), np.ma.getmask(first)
    if mask is not np.ma.nomask or expected_mask is not np.ma.nomask:
        missing, expected_missing = np.ma.getmaskarray(stack), np.ma.getmaskarray(first)
        same = np.where(missing | expected_missing, missing & expected_missing, same)
    return same
