"""Functions on the metadata of a dataset, and on the attributes in them."""

from __future__ import annotations

from typing import Any

from .. import dataset
from ..base import modes
from ..base.names import escape
from ..dataset import META
from .arguments import (
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


def meta(d: dict[str, Any], var: str | None = None, *value: dict[str, Any] | None, create: bool = False) -> Any:
    """Return metadata, or set them.

    Parameters
    ----------
    d : dict
        Dataset.
    var : str, optional
        Name of a variable; empty for the attributes of the dataset. By default the metadata of all.
    *value : dict or None
        One value sets the metadata; None removes them.
    create : bool
        Whether metadata that are absent become part of the dataset, so that what is put into them stays.

    Returns
    -------
    dict or None
        The dict in the dataset, by escaped names and properties; a new empty one if it is absent. None when setting.

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
    return dataset.attrs(entry_of(d, key))


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
