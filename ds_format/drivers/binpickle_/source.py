"""Reading: the object of a file as a Source. Arrays are read when they are looked at."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...base.names import unescape
from ...binpickle.machine.postponed import PostponedArray, PostponedMasked
from ...binpickle.reader import BinPickleFile
from ...body.stamp import watched, watched_blocks
from ...dataset import META
from ...errors import DsError, MissingError
from ...model.index import take
from ..base import BLOCK_SIZE, LossWarning, Metadata, block_slices, check_faults
from ..handle import Reopened
from ..strings import OBJECT_SIZE
from .bounds import POSTPONED
from .foreign import variables
from .reading import Arrays


class BinPickleSource(Reopened):
    """A BinPickle file; see `ds_format.drivers.base.Source`.

    Arrays in dictionaries and lists are read when they are wanted, and then only the part that is; what they are parts
    of, texts, and what pandas needs, is in memory. The checksum of an array is compared when all of it is read.
    Nothing is mapped: a file that somebody shortens meanwhile is an error.

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
    faults: Mapping[str, DsError]

    def __init__(self, path: Any, *, skip_unsupported: bool = False):
        self.path = os.fsdecode(path)
        file = BinPickleFile(self.path)
        try:
            self._arrays, self.meta, self.faults, self.is_own = variables(file.load_postponed())
        except BaseException as error:
            file.close()
            if isinstance(error, DsError):
                error.at(path=self.path)
            raise
        self._stored = Arrays(file)
        for key, fault in self.faults.items():
            fault.at(path=self.path, variable=unescape(key))
            if skip_unsupported:
                warnings.warn(f"{fault}; it is left out", LossWarning, stacklevel=4)
                del self.meta[key]
        if skip_unsupported:
            self.faults = {}

    @watched
    def read(self, name: str, index: tuple[Any, ...] | None = None) -> Any:
        """Return one variable, or a part of it; see `Source.read`.

        Raises
        ------
        IntegrityError
            If all of it is read, and its checksum differs.
        TruncatedError
            If the file has become shorter.
        UnsupportedError
            If it is no variable.
        """
        array = self._array(name)
        if array is None:
            return None
        try:
            part = _native(self._part(array, index), copy=not isinstance(array, POSTPONED))
        except DsError as error:
            raise error.at(path=self.path, variable=unescape(name))
        masked = isinstance(part, np.ma.MaskedArray)
        if masked and not np.ma.getmaskarray(part).any():
            part, masked = np.ma.getdata(part), False
        return part if part.ndim or masked else part[()]

    def _part(self, array: Any, index: tuple[Any, ...] | None) -> Any:
        if isinstance(array, PostponedMasked):
            return np.ma.MaskedArray(self._part(array.data, index), self._part(array.mask, index))
        if not isinstance(array, PostponedArray):
            return array if index is None else take(array, index)
        return self._stored.whole(array) if index is None else self._stored.part(array, index)

    @watched_blocks
    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Yield one variable in blocks; see `Source.blocks`.

        Raises
        ------
        IntegrityError
            At the end, if its checksum differs.
        TruncatedError
            If the file has become shorter.
        """
        array = self._array(name)
        if array is None:
            return
        item_size = OBJECT_SIZE if array.dtype.kind in "OSU" else array.dtype.itemsize
        try:
            for block in self._blocks(array, item_size, budget):
                yield _native(block, copy=not isinstance(array, POSTPONED))
        except DsError as error:
            raise error.at(path=self.path, variable=unescape(name))

    def _blocks(self, array: Any, item_size: int, budget: int) -> Iterator[Any]:
        if isinstance(array, PostponedMasked):
            both = (self._stored.blocks(part, item_size, budget) for part in array)
            yield from (np.ma.MaskedArray(data, mask) for data, mask in zip(*both, strict=True))
        elif isinstance(array, PostponedArray):
            yield from self._stored.blocks(array, item_size, budget)
        else:
            for slices in block_slices(array.shape, item_size, budget):
                yield array[slices] if slices else array

    def _array(self, name: str) -> Any:
        if name not in self.meta or name == META:
            raise MissingError("variable not found", path=self.path, variable=unescape(name))
        check_faults(self.faults, [name])
        return self._arrays[name]

    def close(self) -> None:
        """Let go of the file."""
        self._stored.close()


def _native(array: Any, *, copy: bool) -> Any:
    """Return values in native byte order and in C order, strings as objects; a copy if that is needed, or wanted."""
    if array.dtype.kind in "SU":
        return (np.asarray(array) if isinstance(array, np.generic) else array).astype(object)
    native = array.astype(array.dtype.newbyteorder("="), order="C", copy=copy)
    return native if isinstance(native, np.ma.MaskedArray) else np.asarray(native)
