"""A variable or a part of it: which stretches of its row of values to decode, and what to keep of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.names import unescape
from ...body.body import Body
from ...codec import legacy
from ...codec.decode import Decoder
from ...codec.header import VarHeader
from ...codec.layout import locate
from ...dataset import as_array
from ...errors import DsError
from ...model.index import Index, bounds, count, flat_positions, is_whole, shape_of, shifted, split_axis, take
from .variables import decode_variable

PIECE_SIZE = 1024 * 1024
"""Bytes decoded at once."""


def read_variable(
    version: str, key: str, var: VarHeader, body: Body, strings: bool, index: Sequence[Index] | None
) -> Any:
    """Decode what a normalized index selects of a variable; None: all of it.

    Parameters
    ----------
    version : str
        Of the file.
    key : str
        Of the variable, for messages.
    var : VarHeader
        With its true offset.
    body : Body
    strings : bool
        As `codec.decode`.
    index : sequence of Index, optional

    Returns
    -------
    ndarray, MaskedArray, scalar, str, bytes or None
        As `drivers.base.Source.read`.

    Raises
    ------
    FormatError
        If its bytes are wrong; the message names the variable.
    """
    if index is None or var.size is None or is_whole(index, var.size):
        return decode_variable(version, key, var, body, strings)
    try:
        if has_legacy_strings(version, var):
            part = take(as_array(decode_variable(version, key, var, body, strings)), index)
            if isinstance(part, np.ma.MaskedArray) and not part.mask.any():
                part = part.data
        else:
            part = read_part(decoder_of(version, var, body, strings), index)
    except DsError as error:
        raise error.at(variable=unescape(key))
    return part[()] if not part.ndim and not isinstance(part, np.ma.MaskedArray) else part


def has_legacy_strings(version: str, var: VarHeader) -> bool:
    """Whether only a look at all strings tells how they are stored."""
    return version == "2.0.1" and var.type is not None and var.type.is_string


def decoder_of(version: str, var: VarHeader, body: Body, strings: bool) -> Decoder:
    """Return a decoder of a variable; errors as `read_variable`."""
    if version == "2.0.1":
        legacy.check_mask(var, body)
    return Decoder(var, locate(var, body.size), body, strings)


def read_part(decoder: Decoder, index: Sequence[Index]) -> Any:
    """Decode the part of a variable that a normalized index selects, reading little more than its bytes.

    Returns
    -------
    ndarray or MaskedArray
        Of shape `selection.shape_of(index)`; a MaskedArray only if a selected value is missing.
    """
    sorted_index = [_in_order(item) if isinstance(item, np.ndarray) else item for item in index]
    part = _read_sorted(decoder, sorted_index)
    axis = 0
    for item, kept in zip(index, sorted_index, strict=True):
        if isinstance(item, np.ndarray) and not isinstance(kept, int) and not np.array_equal(item, kept):
            part = part.take(np.searchsorted(kept, item), axis=axis)
        axis += not isinstance(item, int)
    return part


def _in_order(positions: NDArray[np.int64]) -> Index:
    """Return positions in order, each once: as a range, whose values are not copied once more, if none is left out."""
    kept = np.unique(positions)
    if kept.size and kept[-1] - kept[0] == kept.size - 1:
        return range(int(kept[0]), int(kept[-1]) + 1)
    return kept


def _read_sorted(decoder: Decoder, index: Sequence[Index]) -> Any:
    shape = shape_of(index)
    values = decoder.empty(shape)
    if values.size == 0 or not index:
        return decoder.all() if not index else values
    axis = split_axis(index, decoder.shape, decoder.item_size, decoder.body.gap)
    inner = math.prod(decoder.shape[axis + 1 :])
    starts = flat_positions(index[:axis], decoder.shape[:axis]) * (decoder.shape[axis] * inner)
    rows = values.reshape(len(starts), count(index[axis]), *shape_of(index[axis + 1 :]))
    flags: NDArray[np.bool_] | None = None
    for at, item in _pieces(index[axis], inner * decoder.item_size):
        first, last = bounds(item)
        n = (last - first) * inner
        local = [range(count(item)) if isinstance(item, int) else shifted(item, first), *index[axis + 1 :]]
        for some, block in _decode_rows(decoder, starts + first * inner, n):
            block = block.reshape(-1, last - first, *decoder.shape[axis + 1 :])
            picked = take(block, [range(len(block)), *local])
            if isinstance(picked, np.ma.MaskedArray):
                if flags is None:
                    flags = np.zeros(rows.shape, np.bool_)
                flags[some, at] = np.ma.getmaskarray(picked)
                picked = picked.data
            rows[some, at] = picked
    if flags is None or not flags.any():
        return values
    return np.ma.MaskedArray(values, flags.reshape(shape), copy=False)


def _pieces(item: Index, size: int) -> Iterator[tuple[slice, Index]]:
    """Cut one item of an index so that each piece spans little more than PIECE_SIZE bytes.

    Parameters
    ----------
    item : Index
        Sorted.
    size : int
        Bytes from one position to the next.
    """
    if isinstance(item, int):
        yield slice(0, 1), item
        return
    first, last = bounds(item)
    n_pieces = max(1, min(len(item), (last - first) * size // PIECE_SIZE))
    for i in range(n_pieces):
        at = slice(len(item) * i // n_pieces, len(item) * (i + 1) // n_pieces)
        yield at, item[at]


def _decode_rows(decoder: Decoder, starts: NDArray[np.int64], n: int) -> Iterator[tuple[slice, Any]]:
    """Decode stretches of `n` values each: all in few reads where that is possible, else one by one."""
    batch = max(1, PIECE_SIZE // (n * decoder.item_size)) if decoder.is_plain and len(starts) > 1 else 1
    for i in range(0, len(starts), batch):
        some = slice(i, min(i + batch, len(starts)))
        if batch > 1:
            yield some, decoder.rows(starts[some], n)
        else:
            start = int(starts[i])
            yield some, decoder.row(start, start + n)
