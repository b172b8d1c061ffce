"""Reading a ds file variable by variable, in parts and in blocks, and by handles elsewhere."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.once import once
from ...base.text import unescape
from ...body import Address, absolute
from ...body.body import FIRST_SIZE, Body, open_body
from ...body.mapped import mapped
from ...body.stamp import Stamp, Watch, watched
from ...codec.attributes import from_json
from ...codec.decode import STEP, Decoder, Strings, span_of
from ...codec.header import VarHeader
from ...codec.layout import check_numbers, locate
from ...codec.line import find_end, parse, read_line
from ...codec.stored import Stored
from ...datasets import as_array
from ...errors import DsError, IntegrityError, MissingError
from ...model.marks import StoredMarks, take_stored
from ..base import OBJECT_SIZE, Metadata, block_slices
from ..handle import PositionedHandle
from ..source import BaseSource
from . import checksums
from .checksums import Sums
from .parts import KeptDecoders, VariableReader, has_legacy_strings
from .whole import all_headers, faults_of, is_simple, read_headers, source_metadata


class DsSource(BaseSource):
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
        Compare the checksums of the header now, and of each variable before it is read, if the file has any.

    Raises
    ------
    DsError, OSError
        If the header is damaged, or the file cannot be read.
    IntegrityError
        See `sums`; with `verify`.
    """

    def __init__(self, path: Any, *, mmap: bool = False, strings: bool = False, verify: bool = False):
        file = open_body(path)
        self._data = read_line(file)
        self.path = file.name
        self.where = path
        self.strings = strings
        try:
            self.header = parse(self._data, find_end(self._data, whole=True), ())[0]
        except DsError as error:
            raise error.at(path=self.path)
        self._file: Body | None = mapped(file) if mmap else file
        self.watch = file.watch
        self._verify = verify and self.sums is not None

    @property
    def line(self) -> bytes:
        """The bytes before the body."""
        return bytes(self._data[: self.header.body])

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

    @property
    def is_far(self) -> bool:
        """Whether each read is a request."""
        return self._opened.is_far

    @once
    def _described(self) -> tuple[Metadata, dict[str, StoredMarks]]:
        """The metadata, and by which numbers missing values are marked."""
        meta = source_metadata(self.header, parse(self._data, self.header.body - 1, None, from_json)[1])
        return meta, take_stored(meta)

    @once
    def meta(self) -> Metadata:  # type: ignore[override]  # a narrower type
        """The metadata, from the header."""
        return self._described[0]

    @property
    def marks(self) -> dict[str, StoredMarks]:
        """Key → by which numbers missing values are marked, of those variables of which the header tells."""
        return self._described[1]

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

    @once
    def _reader(self) -> VariableReader:
        """Reads variables, and keeps masks."""
        return VariableReader(self.header.version, self.body, self.strings)

    @watched
    def announce(self, reads: Mapping[str, tuple[Any, ...] | None]) -> None:
        """Announce what `read` will read, if the file is far, so that the bytes of several variables come together.

        Parameters
        ----------
        reads : dict
            Key of a variable → index. Errors are left to `read`.
        """
        if self.is_far:
            with contextlib.suppress(DsError):
                self._reader.announce([(self.variable(name), index) for name, index in reads.items()])

    def _check(self, name: str) -> None:
        """Compare the checksum of a variable, if requested. Without it, `variable` checks the name."""
        if self._verify:
            self.compare(name)

    def _read(self, name: str, index: tuple[Any, ...] | None) -> Any:
        values = self._reader.read(name, self.variable(name), index)
        if (marks := self.marks.get(name)) is not None:
            marks.restore(values, index)
        return values

    @watched
    def read_strings(self, name: str) -> Strings | None:
        """Return the bytes of a variable of strings, before they are decoded; None if it has none, or is legacy."""
        self._check(name)
        var = self.variable(name)
        is_string = var.size is not None and var.type is not None and var.type.is_string
        if not is_string or has_legacy_strings(self.header.version, var):
            return None
        try:
            return self._reader.decoder(var).strings()
        except DsError as error:
            raise error.at(path=self.path, variable=unescape(name))

    def handle(self, name: str) -> DsHandle:
        """Return a handle that reads one variable elsewhere; see `drivers.base.Source`."""
        version, body = self.header.version, self.header.body
        var = self.variable(name)
        return DsHandle(self._absolute, name, self._stamp, body, version, var, self.marks.get(name), self._known(var))

    def _known(self, var: VarHeader) -> tuple[tuple[int, bytes], ...]:
        """Return the bytes of a variable of a remote file that came with the header: a handle needs no request then."""
        if not isinstance(self.where, Address) or self.where.is_near:
            return ()
        offset, size = span_of(var, self.body.size)
        start = self.header.body + offset
        first = self._opened.head(FIRST_SIZE)
        return ((start, bytes(first[start : start + size])),) if 0 < size <= len(first) - start else ()

    @once
    def _absolute(self) -> Any:
        return absolute(self.where)

    @once
    def _stamp(self) -> Stamp:
        """Stamp of the file, to detect that it was replaced or modified."""
        return DsHandle.stamp_of(self._absolute, self.watch, self.line)

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
            elif (size := self._remains()) > 0:
                raise IntegrityError(f"trailer of checksums: damaged, found {size} bytes of it after the last value")
        except DsError as error:
            raise error.at(path=self.path)
        return found

    def _remains(self) -> int:
        """Return the number of bytes after the last value if they are what damage left of a trailer; otherwise 0."""
        with contextlib.suppress(DsError):  # reading a damaged variable reports it
            variables = [self.variable(key) for key in self.header.keys]
            start = self.header.body + max((self.extent(var)[1] for var in variables), default=0)
            size = self._opened.size - start
            if size and checksums.is_damaged(self._bytes, start, size, bytes(self._data[: self.header.body])):
                return size
        return 0

    def extent(self, var: VarHeader) -> tuple[int, int]:
        """Return start and end of the bytes of a variable in the body, whatever `.len` says.

        Raises
        ------
        FormatError
            If its mask or lengths are damaged.
        """
        if var.size is None or 0 in var.size:
            return 0, 0
        if has_legacy_strings(self.header.version, var):
            return var.offset, var.offset + var.length
        return var.offset, Decoder(var, locate(var, self.body.size), self.body).end

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
        return checksums.extents(self.line)

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

    @watched
    def read_into(self, places: Iterable[tuple[Stored, NDArray[Any]]]) -> None:
        """Read numbers into C-contiguous arrays."""
        stored, arrays = zip(*places, strict=True)
        offsets, sizes = np.array([(one.offset, one.size) for one in stored], np.int64).T.copy()
        self._opened.ranges(offsets, sizes, [array.reshape(-1).view(np.uint8) for array in arrays])

    def section(self, stored: Stored) -> Body:
        """Return the bytes of the file that contain numbers in one piece."""
        return self._opened.section(stored.offset or 0, stored.size)

    def _blocks(self, name: str, budget: int) -> Iterator[Any]:
        var = self.variable(name)
        if var.size is None or var.type is None or 0 in var.size:
            return
        if has_legacy_strings(self.header.version, var):
            yield as_array(self._read(name, None))
            return
        decoder = self._reader.decoder(var)
        size = decoder.item_size
        if var.type.is_string:
            size += OBJECT_SIZE + decoder.ends[-1] // max(decoder.present, 1)
        start, marks = 0, self.marks.get(name)
        for block in block_slices(var.size, size, min(budget, STEP * 64)):
            shape = tuple(part.stop - part.start for part in block)
            stop = start + int(np.prod(shape, dtype=np.int64))
            values = decoder.row(start, stop, shape)
            if marks is not None:
                marks.restore(values, start=start)
            yield values
            start = stop

    def close(self) -> None:
        """Release the file. It is closed as soon as no thread reads it. A file in memory stays readable."""
        if self._file is not None and not self._file.is_in_memory:
            self._file, self.watch = None, Watch()
            for name in ("body", "_reader"):
                vars(self).pop(name, None)


_kept = KeptDecoders()
"""Masks that handles have read, by the stamp of the file and the time of its last change by any process."""


@dataclass(frozen=True, slots=True)
class DsHandle(PositionedHandle):
    """A variable of a ds file; see `drivers.base.Handle`.

    Attributes
    ----------
    version : str
        Version of the format.
    var : VarHeader
        Header of the variable.
    marks : StoredMarks or None
        By which numbers its missing values are marked.
    known : tuple of (int, bytes)
        See `PositionedHandle`.
    """

    version: str
    var: VarHeader
    marks: StoredMarks | None = None
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
        reader = VariableReader(self.version, file.section(self.body), False, *self._kept())
        values = reader.read(self.key, self.var, index)
        if self.marks is not None:
            self.marks.restore(values, index)
        return values

    def _kept(self) -> tuple[KeptDecoders, Any]:
        """Return masks that handles have read, and what distinguishes those of this file; see `VariableReader`."""
        if not isinstance(self.path, Address):
            return _kept, (self.stamp, os.stat(self.path).st_ctime_ns)
        # without a version, a file that was replaced is not recognised
        return (_kept, (self.stamp, self.path)) if self.stamp.digest else (KeptDecoders(), None)
