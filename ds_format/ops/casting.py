"""Data of one ds type → another: C rules for fractions, but nothing wraps around."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.dtypes import TYPES
from ..base.names import unescape
from ..errors import UnsupportedError
from .values import checked, fixed, normal


def convert(data: Any, key: str, found: str | None, wanted: str) -> Any:
    """Return data in another type.

    Parameters
    ----------
    data : object
        Of a variable, not None.
    key : str
        Of the variable, for messages.
    found, wanted : str
        Names of ds types.

    Returns
    -------
    ndarray, MaskedArray or scalar
        Missing values stay missing.

    Raises
    ------
    UnsupportedError
        If a value does not fit.
    """
    if found == wanted:
        return normal(data, key, found)
    array = checked(data, key, found)
    mask = np.ma.getmask(array)
    present = np.ma.getdata(array)[~mask] if mask is not np.ma.nomask else array.reshape(-1)
    try:
        values = _convert(present, wanted)
    except UnsupportedError as error:
        raise error.at(variable=unescape(key))
    if mask is np.ma.nomask:
        return normal(values.reshape(array.shape), key)
    out = np.zeros(array.shape, values.dtype)
    out[~mask] = values
    return np.ma.MaskedArray(out, mask)


def _convert(values: NDArray[Any], wanted: str) -> NDArray[Any]:
    """Convert the values that are present, as a 1-d array."""
    row = TYPES[wanted]
    if row.is_string:
        return _to_strings(values, wanted)
    if values.dtype.kind in "OSUT":
        return _from_strings(values, row.code, wanted)
    return _fitting(values, row.code, wanted)


def _fitting(values: NDArray[Any], code: str, wanted: str) -> NDArray[Any]:
    """Convert numbers, none of which may be beyond the range of the new type."""
    kind, dtype = values.dtype.kind, np.dtype(code)
    if kind == "f" and dtype.kind in "iub":
        _refuse(values, ~np.isfinite(values), wanted)
    if dtype.kind in "iu" and kind in "iuf":
        limits = np.iinfo(dtype)
        if kind == "f":
            whole = np.trunc(values)
            # The largest int64 is no float, but the number behind it is.
            _refuse(values, (whole < float(limits.min)) | (whole >= float(limits.max) + 1), wanted)
        elif values.size and (int(values.min()) < limits.min or int(values.max()) > limits.max):
            _refuse(values, np.array([not limits.min <= value <= limits.max for value in values.tolist()]), wanted)
    with np.errstate(over="ignore"):
        out = values.astype(dtype)
    if kind == dtype.kind == "f":
        _refuse(values, np.isinf(out) & np.isfinite(values), wanted)
    return out


def _from_strings(values: NDArray[Any], code: str, wanted: str) -> NDArray[Any]:
    """Read numbers from text, or from bytes of text."""
    dtype = np.dtype(code)
    if dtype.kind == "b":
        return np.array([bool(value) for value in values.tolist()], np.bool_)
    numbers: list[Any] = []
    for value in values.tolist():
        try:
            numbers.append(float(value) if dtype.kind == "f" else int(value))
        except ValueError:
            raise UnsupportedError(f"{value!r} is no number of type {wanted}") from None
    if dtype.kind == "f":
        return _fitting(np.array(numbers, np.float64), code, wanted)
    limits = np.iinfo(dtype)
    _refuse(values, np.array([not limits.min <= number <= limits.max for number in numbers], np.bool_), wanted)
    return np.array(numbers, dtype)


def _to_strings(values: NDArray[Any], wanted: str) -> NDArray[Any]:
    """Write numbers as text that reads back to them; text and bytes are UTF-8 of each other."""
    as_text = wanted == "unicode"
    strings: list[Any] = []
    for value in values.tolist() if values.dtype.kind != "f" else map(str, values):
        try:
            text = value.decode() if isinstance(value, bytes) else str(value)
            strings.append(text if as_text else text.encode())
        except (UnicodeDecodeError, UnicodeEncodeError) as error:
            raise UnsupportedError(f"{value!r} is not UTF-8: {error.reason}") from None
    out = np.empty(len(strings), object)
    out[:] = strings
    return np.asarray(fixed(out))


def _refuse(values: NDArray[Any], bad: NDArray[np.bool_], wanted: str) -> None:
    if bad.any():
        raise UnsupportedError(f"{values[int(bad.argmax())]} does not fit {wanted}")
