"""Arrays of n records ↔ lists of n values of samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....base.dtypes import TYPES, Type
from ....codec.encode import type_of
from ....dataset import as_array
from ....errors import FormatError, UnsupportedError
from ...strings import as_objects
from ..schema import INTEGER, UNKNOWN, Description

MASK = ".mask"
"""What the name of an entry ends with that says which values of an array are missing."""
PLAIN = ("int64", "float64", "bool")
"""Types whose numbers msgpack has, too."""
SCALARS = {int: INTEGER, float: "float64", bool: "bool", str: "unicode", bytes: "str"}
"""What msgpack has; each integer in its smallest form."""


def values_of(array: Any) -> tuple[list[Any], NDArray[np.bool_] | None]:
    """Return an array as entries of samples.

    Parameters
    ----------
    array : (n, ...) ndarray or MaskedArray

    Returns
    -------
    list
        n values: None where a single one is missing; arrays of numbers, which are 0 where one is missing; nested lists
        of strings, None where one is missing.
    ndarray or None
        (n, ...) bool: which values are missing of arrays of numbers, that have any.
    """
    if array.dtype.kind in "OSUT":
        values, mask = as_objects(array)
        if mask is not None:
            values = values.copy()
            values[mask] = None
        lists: list[Any] = values.tolist()
        return lists, None
    data = np.ma.getdata(array)
    data = data.astype(data.dtype.newbyteorder("="), copy=False)
    mask = np.ma.getmask(array)
    if mask is np.ma.nomask or not mask.any():
        mask = None
    if data.ndim == 1:
        scalars = data.tolist() if data.dtype.name in PLAIN else list(data)
        if mask is not None:
            scalars = [None if gone else value for value, gone in zip(scalars, mask.tolist(), strict=True)]
        return scalars, None
    if mask is not None:
        data = np.where(mask, np.zeros((), data.dtype), data)
    return list(np.ascontiguousarray(data)), mask


def array_of(
    values: Sequence[Any], masks: Sequence[Any] | None, type_name: str, shape: tuple[int, ...], numbers: Sequence[int]
) -> Any:
    """Return entries of samples as an array.

    Parameters
    ----------
    values : sequence
        n values, as `values_of` makes them.
    masks : sequence, optional
        n masks, of those samples that have one.
    type_name : str
        The ds type.
    shape : tuple of int
        Of one value.
    numbers : sequence of int
        Of the samples, for messages.

    Returns
    -------
    (n, *shape) ndarray or MaskedArray

    Raises
    ------
    FormatError
        If a value is not of this type and shape; the message names the sample.
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
    """Return arrays as one, and note in `gone` which values are missing."""
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
    """Return values and mask of one array, which may be nested lists."""
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
    """Return strings as an array, and note in `gone` which are missing."""
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
    """Return numbers as an array, and note in `gone` which are missing."""
    dtype = np.dtype(ds_type.code)
    out = np.zeros(len(values), dtype)
    gone[:] = [value is None for value in values]
    present = [value for value in values if value is not None]
    kinds = {*map(type, present)}
    is_plain = dtype.itemsize == 8 and kinds <= ({int, float} if dtype.kind == "f" else {int})
    try:
        found = np.array(present, dtype if is_plain or not present else None)
    except (ValueError, TypeError, OverflowError):
        found = np.empty(0, object)
    if found.shape != (len(present),) or found.dtype.newbyteorder("=") != dtype:
        raise _wrong_number(values, ds_type, numbers)
    out[~gone] = found
    return out


def _wrong_number(values: Sequence[Any], ds_type: Type, numbers: Sequence[int]) -> FormatError:
    """Return the error that names the first value that is no number of a type."""
    for i, value in enumerate(values):
        alone = np.asarray(value)
        if value is not None and (alone.shape or alone.dtype.newbyteorder("=") != np.dtype(ds_type.code)):
            found = f"an array of shape {list(alone.shape)}" if alone.shape else repr(value)
            return FormatError(f"sample {numbers[i]}: found {found:.60}, expected a value of type {ds_type.name}")
    return FormatError(f"samples {numbers[0]} to {numbers[-1]}: found values that are not all of type {ds_type.name}")


def described(value: Any) -> Description:
    """Return type and shape of anything but a number or string of msgpack."""
    kind = type(value).__name__
    if isinstance(value, (list, np.ndarray, np.generic)):
        try:
            array = as_array(value)
            return Description((type_of(array).name,), array.shape, isinstance(array, np.ma.MaskedArray))
        except UnsupportedError:
            kind = str(value.dtype) if isinstance(value, (np.ndarray, np.generic)) else kind
    return Description((UNKNOWN + kind,))
