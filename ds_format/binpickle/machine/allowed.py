"""Common parts of the handlers: a row of the table of allowed names, checks, and placeholders of postponed arrays.

The bytes of a postponed array stay in the file until they are needed.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...errors import FormatError, UnsafeError
from ...kernels.pickle.machine import Global

T = TypeVar("T")
BUFFERS = (bytes, bytearray, memoryview, pickle.PickleBuffer)
"""Types of out-of-band buffers, and of bytes in the pickle."""


class AllowedName(NamedTuple):
    """A name that a pickle may contain."""

    make: Callable[..., Any] | None = None
    """Function that is called in its place. It must check all arguments of REDUCE or NEWOBJ.

    It returns the object, or a `Pending` one if a state has to follow."""
    value: Any = None
    """The class or object itself, if it may be part of a result. None: the name can only be called."""
    fetch: Callable[[], Any] | None = None
    """Function that returns the object on demand, because the library may not have it."""


def shown(text: str, length: int = 200) -> str:
    """Return the start of a text from a file as it can go to any terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:length])


def check(what: str, value: Any, expected: type[T]) -> T:
    """Return `value` if it is of exactly the type `expected`.

    Raises
    ------
    FormatError
        If not. The message has types only, because a value from a file can be too large to show.
    """
    if type(value) is not expected:
        raise wrong(what, value, expected.__name__)
    return value


def check_buffer(what: str, value: Any) -> Any:
    """Return `value` if it is bytes of the file: from NEXT_BUFFER, or bytes in the pickle.

    Raises
    ------
    UnsafeError
        If not. Other objects may expose memory that is not data, such as the addresses in an array of objects.
    """
    if type(value) not in BUFFERS:
        found = wrong(what, value, "bytes of the file").message
        raise UnsafeError(f"{found}; it could expose or change other memory")
    return value


def wrong(what: str, value: Any, expected: str) -> FormatError:
    """Return the error with the type of a value and the expected one."""
    found = repr(value) if isinstance(value, Global) else type(value).__name__
    return FormatError(f"{what}: found {found}, expected {expected}")


def check_ints(what: str, values: Any, n: int | None = None) -> tuple[int, ...]:
    """Return a tuple of `n` integers, if it is one."""
    if type(values) is not tuple or not all(type(value) is int for value in values) or n not in (None, len(values)):
        raise wrong(what, values, f"a tuple of {'' if n is None else f'{n} '}integers")
    return values


def check_state(what: str, state: Any, allowed: Sequence[str], needed: Sequence[str] = ()) -> dict[str, Any]:
    """Return a state that is a map with all needed keys and only allowed ones.

    Raises
    ------
    FormatError
        If not; the message names the first wrong key.
    """
    for key in check(what, state, dict):
        if type(key) is not str or key not in allowed:
            name = f'"{shown(key, 60)}"' if type(key) is str else f"a {type(key).__name__}"
            raise FormatError(f"{what}: has {name}, which this package does not know")
    for key in needed:
        if key not in state:
            raise FormatError(f'{what}: has no "{key}"')
    return dict(state)


class Postponed(NamedTuple):
    """Placeholder of a buffer."""

    number: int
    """Number of its entry in the index."""
    size: int
    """Bytes, more than 0."""


class PostponedArray(NamedTuple):
    """Placeholder of an array over a buffer."""

    number: int
    """Number of the entry in the index."""
    dtype: np.dtype[Any]
    stored: tuple[int, ...]
    """Shape in the buffer, in C order."""
    axes: tuple[int, ...]
    """For each axis of the array, its number in the buffer."""

    def __hash__(self) -> int:
        raise TypeError("unhashable, as arrays are")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return tuple(self.stored[axis] for axis in self.axes)

    @property
    def size(self) -> int:
        """Values."""
        return math.prod(self.stored)

    def over(self, buffer: Any) -> np.ndarray[Any, Any]:
        """Return the array over the bytes of the buffer."""
        return np.ndarray(self.stored, self.dtype, buffer).transpose(self.axes)


class PostponedMasked(NamedTuple):
    """Placeholder of a masked array of two arrays."""

    data: PostponedArray
    mask: PostponedArray

    def __hash__(self) -> int:
        raise TypeError("unhashable, as arrays are")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of both."""
        return self.data.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the data."""
        return self.data.dtype
