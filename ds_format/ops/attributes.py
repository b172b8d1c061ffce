"""Functions on the metadata of a dataset, and functions that find variables, dimensions and attributes."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from .. import datasets
from ..base import modes
from ..base.text import escape, unescape
from ..datasets import META
from .values import (
    all_keys,
    check,
    check_mapping,
    check_var_or_none,
    created_entry,
    entry_of,
    exists,
    meta_key,
    not_found,
    only,
)
from .variables import all_sizes, names_of


def meta(d: dict[str, Any], var: str | None = None, *value: dict[str, Any] | None, create: bool = False) -> Any:
    """Return metadata, or set them.

    Parameters
    ----------
    d : dict
        Dataset.
    var : str, optional
        Name of a variable; empty for the attributes of the dataset. By default all metadata.
    *value : dict or None
        One value sets the metadata; None removes them.
    create : bool
        Whether to add missing metadata to the dataset, so that changes to the returned dict persist.

    Returns
    -------
    dict or None
        The dict in the dataset, by escaped names and properties; a new empty one if it is missing. None when setting.

    Raises
    ------
    ValueError
        If an argument is of a wrong type.
    MissingError
        If the variable does not exist, in strict mode. In moderate mode it is a warning.

    Examples
    --------
    >>> d = {"x": [1, 2]}
    >>> meta(d, "x", {".dims": ["t"], "units": "m"})
    >>> meta(d, "", {"title": "T"})
    >>> meta(d)
    {'x': {'.dims': ['t'], 'units': 'm'}, '.': {'title': 'T'}}
    >>> meta(d, "x")["units"]
    'm'
    """
    check_var_or_none(d, var)
    if value:
        _set_meta(d, var, only(value))
        return None
    entries = d.setdefault(META, {}) if create else d.get(META, {})
    if var is None:
        return entries
    key = meta_key(var)
    if create:
        return entries.setdefault(key, {})
    if not exists(d, key):
        modes.missing(f"{var}: variable not found")
    return entries.get(key, {})


def _set_meta(d: dict[str, Any], var: str | None, value: dict[str, Any] | None) -> None:
    if value is not None:
        check(value, "value", dict)
    where, key = (d, META) if var is None else (d.setdefault(META, {}), meta_key(var))
    if value is None:
        where.pop(key, None)
    else:
        where[key] = value


def attrs(d: dict[str, Any], var: str | None = None, *value: dict[str, Any]) -> dict[str, Any] | None:
    """Return all attributes of a variable or of the dataset, or set some.

    Parameters
    ----------
    d : dict
        Dataset.
    var : str, optional
        Name of a variable; by default the dataset.
    *value : dict
        Name → value of attributes to set. Others stay.

    Returns
    -------
    dict or None
        Name → value, a copy. None when setting.

    Raises
    ------
    ValueError
        If an argument is of a wrong type.
    MissingError
        If the variable does not exist, in strict mode. In moderate mode it is a warning.

    Examples
    --------
    >>> d = {"x": [1, 2], ".": {"x": {".dims": ["t"], "units": "m"}}}
    >>> attrs(d, "x", {"long_name": "distance"})
    >>> attrs(d, "x")
    {'units': 'm', 'long_name': 'distance'}
    """
    check_var_or_none(d, var)
    key = meta_key(var)
    if value:
        given = only(value)
        check_mapping(given, "value", object)
        created_entry(d, key).update({escape(name): item for name, item in given.items()})
        return None
    if not exists(d, key):
        modes.missing(f"{var}: variable not found")
    return datasets.attrs(entry_of(d, key))


def attr(d: dict[str, Any], attr: str, *value: Any, var: str | None = None) -> Any:
    """Return the value of an attribute, or set it.

    Parameters
    ----------
    d : dict
        Dataset.
    attr : str
        Name of the attribute.
    *value : object
        One value sets the attribute.
    var : str, optional
        Name of a variable; by default the dataset.

    Returns
    -------
    object
        None if there is no such attribute or variable, and when setting.

    Raises
    ------
    ValueError
        If an argument is of a wrong type.
    MissingError
        If the attribute or the variable does not exist, in strict mode. In moderate mode it is a warning.

    Examples
    --------
    >>> d = {"x": [1, 2]}
    >>> attr(d, "units", "m", var="x")
    >>> attr(d, "units", var="x")
    'm'
    """
    check_var_or_none(d, var)
    check(attr, "attr", str)
    key, name = meta_key(var), escape(attr)
    if value:
        created_entry(d, key)[name] = only(value)
        return None
    entry = entry_of(d, key)
    if name in entry:
        return entry[name]
    modes.missing(not_found(d, key, var, attr))
    return None


def rm_attr(d: dict[str, Any], attr: str, var: str | None = None) -> None:
    """Remove an attribute.

    Parameters
    ----------
    d : dict
        Dataset, changed in place.
    attr : str
        Name of the attribute.
    var : str, optional
        Name of a variable; by default the dataset.

    Raises
    ------
    ValueError
        If an argument is of a wrong type.
    MissingError
        If the attribute or the variable does not exist, in strict mode. In moderate mode it is a warning.

    Examples
    --------
    >>> d = {".": {".": {"title": "T", "author": "me"}}}
    >>> rm_attr(d, "author")
    >>> d
    {'.': {'.': {'title': 'T'}}}
    """
    check_var_or_none(d, var)
    check(attr, "attr", str)
    key, name = meta_key(var), escape(attr)
    entry = entry_of(d, key)
    if name in entry:
        del entry[name]
    else:
        modes.missing(not_found(d, key, var, attr))


WORDS = {"var": "variable", "dim": "dimension", "attr": "attribute"}
"""Types of names to search, and their words in messages."""


def find(d: dict[str, Any], what: str, name: str, var: str | None = None) -> str:
    """Return the only name that a pattern matches.

    Parameters
    ----------
    d : dict
        Dataset.
    what : {"var", "dim", "attr"}
    name : str
        Pattern with `*`, `?` and `[...]`.
    var : str, optional
        Name of the variable whose dimensions or attributes are searched. By default the dimensions of all variables,
        and the attributes of the dataset.

    Returns
    -------
    str
        The pattern itself if it matches nothing.

    Raises
    ------
    ValueError
        If several names match, `what` is invalid, or an argument is of a wrong type.
    MissingError
        If the variable `var` does not exist, in strict mode. In moderate mode it is a warning.

    Examples
    --------
    >>> d = {"temperature": 5, "time": 1, "t2m": 3}
    >>> find(d, "var", "temp*")
    'temperature'
    >>> find(d, "var", "t*")
    Traceback (most recent call last):
    ...
    ValueError: more than one variable is matching the pattern "t*"
    """
    found = findall(d, what, name, var)
    if len(found) > 1:
        raise ValueError(f'more than one {WORDS[what]} is matching the pattern "{name}"')
    return found[0]


def findall(d: dict[str, Any], what: str, name: str, var: str | None = None) -> list[str]:
    """Return all names that a pattern matches.

    Parameters
    ----------
    d, what, name, var
        As `find`.

    Returns
    -------
    list of str
        Sorted, except attributes, which keep their order; only the pattern itself if it matches nothing.

    Raises
    ------
    ValueError, MissingError
        As in `find`, but several names may match.

    Examples
    --------
    >>> d = {"temperature": 5, "time": 1, "p": 3}
    >>> findall(d, "var", "t*")
    ['temperature', 'time']
    >>> findall(d, "var", "x*")
    ['x*']
    """
    _check(d, what, name, var)
    return [found for found in _names(d, what, var) if fnmatchcase(found, name)] or [name]


def require(d: dict[str, Any], what: str, name: str, var: str | None = None, full: bool = False) -> bool:
    """Return whether a variable, dimension or attribute exists.

    Parameters
    ----------
    d, what, var
        As `find`.
    name : str
        Name, not a pattern.
    full : bool
        Whether variables that have only metadata count.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        If `what` is invalid, or an argument is of a wrong type.
    MissingError
        If it does not exist, in strict mode. In moderate mode it is a warning.

    Examples
    --------
    >>> d = {"x": [1, 2], ".": {"x": {"units": "m"}}}
    >>> require(d, "attr", "units", "x")
    True
    >>> from ds_format import with_mode
    >>> with with_mode("soft"):  # otherwise it warns
    ...     require(d, "var", "y")
    False
    """
    _check(d, what, name, var)
    found = exists(d, escape(name), full) if what == "var" else name in _names(d, what, var, full)
    if found:
        return True
    modes.missing(f"{name}: {WORDS[what]} not found")
    return False


def _check(d: Any, what: Any, name: Any, var: Any) -> None:
    check_var_or_none(d, var)
    check(what, "what", str)
    check(name, "name", str)
    if what not in WORDS:
        raise ValueError(f'invalid value of the what argument "{what}"')


def _names(d: dict[str, Any], what: str, var: str | None, full: bool = True) -> list[str]:
    """Return all names of one type."""
    if what == "var":
        return sorted(map(unescape, all_keys(d, full)))
    if what == "dim" and var is None:
        return sorted(all_sizes(d, full))
    key = escape(var or "") if what == "dim" else meta_key(var)
    if not exists(d, key):
        modes.missing(f"{var}: variable not found")
    return names_of(d, key) if what == "dim" else [*datasets.attrs(entry_of(d, key))]
