"""The variables of a ds file: which they are, and how each is decoded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...base.names import unescape
from ...body.body import Body
from ...codec import legacy
from ...codec.attributes import from_json
from ...codec.decode import decode
from ...codec.header import VarHeader
from ...codec.line import Header
from ...errors import DsError, FormatError
from ..base import Metadata


def read_headers(header: Header, body: Body, keys: Iterable[str]) -> dict[str, VarHeader]:
    """Return the headers of some variables, with the wrong offsets of older writers put right.

    Raises
    ------
    FormatError
        If one is wrong; the message names it.
    """
    variables: dict[str, VarHeader] = {}
    for key in keys:
        described = header.variables[key]
        var = described.var
        if var is None:
            raise FormatError(described.error, variable=unescape(key))
        variables[key] = var
    if is_simple(header):
        return variables
    every = all_headers(header, body)
    return {key: every[key] for key in variables}


def is_simple(header: Header) -> bool:
    """Whether each variable can be read by what the header says of it alone."""
    return header.version == "1.0" and not header.is_doubtful


def may_unpack(header: Header, unpack: bool | None) -> bool:
    """Whether `packing.is_unpacked_by` may be true of a variable."""
    return unpack is True or (unpack is None and header.may_be_packed)


def all_headers(header: Header, body: Body) -> dict[str, VarHeader]:
    """Return the headers of all variables but damaged ones, with the wrong offsets of older writers put right."""
    every = {key: var for key in header.keys if (var := header.variables[key].var) is not None}
    if header.version == "2.0.1" and not header.is_own:
        legacy.warn_of_masks(every, body)
    if header.is_doubtful and len(every) == len(header.keys):
        return legacy.true_offsets(every, body, header.version)
    return every


def decode_variable(version: str, key: str, var: VarHeader, body: Body, strings: bool) -> Any:
    """Decode one whole variable, as `codec.decode` does.

    Raises
    ------
    FormatError
        If its bytes are wrong; the message names the variable.
    """
    try:
        if version == "2.0.1" and var.type is not None:
            if var.type.is_string:
                return legacy.decode_strings(var, body, strings)
            legacy.check_mask(var, body)
        return decode(var, body, strings)
    except DsError as error:
        raise error.at(variable=unescape(key))


def typed(header: Header, meta: Metadata) -> Metadata:
    """Give the attributes of a dataset their NumPy types back, in place."""
    if header.has_dtypes:
        for entry in meta.values():
            from_json(entry)
    return meta


def faults_of(header: Header, path: str) -> dict[str, DsError]:
    """Return why variables cannot be decoded, by their keys: those whose entry in the header is damaged."""
    if header.compiled is not None:
        return {}
    damaged = ((key, header.variables[key]) for key in header.keys if header.variables[key].var is None)
    return {key: FormatError(found.error, path=path, variable=unescape(key)) for key, found in damaged}


def source_metadata(header: Header, meta: Metadata) -> Metadata:
    """Make the metadata of a Source of those of a dataset, in place."""
    typed(header, meta)
    if header.compiled is not None:
        for key, missing in zip(header.keys, header.compiled.missing(), strict=True):
            meta[key][".missing"] = missing
        return meta
    for key in header.keys:
        var = header.variables[key].var
        meta[key][".missing"] = var is None or var.missing
    return meta
