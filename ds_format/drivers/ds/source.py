"""Reading a ds file variable by variable, in parts and in blocks, here or elsewhere."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.names import unescape
from ...base.once import once
from ...body import Opened
from ...body.body import Body
from ...body.mapped import mapped
from ...body.stamp import Stamp, Watch, watched, watched_blocks
from ...codec.attributes import from_json
from ...codec.decode import STEP
from ...codec.header import VarHeader
from ...codec.layout import check_numbers, locate
from ...codec.line import Header, HeaderLine
from ...dataset import as_array
from ...errors import DsError, MissingError
from ..base import BLOCK_SIZE, Metadata, block_slices
from ..ds_header import open_line
from ..handle import PositionedHandle
from ..library.missing import restore
from ..settings import NETCDF
from . import checksums
from .checksums import Sums
from .partial import decoder_of, has_legacy_strings, read_variable
from .variables import all_headers, faults_of, is_simple, read_headers, source_metadata

STRING_OVERHEAD = 64
"""Bytes that a Python string takes besides its characters."""


class DsSource(Opened):
    """An open ds file; see `drivers.base.Source`.

    Parameters
    ----------
    path : str, bytes or PathLike
    mmap : bool
        Map the file copy-on-write: large arrays are views of it, which may be changed without changing the file. Who
        shortens the file in place takes their memory away, and the system ends this process.
    strings : bool
        Whether text becomes StringDType arrays instead of object arrays of `str`.
    verify : bool
        Whether the checksums of the header, and of each variable before it is read, are compared, if the file has any.
    """

    def __init__(self, path: Any, *, mmap: bool = False, strings: bool = False, verify: bool = False):
        file, self._data = open_line(path)
        self.path = file.name
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
        """What the first bytes of the file say."""
        return self.line.header()

    @once
    def body(self) -> Body:
        """The bytes behind the header."""
        return self._opened.section(self.header.body)

    @property
    def _opened(self) -> Body:
        """The bytes of the file."""
        if self._file is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self.path)
        return self._file

    @once
    def meta(self) -> Metadata:
        """From the header."""
        return source_metadata(self.header, self.line.meta(from_json))

    @once
    def _headers(self) -> dict[str, VarHeader]:
        """What the header says of variables that were asked for."""
        return {}

    @once
    def faults(self) -> Mapping[str, DsError]:
        """From the header."""
        return faults_of(self.header, self.path)

    def variable(self, name: str) -> VarHeader:
        """Return what the header says of one variable.

        Raises
        ------
        MissingError, FormatError
            If there is none, or a property of it is wrong.
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
        """Return what reads one variable elsewhere; see `drivers.base.Source`."""
        version, body = self.header.version, self.header.body
        return DsHandle(self._absolute, name, self._stamp, body, version, self.variable(name))

    @once
    def _absolute(self) -> str:
        return os.path.abspath(self.path)

    @once
    def _stamp(self) -> Stamp:
        """What tells whether the file is still this one."""
        header = memoryview(self._data)[: self.header.body]
        return DsHandle.stamp_of(self.path, self.watch, header)

    @once
    def sums(self) -> Sums | None:
        """The checksums of the file, that of its header compared; None if it has none.

        Raises
        ------
        IntegrityError
            If that of the header differs, or the trailer is damaged.
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
        """Variables of which the checksums were compared."""
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
        """Where the bytes of each variable begin in the file, and how many they are."""
        return checksums.extents(bytes(self._data[: self.header.body]))

    def _bytes(self, offset: int, size: int) -> Any:
        """Return bytes of the file, as many as there are."""
        return self._opened.read(offset, max(min(size, self._opened.size - offset), 0))

    def check_sizes(self, names: Iterable[str]) -> None:
        """Check, before anything is allocated, that the file has the bytes that values of variables take at least.

        Raises
        ------
        FormatError
            If it has not; the message names the variable.
        """
        for name in names:
            try:
                var = self.variable(name)
                if var.size is not None:
                    locate(var, self.body.size)
            except DsError as error:
                raise error.at(path=self.path, variable=unescape(name))

    def stored(self, name: str) -> Body | None:
        """Return the numbers of a variable, if they lie in a file without a mask and in little-endian order."""
        try:
            var = self.variable(name)
            if var.type is None or var.size is None or not var.type.is_number or var.missing:
                return None
            if var.type.ordered and var.big:
                return None
            check_numbers(var, self.body.size)
        except DsError as error:
            raise error.at(path=self.path, variable=unescape(name))
        if self.body.fd is None:
            return None
        return self.body.section(var.offset, math.prod(var.size) * var.type.size)

    @watched_blocks
    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Yield one variable in blocks."""
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
                size += STRING_OVERHEAD + decoder.ends[-1] // max(decoder.present, 1)
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
        """Let go of the file, which is closed when no thread reads it any more. What is in memory stays readable."""
        if self._file is not None and self._file.fd is not None:
            self._file, self.watch = None, Watch()
            vars(self).pop("body", None)


@dataclass(frozen=True, slots=True)
class DsHandle(PositionedHandle):
    """A variable of a ds file; see `drivers.base.Handle`.

    Attributes
    ----------
    version : str
        Of the format.
    var : VarHeader
        What the header says of the variable.
    """

    version: str
    var: VarHeader

    @property
    def shape(self) -> tuple[int, ...] | None:
        """None: no data."""
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
