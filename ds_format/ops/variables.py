"""Functions on the variables of a dataset: their names, data, types and sizes."""

from __future__ import annotations

from typing import Any

from ..base import modes
from ..base.dtypes import TYPES
from ..base.names import escape, unescape
from ..dataset import META
from . import casting
from .arguments import all_keys, check, check_var, created_entry, entry_of, exists, only
from .values import normal, put, shape_of, stored, type_name_of


def vars(d: dict[str, Any], full: bool = False) -> list[str]:
    """Return the names of all variables, sorted.

    Parameters
    ----------
    d : dict
        Dataset.
    full : bool
        Whether variables that have only metadata count.

    Returns
    -------
    list of str

    Raises
    ------
    ValueError
        If an argument is of a wrong type.

    Examples
    --------
    >>> d = {"x": [1, 2], "y": 3, ".": {"z": {".dims": ["z"]}}}
    >>> vars(d)
    ['x', 'y']
    >>> vars(d, full=True)
    ['x', 'y', 'z']
    """
    check(d, "d", dict)
    return sorted(map(unescape, all_keys(d, full)))


def var(d: dict[str, Any], var: str, *value: Any) -> Any:
    """Return the data of a variable, or set them.

    Parameters
    ----------
    d : dict
        Dataset.
    var : str
        Name of the variable.
    *value : array, number, bool, str, bytes, None, or nested list of these
        One value sets the data; None is no data, and None in a list a missing value.

    Returns
    -------
    ndarray, MaskedArray, NumPy scalar or None
        An array without dimensions is a scalar. None without data, if the variable does not exist (see below), and
        when setting.

    Raises
    ------
    UnsupportedError
        If data are of a type that no ds type can hold, or a list mixes kinds.
    ValueError
        If an argument is of a wrong type.
    MissingError
        If the variable has no data, in strict mode. In moderate mode it is a warning.

    Examples
    --------
    >>> d = {}
    >>> var(d, "x", [[1, None], [3, 4]])
    >>> var(d, "x")
    masked_array(
      data=[[1, --],
            [3, 4]],
      mask=[[False,  True],
            [False, False]],
      fill_value=999999)
    >>> from ds_format import with_mode
    >>> with with_mode("soft"):  # otherwise it warns
    ...     var(d, "y") is None
    True
    """
    check_var(d, var)
    key = escape(var)
    if value:
        put(d, key, stored(only(value), key))
        return None
    if key not in d:
        modes.missing(f"{var}: variable not found")
        return None
    return normal(d[key], key)


def type(d: dict[str, Any], var: str, *value: str) -> str | None:
    """Return the type of a variable, or convert its data to another.

    Parameters
    ----------
    d : dict
        Dataset.
    var : str
        Name of the variable.
    *value : str
        One value sets the type: `float32`, `float64`, `int8` ... `int64`, `uint8` ... `uint64`, `bool`, `str` (bytes)
        or `unicode` (text). Fractions are cut off, floats are rounded to the width of the type, and everything but 0
        and empty strings is true.

    Returns
    -------
    str or None
        None if neither data nor metadata tell it, and when setting.

    Raises
    ------
    UnsupportedError
        If a value is beyond the range of the type, is NaN or infinite and the type has none, or is text that is no
        number. Nothing is changed then.
    ValueError
        If there is no such type, or an argument is of a wrong type.
    MissingError
        If the variable does not exist, or has no data to convert, in strict mode. In moderate mode it is a warning.

    Examples
    --------
    >>> d = {"x": [1.5, -2.7]}
    >>> type(d, "x")
    'float64'
    >>> type(d, "x", "int8")
    >>> d["x"]
    array([ 1, -2], dtype=int8)
    >>> type(d, "x", "uint8")
    Traceback (most recent call last):
    ...
    ds_format.errors.UnsupportedError: variable "x": -2 does not fit uint8
    """
    check_var(d, var)
    key = escape(var)
    if not value:
        if not exists(d, key):
            modes.missing(f"{var}: variable not found")
            return None
        return type_name_of(d, key)
    name = only(value)
    check(name, "value", str)
    if name not in TYPES:
        raise ValueError(f"invalid type: found {name!r}, expected one of {', '.join(TYPES)}")
    if key not in d:
        modes.missing(f"{var}: variable not found")
    elif d[key] is not None:
        d[key] = casting.convert(d[key], key, type_name_of(d, key), name)
    created_entry(d, key)[".type"] = name
    return None


def size(d: dict[str, Any], var: str) -> list[int] | None:
    """Return the shape of a variable.

    Parameters
    ----------
    d : dict
        Dataset.
    var : str
        Name of the variable.

    Returns
    -------
    list of int or None
        Counts of values along each dimension; empty for a scalar and without data. None if the variable does not
        exist.

    Raises
    ------
    ValueError
        If an argument is of a wrong type.
    MissingError
        If the variable does not exist, in strict mode. In moderate mode it is a warning.

    Examples
    --------
    >>> size({"x": [[1, 2, 3], [4, 5, 6]]}, "x")
    [2, 3]
    """
    check_var(d, var)
    key = escape(var)
    if not exists(d, key):
        modes.missing(f"{var}: variable not found")
        return None
    return list(shape_of(d, key) or ())


def time(d: dict[str, Any], var: str, *value: bool) -> bool | None:
    """Return whether a variable holds times as Julian dates, or set that.

    Parameters
    ----------
    d : dict
        Dataset.
    var : str
        Name of the variable.
    *value : bool
        One value sets whether it does.

    Returns
    -------
    bool or None
        None when setting.

    Raises
    ------
    ValueError
        If an argument is of a wrong type.
    MissingError
        If the variable does not exist, in strict mode. In moderate mode it is a warning.

    Examples
    --------
    >>> d = {"t": [2451545.0]}
    >>> time(d, "t")
    False
    >>> time(d, "t", True)
    >>> time(d, "t")
    True
    """
    check_var(d, var)
    key = escape(var)
    if not value:
        if not exists(d, key):
            modes.missing(f"{var}: variable not found")
        return bool(entry_of(d, key).get(".time", False))
    is_time = only(value)
    check(is_time, "value", bool)
    if is_time:
        created_entry(d, key)[".time"] = True
    else:
        entry_of(d, key).pop(".time", None)
    return None


def rm(d: dict[str, Any], var: str) -> None:
    """Remove a variable, data and metadata.

    Parameters
    ----------
    d : dict
        Dataset, changed in place.
    var : str
        Name of the variable.

    Raises
    ------
    ValueError
        If an argument is of a wrong type.
    MissingError
        If the variable does not exist, in strict mode. In moderate mode it is a warning.

    Examples
    --------
    >>> d = {"x": 1, "y": 2, ".": {"x": {"units": "m"}}}
    >>> rm(d, "x")
    >>> d
    {'y': 2, '.': {}}
    """
    check_var(d, var)
    key = escape(var)
    if not exists(d, key):
        modes.missing(f"{var}: variable not found")
        return
    d.pop(key, None)
    d.get(META, {}).pop(key, None)
