"""Shared by functions on datasets: checks of arguments, and the data of one variable as arguments and results.

Conversion between ds types truncates fractions as in C, but values out of range are errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.dtypes import COMPOUND, TYPE_OF_CODE, TYPES
from ..base.text import escape, unescape
from ..codec.encode import type_of
from ..datasets import META, as_array
from ..errors import DsError, UnsupportedError


def check(value: object, name: str, *kinds: type) -> None:
    """Raise if the type of an argument is not one of some types.

    Raises
    ------
    ValueError
        `NAME: invalid type`.
    """
    if not isinstance(value, kinds):
        raise ValueError(f"{name}: invalid type")


def check_var(d: object, var: object) -> None:
    """Raise if the first two arguments are not a dataset and the name of a variable."""
    if not isinstance(d, dict):
        raise ValueError("d: invalid type")
    if not isinstance(var, str):
        raise ValueError("var: invalid type")


def check_var_or_none(d: object, var: object) -> None:
    """Raise if two arguments are not a dataset, and the name of a variable or None."""
    check(d, "d", dict)
    if var is not None:
        check(var, "var", str)


def check_mapping(mapping: object, name: str, *kinds: type) -> None:
    """Raise if an argument is not a dict from str to some types."""
    check(mapping, name, dict)
    if isinstance(mapping, dict) and not all(isinstance(k, str) and isinstance(v, kinds) for k, v in mapping.items()):
        raise ValueError(f"{name}: invalid type")


def check_callable(func: object) -> None:
    """Raise if an argument cannot be called.

    Raises
    ------
    TypeError
        If it is not callable.
    """
    if not callable(func):
        raise TypeError("func must be callable")


def only(values: tuple[Any, ...]) -> Any:
    """Return the single value to set.

    Raises
    ------
    TypeError
        If there are several values.
    """
    if len(values) != 1:
        raise TypeError("only one value argument is expected")
    return values[0]


def name_list(value: Any, name: str) -> list[str]:
    """Return one name, or several, as a list of names.

    Raises
    ------
    ValueError
        If it is not a str, or a list or tuple of str.
    """
    if isinstance(value, str):
        return [value]
    check(value, name, list, tuple)
    if not all(isinstance(item, str) for item in value):
        raise ValueError(f"{name}: invalid type")
    return list(value)


def entry_of(d: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the metadata of a variable in the dataset, or an empty dict."""
    entry: dict[str, Any] = d.get(META, {}).get(key, {})
    return entry


def created_entry(d: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the metadata of a variable, which are created if missing."""
    entry: dict[str, Any] = d.setdefault(META, {}).setdefault(key, {})
    return entry


def meta_key(var: str | None) -> str:
    """Return the key in the metadata of a variable, or of the dataset for no name."""
    return escape(var) if var else META


def all_keys(d: Mapping[str, Any], full: bool = True) -> list[str]:
    """Return the sorted keys of all variables; with `full` also of those with only metadata."""
    keys = {*d, *d.get(META, {})} if full else {*d}
    return sorted(keys - {META})


def exists(d: Mapping[str, Any], key: str, full: bool = True) -> bool:
    """Whether a variable exists; with `full` also one with only metadata. The dataset itself always exists."""
    return key == META or key in d or (full and key in d.get(META, {}))


def not_found(d: Mapping[str, Any], key: str, var: str | None, attr: str) -> str:
    """Return the message for an attribute that does not exist, possibly because its variable does not."""
    return f"{attr}: attribute not found" if exists(d, key) else f"{var}: variable not found"


NUMBERS = {np.dtype(order + code): row.name for code, row in TYPE_OF_CODE.items() for order in ("<", ">")}
"""dtypes of numbers and booleans in both byte orders → name of the ds type."""


def array_of(d: dict[str, Any], key: str) -> Any:
    """Return the data of a variable as an array of a possible type, or None.

    Raises
    ------
    UnsupportedError
        If ds has no type for the data; the message names the variable.
    """
    data = d[key]
    return data if _is_plain(data) else checked(data, key, entry_of(d, key).get(".type"))


def checked(data: Any, key: str, type_name: str | None = None) -> Any:
    """Return data as an array of a possible type, or None."""
    try:
        array = as_array(data, type_name)
        if array is not None:
            type_of(array, type_name)
    except DsError as error:
        raise error.at(variable=unescape(key))
    except ValueError as error:
        raise UnsupportedError(str(error), variable=unescape(key)) from None
    return array


def normal(data: Any, key: str, type_name: str | None = None) -> Any:
    """Return data in the form that `var` returns: an array, a NumPy scalar, or None.

    Parameters
    ----------
    data : object
        Data in a dataset.
    key : str
        Key of the variable, for messages.
    type_name : str, optional
        The ds type of a missing scalar.
    """
    if data is None or _is_plain(data):
        return data
    array = checked(data, key, type_name)
    if array.ndim == 0:
        return _scalar(array[()])
    return fixed(array) if isinstance(data, (list, tuple)) and array.dtype.kind == "O" else array


def stored(data: Any, key: str) -> Any:
    """Return data in the form that `var` stores in a dataset.

    As `normal`, but every value of an object array is checked, and a missing scalar keeps its type.
    """
    value = normal(data, key)
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        kinds = {str if isinstance(item, str) else type(item) for item in np.ma.compressed(value)}
        if len(kinds) > 1 or not kinds <= {str, bytes}:
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise UnsupportedError(f"an array holds {names}; expected all str or all bytes", variable=unescape(key))
    return data if value is np.ma.masked and isinstance(data, np.ndarray) else value


def fixed(texts: Any) -> Any:
    """Return an object array of text or bytes with fixed length, unless a trailing NUL would be lost."""
    mask = np.ma.getmask(texts)
    values = np.ma.getdata(texts)[~mask].tolist() if mask is not np.ma.nomask else texts.reshape(-1).tolist()
    nul: Any = "\0" if values and isinstance(values[0], str) else b"\0"
    if not values or any(value.endswith(nul) for value in values):
        return texts
    present = np.array(values)
    if mask is np.ma.nomask:
        return present.reshape(texts.shape)
    out = np.zeros(texts.shape, present.dtype)
    out[~mask] = present
    return np.ma.MaskedArray(out, mask)


def shape_of(d: dict[str, Any], key: str) -> tuple[int, ...] | None:
    """Return the shape of a variable from its data, or else from `.size`; None if it is unknown."""
    data = d.get(key)
    if data is None:
        size = entry_of(d, key).get(".size")
        return None if size is None else tuple(size)
    if isinstance(data, (list, tuple)):
        data = array_of(d, key)
    shape: tuple[int, ...] = getattr(data, "shape", ())
    return shape


def type_name_of(d: dict[str, Any], key: str) -> str | None:
    """Return the name of the ds type of a variable from its data, or else from `.type`."""
    data = d.get(key)
    given: str | None = entry_of(d, key).get(".type")
    if data is None:
        return given
    if _is_plain(data):
        return NUMBERS[data.dtype]
    if getattr(data, "dtype", None) is not None and data.dtype.names:
        return COMPOUND
    return type_of(checked(data, key, given), given).name


def put(d: dict[str, Any], key: str, data: Any) -> None:
    """Store data in a dataset, and update existing `.size` and `.type`."""
    d[key] = data
    entry = entry_of(d, key)
    if ".type" in entry:
        entry[".type"] = type_name_of(d, key)
    if ".size" in entry:
        entry[".size"] = None if data is None else list(shape_of(d, key) or ())


def _is_plain(data: Any) -> bool:
    """Whether data are an array of numbers that needs no conversion."""
    return type(data) is np.ndarray and data.ndim > 0 and data.dtype in NUMBERS


def _scalar(value: Any) -> Any:
    """Return a NumPy scalar for one value. Text with a trailing NUL, which NumPy would cut, is unchanged."""
    if isinstance(value, str):
        return value if value.endswith("\0") else np.str_(value)
    if isinstance(value, bytes):
        return value if value.endswith(b"\0") else np.bytes_(value)
    return value


def cast(data: Any, key: str, found: str | None, wanted: str) -> Any:
    """Return data in another type.

    Parameters
    ----------
    data : object
        Data of a variable, not None.
    key : str
        Key of the variable, for messages.
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
        values = _cast(present, wanted)
    except UnsupportedError as error:
        raise error.at(variable=unescape(key))
    if mask is np.ma.nomask:
        return normal(values.reshape(array.shape), key)
    out = np.zeros(array.shape, values.dtype)
    out[~mask] = values
    return np.ma.MaskedArray(out, mask)


def _cast(values: NDArray[Any], wanted: str) -> NDArray[Any]:
    """Convert the values that are present, as a 1-d array."""
    row = TYPES[wanted]
    if row.is_string:
        return _to_strings(values, wanted)
    if values.dtype.kind in "OSUT":
        return _from_strings(values, row.code, wanted)
    return _fitting(values, row.code, wanted)


def _fitting(values: NDArray[Any], code: str, wanted: str) -> NDArray[Any]:
    """Convert numbers. A number out of range of the new type is an error."""
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
            raise UnsupportedError(f"{value!r} is not a number of type {wanted}") from None
    if dtype.kind == "f":
        return _fitting(np.array(numbers, np.float64), code, wanted)
    limits = np.iinfo(dtype)
    _refuse(values, np.array([not limits.min <= number <= limits.max for number in numbers], np.bool_), wanted)
    return np.array(numbers, dtype)


def _to_strings(values: NDArray[Any], wanted: str) -> NDArray[Any]:
    """Convert numbers to text without loss; text and bytes are converted as UTF-8."""
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
