"""The variables of a ds file: which they are, and how each is decoded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...codec import legacy
from ...codec.body import Body
from ...codec.decode import decode
from ...codec.header import WRITER, VarHeader
from ...codec.line import Header
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
    for key in keys:
        described = header.variables[key]
        var = described.var
        if var is None:
            raise FormatError(described.error, variable=unescape(key))
        variables[key] = var
    if header.version == "2.0.1" and WRITER not in header.attributes:
        every = [var for key in header.keys if (var := header.variables[key].var) is not None]
        legacy.warn_of_masks(every, body)
    return _repaired(header, body, variables) if header.is_doubtful else variables


def _repaired(header: Header, body: Body, wanted: dict[str, VarHeader]) -> dict[str, VarHeader]:
    every = {key: var for key in header.keys if (var := header.variables[key].var) is not None}
    if len(every) < len(header.keys):
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
