"""Attributes: Python and NumPy values ↔ JSON, with their NumPy types in the property `.dtypes`."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from ..base.dtypes import TYPES
from ..base.text import unescape
from ..errors import UnsupportedError
from ..kernels.ds.plain import put_types
from .header import DTYPES, TOO_DEEP, is_too_deep

NUMERIC: dict[str, np.dtype[Any]] = {
    **{name: np.dtype(row.code) for name, row in TYPES.items() if not row.is_string},
    "str": np.dtype("str"),  # text, which is `unicode` among the types of variables
}
PLAIN = frozenset({str, int, float, bool, type(None)})


def to_json(attributes: Mapping[str, Any], without: Set[str] = frozenset()) -> dict[str, Any]:
    """Return attributes as JSON values, with `.dtypes` if any value has a NumPy type.

    Parameters
    ----------
    attributes : dict
        Key → value. Values are JSON values (tuples become lists), NumPy scalars, or NumPy arrays of numbers, booleans
        or strings. NaN and infinities are kept.
    without : set of str
        Keys to leave out.

    Raises
    ------
    UnsupportedError
        If a value has another type. The message names the attribute.
    """
    out: dict[str, Any] = {}
    dtypes: dict[str, Any] = {}
    for key, value in attributes.items():
        kind = type(value)
        if key in without:
            continue
        if kind in PLAIN or (kind is list and PLAIN.issuperset(map(type, value))):
            out[key] = value
            continue
        out[key] = _checked(value, unescape(key))
        if isinstance(value, np.ndarray) and value.ndim:
            dtypes[key] = [_dtype_name(value.dtype), *value.shape]
        elif isinstance(value, (np.generic, np.ndarray)):
            dtypes[key] = _dtype_name(value.dtype)
    if dtypes:
        out[DTYPES] = dtypes
    return out


def _dtype_name(dtype: np.dtype[Any]) -> str:
    return "str" if dtype.kind in "UTO" else dtype.name


def _checked(value: Any, name: str) -> Any:
    if is_too_deep(value):
        raise UnsupportedError(f'attribute "{name}": {TOO_DEEP}')
    return _plain(value, name)


def _plain(value: Any, name: str) -> Any:
    if type(value) in PLAIN:
        return value
    if isinstance(value, (np.generic, np.ndarray)) and not isinstance(value, np.ma.MaskedArray):
        if _dtype_name(value.dtype) in NUMERIC:
            return _checked(value.tolist(), name)
    elif isinstance(value, (list, tuple)):
        return [_plain(item, name) for item in value]
    elif isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: _plain(item, name) for key, item in value.items()}
    elif isinstance(value, (str, int, float)):
        return value
    kind = f"dtype {value.dtype}" if isinstance(value, (np.generic, np.ndarray)) else type(value).__name__
    raise UnsupportedError(f'attribute "{name}": a value of type {kind} is not supported')


def from_json(attributes: dict[str, Any]) -> dict[str, Any]:
    """Convert attributes to their NumPy types in place, and remove `.dtypes`. A value that does not fit is kept."""
    dtypes = attributes.pop(DTYPES, None)
    if type(dtypes) is dict:
        for key in put_types(attributes, dtypes, NUMERIC):
            spec = dtypes[key]
            name, *shape = spec if type(spec) is list and spec else [spec]
            dtype = NUMERIC.get(name) if type(name) is str else None
            if dtype is not None:
                attributes[key] = _typed(attributes[key], dtype, shape if type(spec) is list else None)
    return attributes


def _typed(value: Any, dtype: np.dtype[Any], shape: list[Any] | None) -> Any:
    try:
        array = np.array(value, dtype)
        if dtype.kind != "f" and array.tolist() != value:
            return value
        return array.reshape(shape) if shape is not None else array[()] if array.ndim == 0 else value
    except (TypeError, ValueError, OverflowError, DeprecationWarning):  # NumPy 1 warns of a value that is too large
        return value
