"""Reading: the object of a file as a Source, with arrays read on demand; and checking a file."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.progress import Progress
from ...base.text import unescape
from ...binpickle import format
from ...binpickle.machine.allowed import PostponedArray, PostponedMasked
from ...binpickle.reader import BinPickleFile
from ...body import path_text
from ...body.body import PIECE_SIZE
from ...errors import DsError, UnsafeError
from ...model.index import is_whole, split_axis, take
from ..base import (
    ERROR,
    OBJECT_SIZE,
    WARNING,
    Metadata,
    Problem,
    Report,
    block_slices,
)
from ..slabs import Slices, read_part
from ..source import ReopenedSource, finished
from .foreign import POSTPONED, variables


class Arrays:
    """The arrays of an open file.

    Compressed arrays are decoded on first access, and stay in memory.

    Parameters
    ----------
    file : BinPickleFile
    """

    def __init__(self, file: BinPickleFile):
        self._file = file
        self._decoded: dict[int, Any] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._decoded = {}

    def whole(self, array: PostponedArray) -> NDArray[Any]:
        """Return a writable array, after comparing its checksum.

        Raises
        ------
        IntegrityError, TruncatedError, FormatError
            If the bytes are not those that were written; the message names file and entry.
        """
        if self._file.entries[array.number].steps:
            return self._decode(array).copy()
        return array.over(self._file.read_entry(array.number))

    def _decode(self, array: PostponedArray) -> NDArray[Any]:
        """Return a decoded array, which shares memory with other results."""
        with self._lock:
            if array.number not in self._decoded:
                self._decoded[array.number] = self._file.read_entry(array.number)
            return array.over(self._decoded[array.number])

    def part(self, array: PostponedArray, index: Sequence[Any]) -> NDArray[Any]:
        """Return a writable part of an array by a normalized index; all of it as `whole`.

        Raises
        ------
        IntegrityError, TruncatedError, FormatError
            As from `whole`. The checksum is compared only if all values are read.
        """
        if is_whole(index, array.shape):
            return self.whole(array)
        if self._file.entries[array.number].steps:
            return np.array(take(self._decode(array), index))
        stored = [index[array.axes.index(axis)] for axis in range(len(array.axes))]
        found = read_part(
            lambda slices: self._slab(array, slices), array.stored, stored, array.dtype.itemsize, chunk=None
        )
        kept = [axis for axis in array.axes if not isinstance(stored[axis], int)]
        return found.transpose(np.argsort(np.argsort(kept)))

    def blocks(self, array: PostponedArray, item_size: int, budget: int) -> Iterator[NDArray[Any]]:
        """Yield an array in writable blocks, cut by `block_slices`.

        Raises
        ------
        IntegrityError
            At the end, if its checksum differs.
        TruncatedError, FormatError
            As from `whole`.
        """
        entry = self._file.entries[array.number]
        is_in_order = not entry.steps and array.axes == tuple(range(len(array.axes)))
        sum_ = format.new_checksum(self._file.header.version)
        for slices in block_slices(array.shape, item_size, budget):
            if entry.steps:
                yield self._decode(array)[slices].copy()
                continue
            block = self._slab(array, slices) if is_in_order else self._piece(array, slices)
            if is_in_order:
                sum_.update(block.reshape(-1).view(np.uint8))
            yield block
        if not entry.steps and not (is_in_order and sum_.digest() == entry.checksum):
            self._file.verify_entry(array.number)

    def _piece(self, array: PostponedArray, slices: Slices) -> NDArray[Any]:
        stored = tuple(slices[array.axes.index(axis)] for axis in range(len(array.axes)))
        return self._slab(array, stored).transpose(array.axes)

    def _slab(self, array: PostponedArray, slices: Slices) -> NDArray[Any]:
        """Return a slab of the stored array, in C order: slices of step 1, one for each dimension."""
        shape, dtype = array.stored, array.dtype
        out: NDArray[Any] = np.empty([part.stop - part.start for part in slices], dtype)
        if not out.size:
            return out
        index = [range(part.start, part.stop) for part in slices]
        axis = split_axis(index, shape, dtype.itemsize, self._file.gap) if slices else 0
        inner = math.prod(shape[axis + 1 :]) * dtype.itemsize
        starts = np.zeros(1, np.int64)
        for n, part in zip(shape[:axis], index[:axis], strict=True):
            starts = (starts[:, None] * n + np.arange(part.start, part.stop)).reshape(-1)
        if not slices or out.shape[axis + 1 :] == shape[axis + 1 :]:
            first = starts * (shape[axis] * inner) + index[axis].start * inner if slices else starts
            self._file.fill(array.number, first, out.nbytes // len(starts), out.reshape(-1).view(np.uint8))
            return out
        rows = out.reshape(len(starts), len(index[axis]), *out.shape[axis + 1 :])
        for some, at, place in _pieces(starts * (shape[axis] * inner), index[axis], inner):
            n = at.stop - at.start
            bytes_ = np.empty(len(place) * n * inner, np.uint8)
            self._file.fill(array.number, place, n * inner, bytes_)
            block = bytes_.view(dtype).reshape(len(place), n, *shape[axis + 1 :])
            rows[some, at] = block[(slice(None), slice(None), *slices[axis + 1 :])]
        return out


def _pieces(starts: NDArray[np.int64], item: range, inner: int) -> Iterator[tuple[slice, slice, NDArray[np.int64]]]:
    """Cut ranges into pieces: the rows, the positions in each, and their starts in bytes."""
    step = max(1, min(len(item), PIECE_SIZE // inner))
    batch = max(1, PIECE_SIZE // (inner * len(item))) if step == len(item) else 1
    for i in range(0, len(starts), batch):
        for first in range(0, len(item), step):
            stop = min(first + step, len(item))
            yield slice(i, i + batch), slice(first, stop), starts[i : i + batch] + (item.start + first) * inner


class BinPickleSource(ReopenedSource):
    """A BinPickle file; see `ds_format.drivers.base.Source`.

    Arrays in dictionaries and lists are read on demand, and only the requested part. Everything else, such as texts
    and data of pandas, is in memory. The checksum of an array is compared when all of it is read. Nothing is mapped, so
    that truncating the file is an error.

    Parameters
    ----------
    path : str, bytes or PathLike
    skip_unsupported : bool
        Omit parts of the object that cannot be variables, with a `LossWarning`. By default they are listed, and reading
        them is an error.

    Raises
    ------
    OSError
        As from `open`.
    FormatError, IntegrityError
        If it is not a BinPickle file, or is damaged.
    UnsafeError
        If it has anything that could run code.
    UnsupportedError
        If its object has metadata that do not fit a dataset.
    """

    meta: Metadata

    def __init__(self, path: Any, *, skip_unsupported: bool = False):
        self.path = path_text(path)
        file = BinPickleFile(path)
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
            self._leave_out_faults()

    def _read(self, name: str, index: tuple[Any, ...] | None) -> Any:
        """Return one variable, or a part of it; see `BaseSource`.

        Raises
        ------
        IntegrityError
            If all of it is read, and its checksum differs.
        TruncatedError
            If the file has become shorter.
        """
        array = self._arrays[name]
        if array is None:
            return None
        return finished(_native(self._part(array, index), copy=not isinstance(array, POSTPONED)))

    def _part(self, array: Any, index: tuple[Any, ...] | None) -> Any:
        if isinstance(array, PostponedMasked):
            return np.ma.MaskedArray(self._part(array.data, index), self._part(array.mask, index))
        if not isinstance(array, PostponedArray):
            return array if index is None else take(array, index)
        return self._stored.whole(array) if index is None else self._stored.part(array, index)

    def _blocks(self, name: str, budget: int) -> Iterator[Any]:
        """Yield one variable in blocks; see `BaseSource`.

        Raises
        ------
        IntegrityError
            At the end, if its checksum differs.
        TruncatedError
            If the file has become shorter.
        """
        array = self._arrays[name]
        if array is not None:
            item_size = OBJECT_SIZE if array.dtype.kind in "OSU" else array.dtype.itemsize
            for block in self._stored_blocks(array, item_size, budget):
                yield _native(block, copy=not isinstance(array, POSTPONED))

    def _stored_blocks(self, array: Any, item_size: int, budget: int) -> Iterator[Any]:
        if isinstance(array, PostponedMasked):
            both = (self._stored.blocks(part, item_size, budget) for part in array)
            yield from (np.ma.MaskedArray(data, mask) for data, mask in zip(*both, strict=True))
        elif isinstance(array, PostponedArray):
            yield from self._stored.blocks(array, item_size, budget)
        else:
            for slices in block_slices(array.shape, item_size, budget):
                yield array[slices] if slices else array

    def close(self) -> None:
        """Close the file."""
        self._stored.close()


def _native(array: Any, *, copy: bool) -> Any:
    """Return values in native byte order and C order, with strings as objects; a copy if necessary or requested."""
    if array.dtype.kind in "SU":
        return (np.asarray(array) if isinstance(array, np.generic) else array).astype(object)
    native = array.astype(array.dtype.newbyteorder("="), order="C", copy=copy)
    return native if isinstance(native, np.ma.MaskedArray) else np.asarray(native)


TRUSTED = "trusted=True"
"""Part of the message of an `UnsafeError` if this option would load the object."""


def check(path: Any, report: Report, *, strict: bool, progress: Progress | None = None) -> BinPickleSource | None:
    """Compare all checksums, decode compressed buffers, and make the object, without running code.

    A correct file that only `trusted=True` loads is a warning.

    Returns
    -------
    BinPickleSource, optional
        If its variables are still to be read: it is a dataset, and there was no error.

    Raises
    ------
    DsError, OSError
        If it is not a BinPickle file, or cannot be read.
    """
    name = path_text(path)
    with BinPickleFile(path) as file:
        errors = file.find_errors(progress)
        is_own = False
        if not errors:
            try:
                is_own = variables(file.load_postponed()).is_own
            except DsError as error:
                if isinstance(error, UnsafeError) and TRUSTED in error.message:
                    report(Problem(name, None, error.message, WARNING))
                else:
                    errors.append(error.message)
    for message in errors:
        report(Problem(name, None, message, ERROR))
    return BinPickleSource(path, skip_unsupported=True) if is_own else None
