"""Functions on the dimensions of a dataset: their names and sizes."""

from __future__ import annotations

import itertools
from typing import Any

from .. import dataset
from ..base import modes
from ..base.names import escape
from ..dataset import META
from .arguments import all_keys, check, check_var_or_none, created_entry, entry_of, exists, name_list, only
from .values import shape_of


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
        Of all, whether variables that have only metadata count.
    size : bool
        Whether to return sizes, too.

    Returns
    -------
    list of str, or dict
        Names, in the order of the variable, or sorted for all; with `size` name → count of positions, None if it is not
        known. Both are copies. None when setting.

    Raises
    ------
    TypeError
        If dimensions are set of no variable.
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
    """Return the dimensions of a variable, or of all with their sizes.

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
        Count of positions; 0 if no variable has the dimension, None if those that have it do not tell the size.

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
    return dataset.dims(key, entry, len(shape_of(d, key) or ()) if given is None else 0)


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
