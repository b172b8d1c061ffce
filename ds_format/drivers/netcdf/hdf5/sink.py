"""Writing: a netCDF-4 file as a Sink, without a library.

The values of a small file are kept until all are known, and then it is composed. If the composer does not cover it, the
library writes it from the same records. Those of a large file are written as they arrive.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....base.dtypes import TYPES
from ....body.body import OutputBody
from ....codec.filters import HDF5
from ....errors import UnsupportedError
from ....hdf5.composing import MAX_RANK, MAX_VALUES, STRING_SIZE, NewStorage, NotCovered
from ....hdf5.streaming import REFERENCE, OutputStream, StreamedChunks, StreamedRun
from ....model.rounding import Rounding
from ....model.settings import chunk_sizes, setting
from ...library.options import ROW_SIZE
from ...library.plan import Facts, VariablePlan
from ..attributes import encode
from ..by_library import write_by_library
from ..definition import DefinedVariable, char_dimension
from ..format import chunk_of
from ..records import FileRecords
from ..sink import OwnSink, WritingPlan
from ..writers import ConsecutiveWriter, VariableWriter
from .composing import COMPRESSIONS, Streamed, compose, layout_of, objects_of

MAX_VARIABLES = 4000
"""Variables of a large file, at most: each may be in an attribute of one dimension, of which 64 KiB are covered."""

MAX_ATTRIBUTE = 60_000
"""Bytes of an attribute of a large file, at most."""

FILTERS = frozenset({"compression", "shuffle", "fletcher32"})
"""Settings by which a variable has chunks."""


def is_small(planned: WritingPlan) -> bool:
    """Return whether a file is likely to be composed: netCDF-4 with few values and no filter that needs a library."""
    sizes = map(_size, planned.plan.variables.values())
    return _has_known_filters(planned) and sum(sizes) <= MAX_VALUES


def is_covered(planned: WritingPlan) -> bool:
    """Return whether a large file is written here: all of it must be covered, since values are not kept."""
    plan = planned.plan
    return (
        _has_known_filters(planned)
        and len(plan.variables) <= MAX_VARIABLES
        and all(_row_size(each, plan.unlimited) <= ROW_SIZE for each in plan.variables.values())
        and all(_fit(each.attributes, planned.format) for each in plan.variables.values())
        and all(_fit(each, planned.format) for each in plan.attributes.values())
    )


def _has_known_filters(planned: WritingPlan) -> bool:
    variables = planned.plan.variables.values()
    # the library has to know a compression that was asked for, whether or not a variable gains by it
    compressions = {setting(each.record, "compression", str) for each in variables} | planned.storage.compressions
    ranks = [len(each.shape or ()) for each in variables]
    return (
        planned.format.startswith("NETCDF4")
        and all(map(_is_available, compressions - {None}))
        and max(ranks, default=0) < MAX_RANK
    )


def _is_available(compression: str | None) -> bool:
    return compression in COMPRESSIONS and HDF5[COMPRESSIONS[compression]].is_available()


def _size(variable: VariablePlan) -> int:
    return variable.total * _item_size(variable)


def _item_size(variable: VariablePlan) -> int:
    char = char_dimension(variable)
    is_text = variable.type is None or TYPES[variable.type].is_string
    size = char[1] if char is not None else STRING_SIZE if is_text else TYPES[variable.type or "float64"].size
    return max(size, 1)


def _row_size(variable: VariablePlan, unlimited: Collection[str]) -> int:
    """Return the bytes of values that are in memory until chunks are complete."""
    shape = variable.shape or ()
    if not variable.total:
        return 0
    is_unlimited = tuple([dim in unlimited for dim in variable.dims]) or (False,) * len(shape)
    has_filters = not FILTERS.isdisjoint(variable.record)
    chunk = chunk_of(
        chunk_sizes(variable.record, shape) or None, shape, is_unlimited, _item_size(variable), has_filters
    )
    if not chunk:
        return 0
    return max(min(chunk[0], shape[0]) * math.prod(shape[1:]), math.prod(chunk)) * _item_size(variable)


def _fit(attributes: Mapping[str, Any], format: str) -> bool:
    """Return whether attributes are small enough, or one has no form, which defining the file says."""
    try:
        encoded = {name: encode(value, format) for name, value in attributes.items()}
    except UnsupportedError:
        return True
    names = sum(len(json.dumps(name)) for name, each in encoded.items() if each.form == "json")  # in one attribute
    return max([names, *(_stored_size(each.value) for each in encoded.values())]) <= MAX_ATTRIBUTE


def _stored_size(value: Any) -> int:
    if isinstance(value, list):
        return STRING_SIZE * len(value)
    return len(value) if isinstance(value, bytes) else int(value.nbytes)


class RecordingWriter(ConsecutiveWriter):
    """Keeps the values of a variable.

    Parameters
    ----------
    defined : DefinedVariable
    rounding : Rounding, optional
    values : dict
        Path of a variable → all its values: the variable is added.
    """

    def __init__(self, defined: DefinedVariable, rounding: Rounding | None, values: dict[str, NDArray[Any]]):
        super().__init__(defined, rounding)
        self._parts: list[NDArray[Any]] = []
        self._values = values

    def put(self, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
        """Keep values after those already kept, whatever the slices."""
        self._parts.append(np.array(values))

    def finish(self) -> list[str]:
        """See `LibraryWriter.finish`."""
        if self._parts:
            shape = (*(self.plan.shape or ()), *([] if self.defined.length is None else [self.defined.length]))
            self._values[self.plan.name] = np.concatenate(self._parts).reshape(shape)
        return super().finish()


class ComposedSink(OwnSink):
    """A small netCDF-4 file being written; see `NetCDFSink`."""

    def _create_file(self) -> OutputBody:
        self._arrays: dict[str, NDArray[Any]] = {}
        """Path of a variable → its values."""
        return super()._create_file()

    def _is_available(self, compression: str) -> bool:
        return _is_available(compression)

    def _writer(self, plan: VariablePlan, facts: Facts) -> VariableWriter:
        return RecordingWriter(self._definition(plan, facts), self._roundings.get(plan.name), self._arrays)

    def _complete(self) -> None:
        records = self._definer.records
        try:
            self._file.write(0, compose(records, self._arrays))
        except NotCovered:
            self._end()
            with self._target.lent_again() as written:
                write_by_library(written, self.path, records, self._arrays)


class StreamingWriter(ConsecutiveWriter):
    """Writes the values of a variable as they arrive.

    Parameters
    ----------
    defined : DefinedVariable
    rounding : Rounding, optional
    stream : OutputStream
    records : FileRecords
        Those of the file, so far.
    stored : dict
        Path of a variable → its values in the file: the variable is added.
    """

    def __init__(
        self,
        defined: DefinedVariable,
        rounding: Rounding | None,
        stream: OutputStream,
        records: FileRecords,
        stored: dict[str, Streamed],
    ):
        super().__init__(defined, rounding)
        self._stream, self._stored = stream, stored
        record = defined.record
        self._shape = (*(self.plan.shape or ()), *([] if defined.length is None else [defined.length]))
        is_unlimited = tuple([records.dimensions[dim].is_unlimited for dim in record.dims])
        self._layout = layout = layout_of(record, self._shape, is_unlimited)
        self._dtype = REFERENCE if layout.dtype is None else layout.dtype
        self._values: StreamedRun | StreamedChunks
        if layout.chunk is None:
            self._values = StreamedRun(stream, math.prod(self._shape) * layout.item_size)
        else:
            # some programs follow references of values beyond the edge, too
            empty = stream.references([b""])[0] if layout.dtype is None else layout.empty
            self._values = StreamedChunks(stream, self._shape, layout.chunk, self._dtype, layout.encode, empty)

    def put(self, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
        """Write values after those already written, whatever the slices."""
        if self._layout.dtype is None:
            values = self._stream.references(values.ravel().tolist())
        self._values.add(np.ascontiguousarray(values, self._dtype).reshape(-1))

    def finish(self) -> list[str]:
        """See `LibraryWriter.finish`."""
        if self.written:
            layout = self._layout
            size = layout.item_size * (math.prod(self._shape) if layout.chunk is None else 1)
            self._stored[self.plan.name] = Streamed(self._shape, NewStorage(layout.chunk, size, self._values.finish()))
        return super().finish()


class StreamedSink(OwnSink):
    """A large netCDF-4 file being written; see `NetCDFSink`."""

    def _create_file(self) -> OutputBody:
        file = super()._create_file()
        self._stream = OutputStream(file)
        self._stored: dict[str, Streamed] = {}
        """Path of a variable → its values in the file."""
        return file

    def _is_available(self, compression: str) -> bool:
        return _is_available(compression)

    def _writer(self, plan: VariablePlan, facts: Facts) -> VariableWriter:
        defined = self._definition(plan, facts)
        rounding = self._roundings.get(plan.name)
        return StreamingWriter(defined, rounding, self._stream, self._definer.records, self._stored)

    def _complete(self) -> None:
        try:
            self._stream.complete(objects_of(self._definer.records, self._stored))
        except NotCovered as error:
            raise UnsupportedError(f"the netCDF library would have to write it: {error}") from None
