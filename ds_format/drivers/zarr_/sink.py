"""Writing: variables as arrays of version 3, with consolidated metadata, and the Sink."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray
from zarr import codecs

from ...base.dtypes import TYPES
from ...base.text import hint, unescape
from ...datasets import META, dims
from ...errors import DriverError, DsError, MissingError, UnsupportedError
from ...kernels.files.names import exists
from ...model import missing
from ...model.settings import HDF5, NETCDF, chunk_sizes
from ..base import STRING_SIZE, Metadata, block_slices
from ..library.catalog import groups_of, lineage
from ..library.options import CHUNK_SIZE, ROW_SIZE, check_lengths, check_level, check_one_of
from ..library.plan import SMALL, Facts, FilePlan, VariablePlan, by_group, plan_variables
from ..library.sink import LibrarySink, LibraryWriter
from ..sink import FolderSink
from ..strings import decoded
from .attributes import FILL, MARKER, DimensionNames, Marker, stored_attributes
from .stores import MARKS, guarded

NONE = "none"
COMPRESSIONS: dict[str, tuple[range, Any]] = {
    "zstd": (range(-131072, 23), lambda level: codecs.ZstdCodec(level=3 if level is None else level)),
    "gzip": (range(10), lambda level: codecs.GzipCodec(level=5 if level is None else level)),
    **{
        f"blosc_{name}": (
            range(10),
            lambda level, name=name: codecs.BloscCodec(cname=name, clevel=5 if level is None else level),
        )
        for name in ("lz4", "lz4hc", "zlib", "zstd")
    },
    NONE: (range(0), lambda level: None),
}
"""Name of a compression → its levels, and the codec of a level."""
IMPOSSIBLE = re.compile(r"[\0\\\ud800-\udfff]")


@dataclass(slots=True)
class ArrayPlan(VariablePlan):
    """One variable of the metadata."""

    place: str = ""
    """Name of its array."""
    entry: dict[str, Any] = field(default_factory=dict)
    """Its metadata."""
    marker: Marker = field(default_factory=dict)
    """Its name and dimensions, if those of the array are others."""


class ArrayWriter(LibraryWriter[ArrayPlan]):
    """Takes the blocks of one variable.

    Parameters
    ----------
    plan : ArrayPlan
    array : zarr.Array
    raw, marker : dict
        Its attributes so far; see `attributes.stored_attributes`.
    type_name, dtype, sentinels, mark
        As of `LibraryWriter`.
    """

    def __init__(
        self,
        plan: ArrayPlan,
        array: Any,
        raw: dict[str, Any],
        marker: Marker,
        type_name: str,
        dtype: np.dtype[Any] | None = None,
        sentinels: missing.Sentinels | None = None,
        mark: bytes | None = None,
    ):
        super().__init__(plan, type_name, dtype, sentinels or [], mark)
        self.array, self.raw, self.marker = array, raw, marker
        # rows of complete chunks, as far as memory allows
        row = (array.shards or array.chunks)[0] * math.prod(array.shape[1:]) if array.shape else 1
        self.step = min(row, max(ROW_SIZE // (STRING_SIZE if dtype is None else dtype.itemsize), 1))

    def values(self, block: Any) -> NDArray[Any]:
        """Return the values of a variable with data; see `LibraryWriter.values`."""
        return self.byte_strings(block) if TYPES[self.type].is_string else self.marked(block)

    def put(self, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
        """See `LibraryWriter.put`."""
        self.array[slices if slices else ...] = values

    def finish(self) -> list[str]:
        """Write the attributes; see `LibraryWriter.finish`."""
        marker = {**self.marker, **self.plan.marker}
        self.array.update_attributes({**self.raw, **({MARKER: marker} if marker else {})})
        return super().finish()


class TextWriter(ArrayWriter):
    """Takes strings that are text in the file."""

    def values(self, block: Any) -> NDArray[Any]:
        """Return text; see `LibraryWriter.values`."""
        return decoded(self.byte_strings(block))


class MarkingWriter(ArrayWriter):
    """Takes numbers or booleans, of which missing ones are marked by a number that was chosen here, if there is one."""

    def finish(self) -> list[str]:
        """Write the number as an attribute if a value is missing; see `ArrayWriter`."""
        if self.has_missing:
            for n, sentinel in zip(self.clashes, self.sentinels, strict=True):
                if n:
                    message = f"{n} present values equal {sentinel}, which was chosen to mark missing ones"
                    raise UnsupportedError(message)
            self.raw[FILL] = stored_attributes({FILL: self.sentinels[0]}, self.dtype)[0][FILL]
            self.marker["fill"] = True
        self.clashes = [0] * len(self.clashes)
        return super().finish()


class ZarrSink(LibrarySink[ArrayPlan], FolderSink):
    """A folder of arrays being written; see `ds_format.drivers.base.Sink`.

    Parameters
    ----------
    path : str, bytes or PathLike
    meta : Metadata
        Each variable with `.size`.
    compression : str, optional
        A key of `COMPRESSIONS`.
    level : int, optional
    chunks, shards : dict, optional
        Name of a dimension → length of chunks or shards along it. Chunks are whole along other dimensions, and shards
        have the length of a chunk.
    durable : bool
        As for `target.FolderTarget`.

    Raises
    ------
    OSError
        If the folder cannot be created.
    DriverError
        If an option has a wrong value.
    UnsupportedError
        If an attribute has a type that JSON cannot represent.
    """

    def __init__(
        self,
        path: Any,
        meta: Metadata,
        *,
        compression: str | None = None,
        level: int | None = None,
        chunks: Mapping[str, int] | None = None,
        shards: Mapping[str, int] | None = None,
        durable: bool = False,
    ):
        super().__init__(path, meta, durable=durable, replaces=_is_dataset)
        self._compressors = _codec_of(compression, level)
        self._chunks, self._shards = chunks or {}, shards or {}
        self._begin()

    def _guard(self, error: type[DsError], variable: str | None = None) -> AbstractContextManager[None]:
        """Guard the library, whose errors do not tell whether the file or the dataset is the reason."""
        return guarded(self.path, variable, DsError if variable is None else UnsupportedError)

    def _plan_file(self) -> FilePlan[ArrayPlan]:
        variables = plan_variables(ArrayPlan, self.meta, "Zarr", NETCDF)
        places = _places(variables)
        for key, plan in variables.items():
            plan.place, plan.entry = places[key], self.meta[key]
            plan.dims = () if plan.shape is None else tuple(dims(key, plan.entry, len(plan.shape)))
        plans = variables.values()
        _check_lengths(self._chunks, self._shards, {dim for plan in plans for dim in plan.dims})
        groups = groups_of(places.values(), ())
        self._given = {plan.place: _short_names(plan.place, plan.dims) for plan in plans}
        names = DimensionNames(self._given, {plan.place: plan.shape or () for plan in plans})
        for plan in plans:
            if plan.place != plan.name:
                plan.marker["name"] = plan.name
            given = plan.entry.get(".dims") or []  # xarray reads no arrays without names of dimensions
            if plan.shape and names.of(plan.place) != given:
                plan.marker["dims"] = given
        attributes: dict[str, dict[str, Any]] = {}
        for group, entry in by_group(self.meta.get(META, {}), groups).items():
            raw, marker = stored_attributes(entry, None)
            marker |= {} if group else {"order": [*places.values()]}
            attributes[group] = {**raw, **({MARKER: marker} if marker else {})}
        return FilePlan(variables, {}, groups, attributes)

    def _create_file(self) -> Any:
        with self._guard(DsError):
            return zarr.create_group(self._create(), zarr_format=3, attributes=self._plan.attributes[""])

    def _define_file(self) -> None:
        for group in self._plan.groups:
            self._file.create_group(group, attributes=self._plan.attributes[group])

    def _keeps_marks(self, name: str) -> bool:
        return True

    def _candidates(self, plan: ArrayPlan, type_name: str) -> NDArray[Any] | None:
        dtype = np.dtype(TYPES[type_name].code)
        if plan.missing is False or dtype.kind == "b" or dtype.itemsize > SMALL:
            return None
        return None if missing.sentinels(plan.attributes, dtype, False) else missing.candidates(dtype)

    def _writer(self, plan: ArrayPlan, facts: Facts) -> ArrayWriter:
        if plan.shape is None:
            raw, marker = stored_attributes(plan.entry, None)
            marker |= {"empty": True, "type": plan.type, "dims": plan.entry.get(".dims") or []}
            return ArrayWriter(plan, self._array(plan, np.dtype("i1"), 0, []), raw, marker, facts.type)
        if TYPES[facts.type].is_string:
            return self._string_writer(plan, facts)
        return self._number_writer(plan, facts)

    def _number_writer(self, plan: ArrayPlan, facts: Facts) -> ArrayWriter:
        """Create an array of numbers or booleans, and choose a number for missing ones."""
        code = np.dtype(TYPES[facts.type].code)
        may_miss = plan.missing is not False
        dtype = np.dtype("i1") if code.kind == "b" and may_miss else code
        raw, marker = stored_attributes(plan.entry, None if dtype.kind == "b" else dtype)
        if dtype != code:
            raw["dtype"] = "bool"
        found = [] if dtype.kind == "b" else missing.sentinels(plan.attributes, dtype, False)
        kind = ArrayWriter if found else MarkingWriter
        if not found and may_miss and self._candidates(plan, facts.type) is None:
            found = [missing.default_fill(dtype)]
        elif not found and facts.has_missing and facts.free is not None:
            if not facts.free.size:
                raise UnsupportedError("every number of its type is present: none is left to mark missing values")
            found = [facts.free[0]]
        array = self._array(plan, dtype, found[0] if found else 0, self._compressors)
        return kind(plan, array, raw, marker, facts.type, dtype, found)

    def _string_writer(self, plan: ArrayPlan, facts: Facts) -> ArrayWriter:
        """Create an array of text; of byte strings, if one is not UTF-8."""
        raw, marker = stored_attributes(plan.entry, None)
        if facts.type == "str" and facts.is_utf8:
            marker["type"] = "str"
        if facts.has_missing:
            marker["missing"] = facts.mark.decode()
        if not facts.is_utf8:
            array = self._array(plan, "variable_length_bytes", b"", self._compressors)
            return ArrayWriter(plan, array, raw, marker, facts.type, mark=facts.mark)
        array = self._array(plan, "string", "", self._compressors)
        return TextWriter(plan, array, raw, marker, facts.type, mark=facts.mark)

    def _array(self, plan: ArrayPlan, dtype: Any, fill: Any, compressors: Any) -> Any:
        """Create the array of a variable."""
        shape = plan.shape or ()
        chunk = self._chunk(plan, shape, dtype.itemsize if isinstance(dtype, np.dtype) else STRING_SIZE)
        shard: Any = None
        if shape and self._shards.keys() & {*plan.dims}:
            lengths = zip(plan.dims, chunk, strict=True)
            shard = tuple(math.ceil(self._shards.get(dim, n) / n) * n for dim, n in lengths)
        return self._file.create_array(
            plan.place,
            shape=shape,
            dtype=dtype,
            chunks=chunk if shape else "auto",
            shards=shard,
            compressors=compressors,
            fill_value=fill,
            dimension_names=self._given[plan.place] if shape else None,
            config={"write_empty_chunks": bool(fill != fill)},
        )

    def _chunk(self, plan: ArrayPlan, shape: tuple[int, ...], item_size: int) -> tuple[int, ...]:
        whole = [max(n, 1) for n in shape]
        if self._chunks.keys() & {*plan.dims}:
            return tuple(min(self._chunks.get(dim, n), n) for dim, n in zip(plan.dims, whole, strict=True))
        for record in (NETCDF, HDF5):
            if found := chunk_sizes(plan.entry.get(record), shape):
                return tuple(map(min, found, whole))
        first = next(block_slices(whole, item_size, CHUNK_SIZE))
        return tuple(part.stop - part.start for part in first)

    def _complete(self) -> None:
        zarr.consolidate_metadata(self._file.store)

    def _close_file(self, file: Any) -> None:
        """Do nothing: no file stays open."""


def _is_dataset(folder: str) -> bool:
    return any(exists(os.path.join(folder, mark)) for mark in MARKS)


def _codec_of(compression: Any, level: int | None) -> Any:
    """Return the codec of a compression, by default zstd; None: no compression."""
    name = "zstd" if compression is None else compression
    check_one_of("compression", name, COMPRESSIONS)
    levels, codec = COMPRESSIONS[name]
    check_level(level, name, levels)
    return codec(level)


def _check_lengths(chunks: Mapping[str, int], shards: Mapping[str, int], names: set[str]) -> None:
    for what, given in (("chunks", chunks), ("shards", shards)):
        for dim in check_lengths(what, given):
            if dim not in names:
                raise MissingError(f'{what}: found no dimension "{dim}"{hint(dim, names)}')
    for dim in shards.keys() & chunks.keys():
        if shards[dim] % chunks[dim]:
            message = f"found {shards[dim]}, expected a multiple of {chunks[dim]}, the length of chunks"
            raise DriverError(f'shards: dimension "{dim}": {message}')


def _places(keys: Iterable[str]) -> dict[str, str]:
    """Return the name of the array of each variable: its own, or a number if an array cannot have it."""
    wanted = {key: unescape(key) for key in keys}
    groups = {group for name in wanted.values() for group in lineage(name)}
    taken = {*wanted.values(), *groups}
    for number, (key, name) in enumerate(wanted.items()):
        parts = name.split("/")
        is_possible = all(
            part.strip(".") and not part.startswith("__") and part != MARKS[0] and len(os.fsencode(part)) < 256
            for part in parts
            if not IMPOSSIBLE.search(part)
        )
        if IMPOSSIBLE.search(name) or not is_possible or name in groups:
            place = f"%{number}"
            while place in taken:
                place += "%"
            wanted[key] = place
            taken.add(place)
    return wanted


def _short_names(place: str, given: Iterable[str]) -> list[str]:
    """Return the names of dimensions without the group of an array, or one around it, that they begin with."""
    prefixes = [f"{group}/" for group in lineage(place)[::-1]]
    return [next((dim.removeprefix(one) for one in prefixes if dim.startswith(one)), dim) for dim in given]
