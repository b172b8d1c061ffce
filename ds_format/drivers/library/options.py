"""Options of writing that several libraries have: sizes of chunks by default, and checks of what users give."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from ...base.text import hint
from ...errors import DriverError

CHUNK_SIZE = 4 * 1024 * 1024
"""Bytes of a chunk, about, unless the lengths of chunks are given."""

ROW_SIZE = 128 * 1024 * 1024
"""Bytes of all chunks with the same place along the first axis, at most: they are in memory until all are complete."""


def check_one_of(name: str, value: Any, known: Collection[str]) -> None:
    """Raise a DriverError unless an option has one of the known values."""
    if value not in known:
        names = ", ".join(known)
        raise DriverError(f"{name}: found {value!r}, expected one of {names}{hint(str(value), known)}")


def check_level(level: Any, compression: str, levels: range) -> None:
    """Raise a DriverError unless a compression has a level; None: its default."""
    if level is not None and not (is_int(level) and level in levels):
        expected = f"{levels.start} to {levels.stop - 1}" if levels else "none"
        raise DriverError(f"level: found {level!r}, expected {expected} for {compression}")


def check_lengths(name: str, given: Any) -> Mapping[str, int]:
    """Return an option with lengths by names of dimensions, empty if it is None; raise a DriverError if it is wrong."""
    for dim, n in check_mapping(name, given).items():
        if not is_int(n) or n < 1:
            raise DriverError(f'{name}: found {n!r} for the dimension "{dim}", expected 1 or more')
    return given or {}


def check_mapping(name: str, given: Any) -> Mapping[Any, Any]:
    """Return an option that is a dict, empty if it is None; raise a DriverError if it is something else."""
    if given is not None and not isinstance(given, Mapping):
        raise DriverError(f"{name}: found {given!r:.60}, expected a dict")
    return given or {}


def is_int(value: Any) -> bool:
    """Return whether a value is an integer, and no boolean."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
