"""Nested lists of JSON → arrays."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.dtypes import TYPES, Type
from ...codec.header import MAX_DIMS, kind_of
from ...dataset import as_array
from ...errors import DsError, FormatError, UnsupportedError

HELD: dict[str, set[type]] = {"f": {int, float}, "i": {int}, "u": {int}, "?": {bool}, "O": {str}}
"""First letter of a type's code → what JSON values may stand for its values."""


def array_of(data: Any, type_name: Any, size: Any, where: str) -> Any:
    """Return the array that a JSON value stands for.

    Parameters
    ----------
    data : object
        A number, string or boolean, null, or nested lists of these.
    type_name, size : object
        The properties `.type` and `.size`, None where they are absent. Data that contradict them decide.
    where : str
        The variable, for a warning.

    Returns
    -------
    ndarray, MaskedArray or None
        None if there are no data: null, where `.size` is not that of a scalar.

    Raises
    ------
    FormatError
        If the lists have no common shape, or values are of several kinds; the message says where.
    """
    if data is None and size != []:
        return None
    shape = _shape(data)
    kinds: set[type] = set()
    _check(data, shape, (), kinds)
    ds_type = TYPES.get(type_name) if type(type_name) is str else None
    if 0 in shape:
        return np.zeros(_full_shape(shape, size), "f8" if ds_type is None else ds_type.code)
    array = None if ds_type is None else _typed(data, shape, kinds, ds_type)
    if array is not None:
        return array
    try:
        array = as_array(data) if shape or data is not None else np.ma.MaskedArray(0.0, True)
    except UnsupportedError as error:
        raise FormatError(error.message) from None
    if type_name is not None:
        found = json.dumps(type_name)
        message = f".type: found {found[:60]}, which cannot hold the values; read as {array.dtype}"
        warnings.warn(str(DsError(f"{where}: {message}")), stacklevel=4)
    return array


def _shape(data: Any) -> tuple[int, ...]:
    """Return the shape that the first list of each level has."""
    shape = []
    while type(data) is list:
        shape.append(len(data))
        if len(shape) > MAX_DIMS:
            raise FormatError(f"found more than {MAX_DIMS} nested lists")
        data = data[0] if data else None
    return tuple(shape)


def _check(data: Any, shape: tuple[int, ...], position: tuple[int, ...], kinds: set[type]) -> None:
    """Raise unless all lists are of this shape, and collect the types of the values."""
    axis = len(position)
    if axis == len(shape):
        _check_values([data], position, kinds, numbered=False)
        return
    if type(data) is not list:
        raise FormatError(f"{_at(position)}found {kind_of(data)}, expected a list of {shape[axis]}")
    if len(data) != shape[axis]:
        raise FormatError(f"{_at(position)}found a list of {len(data)}, expected {shape[axis]} as in the first one")
    if axis == len(shape) - 1:
        _check_values(data, position, kinds, numbered=True)
        return
    for i, item in enumerate(data):
        _check(item, shape, (*position, i), kinds)


def _check_values(values: list[Any], position: tuple[int, ...], kinds: set[type], numbered: bool) -> None:
    found = set(map(type, values))
    if list in found or dict in found:
        i = next(i for i, value in enumerate(values) if type(value) in (list, dict))
        place = (*position, i) if numbered else position
        raise FormatError(f"{_at(place)}found {kind_of(values[i])}, expected a value")
    kinds |= found


def _at(position: tuple[int, ...]) -> str:
    return f"at {''.join(f'[{i}]' for i in position)}: " if position else ""


def _full_shape(shape: tuple[int, ...], size: Any) -> tuple[int, ...]:
    """Return `.size` where it goes on from the 0 at which lists end, and else what the lists say."""
    if type(size) is not list or size[: len(shape)] != list(shape) or len(size) > MAX_DIMS:
        return shape
    if not all(type(n) is int and 0 <= n < 1 << 31 for n in size):
        raise FormatError(f".size: found {json.dumps(size)[:60]}, expected integers from 0 to {(1 << 31) - 1}")
    try:
        return np.zeros(size, np.bool_).shape
    except ValueError as error:
        raise FormatError(f".size: {error}") from None


def _typed(data: Any, shape: tuple[int, ...], kinds: set[type], ds_type: Type) -> NDArray[Any] | None:
    """Return an array of the type that is promised, or None if it cannot hold the values."""
    none: type = type(None)
    if not kinds <= {*HELD[ds_type.code[0]], none}:
        return None
    source, mask = data, None
    if none in kinds:
        source = np.array(data, object)
        mask = np.fromiter((value is None for value in source.flat), np.bool_, source.size).reshape(shape)
        source[mask] = "" if ds_type.is_string else 0
    try:
        values: NDArray[Any] = np.array(source, ds_type.code) if ds_type.code != "f4" else _single(source)
        if ds_type.code[0] == "f" and int in kinds:
            _check_integers(data, shape, values.dtype)
        if ds_type.name == "str":
            flat = [text.encode("utf-8", "surrogateescape") for text in values.flat]
            values = np.fromiter(flat, object, len(flat)).reshape(shape)
    except (OverflowError, UnicodeEncodeError):
        return None
    return values if mask is None else np.ma.MaskedArray(values, mask, copy=False)


def _single(source: Any) -> NDArray[np.float32]:
    doubles = np.array(source, "f8")
    with np.errstate(over="ignore"):
        values = doubles.astype("f4")
    if (np.isinf(values) & np.isfinite(doubles)).any():
        raise OverflowError
    return values


def _check_integers(data: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raise an OverflowError if a float cannot hold one of the integers."""
    for value in np.array(data, object).flat if shape else (data,):
        if type(value) is int and int(dtype.type(value)) != value:
            raise OverflowError
