"""Functions that tell what there is in a dataset, by name or by pattern."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from .. import dataset
from ..base import modes
from ..base.names import escape, unescape
from .arguments import all_keys, check, check_var_or_none, entry_of, exists, meta_key
from .dimensions import all_sizes, names_of

WORDS = {"var": "variable", "dim": "dimension", "attr": "attribute"}
"""What can be searched for, and what it is called in messages."""


def find(d: dict[str, Any], what: str, name: str, var: str | None = None) -> str:
    """Return the one name that a pattern matches.

    Parameters
    ----------
    d : dict
        Dataset.
    what : {"var", "dim", "attr"}
    name : str
        Pattern with `*`, `?` and `[...]`.
    var : str, optional
        Name of the variable whose dimensions or attributes are meant; by default the dimensions of all, and the
        attributes of the dataset.

    Returns
    -------
    str
        The pattern itself if it matches nothing.

    Raises
    ------
    ValueError
        If several names match, `what` is none of these, or an argument is of a wrong type.
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
        Sorted, attributes in their order; only the pattern itself if it matches nothing.

    Raises
    ------
    ValueError, MissingError
        As `find`, but several names may match.

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
    """Tell whether there is something of a name.

    Parameters
    ----------
    d, what, var
        As `find`.
    name : str
        Name, no pattern.
    full : bool
        Whether variables that have only metadata count.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        If `what` is none of these, or an argument is of a wrong type.
    MissingError
        If there is not, in strict mode. In moderate mode it is a warning.

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
    """Return the names of all that can be searched for."""
    if what == "var":
        return sorted(map(unescape, all_keys(d, full)))
    if what == "dim" and var is None:
        return sorted(all_sizes(d, full))
    key = escape(var or "") if what == "dim" else meta_key(var)
    if not exists(d, key):
        modes.missing(f"{var}: variable not found")
    return names_of(d, key) if what == "dim" else [*dataset.attrs(entry_of(d, key))]
