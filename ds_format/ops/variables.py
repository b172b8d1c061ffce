"""Functions on the variables and dimensions of a dataset: their names, data, types and sizes."""

from __future__ import annotations

import itertools
from typing import Any, Literal, overload

from .. import datasets
from ..base import modes
from ..base.dtypes import TYPES
from ..base.text import escape, unescape
from ..datasets import META
from .values import (
    all_keys,
    cast,
    check,
    check_var,
    check_var_or_none,
    created_entry,
    entry_of,
    exists,
    name_list,
    normal,
    only,
    put,
    shape_of,
    stored,
    type_name_of,
)


@overload
def dims(
    d: dict[str, Any], var: str | None = None, *, full: bool = False, size: Literal[False] = False
) -> list[str]: ...


@overload
def dims(
    d: dict[str, Any], var: str | None = None, *, full: bool = False, size: Literal[True]
) -> dict[str, int | None]: ...


@overload
def dims(d: dict[str, Any], var: str, value: list[str] | tuple[str, ...] | None, /) -> None: ...


@overload
def dims(d: dict[str, Any], var: str | None = None, *value: Any, full: bool = False, size: bool = False) -> Any: ...


def dims(d: dict[str, Any], var: str | None = None, *value: Any, full: bool = False, size: bool = False) -> Any:
    """Return the dimensions of a variable or of all, or set those of a variable.

    Parameters
    ----------
    d : dict
        Dataset.
    var : str, optional
        Name of a variable; by default all variables.
    *value : list or tuple of str, or None
        One value sets the names of the dimensions of the variable; None makes them `NAME_1`, `NAME_2`, ... again.
    full : bool
        Without `var`: whether to include variables that have only metadata.
    size : bool
        Whether to also return sizes.

    Returns
    -------
    list of str, or dict
        Names in the order of the variable, or sorted for all; with `size` name → size, None if it is unknown. Both are
        copies. None when setting.

    Raises
    ------
    TypeError
        If dimensions are set without a variable.
    ValueError
        If an argument is of a wrong type.
    MissingError
        If the variable does not exist, in strict mode. In moderate mode it is a warning.

    Examples
    --------
    >>> d = {"x": [[1, 2, 3], [4, 5, 6]], "y": 5}
    >>> dims(d, "x")
    ['x_1', 'x_2']
    >>> dims(d, "x", ["time", "lat"])
    >>> dims(d)
    ['lat', 'time']
    >>> dims(d, size=True)
    {'time': 2, 'lat': 3}
    """
    check_var_or_none(d, var)
    if value:
        _set_dims(d, var, only(value))
        return None
    if var is None:
        return all_sizes(d, full) if size else sorted(all_sizes(d, full))
    key = escape(var)
    if not exists(d, key):
        modes.missing(f"{var}: variable not found")
    return sizes_of(d, key) if size else names_of(d, key)


def _set_dims(d: dict[str, Any], var: str | None, names: Any) -> None:
    if var is None:
        raise TypeError("var must be defined")
    key = escape(var)
    if names is None:
        entry_of(d, key).pop(".dims", None)
        return
    check(names, "value", list, tuple)
    created_entry(d, key)[".dims"] = name_list(names, "value")


def get_dims(d: dict[str, Any], var: str | None = None, full: bool = False, size: bool = False) -> Any:
    """Return the dimensions of a variable, or all dimensions with their sizes.

    Parameters
    ----------
    d, var, full, size
        As `dims`; without `var` sizes are always returned.

    Returns
    -------
    list of str, or dict
        As `dims`.

    Raises
    ------
    ValueError, MissingError
        As `dims`.

    Examples
    --------
    >>> d = {"x": [[1, 2, 3], [4, 5, 6]], ".": {"x": {".dims": ["time", "lat"]}}}
    >>> get_dims(d)
    {'time': 2, 'lat': 3}
    >>> get_dims(d, "x")
    ['time', 'lat']
    """
    return dims(d, var, full=full, size=size or var is None)


def dim(d: dict[str, Any], dim: str, full: bool = False) -> int | None:
    """Return the size of a dimension.

    Parameters
    ----------
    d : dict
        Dataset.
    dim : str
        Name of the dimension.
    full : bool
        Whether variables that have only metadata count.

    Returns
    -------
    int or None
        The size; 0 if no variable has the dimension, None if its size is unknown.

    Raises
    ------
    ValueError
        If an argument is of a wrong type.
    MissingError
        If no variable has the dimension, in strict mode. In moderate mode it is a warning.

    Examples
    --------
    >>> dim({"x": [1, 2, 3], ".": {"x": {".dims": ["time"]}}}, "time")
    3
    """
    check(d, "d", dict)
    check(dim, "dim", str)
    found = False
    for key in itertools.chain(d, d.get(META, {}) if full else ()):
        sizes = {} if key == META else sizes_of(d, key)
        if sizes.get(dim) is not None:
            return sizes[dim]
        found = found or dim in sizes
    if not found:
        modes.missing(f"{dim}: dimension not found")
    return None if found else 0


def names_of(d: dict[str, Any], key: str) -> list[str]:
    """Return the names of the dimensions of a variable, given or generated."""
    entry = entry_of(d, key)
    given = entry.get(".dims")
    return datasets.dims(key, entry, len(shape_of(d, key) or ()) if given is None else 0)


def sizes_of(d: dict[str, Any], key: str) -> dict[str, int | None]:
    """Return the size of each dimension of a variable, None if it is not known."""
    names = names_of(d, key)
    return dict(zip(names, itertools.chain(shape_of(d, key) or (), itertools.repeat(None)), strict=False))


def all_sizes(d: dict[str, Any], full: bool) -> dict[str, int | None]:
    """Return the size of each dimension of all variables, None if it is not known."""
    sizes: dict[str, int | None] = {}
    for key in all_keys(d, full):
        for name, n in sizes_of(d, key).items():
            if sizes.get(name) is None:
                sizes[name] = n
    return sizes


def names_by_key(d: dict[str, Any]) -> dict[str, list[str]]:
    """Return the names of the dimensions of each variable, also of those that have only metadata."""
    return {key: names_of(d, key) for key in all_keys(d)}


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
        An array without dimensions is a scalar. None if the variable has no data or does not exist, and when setting.

    Raises
    ------
    UnsupportedError
        If data are of a type that no ds type can hold, or a list mixes types.
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
        One value sets the type: `float16`, `float32`, `float64`, `int8` ... `int64`, `uint8` ... `uint64`, `bool`,
        `str` (bytes) or `unicode` (text). Fractions are truncated, and floats are rounded to the precision of the
        type. 0 and empty strings are false, everything else is true.

    Returns
    -------
    str or None
        None if neither data nor metadata have it, and when setting.

    Raises
    ------
    UnsupportedError
        If a value is out of range of the type, is NaN or infinite and the type has neither, or is text that is not a
        number. The dataset is then unchanged.
    ValueError
        If the type does not exist, or an argument is of a wrong type.
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
        d[key] = cast(d[key], key, type_name_of(d, key), name)
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
        Sizes of its dimensions; empty for a scalar and without data. None if the variable does not exist.

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
        One value sets it.

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
    """Remove a variable, including its metadata.

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
