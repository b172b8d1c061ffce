"""Parts of a variable of a ds file: the bytes that an index needs, announced before the first read; their values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.text import unescape
from ...body.body import Body, MemoryBody
from ...codec import legacy
from ...codec.decode import CACHED_SIZE, Decoder, preamble_of, span_of
from ...codec.header import VarHeader
from ...codec.layout import locate
from ...datasets import as_array
from ...errors import DsError
from ...model.index import Index, bounds, count, flat_positions, is_whole, shape_of, shifted, split_axis, take
from .whole import decode_variable

KEPT_SIZE = CACHED_SIZE
"""Bytes of masks and lengths that are kept for the next reads of a file."""


class KeptDecoders:
    """Decoders by the variable that they decode, with masks and lengths that were read before. They hold no file.

    Any number of threads may use them. The first ones to be dropped are those that were added first.
    """

    def __init__(self) -> None:
        self._decoders: dict[Any, Decoder] = {}

    def get(self, key: Any, body: Body) -> Decoder | None:
        """Return a decoder that reads values from a body, or None."""
        found = self._decoders.get(key)
        return None if found is None else found.on(body)

    def add(self, key: Any, decoder: Decoder) -> None:
        """Keep a decoder, if it has few bytes."""
        size = decoder.kept_size
        if not 0 < size <= KEPT_SIZE:
            return
        for other, kept in reversed(list(self._decoders.items())):
            size += kept.kept_size
            if size > KEPT_SIZE:
                self._decoders.pop(other, None)
        self._decoders[key] = decoder.on(MemoryBody(decoder.body.name, b""))


class VariableReader:
    """Reads variables of a file, whole or in part. It announces all bytes of a read before it reads the first.

    Parameters
    ----------
    version : str
        Version of the format.
    body : Body
    strings : bool
        As for `codec.decode`.
    kept : KeptDecoders, optional
        Those of former readers of this file.
    stamp : object
        Distinguishes this file from others in `kept`.
    """

    def __init__(self, version: str, body: Body, strings: bool, kept: KeptDecoders | None = None, stamp: Any = None):
        self.version = version
        self.body = body
        self.strings = strings
        self._kept = KeptDecoders() if kept is None else kept
        self._stamp = stamp

    def read(self, key: str, var: VarHeader, index: Sequence[Index] | None) -> Any:
        """Decode the part of a variable that a normalized index selects, or all of it if the index is None.

        Parameters
        ----------
        key : str
            Key of the variable, for messages.
        var : VarHeader
            Its header, with the true offset.
        index : sequence of Index, optional

        Returns
        -------
        ndarray, MaskedArray, scalar, str, bytes or None
            As for `drivers.base.Source.read`.

        Raises
        ------
        FormatError
            If its bytes are invalid; the message names the variable.
        """
        if index is None or var.size is None or is_whole(index, var.size):
            return decode_variable(self.version, key, var, self.body, self.strings)
        try:
            self.announce([(var, index)])
            if has_legacy_strings(self.version, var):
                part = take(as_array(decode_variable(self.version, key, var, self.body, self.strings)), index)
                if isinstance(part, np.ma.MaskedArray) and not part.mask.any():
                    part = part.data
            else:
                part = read_part(self.decoder(var), index)
        except DsError as error:
            raise error.at(variable=unescape(key))
        return part[()] if not part.ndim and not isinstance(part, np.ma.MaskedArray) else part

    def decoder(self, var: VarHeader) -> Decoder:
        """Return a decoder of a variable with data. Its mask and its lengths are read once; errors as for `read`."""
        key = self._key(var)
        decoder = self._kept.get(key, self.body)
        if decoder is None:
            if self.version == "2.0.1":
                legacy.check_mask(var, self.body)
            decoder = Decoder(var, locate(var, self.body.size), self.body, self.strings)
            self._kept.add(key, decoder)
        return decoder

    def _key(self, var: VarHeader) -> Any:
        return self._stamp, self.strings, var

    def announce(self, reads: Iterable[tuple[VarHeader, Sequence[Index] | None]]) -> None:
        """Announce the bytes of several reads, if the body is far, in as few rounds as possible.

        The positions of values after a mask, and of strings after their lengths, are only known after reading these.
        They are read by the first round. Variables of few bytes come with it.

        Parameters
        ----------
        reads : iterable of (VarHeader, index)
            As for `read`.

        Raises
        ------
        FormatError
            If the bytes of a variable are invalid.
        """
        if not self.body.is_far:
            return
        first: list[tuple[int, int]] = []
        masked = []
        for var, index in reads:
            whole = span_of(var, self.body.size)
            if not whole[1]:
                continue
            is_small = whole[1] <= self.body.gap
            if index is None or is_small or is_whole(index, var.size or ()) or has_legacy_strings(self.version, var):
                first.append(whole)
                continue
            preamble = preamble_of(var, locate(var, self.body.size), self.body.gap)
            if preamble[1] and self._kept.get(self._key(var), self.body) is None:
                first.append(preamble)
                masked.append((var, index))
            else:
                first += _spans(self.decoder(var), index)
        self.body.announce_spans(first)
        self.body.announce_spans([span for var, index in masked for span in _spans(self.decoder(var), index)])


def has_legacy_strings(version: str, var: VarHeader) -> bool:
    """Return whether the position of strings is only known after decoding all of them."""
    return version == "2.0.1" and var.type is not None and var.type.is_string


def _spans(decoder: Decoder, index: Sequence[Index]) -> Iterator[tuple[int, int]]:
    """Iterate over the offsets and sizes, in bytes of the body, of the values that `read_part` reads."""
    index = [_in_order(item) for item in index]
    for piece in _pieces(decoder, index, _split(decoder, index)) if index else ():
        offsets, sizes = decoder.spans(piece.starts, piece.n)
        yield from zip(offsets.tolist(), sizes.tolist(), strict=True)


def read_part(decoder: Decoder, index: Sequence[Index]) -> Any:
    """Decode the part of a variable that a normalized index selects. Few other bytes are read.

    Returns
    -------
    ndarray or MaskedArray
        Its shape is `index.shape_of(index)`. A MaskedArray only if a selected value is missing.
    """
    sorted_index = [_in_order(item) for item in index]
    part = _read_sorted(decoder, sorted_index)
    axis = 0
    for item, kept in zip(index, sorted_index, strict=True):
        if isinstance(item, np.ndarray) and not isinstance(kept, int) and not np.array_equal(item, kept):
            part = part.take(np.searchsorted(kept, item), axis=axis)
        axis += not isinstance(item, int)
    return part


def _in_order(item: Index) -> Index:
    """Return positions sorted, each once; as a range if they are consecutive, so that values are copied only once."""
    if not isinstance(item, np.ndarray):
        return item
    kept = np.unique(item)
    if kept.size and kept[-1] - kept[0] == kept.size - 1:
        return range(int(kept[0]), int(kept[-1]) + 1)
    return kept


class _PartPiece(NamedTuple):
    """Runs of values that are read together."""

    starts: NDArray[np.int64]
    """First value of each run."""
    n: int
    """Values of each run."""
    rows: slice
    """Which runs these are, of all combinations of positions along the axes before the split axis."""
    at: slice
    """Where their values are put along the split axis."""
    picked: list[Index]
    """Index of the values of a run: one item for the split axis, and one for each axis after it."""
    shape: tuple[int, ...]
    """Shape of a run."""


def _split(decoder: Decoder, index: Sequence[Index]) -> int:
    """Return the axis at which a part is divided into runs; 0 for an empty part."""
    if 0 in shape_of(index):
        return 0
    return split_axis(index, decoder.shape, decoder.item_size, decoder.body.gap)


def _pieces(decoder: Decoder, index: Sequence[Index], axis: int) -> Iterator[_PartPiece]:
    """Divide a part, given by a sorted index, into pieces of few more bytes than `body.batch`."""
    shape, most = decoder.shape, decoder.body.batch
    if 0 in shape_of(index):
        return
    inner = math.prod(shape[axis + 1 :])
    starts = flat_positions(index[:axis], shape[:axis]) * (shape[axis] * inner)
    for at, item in _divided(index[axis], inner * decoder.item_size, most):
        first, last = bounds(item)
        n = (last - first) * inner
        picked = [range(count(item)) if isinstance(item, int) else shifted(item, first), *index[axis + 1 :]]
        batch = max(1, most // (n * decoder.item_size))
        for i in range(0, len(starts), batch):
            rows = slice(i, min(i + batch, len(starts)))
            yield _PartPiece(starts[rows] + first * inner, n, rows, at, picked, (last - first, *shape[axis + 1 :]))


def _divided(item: Index, size: int, most: int) -> Iterator[tuple[slice, Index]]:
    """Divide one item of an index, so that each part spans few more than `most` bytes.

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
    n_pieces = max(1, min(len(item), (last - first) * size // most))
    for i in range(n_pieces):
        at = slice(len(item) * i // n_pieces, len(item) * (i + 1) // n_pieces)
        yield at, item[at]


def _read_sorted(decoder: Decoder, index: Sequence[Index]) -> Any:
    if not index:
        return decoder.all()
    shape, axis = shape_of(index), _split(decoder, index)
    values = decoder.empty(shape)
    n_rows = math.prod(map(count, index[:axis]))
    rows = values.reshape(n_rows, count(index[axis]), *shape_of(index[axis + 1 :]))
    flags: NDArray[np.bool_] | None = None
    for piece in _pieces(decoder, index, axis):
        block = decoder.rows(piece.starts, piece.n).reshape(-1, *piece.shape)
        picked = take(block, [range(len(block)), *piece.picked])
        if isinstance(picked, np.ma.MaskedArray):
            if flags is None:
                flags = np.zeros(rows.shape, np.bool_)
            flags[piece.rows, piece.at] = np.ma.getmaskarray(picked)
            picked = picked.data
        rows[piece.rows, piece.at] = picked
    if flags is None or not flags.any():
        return values
    return np.ma.MaskedArray(values, flags.reshape(shape), copy=False)
