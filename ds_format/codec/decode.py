"""One variable: its header and the bytes of a body → an array or masked array, whole or in part.

A variable is a row of n values in C order. `Decoder.row` decodes any run of them. If the variable has a mask, the bits
before the run are counted first. They give the number of stored values before the run, and so the position of its
bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.threads import each
from ..body.body import Body, MemoryBody
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
    if not body.is_in_memory and 0 < var.length <= min(body.batch, body.size - offset):
        array = _decode_bytes(var, body.read(offset, var.length), body.name, strings)
        if array is not None:
            return array
    return _decode_all(var, body, strings)


def _decode_all(var: VarHeader, body: Body, strings: bool) -> Any:
    array = Decoder(var, locate(var, body.size), body, strings).all()
    return array if var.size or isinstance(array, np.ma.MaskedArray) else array[()]


def _decode_bytes(var: VarHeader, data: Any, name: str, strings: bool) -> Any:
    """Decode a variable from the bytes that `.len` counts; None if they are damaged, or not all of its bytes."""
    try:
        return _decode_all(var._replace(offset=0), MemoryBody(name, data), strings)
    except FormatError:
        return None


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
        `body.batch`. The sizes of masked variables, strings and booleans are taken from the header. If a writer stored
        a wrong one, the result is None, too.
    """
    arrays: list[Any] = [None] * len(variables)
    offsets: list[int] = []
    sizes: list[int] = []
    outs: list[NDArray[Any]] = []
    positions: list[int] = []
    spare = body.batch
    for i, (ds_type, shape, offset, length, _, missing) in enumerate(variables):
        if ds_type is None or shape is None or 0 in shape:
            continue
        available = body.size - offset
        if ds_type.is_number and not missing:
            size = math.prod(shape) * ds_type.size
            if size > available:
                continue
            outs.append(np.empty(shape, DTYPES[ds_type.code]))
        else:
            size = min(length, available)
            if not 0 < size <= spare:
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
            arrays[i] = _decode_bytes(var, out, body.name, strings)
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

    __slots__ = ("body", "data", "start")

    def __init__(self, body: Body, start: int, size: int, data: memoryview | None = None):
        self.body = body
        self.start = start
        self.data = memoryview(body.read(start, size)) if data is None and size <= CACHED_SIZE else data

    def read(self, offset: int, size: int) -> Any:
        """Return a buffer of `size` bytes; `offset` is counted from the first of these bytes."""
        if self.data is None:
            return self.body.read(self.start + offset, size)
        return self.data[offset : offset + size]


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
        mask_size = layout.values - layout.start
        lengths: Any = None
        if var.missing:
            n_lengths = 8 * layout.n if self.type.is_string else 0
            if 0 < n_lengths <= min(body.gap, CACHED_SIZE - mask_size):
                # the lengths follow the mask, at most one for each value, and are few enough to be read with it
                both = memoryview(body.read(layout.start, min(mask_size + n_lengths, layout.end - layout.start)))
                self.mask, lengths = _CachedBytes(body, layout.start, mask_size, both[:mask_size]), both[mask_size:]
            else:
                self.mask = _CachedBytes(body, layout.start, mask_size)
        self.ranks = self._count_present() if var.missing else None
        self.present = layout.n if self.ranks is None else self.ranks[-1]
        size = values_size(var, self.present, layout.available)
        self.data = layout.values + size
        """First byte of the strings, or the end of other values, in bytes from the start of the body."""
        if self.type.is_string:
            self.lengths = _CachedBytes(body, layout.values, size, lengths)
        self.ends = self._measure_strings() if self.type.is_string else [0]

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
        n = self.layout.n
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
            if not self.type.is_number:
                return self._take_rows(starts, starts + n).reshape(-1, n)
            out, size = np.empty((len(starts), n), self.dtype), self.type.size
            self.body.ranges(self.layout.values + starts * size, np.full(len(starts), n * size), [out])
            return _swapped(out, size) if self.swapped else out
        skipped = starts % 8  # unpacking a mask begins at a whole byte
        firsts = (starts - skipped).tolist()
        begins = np.array([self._present_before(first) for first in firsts], np.int64)
        ends = np.array([self._present_before(start + n) for start in starts.tolist()], np.int64)
        stored = self._take_rows(begins, ends)
        values, flags = self.empty((len(starts), n)), np.empty((len(starts), n), np.bool_)
        at = 0
        for i, (first, skip) in enumerate(zip(firsts, skipped.tolist(), strict=True)):
            stop = at + int(ends[i] - begins[i])
            row, row_flags = self._empty(skip + n), np.empty(skip + n, np.bool_)
            self._scatter(self._mask(first, skip + n), stored[at:stop], row, row_flags)
            values[i], flags[i] = row[skip:], row_flags[skip:]
            at = stop
        return np.ma.MaskedArray(values, flags, copy=False)

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
            size = self.type.size
            stored = self.body.read(self.layout.values + begin * size, (end - begin) * size)
            scatter(mask, stored, flags.view(np.uint8), _bytes(values), size, self.swapped)
        else:
            self._scatter(mask, self._take(begin, end), values, flags)
        return end

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
        if self.ranks is None:
            return first
        step, n = divmod(first, STEP)
        if not n:
            return self.ranks[step]
        bits = self.mask.read(step * (STEP // 8), (n + 7) // 8)
        return self.ranks[step] + n - count_bits(bits, n)

    def _take(self, first: int, last: int) -> NDArray[Any]:
        """Decode the stored values from `first` up to `last` (exclusive), counting only those that are present."""
        n = last - first
        if self.type.is_string:
            return self._take_strings(first, last)
        if self.type.code == "?":
            start = first - first % 8
            flags = np.empty(last - start, np.bool_)
            for i in range(0, flags.size, STEP):
                part = flags[i : i + STEP]
                bits = self.body.read(self.layout.values + (start + i) // 8, (part.size + 7) // 8)
                unpack_bits(bits, part.view(np.uint8))
            return flags[first - start :]
        size = self.type.size
        array = _array(self.body, self.layout.values + first * size, (n,), self.dtype)
        return _swapped(array, size) if self.swapped else array

    def _take_rows(self, firsts: NDArray[np.int64], lasts: NDArray[np.int64]) -> NDArray[Any]:
        """Decode several runs of stored values, and concatenate them. Their bytes are read by one call."""
        n = int((lasts - firsts).sum())
        if self.type.is_number:
            out, size = np.empty(n, self.dtype), self.type.size
            self.body.ranges(self.layout.values + firsts * size, (lasts - firsts) * size, [_bytes(out)])
            return _swapped(out, size) if self.swapped else out
        if self.type.is_string:
            starts, ends = (
                np.array([self._string_start(i) for i in some.tolist()], np.int64) for some in (firsts, lasts)
            )
            data = np.empty(int((ends - starts).sum()), np.uint8)
            self.body.ranges(self.data + starts, ends - starts, [data])
            bounds = zip(firsts.tolist(), lasts.tolist(), strict=True)
            lengths = b"".join([self.lengths.read(8 * first, 8 * (last - first)) for first, last in bounds])
            return self._decode_strings(lengths, data, n)
        starts, sizes = firsts // 8, np.where(lasts > firsts, (lasts + 7) // 8 - firsts // 8, 0)
        bits = np.empty(int(sizes.sum()), np.uint8)
        self.body.ranges(self.layout.values + starts, sizes, [bits])
        flags = np.empty(8 * bits.size, np.bool_)
        unpack_bits(bits, flags.view(np.uint8))
        ats = 8 * (sizes.cumsum() - sizes) + firsts % 8
        return np.concatenate([
            flags[at : at + k] for at, k in zip(ats.tolist(), (lasts - firsts).tolist(), strict=True)
        ])

    def _take_strings(self, first: int, last: int) -> NDArray[Any]:
        lengths = self.lengths.read(8 * first, 8 * (last - first))
        start, end = self._string_start(first), self._string_start(last)
        return self._decode_strings(lengths, self.body.read(self.data + start, end - start), last - first)

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
