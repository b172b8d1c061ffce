"""Chunks that are compressed here, in threads, and put by h5py into the file that the netCDF4 library defined.

The library compresses in one thread. So it closes the file when the first variable that gains is to be written, and
h5py opens it (`H5Dwrite_chunk`). The file is never open in both libraries. While h5py has it, it writes other numbers,
too. Text, enumerations, and variables that are not defined yet need the library, which then opens the file again.

A row of chunks, which have the same position along the first axis, is compressed as soon as its values are complete. A
block of whole rows is not copied.
"""

from __future__ import annotations

import importlib
import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base import threads
from ...base.batches import batched
from ...base.dtypes import TYPES
from ...codec.filters import FLETCHER32, SHUFFLE, ZLIB_NUMBER
from ...codec.pipeline import ChunkFilter, encoder, find_encoder
from ...model.rounding import Rounding
from ...model.settings import NON_COORDINATE, setting
from ..library.catalog import split
from ..library.options import ROW_SIZE
from ..library.plan import VariablePlan
from .definition import DefinedVariable
from .format import file_dtype
from .writers import VariableWriter

MIN_SIZE = 1024 * 1024
"""Bytes of a variable from which on it is compressed here: to close and open the file takes about a millisecond."""

IMPORT_SIZE = 16 * 1024 * 1024
"""Bytes that the library compresses in the time that it takes to import h5py and to compress them here."""

PIECE_SIZE = 1024 * 1024
"""Bytes of the chunks that a thread compresses at a time, at least."""

USUAL = frozenset({ZLIB_NUMBER, SHUFFLE, FLETCHER32})
"""Filters that every HDF5 library has."""


def gains(plan: VariablePlan) -> bool:
    """Whether a variable is compressed, and large enough that it takes less time here."""
    return "compression" in plan.record and _size(plan) >= MIN_SIZE


def is_worth(plans: Sequence[VariablePlan]) -> bool:
    """Whether h5py is there, and compressing here takes less time than the library would."""
    total = sum(_size(plan) for plan in plans if gains(plan))
    if not total or (total < IMPORT_SIZE and "h5py" not in sys.modules):
        return False
    try:
        importlib.import_module("h5py")
    except ImportError:
        return False
    return True


def _size(plan: VariablePlan) -> int:
    """Return the bytes of a variable of numbers or booleans; 0 of others."""
    if plan.type is None or TYPES[plan.type].is_string:
        return 0
    return plan.total * file_dtype(plan.type).itemsize


def open_file(path: str) -> Any:
    """Open a file by h5py, which the library has closed."""
    return importlib.import_module("h5py").File(path, "r+")


def writer_of(file: Any, defined: DefinedVariable, rounding: Rounding | None) -> VariableWriter | None:
    """Return a writer of a variable; None if the library must write it.

    Parameters
    ----------
    file : h5py.File
    defined : DefinedVariable
    rounding : Rounding, optional
    """
    if defined.kind not in ("number", "bool"):
        return None
    group, base = split(defined.plan.name)
    # under its own name a dimension may be stored
    dataset = file.get(f"{group}/{NON_COORDINATE}{base}") or file.get(f"{group}/{base}")
    if dataset is None or len(dataset.shape) != len(defined.plan.shape or ()):
        return None
    properties = dataset.id.get_create_plist()
    filters = [properties.get_filter(i) for i in range(properties.get_nfilters())]
    if _size(defined.plan) >= MIN_SIZE and filters:
        encoders = [find_encoder(number, values) for number, _, values, _ in filters]
        row = dataset.chunks[0] * math.prod(dataset.shape[1:]) * dataset.dtype.itemsize
        known = tuple(each for each in encoders if each is not None)
        return (
            ChunkWriter(defined, rounding, dataset, known) if len(known) == len(filters) and row <= ROW_SIZE else None
        )
    is_enum = setting(defined.plan.record, "enum", dict) is not None
    if is_enum or not USUAL.issuperset(number for number, *_ in filters):
        return None
    return NumberSlabWriter(defined, rounding, dataset)


class NumberSlabWriter(VariableWriter):
    """Writes slabs by h5py.

    Parameters
    ----------
    defined : DefinedVariable
    rounding : Rounding, optional
    dataset : h5py.Dataset
    """

    def __init__(self, defined: DefinedVariable, rounding: Rounding | None, dataset: Any):
        super().__init__(defined, rounding)
        self.dataset = dataset
        if self.plan.total and dataset.shape != self.plan.shape:
            dataset.resize(self.plan.shape)

    def put(self, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
        """See `LibraryWriter.put`."""
        self.dataset[slices if slices else ()] = values if slices else values[()]


class Row(NamedTuple):
    """Values of whole rows of chunks."""

    first: int
    """Their first index along the first axis."""
    array: NDArray[Any]
    """Has the rank of the variable."""


class ChunkWriter(NumberSlabWriter):
    """Compresses chunks, and puts them into the file.

    Parameters
    ----------
    defined : DefinedVariable
    rounding : Rounding, optional
    dataset : h5py.Dataset
    filters : tuple of ChunkFilter
    """

    def __init__(
        self, defined: DefinedVariable, rounding: Rounding | None, dataset: Any, filters: tuple[ChunkFilter, ...]
    ):
        super().__init__(defined, rounding, dataset)
        self._encode = encoder(filters)
        self._chunk: tuple[int, ...] = dataset.chunks
        self._stored: np.dtype[Any] = dataset.dtype
        self._fill = dataset.fillvalue
        self._shape = self.plan.shape or ()
        self._inner = math.prod(self._shape[1:])
        self._row: NDArray[Any] | None = None

    def add(self, values: NDArray[Any], guard: AbstractContextManager[None]) -> None:
        """Compress the rows that are complete, and keep the others; see `LibraryWriter.add`."""
        length, total = self._chunk[0] * self._inner, self.plan.total
        while len(values):
            start = self.written - self.written % length
            end = min(start + length, total)
            if self.written == start and len(values) >= end - start:
                stop = self.written + len(values)
                n = len(values) if stop == total else stop - stop % length - start
                self._write(self._rows(start, values[:n]), guard)
            else:
                n = min(len(values), end - self.written)
                if self._row is None:
                    self._row = np.empty(min(length, total), self.dtype)
                self._row[self.written - start :][:n] = values[:n]
                if self.written + n == end:
                    self._write(self._rows(start, self._row[: end - start]), guard)
            values = values[n:]
            self.written += n

    def _rows(self, start: int, values: NDArray[Any]) -> Row:
        return Row(start // self._inner, values.reshape(-1, *self._shape[1:]))

    def _write(self, row: Row, guard: AbstractContextManager[None]) -> None:
        """Put chunks into the file, which other threads compress without the lock."""

        def work(places: Sequence[tuple[int, ...]]) -> list[tuple[tuple[int, ...], Any]]:
            return [(place, self._encoded(row, place)) for place in places]

        for done in threads.results(work, self._batches(row)):
            with guard:
                for place, data in done:
                    offsets = tuple(i * n for i, n in zip(place, self._chunk, strict=True))
                    self.dataset.id.write_direct_chunk(offsets, data)

    def _batches(self, row: Row) -> Iterator[list[tuple[int, ...]]]:
        """Yield the places of all chunks of rows, counted in chunks, as many as a thread compresses at a time."""
        stops = [row.first + len(row.array), *self._shape[1:]]
        axes = [range(math.ceil(stop / n)) for stop, n in zip(stops, self._chunk, strict=True)]
        places = itertools.product(axes[0][row.first // self._chunk[0] :], *axes[1:])
        n = max(PIECE_SIZE // (math.prod(self._chunk) * self._stored.itemsize), 1)
        return batched(places, n)

    def _encoded(self, row: Row, place: tuple[int, ...]) -> Any:
        """Return a chunk as it is stored: whole, with fill values beyond the edge of the variable."""
        starts = [i * n for i, n in zip(place, self._chunk, strict=True)]
        starts[0] -= row.first
        part = row.array[tuple(slice(start, start + n) for start, n in zip(starts, self._chunk, strict=True))]
        if part.shape == self._chunk:
            whole = np.ascontiguousarray(part, self._stored)
        else:
            whole = np.full(self._chunk, self._fill, self._stored)
            whole[tuple(slice(0, n) for n in part.shape)] = part
        return self._encode(whole.reshape(-1).view(np.uint8))
