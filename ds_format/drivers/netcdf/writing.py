"""Ordinary small datasets → files, in one step and without a library. All others need a Sink."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...body import Address, path_text
from ...body.target import write_at_once
from ...errors import UnsupportedError
from ...hdf5.composing import NotCovered
from .classic.composing import compose_classic
from .format import DEFAULT_FORMAT
from .hdf5.composing import compose
from .ordinary import describe


def dumps(arrays: Mapping[str, Any], meta: Mapping[str, Mapping[str, Any]], **options: Any) -> bytes | None:
    """Return the bytes of a file; None if a Sink has to write it. Parameters are those of `write`."""
    if options.keys() - {"format"}:
        return None
    described = describe(arrays, meta, options.get("format"))
    if described is None:
        return None
    try:
        return (compose if described[0].format == DEFAULT_FORMAT else compose_classic)(*described)
    except (NotCovered, UnsupportedError):  # the Sink names the fault
        return None


def write(
    path: Any,
    arrays: Mapping[str, Any],
    meta: Mapping[str, Mapping[str, Any]],
    *,
    atomic: bool = True,
    durable: bool = False,
    **options: Any,
) -> bool:
    """Write a whole file at once, and return whether this was possible. If not, a Sink has to write it.

    Parameters
    ----------
    path : str, bytes, PathLike or Address
    arrays : dict
        Key → ndarray, MaskedArray, or None for a variable without data.
    meta : Metadata
    atomic, durable : bool
        As for `kernels.files.files.write_file`.
    **options
        Those of `NetCDFSink`. With most of them it is not possible.
    """
    data = dumps(arrays, meta, **options)
    if data is None:
        return False
    write_at_once(path if isinstance(path, Address) else path_text(path), [data], atomic=atomic, durable=durable)
    return True
