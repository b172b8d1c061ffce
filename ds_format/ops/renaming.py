"""Functions that give variables, dimensions and attributes other names."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

from ..base import modes
from ..base.text import escape, unescape
from ..datasets import META
from ..model.conventions import rename_references
from .values import check, check_mapping, check_var_or_none, created_entry, entry_of, meta_key, not_found
from .variables import names_by_key


def rename(d: dict[str, Any], old: str, new: str | None) -> None:
    """Rename a variable, and the dimension of the same name; see `rename_m`.

    Parameters
    ----------
    d : dict
        Dataset, changed in place.
    old, new : str
        Names of the variable. None as `new` removes it. One that was called `new` is replaced.

    Raises
    ------
    ValueError
        If an argument is of a wrong type.
    MissingError
        If the variable has no data, in strict mode. In moderate mode it is a warning.

    Examples
    --------
    >>> d = {"t": [1, 2], ".": {"t": {".dims": ["t"]}}}
    >>> rename(d, "t", "time")
    >>> d
    {'.': {'time': {'.dims': ['time']}}, 'time': [1, 2]}
    """
    check(d, "d", dict)
    check(old, "old", str)
    check(new, "new", str, NoneType)
    rename_m(d, {old: new})


def rename_m(d: dict[str, Any], mapping: dict[str, str | None]) -> None:
    """Rename several variables at once, and the dimensions of the same names; two can also swap their names.

    Attributes that refer to variables by the CF conventions are updated: `coordinates`, `bounds`, `climatology`,
    `ancillary_variables`, `grid_mapping`, `cell_measures` and `formula_terms`.

    Parameters
    ----------
    d : dict
        Dataset, changed in place.
    mapping : dict
        Old name → new name; None removes the variable. An existing variable with a new name is replaced.

    Raises
    ------
    ValueError
        If an argument is of a wrong type, or two variables get one name.
    MissingError
        If a variable has no data, in strict mode. In moderate mode it is a warning.

    Examples
    --------
    >>> d = {"x": 1, "y": 2, "z": 3}
    >>> rename_m(d, {"x": "y", "y": "x", "z": None})
    >>> d
    {'y': 1, 'x': 2}
    """
    check(d, "d", dict)
    check_mapping(mapping, "mapping", str, NoneType)
    found = {old: new for old, new in mapping.items() if escape(old) in d}
    _check_distinct(found)
    for old in mapping:
        if old not in found:
            modes.missing(f"{old}: variable not found")
    entries = d.get(META, {})
    known = {unescape(key) for key in d if key != META}
    taken = [(new, d.pop(escape(old)), entries.pop(escape(old), None)) for old, new in found.items()]
    for new, data, entry in taken:
        if new is not None:
            key = escape(new)
            d[key] = data
            if entry is None:
                entries.pop(key, None)
            else:
                entries[key] = entry
    given = {old: new for old, new in found.items() if new is not None}
    _rename_dims(d, given)
    rename_references(entries, given, known)


def rename_dim(d: dict[str, Any], old: str, new: str) -> None:
    """Rename a dimension.

    Parameters
    ----------
    d : dict
        Dataset, changed in place.
    old, new : str
        Names of the dimension.

    Raises
    ------
    ValueError
        If an argument is of a wrong type.
    MissingError
        If no variable has the dimension, in strict mode. In moderate mode it is a warning.

    Examples
    --------
    >>> d = {"x": [[1, 2]], ".": {"x": {".dims": ["t", "i"]}}}
    >>> rename_dim(d, "t", "time")
    >>> d["."]["x"]
    {'.dims': ['time', 'i']}
    """
    check(d, "d", dict)
    check(old, "old", str)
    check(new, "new", str)
    rename_dim_m(d, {old: new})


def rename_dim_m(d: dict[str, Any], mapping: dict[str, str]) -> None:
    """Rename several dimensions at once, so that two can also swap their names.

    Parameters
    ----------
    d : dict
        Dataset, changed in place.
    mapping : dict
        Old name → new name.

    Raises
    ------
    ValueError
        If an argument is of a wrong type.
    MissingError
        If no variable has a dimension, in strict mode. In moderate mode it is a warning.

    Examples
    --------
    >>> d = {"x": [[1, 2]], ".": {"x": {".dims": ["t", "i"]}}}
    >>> rename_dim_m(d, {"t": "i", "i": "t"})
    >>> d["."]["x"]
    {'.dims': ['i', 't']}
    """
    check(d, "d", dict)
    check_mapping(mapping, "mapping", str)
    known = {name for names in names_by_key(d).values() for name in names}
    for old in mapping:
        if old not in known:
            modes.missing(f"{old}: dimension not found")
    _rename_dims(d, mapping)


def _rename_dims(d: dict[str, Any], mapping: Mapping[str, str]) -> None:
    for key, names in names_by_key(d).items():
        if not mapping.keys().isdisjoint(names):
            created_entry(d, key)[".dims"] = [mapping.get(name, name) for name in names]


def rename_attr(d: dict[str, Any], old: str, new: str | None, var: str | None = None) -> None:
    """Rename an attribute.

    Parameters
    ----------
    d : dict
        Dataset, changed in place.
    old, new : str
        Names of the attribute. None as `new` removes it.
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
    >>> d = {"x": 1, ".": {"x": {"unit": "m"}}}
    >>> rename_attr(d, "unit", "units", var="x")
    >>> d["."]["x"]
    {'units': 'm'}
    """
    check_var_or_none(d, var)
    check(old, "old", str)
    check(new, "new", str, NoneType)
    rename_attr_m(d, {old: new}, var)


def rename_attr_m(d: dict[str, Any], mapping: dict[str, str | None], var: str | None = None) -> None:
    """Rename several attributes at once, so that two can also swap their names.

    Parameters
    ----------
    d : dict
        Dataset, changed in place.
    mapping : dict
        Old name → new name; None removes the attribute.
    var : str, optional
        Name of a variable; by default the dataset.

    Raises
    ------
    ValueError
        If an argument is of a wrong type, or two attributes get one name.
    MissingError
        If an attribute or the variable does not exist, in strict mode. In moderate mode it is a warning.

    Examples
    --------
    >>> d = {".": {".": {"a": 1, "b": 2, "c": 3}}}
    >>> rename_attr_m(d, {"a": "b", "b": "a", "c": None})
    >>> d["."]["."]
    {'b': 1, 'a': 2}
    """
    check_var_or_none(d, var)
    check_mapping(mapping, "mapping", str, NoneType)
    key = meta_key(var)
    entry = entry_of(d, key)
    found = {old: new for old, new in mapping.items() if escape(old) in entry}
    _check_distinct(found)
    for old in mapping:
        if old not in found:
            modes.missing(not_found(d, key, var, old))
    taken = [(new, entry.pop(escape(old))) for old, new in found.items()]
    entry.update({escape(new): value for new, value in taken if new is not None})


def _check_distinct(mapping: Mapping[str, str | None]) -> None:
    """Raise if two names become the same, which would lose data."""
    names = [new for new in mapping.values() if new is not None]
    for new in names:
        if names.count(new) > 1:
            raise ValueError(f'mapping: more than one name becomes "{new}"')
