"""The data of one variable, as the functions on datasets give and take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.dtypes import TYPE_OF_CODE
from ..base.names import unescape
from ..codec.encode import type_of
from ..dataset import as_array
from ..errors import DsError, UnsupportedError
from .arguments import entry_of

NUMBERS = {np.dtype(order + code): row.name for code, row in TYPE_OF_CODE.items() for order in ("<", ">")}
"""dtypes of numbers and booleans in both byte orders → name of the ds type."""


def array_of(d: dict[str, Any], key: str) -> Any:
    """Return the data of a variable as an array of a possible type, or None.

    Raises
    ------
    UnsupportedError
        If the data are not possible; the message names the variable.
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
    """Return data in the form that `var` gives: an array, a NumPy scalar, or None.

    Parameters
    ----------
    data : object
        As in a dataset.
    key : str
        Of the variable, for messages.
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
    """Return data in the form in which `var` puts them into a dataset.

    That of `normal`, but every value of an object array is looked at, and a missing scalar keeps its type.
    """
    value = normal(data, key)
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        kinds = {str if isinstance(item, str) else type(item) for item in np.ma.compressed(value)}
        if len(kinds) > 1 or not kinds <= {str, bytes}:
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise UnsupportedError(f"an array holds {names}; expected all str or all bytes", variable=unescape(key))
    return data if value is np.ma.masked and isinstance(data, np.ndarray) else value


def fixed(texts: Any) -> Any:
    """Return an object array of text or bytes as one of fixed length, unless that lost a NUL at an end."""
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
    """Return the shape of a variable, from its data or else from `.size`; None if neither tells."""
    data = d.get(key)
    if data is None:
        size = entry_of(d, key).get(".size")
        return None if size is None else tuple(size)
    if isinstance(data, (list, tuple)):
        data = array_of(d, key)
    shape: tuple[int, ...] = getattr(data, "shape", ())
    return shape


def type_name_of(d: dict[str, Any], key: str) -> str | None:
    """Return the name of the ds type of a variable, from its data or else from `.type`."""
    data = d.get(key)
    given: str | None = entry_of(d, key).get(".type")
    if data is None:
        return given
    if _is_plain(data):
        return NUMBERS[data.dtype]
    return type_of(checked(data, key, given), given).name


def put(d: dict[str, Any], key: str, data: Any) -> None:
    """Put data into a dataset, and keep `.size` and `.type` right where they are given."""
    d[key] = data
    entry = entry_of(d, key)
    if ".type" in entry:
        entry[".type"] = type_name_of(d, key)
    if ".size" in entry:
        entry[".size"] = None if data is None else list(shape_of(d, key) or ())


def _is_plain(data: Any) -> bool:
    """Whether data are an array of numbers that nothing need be done to."""
    return type(data) is np.ndarray and data.ndim > 0 and data.dtype in NUMBERS


def _scalar(value: Any) -> Any:
    """Return a NumPy scalar for one value; text that ends with NUL, which NumPy would cut, stays what it is."""
    if isinstance(value, str):
        return value if value.endswith("\0") else np.str_(value)
    if isinstance(value, bytes):
        return value if value.endswith(b"\0") else np.bytes_(value)
    return value
