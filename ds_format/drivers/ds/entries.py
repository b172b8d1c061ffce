"""Metadata of a dataset → the entries of a header."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...codec.attributes import to_json
from ...codec.header import DTYPES, PRIVATE, VERSIONS, VarHeader, properties
from ...errors import DsError, UnsupportedError
from ...names import unescape

STORED = PRIVATE | {".size", ".type", DTYPES}
"""Properties that are made anew from the data."""


def entry_of(key: str, meta: Mapping[str, Any], var: VarHeader, version: str) -> dict[str, Any]:
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
    entry = _attributes(meta, version, key)
    entry.update(properties(var, version))
    return entry


def dataset_entry(meta: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return the entry `"."` from the metadata of the dataset itself.

    Raises
    ------
    UnsupportedError
        If the header cannot hold it, or there is no such version.
    """
    if version not in VERSIONS:
        expected = " or ".join(f'"{known}"' for known in VERSIONS)
        raise UnsupportedError(f"version: found {version!r}, expected {expected}")
    return _attributes(meta, version, None)


def _attributes(meta: Mapping[str, Any], version: str, key: str | None) -> dict[str, Any]:
    try:
        out = to_json(meta, STORED)
        return out if version == "1.0" else {header_key(name, version): value for name, value in out.items()}
    except DsError as error:
        raise error.at(variable=None if key is None else unescape(key))


def header_key(key: str, version: str) -> str:
    """Return the key of a dataset as a header has it; names of the 2.0.1 format are not escaped."""
    if version != "2.0.1" or not key.startswith("\\"):
        return key
    name = unescape(key)
    if name.startswith("."):
        raise UnsupportedError(f'the 2.0.1 format has no names that begin with ".": found "{name}"')
    return name
