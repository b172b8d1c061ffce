"""Metadata of a dataset → the entries of a header."""

from __future__ import annotations

from typing import Any

from ...codec.attributes import to_json
from ...codec.header import PRIVATE, VarHeader, properties
from ...errors import DsError, UnsupportedError
from ...names import unescape

STORED = {*PRIVATE, ".size", ".type"}
"""Properties that are made anew from the data."""


def entry_of(key: str, meta: dict[str, Any], var: VarHeader, version: str) -> dict[str, Any]:
    """Return the entry of one variable.

    Parameters
    ----------
    key : str
        Key of the variable in the dataset.
    meta : dict
        Its metadata.
    var : VarHeader
    version : str
        `1.0` or `2.0.1`.

    Raises
    ------
    UnsupportedError
        If the header cannot hold it; the message names variable and attribute.
    """
    if version == "2.0.1" and var.size is None:
        raise UnsupportedError("the 2.0.1 format has no variables without data", variable=unescape(key))
    entry = _attributes(meta, version, unescape(key))
    entry.update(properties(var, version))
    return entry


def dataset_entry(meta: dict[str, Any], version: str) -> dict[str, Any]:
    """Return the entry `"."` from the metadata of the dataset itself."""
    return _attributes(meta, version, None)


def _attributes(meta: dict[str, Any], version: str, variable: str | None) -> dict[str, Any]:
    if not STORED.isdisjoint(meta):
        meta = {key: value for key, value in meta.items() if key not in STORED}
    try:
        out = to_json(meta)
        return {header_key(key, version): value for key, value in out.items()} if version == "2.0.1" else out
    except DsError as error:
        raise error.at(variable=variable)


def header_key(key: str, version: str) -> str:
    """Return the key of a dataset as a header has it; names of the 2.0.1 format are not escaped."""
    if version != "2.0.1" or not key.startswith("\\"):
        return key
    name = unescape(key)
    if name.startswith("."):
        raise UnsupportedError(f'the 2.0.1 format has no names that begin with ".": found "{name}"')
    return name
