"""A whole dataset → the buffers of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...codec.encode import STORED_AS_IS, Buffer, Encoded, encode
from ...codec.header import ALIGNMENT, LARGE_SIZE, Entry, VarHeader, properties
from ...codec.line import build
from ...dtypes import TYPES
from ...errors import DsError
from ...kernels.ds import compose as kernel
from ...names import unescape
from .entries import STORED, dataset_entry, entry_of, header_key

NAMES = {dtype: ds_type.name for dtype, ds_type in STORED_AS_IS.items()}


def compose(
    arrays: dict[str, Any], meta: Mapping[str, Mapping[str, Any]], version: str = "1.0"
) -> tuple[list[Buffer], int]:
    """Return the buffers of a file, and the bytes of its body.

    Parameters
    ----------
    arrays : dict
        Key → ndarray, MaskedArray, or None for a variable without data.
    meta : Metadata
    version : str
        Of the format: `1.0` or `2.0.1`.

    Raises
    ------
    UnsupportedError
        If the format cannot hold a value; the message names variable and attribute.
    """
    if version == "1.0" and type(meta) is dict:
        composed = kernel.compose(arrays, meta, NAMES, STORED, _encoded)
        if composed is not None:
            return composed
    return compose_any(arrays, meta, version)


def compose_any(
    arrays: Mapping[str, Any], meta: Mapping[str, Mapping[str, Any]], version: str
) -> tuple[list[Buffer], int]:
    """Do the same for any metadata and version, or tell what is wrong."""
    entries: dict[str, Any] = {}
    buffers: list[Buffer] = [b""]
    end = 0
    for key, array in arrays.items():
        entry = meta.get(key, {})
        var, parts = _placed(key, array, entry, end)
        if var.offset > end:
            buffers.append(bytes(var.offset - end))
        buffers += parts
        end = var.offset + var.length
        entries[header_key(key, version)] = entry_of(key, entry, var, version)
    buffers[0] = build(entries, dataset_entry(meta.get(".", {}), version), version)
    return buffers, end


def _encoded(key: str, array: Any, entry: Mapping[str, Any], end: int) -> tuple[Entry, list[Buffer]]:
    var, buffers = _placed(key, array, entry, end)
    return properties(var, "1.0"), buffers


def _placed(key: str, array: Any, entry: Mapping[str, Any], end: int) -> tuple[VarHeader, list[Buffer]]:
    """Return where a variable lies in a body that ends at `end` in front of it, and its bytes."""
    if array is None:
        ds_type = TYPES.get(entry.get(".type") or "")
        return VarHeader(ds_type, None, end, 0, ds_type is None or not ds_type.ordered), []
    try:
        encoded = encode(array, entry.get(".type"))
    except DsError as error:
        raise error.at(variable=unescape(key))
    big = not encoded.type.ordered
    var = VarHeader(encoded.type, array.shape, aligned(end, encoded), encoded.size, big, encoded.missing > 0)
    return var, encoded.buffers


def aligned(offset: int, encoded: Encoded) -> int:
    """Return the first offset from `offset` on at which a variable may start."""
    step = ALIGNMENT if encoded.size >= LARGE_SIZE else max(encoded.type.size, 1)
    return offset + -offset % step
