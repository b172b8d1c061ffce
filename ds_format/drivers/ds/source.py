"""Reading a ds file variable by variable, in parts and in blocks."""

from __future__ import annotations

import functools
import importlib
import math
import mmap as mmap_module
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...codec.attributes import from_json
from ...codec.body import Body, MemoryBody
from ...codec.decode import STEP
from ...codec.header import VarHeader
from ...codec.header_line import HeaderLine
from ...codec.layout import check_numbers, locate
from ...codec.line import Header
from ...dataset import as_array
from ...errors import DsError, MissingError
from ...names import unescape
from ...once import once
from ...opened import Opened
from ..base import BLOCK_SIZE, Metadata, StoredNumbers, block_slices
from ..ds_header import open_line
from ..stamp import Stamp, Watch, watched, watched_blocks
from . import checksums
from .checksums import Sums
from .file_body import FileBody
from .partial import decoder_of, has_legacy_strings, read_variable
from .variables import all_headers, faults_of, is_simple, read_headers, source_metadata

if TYPE_CHECKING:
    from .handle import DsHandle

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
        self.path = os.fsdecode(path)
        self.strings = strings
        self._share = mmap
        self._verify = verify
        self._fd = -1
        self.watch = Watch()
        try:
            self._fd, self._size, self._data, self.watch = open_line(path)
            self.line = HeaderLine(self._data)
        except DsError as error:
            self.close()
            raise error.at(path=self.path)
        if mmap:
            self.body  # noqa: B018 - maps the file, which must be open for that

    @once
    def header(self) -> Header:
        """What the first bytes of the file say."""
        return self.line.header()

    @once
    def body(self) -> Body:
        """The bytes behind the header: of a small file in memory, else on disk, or mapped."""
        start = self.header.body
        if len(self._data) >= self._size:
            return MemoryBody(self._data, start, self._share)
        if self._share:
            return MemoryBody(mmap_module.mmap(self._fd, 0, access=mmap_module.ACCESS_COPY), start, share=True)
        return FileBody(self._fd, start, self._size - start)

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
            return read_variable(self.header.version, name, self.variable(name), self.body, self.strings, index)
        except DsError as error:
            raise error.at(path=self.path, variable=unescape(name))

    def handle(self, name: str) -> DsHandle:
        """Return what reads one variable elsewhere; see `drivers.base.Source`."""
        version, body = self.header.version, self.header.body
        handle: DsHandle = _handles().DsHandle(self._absolute, name, self._stamp, body, version, self.variable(name))
        return handle

    @once
    def _absolute(self) -> str:
        return os.path.abspath(self.path)

    @once
    def _stamp(self) -> Stamp:
        """What tells whether the file is still this one."""
        header = memoryview(self._data)[: self.header.body]
        found: Stamp = _handles().DsHandle.stamp_of(self.path, self.watch, header)
        return found

    @once
    def sums(self) -> Sums | None:
        """The checksums of the file, that of its header compared; None if it has none.

        Raises
        ------
        IntegrityError
            If that of the header differs, or the trailer is damaged.
        """
        try:
            found = checksums.find(self._bytes, self._size, len(self.header.keys))
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
        """Return bytes of the file."""
        start = self.header.body
        if offset >= start:
            return self.body.view(offset - start, max(min(size, self._size - offset), 0))
        return memoryview(self._data)[offset : offset + size]

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

    def stored(self, name: str) -> StoredNumbers | None:
        """Return where the numbers of a variable lie, if they do so without a mask and in little-endian order."""
        try:
            var = self.variable(name)
            if var.type is None or var.size is None or not var.type.is_number or var.missing or self._fd < 0:
                return None
            if var.type.ordered and var.big:
                return None
            check_numbers(var, self.body.size)
        except DsError as error:
            raise error.at(path=self.path, variable=unescape(name))
        n = math.prod(var.size)
        return StoredNumbers(self._fd, self.header.body + var.offset, n * var.type.size, n, self.watch)

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
                yield decoder.row(start, stop).reshape(shape)
                start = stop
        except DsError as error:
            raise error.at(path=self.path, variable=unescape(name))

    def close(self) -> None:
        """Release the file."""
        if self._fd >= 0:
            self.watch.close()
            os.close(self._fd)
            self._fd = -1
            if not self._share:
                vars(self).pop("body", None)  # the next one has no descriptor, where this one's may be another file's

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            self.close()


@functools.cache
def _handles() -> Any:
    """Return the module of handles: who reads a file, and makes none, need not load it."""
    return importlib.import_module(".handle", __package__)
