"""One variable: its header and the bytes of a body → an array or masked array, whole or in part.

A variable is a row of n values in C order. `Decoder.row` decodes any run of them. If the variable has a mask, the bits
before the run are counted first. They give the number of stored values before the run, and so the position of its
bytes.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..base.threads import each
from ..body.body import Body
from ..errors import FormatError, TruncatedError
from ..kernels.ds.strings import decode_strings, total_length
from ..kernels.ds.values import count_bits, scatter, swap, unpack_bits
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

DTYPES = {code: np.dtype(code) for code in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "O")}


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
            array = _swapped(array, ds_type.size)
        return array if size else array[()]
    if not body.is_in_memory:
        offset, length = span_of(var, body.size)
        if 0 < length <= body.batch:
            body = _Ahead(body, offset, body.read(offset, length))
        elif body.is_far:
            announce([(offset, length)], body)
    return _decode_all(var, body, strings)


def _decode_all(var: VarHeader, body: Body, strings: bool) -> Any:
    array = Decoder(var, locate(var, body.size), body, strings).all()
    return array if var.size or isinstance(array, np.ma.MaskedArray) else array[()]


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


def announce(spans: Iterable[tuple[int, int]], body: Body) -> None:
    """Announce ranges to a body: offsets and sizes, in bytes. Empty ones are left out."""
    ranges = np.array([span for span in spans if span[1]], np.int64).reshape(-1, 2)
    if len(ranges):
        body.announce(ranges[:, 0].copy(), ranges[:, 1].copy())


class _Ahead(Body):
    """A body with a range of bytes that were read ahead. All others are read from the body when they are needed."""

    __slots__ = ("batch", "body", "data", "gap", "is_far", "name", "offset", "size")

    def __init__(self, body: Body, offset: int, data: Any):
        self.body = body
        self.name, self.size, self.gap, self.batch, self.is_far = (
            body.name,
            body.size,
            body.gap,
            body.batch,
            body.is_far,
        )
        self.offset = offset
        self.data = memoryview(data)

    def read(self, offset: int, size: int) -> Any:
        """Return bytes, of which only those are read that were not read before."""
        start = offset - self.offset
        n = len(self.data) - start
        if start < 0 or n <= 0:
            return self.body.read(offset, size)
        if size <= n:
            return self.data[start : start + size]
        return b"".join([self.data[start:], self.body.read(offset + n, size - n)])

    def announce(self, offsets: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
        """Announce the ranges that end after the bytes that were read ahead."""
        is_rest = (offsets < self.offset) | (offsets + sizes > self.offset + len(self.data))
        self.body.announce(offsets[is_rest], sizes[is_rest])

    def section(self, offset: int, size: int | None = None) -> Body:
        """Return a part, without the bytes that were read ahead."""
        return self.body.section(offset, size)


def decode_in_one_read(variables: Sequence[VarHeader], body: Body, strings: bool = False) -> list[Any]:
    """Decode whole variables, whose bytes are read by one call of the body.

    Parameters
    ----------
    variables, body, strings
        See `decode`.

    Returns
    -------
    list
        The result of `decode` for each variable, or None if you have to call `decode` for it. This is the case for
        variables without data, for damaged ones, and for those that need more memory besides their arrays than
        `body.batch`.
    """
    arrays: list[Any] = [None] * len(variables)
    if body.is_far:
        announce([span_of(var, body.size) for var in variables], body)
    offsets: list[int] = []
    sizes: list[int] = []
    outs: list[NDArray[Any]] = []
    positions: list[int] = []
    spare = body.batch
    for i, var in enumerate(variables):
        offset, size = span_of(var, body.size)
        if not size or var.type is None or var.size is None:
            continue
        if var.type.is_number and not var.missing:
            if size < math.prod(var.size) * var.type.size:
                continue
            outs.append(np.empty(var.size, DTYPES[var.type.code]))
        else:
            if size > spare:
                continue
            spare -= size
            outs.append(np.empty(size, np.uint8))
        positions.append(i)
        offsets.append(offset)
        sizes.append(size)
    if not outs:
        return arrays
    try:
        body.ranges(np.array(offsets, np.int64), np.array(sizes, np.int64), outs)
    except FormatError:
        return arrays  # the file was truncated after it was opened
    for i, out in zip(positions, outs, strict=True):
        var = variables[i]
        if var.type is not None and var.type.is_number and not var.missing:
            array = _swapped(out, var.type.size) if var.big is not NATIVE_BIG and var.type.ordered else out
            arrays[i] = array if array.ndim else array[()]
        else:
            with contextlib.suppress(FormatError):  # `decode` raises it again
                arrays[i] = _decode_all(var, _Ahead(body, var.offset, out), strings)
    return arrays


def _array(body: Body, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return values in the byte order of the file, as an aligned and writable array."""
    if body.lends:
        size = math.prod(shape) * dtype.itemsize
        array: NDArray[Any] = np.ndarray(shape, dtype, body.read(offset, size))
        return array if array.flags.aligned else array.copy()
    out = np.empty(shape, dtype)
    body.read_into(offset, out)
    return out


def _swapped(array: NDArray[Any], size: int) -> NDArray[Any]:
    out = array if array.flags.owndata else np.empty_like(array)
    swap(_bytes(array), _bytes(out), size)
    return out


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of a C-contiguous array."""
    return array.reshape(-1).view(np.uint8)


class _CachedBytes:
    """Bytes of a mask, or of lengths, read once if they are few, and otherwise on each access."""

    __slots__ = ("data", "start")

    def __init__(self, start: int, data: memoryview | None):
        self.start = start
        self.data = data

    def read(self, body: Body, offset: int, size: int) -> Any:
        """Return a buffer of `size` bytes; `offset` is counted from the first of these bytes."""
        if self.data is None:
            return body.read(self.start + offset, size)
        return self.data[offset : offset + size]


def _kept(body: Body, start: int, size: int) -> memoryview | None:
    """Return bytes of a mask or of lengths, or None if they are too many to be kept."""
    return memoryview(body.read(start, size)) if size <= CACHED_SIZE or body.is_far else None


def preamble_of(var: VarHeader, layout: Layout, gap: int) -> tuple[int, int]:
    """Return the offset and the size, in bytes, of what a decoder reads first: the mask, and lengths of strings.

    Lengths follow the mask, at most one for each value. They are read with it if they are at most `gap` bytes. `.len`
    is a hint that they are fewer.
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
        mask_size, size = layout.values - layout.start, preamble_of(var, layout, body.gap)[1]
        first = _kept(body, layout.start, size) if size else memoryview(b"")
        self.mask = _CachedBytes(layout.start, None if first is None else first[:mask_size])
        self.ranks = self._count_present() if var.missing else None
        self.present = layout.n if self.ranks is None else self.ranks[-1]
        lengths_size = values_size(var, self.present, layout.available)
        self.data = layout.values + lengths_size
        """First byte of the strings, or the end of other values, in bytes from the start of the body."""
        if self.type.is_string:
            if first is not None and len(first) >= mask_size + lengths_size:
                lengths: memoryview | None = first[mask_size:]
            else:
                lengths = _kept(body, layout.values, lengths_size)
            if body.is_far and first is not None:
                self.body = _Ahead(body, layout.start, first)  # strings may have come with the lengths
            self.lengths = _CachedBytes(layout.values, lengths)
        self.ends = self._measure_strings() if self.type.is_string else [0]

    def on(self, body: Body) -> Self:
        """Return this decoder with its mask and lengths, for another body with the same bytes."""
        found = copy(self)
        found.body = body
        return found

    @property
    def kept_size(self) -> int:
        """Bytes of the mask, and of lengths, that are in memory."""
        parts = [self.mask.data, self.lengths.data if self.type.is_string else None]
        return sum(len(part) for part in parts if part is not None)

    @property
    def end(self) -> int:
        """The position after the last byte of the variable, in bytes from the start of the body."""
        return self.data + self.ends[-1]

    def _count_present(self) -> list[int]:
        """Return the number of present values before each STEP-th one, and in total."""
        ranks = [0]
        for first in range(0, self.layout.n, STEP):
            n = min(STEP, self.layout.n - first)
            ranks.append(ranks[-1] + n - count_bits(self.mask.read(self.body, first // 8, (n + 7) // 8), n))
        return ranks

    def _measure_strings(self) -> list[int]:
        """Return the start of each PIECE-th string, and the end of the last one, in bytes from the first string."""
        ends = [0]
        available = self.layout.end - self.data
        for first in range(0, self.present, PIECE):
            n = min(PIECE, self.present - first)
            lengths = self.lengths.read(self.body, 8 * first, 8 * n)
            try:
                ends.append(ends[-1] + total_length(lengths, self.big, available - ends[-1]))
            except ValueError as error:
                raise TruncatedError(f"lengths of strings: {error}") from None
        return ends

    def all(self) -> Any:
        """Decode all values, in the shape of the variable."""
        n = self.layout.n
        if self.body.is_far:
            announce([self._span(0, self.present)], self.body)
        if self.present == n:
            return self._take(0, n).reshape(self.shape)
        values, flags = self._empty(n), np.empty(n, np.bool_)

        def work(first: int, last: int) -> None:
            begin = self._present_before(first)
            for start in range(first, last, PIECE):
                stop = min(start + PIECE, last)
                begin = self._spread(start, begin, values[start:stop], flags[start:stop])

        each(work, n, STEP if self.type.is_number else n)
        return np.ma.MaskedArray(values.reshape(self.shape), flags.reshape(self.shape), copy=False)

    def row(self, first: int, last: int) -> Any:
        """Decode the values from `first` up to `last` (exclusive), as a 1-d array or masked array."""
        if self.ranks is None or self.present == self.layout.n:
            return self._take(first, last)
        start = first - first % 8
        values, flags = self._empty(last - start), np.empty(last - start, np.bool_)
        self._spread(start, self._present_before(start), values, flags)
        return np.ma.MaskedArray(values[first - start :], flags[first - start :], copy=False)

    @property
    def item_size(self) -> int:
        """Bytes of one value in the body, at least 1."""
        return max(self.type.size, 1)

    def rows(self, starts: NDArray[np.int64], n: int) -> Any:
        """Decode runs of `n` values each, as an array or masked array of shape (len(starts), n).

        Their bytes are read by one call of the body.
        """
        if len(starts) == 1:
            return self.row(int(starts[0]), int(starts[0]) + n)[None]
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
            row, row_flags = self._empty(skip + n), np.empty(skip + n, np.bool_)
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
        """Return an array for decoded values, in which all strings are empty."""
        return self._empty(math.prod(shape)).reshape(shape)

    def _empty(self, n: int) -> NDArray[Any]:
        """Return an array for `n` values: uninitialised, but empty strings for objects."""
        if self.dtype.kind == "O":
            return np.full(n, "" if self.text else b"", object)
        return np.empty(n, self.dtype)

    def _spread(self, first: int, begin: int, values: NDArray[Any], flags: NDArray[np.bool_]) -> int:
        """Copy the present values of a run to their positions.

        Parameters
        ----------
        first : int
            First value of the run, a multiple of 8.
        begin : int
            Number of present values before it.
        values, flags : (n,) arrays
            Output.

        Returns
        -------
        int
            Number of present values before the end of the run.
        """
        mask = self._mask(first, flags.size)
        end = begin + flags.size - count_bits(mask, flags.size)
        if self.type.is_number:
            stored = self.body.read(*self._span(begin, end))
            scatter(mask, stored, flags.view(np.uint8), _bytes(values), self.type.size, self.swapped)
        else:
            self._scatter(mask, self._take(begin, end), values, flags)
        return end

    def _mask(self, first: int, n: int) -> Any:
        """Return the bits of the mask of `n` values from `first` on, a multiple of 8."""
        return self.mask.read(self.body, first // 8, (n + 7) // 8)

    def _scatter(self, mask: Any, stored: NDArray[Any], values: NDArray[Any], flags: NDArray[np.bool_]) -> None:
        """Copy decoded values to the positions that are not missing in the mask."""
        if self.type.is_string:
            unpack_bits(mask, flags.view(np.uint8))
            values[~flags] = stored
        else:
            scatter(mask, _bytes(stored), flags.view(np.uint8), _bytes(values), values.itemsize, False)

    def _present_before(self, first: int) -> int:
        if self.ranks is None:
            return first
        step, n = divmod(first, STEP)
        if not n:
            return self.ranks[step]
        bits = self.mask.read(self.body, step * (STEP // 8), (n + 7) // 8)
        return self.ranks[step] + n - count_bits(bits, n)

    def _take(self, first: int, last: int) -> NDArray[Any]:
        """Decode the stored values from `first` up to `last` (exclusive), counting only those that are present."""
        if self.type.is_string:
            lengths = self.lengths.read(self.body, 8 * first, 8 * (last - first))
            return self._decode_strings(lengths, self.body.read(*self._span(first, last)), last - first)
        if self.type.code == "?":
            start = first - first % 8
            flags = np.empty(last - start, np.bool_)
            for i in range(start, last, STEP):
                stop = min(i + STEP, last)
                unpack_bits(self.body.read(*self._span(i, stop)), flags[i - start : stop - start].view(np.uint8))
            return flags[first - start :]
        array = _array(self.body, self._span(first, last)[0], (last - first,), self.dtype)
        return _swapped(array, self.type.size) if self.swapped else array

    def _take_rows(self, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[Any]:
        """Decode several runs of stored values, and concatenate them. Their bytes are read by one call."""
        n = int((ends - begins).sum())
        offsets, sizes = self._spans(begins, ends)
        data = np.empty(n, self.dtype) if self.type.is_number else np.empty(int(sizes.sum()), np.uint8)
        self.body.ranges(offsets, sizes, [data])
        if self.type.is_number:
            return _swapped(data, self.type.size) if self.swapped else data
        bounds = list(zip(begins.tolist(), ends.tolist(), strict=True))
        if self.type.is_string:
            lengths = b"".join([self.lengths.read(self.body, 8 * begin, 8 * (end - begin)) for begin, end in bounds])
            return self._decode_strings(lengths, data, n)
        flags = np.empty(8 * data.size, np.bool_)
        unpack_bits(data, flags.view(np.uint8))
        ats = 8 * (sizes.cumsum() - sizes) + begins % 8
        return np.concatenate([
            flags[at : at + end - begin] for at, (begin, end) in zip(ats.tolist(), bounds, strict=True)
        ])

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
        lengths = self.lengths.read(self.body, 8 * step * PIECE, 8 * n)
        return self.ends[step] + total_length(lengths, self.big, self.ends[-1] - self.ends[step])
