"""When two datasets are the same, and what writing to a format is expected to keep, report and refuse."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..base.text import on_one_line, unescape
from ..datasets import as_array, attrs, dims
from ..drivers.base import LossWarning


def same_data(left: Any, right: Any) -> bool:
    """Return whether two data are the same: type, shape, mask, and each present value bit by bit.

    Byte order and memory layout do not count.
    """
    if left is None or right is None:
        return left is right
    left, right = as_array(left), as_array(right)
    if left.shape != right.shape or left.dtype.newbyteorder("=") != right.dtype.newbyteorder("="):
        return False
    flags = np.ma.getmaskarray(left)
    if not np.array_equal(flags, np.ma.getmaskarray(right)):
        return False
    ours, theirs = np.ma.getdata(left)[~flags], np.ma.getdata(right)[~flags]
    if left.dtype.kind == "O":
        return bool(ours.tolist() == theirs.tolist()) and [*map(type, ours)] == [*map(type, theirs)]
    little = ours.dtype.newbyteorder("<")
    return bool(ours.astype(little).tobytes() == theirs.astype(little).tobytes())


def same_value(left: Any, right: Any) -> bool:
    """Return whether two attributes are the same: type, and value. NaN is equal to NaN."""
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and left.shape == right.shape and repr(left.tolist()) == repr(right.tolist())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same_value, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same_value(left[key], right[key]) for key in left)
    if isinstance(left, (float, np.floating)):
        return repr(left) == repr(right)
    return bool(left == right)


def require(condition: Any, message: str) -> None:
    """Raise an AssertionError unless a condition is true. It holds with `python -O`, too."""
    if not condition:
        raise AssertionError(message)


def require_same(expected: dict[str, Any], found: dict[str, Any]) -> None:
    """Raise an AssertionError that names the first difference of two datasets, if there is one.

    An expected attribute `...` is any value.
    """
    require(set(expected) == set(found), f"found the variables {sorted(found)}, expected {sorted(expected)}")
    for key, data in expected.items():
        ours, theirs = expected["."].get(key, {}), found["."][key]
        if key != ".":
            shown = f"found {_shown(found[key], data)}, expected {_shown(data, found[key])}"
            require(same_data(data, found[key]), f'"{key}": {shown}')
            ndim = 0 if data is None else np.ndim(data)
            for mine, yours in (
                (ours.get(".time"), theirs.get(".time")),
                (dims(key, ours, ndim), dims(key, theirs, ndim)),
            ):
                require(mine == yours, f'"{key}": found {yours!r}, expected {mine!r}')
        before, after = attrs(ours), attrs(theirs)
        require(before.keys() == after.keys(), f'"{key}": found the attributes {[*after]}, expected {[*before]}')
        for name, value in before.items():
            same = value is ... or same_value(value, after[name])
            require(same, f'"{key}", attribute "{name}": found {after[name]!r}, expected {value!r}')


def _shown(data: Any, other: Any) -> str:
    """Return data for a message, with their bytes if other data look the same: a NaN does not show its payload."""
    text = repr(data)
    if text != repr(other) or not isinstance(data, np.ndarray) or data.dtype.hasobject:
        return text
    return f"{text} with the bytes {np.ma.getdata(data).tobytes().hex(' ', -data.itemsize)}"


class Loss(NamedTuple):
    """A part of a dataset that a file does not contain."""

    variable: str | None
    """Name of the variable; None for the dataset."""
    reason: str
    """Regular expression of the message."""

    def is_said_in(self, message: str) -> bool:
        """Return whether an error or a warning reports it."""
        named = self.variable is None or f'"{on_one_line(self.variable)}"' in message
        return named and re.search(self.reason, message) is not None


@dataclass
class Passage:
    """The expected result of writing a dataset to a file and reading it back."""

    dataset: dict[str, Any]
    """The dataset that is read back."""
    errors: list[Loss] = field(default_factory=list)
    """One of these errors is raised."""
    warnings: list[Loss] = field(default_factory=list)
    """All of these are reported."""
    notes: list[Loss] = field(default_factory=list)
    """These may be reported, although nothing is lost."""

    def require_warnings(self, caught: Iterable[Any]) -> None:
        """Raise an AssertionError unless each expected loss is reported, and nothing else.

        Parameters
        ----------
        caught : iterable of warnings.WarningMessage
        """
        caught = [*caught]
        messages = [str(one.message) for one in caught]
        others = [one.message for one in caught if not issubclass(one.category, LossWarning)]
        require(not others, f"warnings that are not a LossWarning: {others}")
        for loss in self.warnings:
            require(any(map(loss.is_said_in, messages)), f"lost without a warning: {loss}; found {messages}")
        for message in messages:
            said = any(loss.is_said_in(message) for loss in self.warnings + self.notes)
            require(said, f"a warning that was not expected: {message}")


def exactly(dataset: dict[str, Any]) -> Passage:
    """Return the passage of a dataset through a format that keeps all of it."""
    with np.errstate(over="ignore"):  # copies have the default fill value of NumPy, which is too large for float16
        return Passage(copy.deepcopy(dataset))


def variables(dataset: dict[str, Any]) -> Iterator[tuple[str, str, Any, dict[str, Any]]]:
    """Iterate over the variables of a dataset: key, name, array, and properties with attributes."""
    for key, data in dataset.items():
        if key != ".":
            yield key, unescape(key), as_array(data), dataset["."][key]
