"""One variable: its header and the bytes of a body → an array or masked array, whole or in part.

A variable is a row of n values in C order. `Decoder.row` decodes any run of them. If the variable has a mask, the bits
before the run are counted first. They give the number of stored values before the run, and so the position of its
bytes.
"""

from __future__ import annotations

import math
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ..base.dtypes import TYPES
from ..base.threads import each
from ..body.body import Body, MemoryBody
from ..errors import FormatError, TruncatedError
from ..kernels.ds.strings import decode_strings, total_length
from ..kernels.ds.values import count_bits, scatter, unpack_bits
from .header import VarHeader
from .layout import Layout, check_numbers, locate, values_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

NATIVE_BIG = np.little_endian is False
STEP = 1 << 19
"""Values from one remembered count of mask bits to the next, a multiple of 8. A thread decodes as many at a time."""
PIECE = 1 << 16
"""Values decoded at a time, few enough for the cache. Also the strings from one remembered position to the next."""
CACHED_SIZE = 32 << 20
"""Bytes of a mask, or of lengths, that a decoder keeps: those of 268 million values, or of 4 million strings."""

DTYPES = {row.code: np.dtype(row.code) for row in TYPES.values()}


class Strings(NamedTuple):
    """Strings as bytes, without an object for each."""

    offsets: NDArray[np.int64]
    """(N + 1,): starts of the strings in `data`, and the end of the last one."""
    data: Any
    """Their bytes, one string after another, of size `offsets[N]`."""
    mask: NDArray[np.bool_] | None
    """(N,): which ones are missing; these have no bytes. None: none is."""

    @classmethod
    def of(cls, lengths: Any, big: bool, data: Any, mask: NDArray[np.bool_] | None = None) -> Self:
        """Return strings from the lengths of those that are present, of 64 bits each."""
        found = np.frombuffer(lengths, ">i8" if big else "<i8")
        offsets = np.zeros(1 + (found.size if mask is None else mask.size), np.int64)
        if mask is None:
            offsets[1:] = found
        else:
            offsets[1:][~mask] = found
        return cls(offsets.cumsum(out=offsets), data, mask)


def decode(var: VarHeader, body: Body, strings: bool = False) -> Any:
    """Decode a whole variable.

    Parameters
    ----------
    var : VarHeader
    body : Body
    strings : bool
        Whether text becomes a StringDType array in place of an object array of `str`.

    Returns
    -------
    ndarray, MaskedArray or None
        Writable, in native byte order, of shape `var.size`. Without dimensions: a NumPy scalar, `str` or `bytes`. A
        MaskedArray only if a value is missing, with 0 (or an empty string) under the mask. None if the variable does
        not have data.

    Raises
    ------
    FormatError
        If the bytes do not match the header. Memory is only allocated for values that the file has.
    """
    ds_type, size, offset, _, big, missing = var
    if size is None or ds_type is None:
        return None
    if ds_type.is_number and not missing and 0 not in size:
        check_numbers(var, body.size)
        array = _array(body, offset, size, DTYPES[ds_type.code])
        if big is not NATIVE_BIG and ds_type.ordered:
            array = _swapped(array)
        return array if size else array[()]
    body.announce_spans([span_of(var, body.size)])
    array = Decoder(var, locate(var, body.size), body, strings).all()
    return array if size or isinstance(array, np.ma.MaskedArray) else array[()]


def span_of(var: VarHeader, body_size: int) -> tuple[int, int]:
    """Return the offset of a whole variable and its size, both in bytes, as far as its header tells them.

    The size of masked values and of strings is a hint: `.len`, which may be wrong. A decoder that finds more values
    than the hint covers reads the rest. The span is inside of the body, and empty if there is nothing to read.
    """
    ds_type, shape, offset, length, _, missing = var
    if ds_type is None or shape is None or 0 in shape:
        return 0, 0
    if not missing and not ds_type.is_string:
        length = (math.prod(shape) * ds_type.bits + 7) // 8
    return offset, max(min(length, body_size - offset), 0)


def _array(body: Body, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return values in the byte order of the file, as an aligned and writable array."""
    if body.lends:
        size = math.prod(shape) * dtype.itemsize
        array: NDArray[Any] = np.ndarray(shape, dtype, body.read(offset, size))
        return array if array.flags.aligned else array.copy()
    out = np.empty(shape, dtype)
    body.read_into(offset, out)
    return out


def _swapped(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array with the other byte order of its values: itself, if it owns them."""
    out = array if array.flags.owndata else np.empty_like(array)
    # NumPy swaps in place only if both have one dimension
    out.reshape(-1)[...] = array.reshape(-1).view(array.dtype.newbyteorder())
    return out


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of a C-contiguous array."""
    return array.reshape(-1).view(np.uint8)


def _kept(body: Body, start: int, size: int) -> Body:
    """Return bytes of a mask, or of lengths: read once if they are few, and otherwise on each access."""
    if size > CACHED_SIZE and not body.is_far:
        return body.section(start, size)
    return MemoryBody(body.name, body.read(start, size) if size else b"")


def preamble_of(var: VarHeader, layout: Layout, gap: int) -> tuple[int, int]:
    """Return the offset and the size, in bytes, of what a decoder reads first: the mask, and lengths of strings.

    Lengths follow the mask, at most one for each value. They come with it if they are at most `gap` bytes. `.len` is a
    hint that they are fewer.
    """
    mask_size = layout.values - layout.start
    size = 8 * layout.n if var.type is not None and var.type.is_string else 0
    if mask_size and size > min(gap, CACHED_SIZE - mask_size):
        size = 0
    if mask_size < var.length < mask_size + size:
        size = var.length - mask_size
    return layout.start, min(mask_size + size, layout.end - layout.start)


class Decoder:
    """A variable as a row of values, any run of which can be decoded.

    Parameters
    ----------
    var : VarHeader
        With data.
    layout : Layout
        The result of `locate`.
    body : Body
    strings : bool
        See `decode`.

    Raises
    ------
    FormatError
        If the present values, counted in the mask, do not fit into the body.
    """

    def __init__(self, var: VarHeader, layout: Layout, body: Body, strings: bool = False):
        if var.type is None or var.size is None:
            raise FormatError(".size: found null, expected a variable with data")
        self.type = var.type
        self.shape = var.size
        self.layout = layout
        self.body = body
        self.swapped = var.big is not NATIVE_BIG and self.type.ordered
        self.big = var.big
        self.text = self.type.name == "unicode"
        self.dtype: np.dtype[Any] = np.dtypes.StringDType() if strings and self.text else DTYPES[self.type.code]
        body.announce_spans([preamble_of(var, layout, body.gap)])
        self.mask = _kept(body, layout.start, layout.values - layout.start)
        self.ranks = self._count_present() if var.missing else [layout.n]
        self.present = self.ranks[-1]
        lengths_size = values_size(var, self.present, layout.available)
        self.data = layout.values + lengths_size
        """First byte of the strings, or the end of other values, in bytes from the start of the body."""
        self.lengths = _kept(body, layout.values, lengths_size if self.type.is_string else 0)
        self.ends = self._measure_strings() if self.type.is_string else [0]

    def on(self, body: Body) -> Self:
        """Return this decoder with its mask and lengths, for another body with the same bytes."""
        found = copy(self)
        found.body = body
        return found

    @property
    def kept_size(self) -> int:
        """Bytes of the mask and of lengths; 0 if they are too many to be in memory."""
        return self.mask.size + self.lengths.size if self.mask.is_in_memory and self.lengths.is_in_memory else 0

    @property
    def end(self) -> int:
        """The position after the last byte of the variable, in bytes from the start of the body."""
        return self.data + self.ends[-1]

    def _count_present(self) -> list[int]:
        """Return the number of present values before each STEP-th one, and in total."""
        ranks = [0]
        for first in range(0, self.layout.n, STEP):
            n = min(STEP, self.layout.n - first)
            ranks.append(ranks[-1] + n - count_bits(self.mask.read(first // 8, (n + 7) // 8), n))
        return ranks

    def _measure_strings(self) -> list[int]:
        """Return the start of each PIECE-th string, and the end of the last one, in bytes from the first string."""
        ends = [0]
        available = self.layout.end - self.data
        for first in range(0, self.present, PIECE):
            n = min(PIECE, self.present - first)
            lengths = self.lengths.read(8 * first, 8 * n)
            try:
                ends.append(ends[-1] + total_length(lengths, self.big, available - ends[-1]))
            except ValueError as error:
                raise TruncatedError(f"lengths of strings: {error}") from None
        return ends

    def all(self) -> Any:
        """Decode all values, in the shape of the variable."""
        self.body.announce_spans([self._span(0, self.present)])
        return self.row(0, self.layout.n, self.shape)

    def strings(self) -> Strings:
        """Return all values of a variable of text or byte strings, without decoding them."""
        mask = None
        if self.present != self.layout.n:
            mask = np.empty(self.layout.n, np.bool_)
            unpack_bits(self._mask(0, mask.size), mask.view(np.uint8))
        self.body.announce_spans([self._span(0, self.present)])
        data = self.body.read(*self._span(0, self.present))
        return Strings.of(self.lengths.read(0, 8 * self.present), self.big, data, mask)

    def row(self, first: int, last: int, shape: tuple[int, ...]) -> Any:
        """Decode the values from `first` up to `last` (exclusive), as an array or masked array of some shape."""
        if self.present == self.layout.n:
            return self._take(first, last).reshape(shape)
        start = first - first % 8
        values, flags = self.empty((last - start,)), np.empty(last - start, np.bool_)

        def work(at: int, end: int) -> None:
            self._spread(start + at, values[at:end], flags[at:end])

        if self.type.is_string:
            each(work, last - start, PIECE, 1)  # threads would wait for each other
        else:
            each(work, last - start, STEP)
        values, flags = values[first - start :], flags[first - start :]
        return np.ma.MaskedArray(values.reshape(shape), flags.reshape(shape), copy=False)

    @property
    def item_size(self) -> int:
        """Bytes of one value in the body, at least 1."""
        return max(self.type.size, 1)

    def rows(self, starts: NDArray[np.int64], n: int) -> Any:
        """Decode runs of `n` values each, as an array or masked array of shape (len(starts), n).

        Their bytes are read by one call of the body.
        """
        if len(starts) == 1:
            return self.row(int(starts[0]), int(starts[0]) + n, (1, n))
        if self.present == self.layout.n:
            return self._take_rows(*self._stored(starts, n)).reshape(-1, n)
        begins, ends = self._stored(starts, n)
        stored = self._take_rows(begins, ends)
        skipped = starts % 8  # unpacking a mask begins at a whole byte
        firsts = (starts - skipped).tolist()
        values, flags = self.empty((len(starts), n)), np.empty((len(starts), n), np.bool_)
        at = 0
        for i, (first, skip) in enumerate(zip(firsts, skipped.tolist(), strict=True)):
            stop = at + int(ends[i] - begins[i])
            row, row_flags = self.empty((skip + n,)), np.empty(skip + n, np.bool_)
            self._scatter(self._mask(first, skip + n), stored[at:stop], row, row_flags)
            values[i], flags[i] = row[skip:], row_flags[skip:]
            at = stop
        return np.ma.MaskedArray(values, flags, copy=False)

    def spans(self, starts: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the offsets and the sizes, in bytes of the body, of the values that `rows` reads."""
        return self._spans(*self._stored(starts, n))

    def _stored(self, starts: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the bounds of runs of `n` values each, counting only those that are present.

        The first values before those of a whole byte of the mask are part of a run.
        """
        if self.present == self.layout.n:
            return starts, starts + n
        begins = [self._present_before(start - start % 8) for start in starts.tolist()]
        ends = [self._present_before(start + n) for start in starts.tolist()]
        return np.array(begins, np.int64), np.array(ends, np.int64)

    def _spans(self, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the offsets and the sizes, in bytes of the body, of runs of stored values."""
        if self.type.is_string:
            starts, stops = (
                np.array([self._string_start(i) for i in some.tolist()], np.int64) for some in (begins, ends)
            )
            return self.data + starts, stops - starts
        if self.type.code == "?":
            starts, stops = begins // 8, np.where(ends > begins, (ends + 7) // 8, begins // 8)
        else:
            starts, stops = begins * self.type.size, ends * self.type.size
        return self.layout.values + starts, stops - starts

    def _span(self, begin: int, end: int) -> tuple[int, int]:
        """Return the offset and the size, in bytes of the body, of a run of stored values."""
        if self.type.is_string:
            start = self._string_start(begin)
            return self.data + start, self._string_start(end) - start
        offset = begin * self.type.bits // 8
        return self.layout.values + offset, (end * self.type.bits + 7) // 8 - offset

    def empty(self, shape: tuple[int, ...]) -> NDArray[Any]:
        """Return an array for decoded values: uninitialised, but empty strings for objects."""
        if self.dtype.kind == "O":
            return np.full(shape, "" if self.text else b"", object)
        return np.empty(shape, self.dtype)

    def _spread(self, first: int, values: NDArray[Any], flags: NDArray[np.bool_]) -> None:
        """Copy the present values of a run, which begins at a multiple of 8, to their positions in two arrays."""
        mask = self._mask(first, flags.size)
        begin = self._present_before(first)
        end = begin + flags.size - count_bits(mask, flags.size)
        if self.type.is_number:
            stored = self.body.read(*self._span(begin, end))
            scatter(mask, stored, flags.view(np.uint8), _bytes(values), self.type.size, self.swapped)
        else:
            self._scatter(mask, self._take(begin, end), values, flags)

    def _mask(self, first: int, n: int) -> Any:
        """Return the bits of the mask of `n` values from `first` on, a multiple of 8."""
        return self.mask.read(first // 8, (n + 7) // 8)

    def _scatter(self, mask: Any, stored: NDArray[Any], values: NDArray[Any], flags: NDArray[np.bool_]) -> None:
        """Copy decoded values to the positions that are not missing in the mask."""
        if self.type.is_string:
            unpack_bits(mask, flags.view(np.uint8))
            values[~flags] = stored
        else:
            scatter(mask, _bytes(stored), flags.view(np.uint8), _bytes(values), values.itemsize, False)

    def _present_before(self, first: int) -> int:
        step, n = divmod(first, STEP)
        if not n:
            return self.ranks[step]
        bits = self.mask.read(step * (STEP // 8), (n + 7) // 8)
        return self.ranks[step] + n - count_bits(bits, n)

    def _take(self, first: int, last: int) -> NDArray[Any]:
        """Decode the stored values from `first` up to `last` (exclusive), counting only those that are present."""
        offset, size = self._span(first, last)
        if self.type.is_string:
            lengths = self.lengths.read(8 * first, 8 * (last - first))
            return self._decode_strings(lengths, self.body.read(offset, size), last - first)
        if self.type.code == "?":
            flags = np.empty(8 * size, np.bool_)
            unpack_bits(self.body.read(offset, size), flags.view(np.uint8))
            return flags[first % 8 : first % 8 + last - first]
        array = _array(self.body, offset, (last - first,), self.dtype)
        return _swapped(array) if self.swapped else array

    def _take_rows(self, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[Any]:
        """Decode several runs of stored values, and concatenate them. Their bytes are read by one call."""
        n = int((ends - begins).sum())
        offsets, sizes = self._spans(begins, ends)
        data = np.empty(n, self.dtype) if self.type.is_number else np.empty(int(sizes.sum()), np.uint8)
        self.body.ranges(offsets, sizes, [data])
        if self.type.is_number:
            return _swapped(data) if self.swapped else data
        bounds = list(zip(begins.tolist(), ends.tolist(), strict=True))
        if self.type.is_string:
            lengths = b"".join([self.lengths.read(8 * begin, 8 * (end - begin)) for begin, end in bounds])
            return self._decode_strings(lengths, data, n)
        flags = np.empty(8 * data.size, np.bool_)
        unpack_bits(data, flags.view(np.uint8))
        ats = 8 * (sizes.cumsum() - sizes) + begins % 8
        rows = zip(ats.tolist(), bounds, strict=True)
        return np.concatenate([flags[at : at + end - begin] for at, (begin, end) in rows])

    def _decode_strings(self, lengths: Any, data: Any, n: int) -> NDArray[Any]:
        out = np.empty(n, self.dtype)
        try:
            if self.dtype.kind == "T":
                from ..kernels.ds.numpy_strings import decode_numpy_strings

                decode_numpy_strings(lengths, self.big, data, out)
            else:
                decode_strings(lengths, self.big, data, self.text, out)
        except ValueError as error:
            raise FormatError(str(error)) from None
        return out

    def _string_start(self, i: int) -> int:
        if i == self.present:
            return self.ends[-1]
        step, n = divmod(i, PIECE)
        if not n:
            return self.ends[step]
        lengths = self.lengths.read(8 * step * PIECE, 8 * n)
        return self.ends[step] + total_length(lengths, self.big, self.ends[-1] - self.ends[step])
