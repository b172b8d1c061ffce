"""The variables of a ds file: which they are, and how each is decoded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...codec import legacy
from ...codec.body import Body
from ...codec.decode import decode
from ...codec.header import Header, VarHeader, variable
from ...errors import DsError, FormatError
from ...names import unescape


def read_headers(header: Header, body: Body, keys: Iterable[str]) -> dict[str, VarHeader]:
    """Return the headers of some variables, with the wrong offsets of older writers put right.

    Raises
    ------
    FormatError
        If one is wrong; the message names it.
    """
    variables: dict[str, VarHeader] = {}
    doubtful = False
    for key in keys:
        try:
            var = variables[key] = variable(header.entries[key], header.version)
        except FormatError as error:
            raise error.at(variable=unescape(key))
        doubtful = doubtful or legacy.is_doubtful(var, header.version)
    return _repaired(header, body, variables) if doubtful else variables


def _repaired(header: Header, body: Body, wanted: dict[str, VarHeader]) -> dict[str, VarHeader]:
    try:
        every = {key: variable(entry, header.version) for key, entry in header.entries.items()}
    except FormatError:
        return wanted
    every = legacy.true_offsets(every, body, header.version)
    return {key: every[key] for key in wanted}


def decode_variable(header: Header, key: str, var: VarHeader, body: Body, strings: bool) -> Any:
    """Decode one whole variable, as `codec.decode` does.

    Raises
    ------
    FormatError
        If its bytes are wrong; the message names the variable.
    """
    try:
        if header.version == "2.0.1" and var.type is not None:
            if var.type.is_string:
                return legacy.decode_strings(var, body, strings)
            legacy.check_mask(var, body)
        return decode(var, body, strings)
    except DsError as error:
        raise error.at(variable=unescape(key))
