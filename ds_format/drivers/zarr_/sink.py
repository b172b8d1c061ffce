"""Writing: variables as arrays of version 3, with consolidated metadata, and the Sink."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import zarr
from zarr import codecs

from ...base.dtypes import TYPES, Type
from ...base.text import escape, hint, unescape
from ...dataset import META, dims
from ...errors import DriverError, DsError, MissingError, UnsupportedError
from ...kernels.files.names import exists
from ...model import missing
from ...model.settings import HDF5, NETCDF, chunk_sizes
from ..base import STRING_SIZE, Metadata, block_slices, warn
from ..library.catalog import groups_of, lineage
from ..library.sink import Spool, count_present
from ..sink import FolderSink, regrouped, typed_blocks
from ..slabs import slab_runs
from ..strings import as_objects, as_text, check_kind, decoded, encoded, free_mark, mark_lengths
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
CHUNK_SIZE = 4 * 1024 * 1024
"""Bytes of a chunk, unless the lengths of chunks are given."""
ROW_SIZE = 128 * 1024 * 1024
"""Bytes that may be in memory until all chunks with the same place along the first axis are complete."""
SMALL = 2
"""Bytes of numbers all of whose values may well occur."""
IMPOSSIBLE = re.compile(r"[\0\\\ud800-\udfff]")


class ZarrSink(FolderSink):
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
        keys = [key for key in meta if key != META]
        sizes = {key: meta[key].get(".size") for key in keys}
        self._dims = {
            key: () if size is None else tuple(dims(key, meta[key], len(size))) for key, size in sizes.items()
        }
        _check_lengths(self._chunks, self._shards, {dim for each in self._dims.values() for dim in each})
        self._places = _places(keys)
        groups = groups_of(self._places.values(), ())
        self._given = {self._places[key]: _short_names(self._places[key], self._dims[key]) for key in keys}
        self._names = DimensionNames(self._given, {self._places[key]: size or () for key, size in sizes.items()})
        attributes = _by_group(meta.get(META, {}), groups, self.path)
        attributes[""].setdefault(MARKER, {})["order"] = [*self._places.values()]
        try:
            with guarded(self.path, kind=DsError):
                self._root = zarr.create_group(self._create(), zarr_format=3, attributes=attributes[""])
                for group in groups:
                    self._root.create_group(group, attributes=attributes[group])
        except BaseException:
            self.abort()
            raise

    def _keeps_marks(self, name: str) -> bool:
        return True

    def _write(self, name: str, blocks: Iterable[Any]) -> None:
        entry = self.meta[name]
        type_name = entry.get(".type")
        if entry.get(".size") is None:
            raw, marker = stored_attributes(entry, None)
            marker |= {"empty": True, "type": type_name, "dims": entry.get(".dims") or []}
            self._finished(name, self._array(name, (), np.dtype("i1"), 0, []), raw, marker)
            return
        typed = typed_blocks(blocks, type_name)
        first = next(typed, None)
        ds_type = first[1] if first is not None else TYPES.get(type_name or "", TYPES["float64"])
        arrays = (array for array, _ in itertools.chain([] if first is None else [first], typed))
        (self._write_text if ds_type.is_string else self._write_numbers)(name, ds_type, arrays)

    def _write_numbers(self, name: str, ds_type: Type, arrays: Iterable[Any]) -> None:
        """Write numbers or booleans, and a number for missing ones."""
        entry = self.meta[name]
        dtype, may_miss = np.dtype(ds_type.code), entry.get(".missing") is not False
        if dtype.kind == "b" and may_miss:
            dtype = np.dtype("i1")
        raw, marker = stored_attributes(entry, dtype if dtype.kind != "b" else None)
        if dtype != ds_type.code:
            raw["dtype"] = "bool"
        own = missing.sentinels(entry, dtype, False) if dtype.kind != "b" else []
        fill: Any = own[0] if own else missing.default_fill(dtype) if may_miss else None
        with contextlib.ExitStack() as stack:
            if not own and may_miss and dtype == ds_type.code and dtype.itemsize <= SMALL:
                arrays = stack.enter_context(self._spooled(name, arrays))
                fill = _free_number(arrays, dtype)
            array = self._array(name, self.meta[name][".size"], dtype, 0 if fill is None else fill, self._compressors)
            clashes, has_missing = [0] * max(len(own), 1), False
            sentinels = own or ([] if fill is None else [fill])

            def values() -> Iterator[Any]:
                nonlocal has_missing
                for block in arrays:
                    data, mask = np.ma.getdata(block), np.ma.getmask(block)
                    data = data.astype(dtype)
                    gone = mask if mask is not np.ma.nomask and mask.any() else None
                    for i, sentinel in enumerate(sentinels):
                        clashes[i] += count_present(data, gone, sentinel)
                    if gone is not None:
                        has_missing = True
                        if not sentinels:
                            raise UnsupportedError('found missing values, expected none (property ".missing")')
                        data = missing.filled(data, gone, sentinels)
                    yield data

            self._put(array, values(), dtype.itemsize, name)
        for n, sentinel in zip(clashes, sentinels, strict=False):
            if n and own:
                warn(f"{n} present values equal {sentinel}, which means missing", self.path, unescape(name))
            elif n and has_missing:
                raise UnsupportedError(f"{n} present values equal {sentinel}, which was chosen to mark missing ones")
        if has_missing and not own:
            raw[FILL], marker["fill"] = stored_attributes({FILL: fill}, dtype)[0][FILL], True
        self._finished(name, array, raw, marker)

    def _write_text(self, name: str, ds_type: Type, arrays: Iterable[Any]) -> None:
        """Write text; byte strings as text, if all of them are UTF-8."""
        raw, marker = stored_attributes(self.meta[name], None)
        is_bytes, has_missing, is_text = ds_type.name == "str", False, True
        lengths: set[int] = set()
        with self._spooled(name, arrays) as spool:
            for block in spool:
                values, gone = as_objects(block)
                check_kind(values, gone, ds_type.name)
                if not is_bytes:
                    as_text(block, "strict")
                has_missing |= gone is not None
                texts = encoded(values, gone, b"")
                lengths |= mark_lengths(texts, gone)
                is_text = is_text and _is_utf8(b"\0".join(texts.reshape(-1)))
            mark = free_mark(lengths)
            if is_bytes and is_text:
                marker["type"] = "str"
            if has_missing:
                marker["missing"] = mark.decode()
            kind: Any = "string" if is_text else "variable_length_bytes"
            array = self._array(name, self.meta[name][".size"], kind, "" if is_text else b"", self._compressors)

            def filled() -> Iterator[Any]:
                for block in spool:
                    values, gone = as_objects(block)
                    texts = encoded(values, gone, mark)
                    yield decoded(texts) if is_text else texts

            self._put(array, filled(), STRING_SIZE, name)
        self._finished(name, array, raw, marker)

    @contextlib.contextmanager
    def _spooled(self, name: str, arrays: Iterable[Any]) -> Iterator[Spool]:
        with contextlib.closing(
            Spool(arrays, math.prod(self.meta[name][".size"]), os.path.dirname(self._target.final))
        ) as spool:
            yield spool

    def _array(self, name: str, size: Any, dtype: Any, fill: Any, compressors: Any) -> Any:
        """Create the array of a variable."""
        shape = tuple(size)
        item_size = dtype.itemsize if isinstance(dtype, np.dtype) else STRING_SIZE
        chunk = self._chunk(name, shape, item_size)
        shard: Any = None
        if shape and self._shards.keys() & {*self._dims[name]}:
            lengths = zip(self._dims[name], chunk, strict=True)
            shard = tuple(math.ceil(self._shards.get(dim, n) / n) * n for dim, n in lengths)
        with guarded(self.path, unescape(name), UnsupportedError):
            return self._root.create_array(
                self._places[name],
                shape=shape,
                dtype=dtype,
                chunks=chunk if shape else "auto",
                shards=shard,
                compressors=compressors,
                fill_value=fill,
                dimension_names=self._given[self._places[name]] if shape else None,
                config={"write_empty_chunks": bool(fill != fill)},
            )

    def _chunk(self, name: str, shape: tuple[int, ...], item_size: int) -> tuple[int, ...]:
        whole = [max(n, 1) for n in shape]
        given = self._dims[name]
        if self._chunks.keys() & {*given}:
            return tuple(min(self._chunks.get(dim, n), n) for dim, n in zip(given, whole, strict=True))
        for record in (NETCDF, HDF5):
            if found := chunk_sizes(self.meta[name].get(record), shape):
                return tuple(map(min, found, whole))
        first = next(block_slices(whole, item_size, CHUNK_SIZE))
        return tuple(part.stop - part.start for part in first)

    def _put(self, array: Any, blocks: Iterable[Any], item_size: int, name: str) -> None:
        """Write blocks to an array, in parts that are rows of complete chunks as far as memory allows."""
        shape = array.shape
        step = (array.shards or array.chunks)[0] * math.prod(shape[1:]) if shape else 1
        most = max(ROW_SIZE // item_size, 1)
        start = 0
        for flat in regrouped(blocks, min(step, most)):
            for slices in slab_runs(shape, start, start + flat.size):
                sizes = [part.stop - part.start for part in slices]
                n = math.prod(sizes)
                with guarded(self.path, unescape(name), UnsupportedError):
                    array[slices if slices else ...] = flat[:n].reshape(sizes)
                flat, start = flat[n:], start + n

    def _finished(self, name: str, array: Any, raw: dict[str, Any], marker: Marker) -> None:
        """Write the attributes of an array, whose values are written."""
        place = self._places[name]
        if place != unescape(name):
            marker["name"] = unescape(name)
        given = self.meta[name].get(".dims") or []  # xarray reads no arrays without names of dimensions
        if array.ndim and self._names.of(place) != given:
            marker["dims"] = given
        with guarded(self.path, kind=DsError):
            array.update_attributes({**raw, **({MARKER: marker} if marker else {})})

    def _finish(self) -> None:
        with guarded(self.path, kind=DsError):
            zarr.consolidate_metadata(self._root.store)

    def _close(self) -> None:
        """Do nothing: no file stays open."""


def _is_dataset(folder: str) -> bool:
    return any(exists(os.path.join(folder, mark)) for mark in MARKS)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _codec_of(compression: Any, level: int | None) -> Any:
    """Return the codec of a compression, by default zstd; None: no compression."""
    name = "zstd" if compression is None else compression
    if name not in COMPRESSIONS:
        known = ", ".join(COMPRESSIONS)
        raise DriverError(f"compression: found {name!r}, expected one of {known}{hint(str(name), COMPRESSIONS)}")
    levels, codec = COMPRESSIONS[name]
    if level is not None and level not in levels:
        expected = f"{levels.start} to {levels.stop - 1}" if levels else "none"
        raise DriverError(f"level: found {level!r}, expected {expected} for {name}")
    return codec(level)


def _check_lengths(chunks: Mapping[str, int], shards: Mapping[str, int], names: set[str]) -> None:
    for what, given in (("chunks", chunks), ("shards", shards)):
        for dim, n in given.items():
            if not np.issubdtype(type(n), np.integer) or n < 1:
                raise DriverError(f'{what}: found {n!r} for the dimension "{dim}", expected 1 or more')
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


def _by_group(entry: dict[str, Any], groups: list[str], path: str) -> dict[str, dict[str, Any]]:
    """Return the attributes of the dataset as the file has them, by the innermost group that their names begin with."""
    entries: dict[str, dict[str, Any]] = {group: {} for group in ("", *groups)}
    for key, value in entry.items():
        name = unescape(key)
        around = [group for group in lineage(name) if group in entries and len(group) + 1 < len(name)]
        if key.startswith(".") or not around:
            entries[""][key] = value
        else:
            entries[around[-1]][escape(name[len(around[-1]) + 1 :])] = value
    found = {}
    for group, attributes in entries.items():
        try:
            raw, marker = stored_attributes(attributes, None)
        except DsError as error:
            raise error.at(path=path)
        found[group] = {**raw, **({MARKER: marker} if marker else {})}
    return found


def _free_number(arrays: Iterable[Any], dtype: np.dtype[Any]) -> Any:
    """Return a number that no present value has; None if no value is missing."""
    free, has_missing = missing.candidates(dtype), False
    for block in arrays:
        has_missing |= bool(np.ma.is_masked(block))
        free = free[~np.isin(free, np.ma.compressed(block))]
    if has_missing and not free.size:
        raise UnsupportedError("every number of its type is present: none is left to mark missing values")
    return free[0] if has_missing else None
