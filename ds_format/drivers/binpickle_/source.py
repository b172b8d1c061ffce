"""Reading: the object of a file as a Source. Arrays are in memory as far as they are looked at."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...binpickle import checksums
from ...binpickle.format import IndexEntry
from ...binpickle.reader import BinPickleFile
from ...dataset import META
from ...errors import DsError, IntegrityError, MissingError
from ...names import unescape
from ...opened import Opened
from ...selection import is_whole, take
from ..base import BLOCK_SIZE, Metadata, block_slices
from ..loss import LossWarning
from ..strings import OBJECT_SIZE
from .foreign import variables


class BinPickleSource(Opened):
    """A BinPickle file; see `ds_format.drivers.base.Source`.

    The file is mapped, and its object made of views of it: texts and what is compressed are in memory, and nothing of
    the other arrays. The checksum of such an array is compared when all of it is read.

    Parameters
    ----------
    path : str, bytes or PathLike
    skip_unsupported : bool
        Leave out parts of the object that are no variables, with a `LossWarning`. Else they are listed, and reading
        them is an error.

    Raises
    ------
    OSError
        As `open` would.
    FormatError, IntegrityError
        If it is no BinPickle file, or damaged.
    UnsafeError
        If it has anything that could run code.
    UnsupportedError
        If its object has metadata that no dataset can have.
    """

    meta: Metadata

    def __init__(self, path: Any, *, skip_unsupported: bool = False):
        self.path = os.fsdecode(path)
        with BinPickleFile(self.path, direct=True) as file:
            self._version = file.header.version
            root = file.load()
            self._stored = _stored(file)
        try:
            self._arrays, self.meta, self._faults, self.is_own = variables(root)
        except DsError as error:
            raise error.at(path=self.path)
        for key, fault in self._faults.items():
            fault.at(path=self.path, variable=unescape(key))
            if skip_unsupported:
                warnings.warn(f"{fault}; it is left out", LossWarning, stacklevel=4)
                del self.meta[key]

    def read(self, name: str, index: tuple[Any, ...] | None = None) -> Any:
        """Return one variable, or a part of it; see `Source.read`.

        Raises
        ------
        IntegrityError
            If all of it is read, and its checksum differs.
        UnsupportedError
            If it is no variable.
        """
        array = self._array(name)
        if array is None:
            return None
        if index is None or is_whole(index, array.shape):
            for _, check in self._checks(name, array):
                check.all()
        part = _native(array if index is None else take(array, index))
        masked = isinstance(part, np.ma.MaskedArray)
        if masked and not np.ma.getmaskarray(part).any():
            part, masked = np.ma.getdata(part), False
        return part if part.ndim or masked else part[()]

    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Yield one variable in blocks; see `Source.blocks`.

        Raises
        ------
        IntegrityError
            At the end, if its checksum differs.
        """
        array = self._array(name)
        if array is None:
            return
        checks = self._checks(name, array)
        for slices in block_slices(array.shape, OBJECT_SIZE if array.dtype.kind in "OSU" else array.itemsize, budget):
            for part, check in checks:
                check.add(part[slices])
            yield _native(array[slices] if slices else array)
        for _, check in checks:
            check.finish()

    def _array(self, name: str) -> Any:
        if name not in self.meta or name == META:
            raise MissingError("variable not found", path=self.path, variable=unescape(name))
        if name in self._faults:
            raise self._faults[name].with_traceback(None)
        return self._arrays[name]

    def _checks(self, name: str, array: Any) -> list[tuple[Any, _Check]]:
        """Return the parts of an array, data and mask, that are in the file as they are."""
        mask: Any = np.ma.getmask(array)
        found = []
        for part in (np.ma.getdata(array), *(() if mask is np.ma.nomask else (mask,))):
            buffer, entry = self._stored.get(part.ctypes.data if part.size else 0, (None, None))
            if entry is not None and entry.enc_length == part.nbytes:
                found.append((part, _Check(self.path, unescape(name), buffer, entry, self._version)))
        return found

    def close(self) -> None:
        """Let go of the map."""
        self._arrays, self._stored = {}, {}


class _Check:
    """The checksum of an array in the file, on its way to be compared."""

    def __init__(self, path: str, variable: str, buffer: Any, entry: IndexEntry, version: int):
        self._path, self._variable, self._buffer, self._entry = path, variable, buffer, entry
        self._version = version
        self._sum = checksums.new(version)
        self._size = 0

    def all(self) -> None:
        """Compare the whole array at once."""
        self._sum = checksums.new(self._version)
        self._sum.update(self._buffer)
        self._compare()

    def add(self, block: Any) -> None:
        """Go on with the next block in C order."""
        if block.flags.c_contiguous:
            self._sum.update(block.reshape(-1).view(np.uint8))
            self._size += block.nbytes

    def finish(self) -> None:
        """Compare what has come; an array that is in the file in another order is read once more for that."""
        if self._size == self._entry.enc_length:
            self._compare()
        else:
            self.all()

    def _compare(self) -> None:
        found, expected = self._sum.result(), self._entry.checksum
        if found != expected:
            message = f"checksum: found {checksums.shown(found)}, expected {checksums.shown(expected)}"
            raise IntegrityError(message, path=self._path, variable=self._variable)


def _stored(file: BinPickleFile) -> dict[int, tuple[Any, IndexEntry]]:
    """Return what of a mapped file is in memory as it is in the file: address → buffer and entry."""
    found: dict[int, tuple[Any, IndexEntry]] = {}
    for i, entry in enumerate(file.entries[:-1]):
        if entry.enc_length and not entry.steps:
            buffer = file.read_entry(i)
            found[np.frombuffer(buffer, np.uint8).ctypes.data] = buffer, entry
    return found


def _native(array: Any) -> Any:
    """Return a copy in native byte order, strings as objects."""
    if array.dtype.kind in "SU":
        return array.astype(object)
    copied = array.astype(array.dtype.newbyteorder("="), order="C", copy=True)
    return copied if isinstance(array, np.ma.MaskedArray) else np.asarray(copied)
