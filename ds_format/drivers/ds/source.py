"""Reading a ds file variable by variable, in parts and in blocks, and by handles elsewhere."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.once import once
from ...base.text import unescape
from ...body import Address, Opened, absolute
from ...body.body import FIRST_SIZE, Body
from ...body.mapped import mapped
from ...body.stamp import Stamp, Watch, watched, watched_blocks
from ...codec import legacy
from ...codec.attributes import from_json
from ...codec.decode import STEP, Decoder
from ...codec.header import VarHeader
from ...codec.layout import check_numbers, locate
from ...codec.line import Header, HeaderLine
from ...codec.stored import Stored
from ...dataset import as_array
from ...errors import DsError, MissingError
from ...model.index import Index, bounds, count, flat_positions, is_whole, shape_of, shifted, split_axis, take
from ...model.missing import restore
from ...model.settings import NETCDF
from ..base import BLOCK_SIZE, OBJECT_SIZE, Metadata, block_slices
from ..handle import PositionedHandle
from . import checksums
from .checksums import Sums
from .header import open_line
from .whole import all_headers, decode_variable, faults_of, is_simple, read_headers, source_metadata


class DsSource(Opened):
    """An open ds file; see `drivers.base.Source`.

    Parameters
    ----------
    path : str, bytes or PathLike
    mmap : bool
        Map the file copy-on-write: large arrays are views of it. Changing them does not change the file. Truncating a
        mapped file kills the process (SIGBUS).
    strings : bool
        Return text as StringDType arrays instead of object arrays of `str`.
    verify : bool
        Compare the checksums of the header, and of each variable before it is read, if the file has any.
    """

    def __init__(self, path: Any, *, mmap: bool = False, strings: bool = False, verify: bool = False):
        file, self._data = open_line(path)
        self.path = file.name
        self._where = path
        self.strings = strings
        self._verify = verify
        try:
            self.line = HeaderLine(self._data)
        except DsError as error:
            raise error.at(path=self.path)
        self._file: Body | None = mapped(file) if mmap else file
        self.watch = file.watch

    @once
    def header(self) -> Header:
        """The decoded header."""
        return self.line.header()

    @once
    def body(self) -> Body:
        """The bytes after the header."""
        return self._opened.section(self.header.body)

    @property
    def _opened(self) -> Body:
        """The bytes of the file."""
        if self._file is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self.path)
        return self._file

    @once
    def meta(self) -> Metadata:
        """The metadata, from the header."""
        return source_metadata(self.header, self.line.meta(from_json))

    @once
    def _headers(self) -> dict[str, VarHeader]:
        """Headers of the variables that were requested so far."""
        return {}

    @once
    def faults(self) -> Mapping[str, DsError]:
        """Errors of variables that cannot be read, from the header."""
        return faults_of(self.header, self.path)

    def variable(self, name: str) -> VarHeader:
        """Return the header of one variable.

        Raises
        ------
        MissingError, FormatError
            If it does not exist, or one of its properties is invalid.
        """
        try:
            self.header.variables[name]
        except KeyError:
            raise MissingError("variable not found", path=self.path, variable=unescape(name)) from None
        if not self._headers and not is_simple(self.header):
            self._headers = all_headers(self.header, self.body)
        if name not in self._headers:
            self._headers.update(read_headers(self.header, self.body, [name]))
        return self._headers[name]

    @watched
    def read(self, name: str, index: tuple[Any, ...] | None = None) -> Any:
        """Return one variable, or a part of it."""
        try:
            if self._verify:
                self.compare(name)
            values = read_variable(self.header.version, name, self.variable(name), self.body, self.strings, index)
        except DsError as error:
            raise error.at(path=self.path, variable=unescape(name))
        if NETCDF in self.meta[name]:
            restore(self.meta[name], values)
        return values

    def handle(self, name: str) -> DsHandle:
        """Return a handle that reads one variable elsewhere; see `drivers.base.Source`."""
        version, body = self.header.version, self.header.body
        var = self.variable(name)
        return DsHandle(self._absolute, name, self._stamp, body, version, var, self._known(var))

    def _known(self, var: VarHeader) -> tuple[tuple[int, bytes], ...]:
        """Return the bytes of a variable of a remote file that came with the header: a handle needs no request then."""
        if not isinstance(self._where, Address) or var.type is None or var.size is None:
            return ()
        start = self.header.body + var.offset
        is_plain = var.type.is_number and not var.missing
        size = math.prod(var.size) * var.type.size if is_plain else var.length
        first = self._opened.head(FIRST_SIZE)
        return ((start, bytes(first[start : start + size])),) if 0 < size <= len(first) - start else ()

    @once
    def _absolute(self) -> Any:
        return absolute(self._where)

    @once
    def _stamp(self) -> Stamp:
        """Stamp of the file, to detect that it was replaced or modified."""
        header = memoryview(self._data)[: self.header.body]
        return DsHandle.stamp_of(self._absolute, self.watch, header)

    @once
    def sums(self) -> Sums | None:
        """The checksums of the file, after comparing that of the header; None if there are none.

        Raises
        ------
        IntegrityError
            If the checksum of the header differs, or the trailer is damaged.
        """
        try:
            found = checksums.find(self._bytes, self._opened.size, len(self.header.keys))
            if found is not None:
                checksums.compare("header", checksums.of_range(self._bytes, 0, self.header.body), found.header)
        except DsError as error:
            raise error.at(path=self.path)
        return found

    @once
    def _compared(self) -> set[str]:
        """Variables whose checksums were compared."""
        return set()

    def compare(self, name: str) -> None:
        """Compare the checksum of a variable, if the file has any.

        Raises
        ------
        IntegrityError
            If it differs.
        """
        sums = self.sums
        if sums is None or name in self._compared or name not in self.header.keys:
            return
        with self.watch:
            i = self.header.keys.index(name)
            try:
                crc = checksums.of_range(self._bytes, *self._extents[i])
                checksums.compare("values", crc, sums.variables[i], unescape(name))
            except DsError as error:
                raise error.at(path=self.path)
        self._compared.add(name)

    @once
    def _extents(self) -> list[tuple[int, int]]:
        """Position of the bytes of each variable in the file, and their number."""
        return checksums.extents(bytes(self._data[: self.header.body]))

    def _bytes(self, offset: int, size: int) -> Any:
        """Return a range of bytes of the file, or fewer at its end."""
        return self._opened.read(offset, max(min(size, self._opened.size - offset), 0))

    def check_sizes(self, names: Iterable[str]) -> None:
        """Check, before allocating memory, that the file is large enough for the values of variables.

        Raises
        ------
        FormatError
            If it is not; the message names the variable.
        """
        for name in names:
            try:
                var = self.variable(name)
                if var.size is not None:
                    locate(var, self.body.size)
            except DsError as error:
                raise error.at(path=self.path, variable=unescape(name))

    def stored(self, name: str) -> Stored | None:
        """Return the layout of numbers; None if they have a mask or are big-endian, or the file is in memory."""
        try:
            var = self.variable(name)
            if var.type is None or var.size is None or not var.type.is_number or var.missing:
                return None
            if var.type.ordered and var.big:
                return None
            check_numbers(var, self.body.size)
        except DsError as error:
            raise error.at(path=self.path, variable=unescape(name))
        if self.body.in_file() is None:
            return None
        return Stored(np.dtype(f"<{var.type.code}"), var.size, self.header.body + var.offset)

    def section(self, stored: Stored) -> Body:
        """Return the bytes of the file that contain numbers in one piece."""
        return self._opened.section(stored.offset or 0, stored.size)

    @watched_blocks
    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Iterate over the blocks of one variable."""
        try:
            if self._verify:
                self.compare(name)
            var = self.variable(name)
            if var.size is None or var.type is None or 0 in var.size:
                return
            version = self.header.version
            if has_legacy_strings(version, var):
                yield as_array(self.read(name))
                return
            decoder = decoder_of(version, var, self.body, self.strings)
            size = decoder.item_size
            if var.type.is_string:
                size += OBJECT_SIZE + decoder.ends[-1] // max(decoder.present, 1)
            start = 0
            for block in block_slices(var.size, size, min(budget, STEP * 64)):
                shape = tuple(part.stop - part.start for part in block)
                stop = start + int(np.prod(shape, dtype=np.int64))
                values = decoder.row(start, stop).reshape(shape)
                if NETCDF in self.meta[name]:
                    restore(self.meta[name], values)
                yield values
                start = stop
        except DsError as error:
            raise error.at(path=self.path, variable=unescape(name))

    def close(self) -> None:
        """Release the file. It is closed as soon as no thread reads it. A file in memory stays readable."""
        if self._file is not None and not self._file.is_in_memory:
            self._file, self.watch = None, Watch()
            vars(self).pop("body", None)


@dataclass(frozen=True, slots=True)
class DsHandle(PositionedHandle):
    """A variable of a ds file; see `drivers.base.Handle`.

    Attributes
    ----------
    version : str
        Version of the format.
    var : VarHeader
        Header of the variable.
    known : tuple of (int, bytes)
        See `PositionedHandle`.
    """

    version: str
    var: VarHeader
    known: tuple[tuple[int, bytes], ...] = ()

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Shape; None if there are no data."""
        return self.var.size

    @property
    def type(self) -> str | None:
        """Name of the ds type."""
        return None if self.var.type is None else self.var.type.name

    @property
    def missing(self) -> bool:
        """Whether values may be missing."""
        return self.var.missing

    def _read(self, file: Body, index: tuple[Any, ...] | None) -> Any:
        return read_variable(self.version, self.key, self.var, file.section(self.body), False, index)


def read_variable(
    version: str, key: str, var: VarHeader, body: Body, strings: bool, index: Sequence[Index] | None
) -> Any:
    """Decode the part of a variable that a normalized index selects, or all of it if the index is None.

    Parameters
    ----------
    version : str
        Version of the format.
    key : str
        Key of the variable, for messages.
    var : VarHeader
        Its header, with the true offset.
    body : Body
    strings : bool
        As for `codec.decode`.
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
    """Return whether the position of strings is only known after decoding all of them."""
    return version == "2.0.1" and var.type is not None and var.type.is_string


def decoder_of(version: str, var: VarHeader, body: Body, strings: bool) -> Decoder:
    """Return a decoder of a variable; errors as for `read_variable`."""
    if version == "2.0.1":
        legacy.check_mask(var, body)
    return Decoder(var, locate(var, body.size), body, strings)


def read_part(decoder: Decoder, index: Sequence[Index]) -> Any:
    """Decode the part of a variable that a normalized index selects, reading few other bytes.

    Returns
    -------
    ndarray or MaskedArray
        Its shape is `index.shape_of(index)`. A MaskedArray only if a selected value is missing.
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
    """Return positions sorted, each once; as a range if they are consecutive, so that values are copied only once."""
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
    for at, item in _pieces(index[axis], inner * decoder.item_size, decoder.body.batch):
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


def _pieces(item: Index, size: int, most: int) -> Iterator[tuple[slice, Index]]:
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


def _decode_rows(decoder: Decoder, starts: NDArray[np.int64], n: int) -> Iterator[tuple[slice, Any]]:
    """Decode runs of `n` values each. The body determines how many runs are read in one call."""
    if len(starts) == 1:
        start = int(starts[0])
        yield slice(0, 1), decoder.row(start, start + n)
        return
    batch = max(1, decoder.body.batch // (n * decoder.item_size))
    for i in range(0, len(starts), batch):
        some = slice(i, min(i + batch, len(starts)))
        yield some, decoder.rows(starts[some], n)
