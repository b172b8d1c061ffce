"""What all functions on datasets ask first: whether their arguments are of the right kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.names import escape
from ..dataset import META


def check(value: object, name: str, *kinds: type) -> None:
    """Raise if an argument is of none of some types.

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
        If not.
    """
    if not callable(func):
        raise TypeError("func must be callable")


def only(values: tuple[Any, ...]) -> Any:
    """Return the one value that a function was given to set.

    Raises
    ------
    TypeError
        If there are more.
    """
    if len(values) != 1:
        raise TypeError("only one value argument is expected")
    return values[0]


def name_list(value: Any, name: str) -> list[str]:
    """Return one name, or several, as a list of names.

    Raises
    ------
    ValueError
        If it is neither a str nor a list or tuple of str.
    """
    if isinstance(value, str):
        return [value]
    check(value, name, list, tuple)
    if not all(isinstance(item, str) for item in value):
        raise ValueError(f"{name}: invalid type")
    return list(value)


def entry_of(d: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the metadata of a variable as they stand in the dataset, or an empty dict."""
    entry: dict[str, Any] = d.get(META, {}).get(key, {})
    return entry


def created_entry(d: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the metadata of a variable, made if there are none."""
    entry: dict[str, Any] = d.setdefault(META, {}).setdefault(key, {})
    return entry


def meta_key(var: str | None) -> str:
    """Return the key in the metadata of a variable, or of the dataset for no name."""
    return escape(var) if var else META


def all_keys(d: Mapping[str, Any], full: bool = True) -> list[str]:
    """Return the keys of all variables, also of those that have metadata only if `full`, sorted by key."""
    keys = {*d, *d.get(META, {})} if full else {*d}
    return sorted(keys - {META})


def exists(d: Mapping[str, Any], key: str, full: bool = True) -> bool:
    """Whether there is a variable of this key, if only with metadata if `full`; the dataset itself always is."""
    return key == META or key in d or (full and key in d.get(META, {}))


def not_found(d: Mapping[str, Any], key: str, var: str | None, attr: str) -> str:
    """Return what is to be said of an attribute that does not exist, maybe as its variable does not."""
    return f"{attr}: attribute not found" if exists(d, key) else f"{var}: variable not found"
