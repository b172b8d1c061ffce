"""Results of parsing headers and values, in a form that can be compared with `==`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ds_format import classic
from ds_format.body.body import MemoryBody
from ds_format.classic import format, header, header as headers
from ds_format.errors import FormatError


def exact(value: Any) -> Any:
    """Return a value with its type, byte by byte."""
    if isinstance(value, dict):
        return [(key, exact(item)) for key, item in value.items()]
    if isinstance(value, tuple):
        return type(value).__name__, [exact(item) for item in value]
    if isinstance(value, np.ndarray):
        return "array", value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, np.generic):
        return "scalar", value.dtype.str, value.tobytes()
    return type(value).__name__, value


def in_memory(data: bytes) -> MemoryBody:
    """Return a file."""
    return MemoryBody("x.nc", data)


def slowly(data: bytes, file_size: int) -> Any:
    """Return what a header says, or what is wrong, without the kernel."""
    try:
        return exact(header.lay_out(format.read_items(memoryview(data), file_size), file_size))
    except classic.Incomplete:
        return "incomplete"
    except (FormatError, classic.Unusual) as error:
        return type(error).__name__


def at_once(data: bytes, file_size: int) -> Any:
    """Return what the kernel says of a header; None if it leaves it to the others."""
    found = headers._parser.parse(data, file_size)
    return "incomplete" if isinstance(found, int) else None if found is None else exact(found)


def compare(data: bytes) -> None:
    """Check that the kernel says of a file what is so, and that each variable is read, or is refused."""
    told, known = at_once(data, len(data)), slowly(data, len(data))
    assert told in (None, known)
    if not isinstance(known, tuple):
        return
    for variable in classic.read_header(in_memory(data)).variables:
        if classic.end_of(variable) <= len(data):
            assert classic.values(in_memory(data), variable)[0].shape == variable.shape
            continue
        with pytest.raises(FormatError) as caught:
            classic.values(in_memory(data), variable)[0]
        assert caught.value.variable == variable.name
