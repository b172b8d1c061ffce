"""Writing: a dataset as an object, with arrays first, piece by piece, and the pickle at the end.

When the pickle is made, arrays are in the file already. Texts are part of the pickle, and wait in a temporary file.
"""

from __future__ import annotations

import math
import mmap
import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ...base.dtypes import TYPES
from ...base.text import unescape
from ...binpickle.buffers import BufferWriter, Piecewise
from ...binpickle.format import VERSIONS, IndexEntry
from ...binpickle.writer import PROTOCOL
from ...body.body import Body
from ...body.mapped import mapped
from ...body.target import naming
from ...codec.attributes import from_json, to_json
from ...codec.header import PRIVATE
from ...datasets import META
from ...errors import DsError, VersionError
from ..base import Metadata
from ..sink import FileSink, typed_blocks
from ..spool import BlockPool
from ..strings import as_objects, as_text, check_kind


class Texts:
    """Placeholder of an array of strings, which come one by one.

    Parameters
    ----------
    shape : tuple of int
    blocks : iterable of ndarray
        Arrays of objects, with as many values in all as the shape has.
    """

    def __init__(self, shape: tuple[int, ...], blocks: Iterable[Any]):
        self.shape, self.blocks = shape, blocks


class MaskedParts:
    """Placeholder of a masked array: an array or `Texts`, and an array of booleans."""

    def __init__(self, data: Any, mask: Any):
        self.data, self.mask = data, mask


class _Items:
    """Placeholder of a list with the items of blocks."""

    def __init__(self, blocks: Iterable[Any]):
        self.blocks = blocks


def dump_parts(obj: Any, file: Any, is_in_band: Callable[[pickle.PickleBuffer], bool]) -> None:
    """Pickle an object.

    Parameters
    ----------
    obj : object
        Plain containers and values, arrays, `Texts` and `MaskedParts`.
    file : object
        With a method `write`.
    is_in_band : callable
        Called with each buffer, in order; returns whether it becomes a part of the pickle.
    """
    pickler = _Pickler(file, PROTOCOL, buffer_callback=is_in_band)
    pickler.fast = True  # else it would remember each string
    pickler.dump(obj)


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is MaskedParts:
            return np.ma.MaskedArray, (obj.data, obj.mask)
        if type(obj) is Texts:
            reduced: Any = np.empty(0, object).__reduce__()
            function, args, (version, _, dtype, is_fortran, _) = reduced
            return function, args, (version, obj.shape, dtype, is_fortran, _Items(obj.blocks))
        if type(obj) is _Items:
            return list, (), None, (item for block in obj.blocks for item in block.reshape(-1).tolist())
        return NotImplemented


STORED = PRIVATE | {".size", ".type"}
"""Properties that follow from the data."""


class WrittenArray(NamedTuple):
    """An array of numbers or booleans that is in the file."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    values: IndexEntry
    mask: IndexEntry | None


class BinPickleSink(FileSink):
    """A BinPickle file being written; see `ds_format.drivers.base.Sink`.

    Parameters
    ----------
    path : str, bytes or PathLike
    meta : Metadata
        Each variable with `.size`.
    mappable : bool
        Align all arrays to pages.
    version : int
        Version of the format, 1 or 2.
    atomic, durable : bool
        As for `target.Target`.

    Raises
    ------
    OSError
        If the file cannot be created.
    VersionError
        If there is no such version.
    UnsupportedError
        If an attribute has a type that a dataset cannot hold.
    """

    def __init__(
        self,
        path: Any,
        meta: Metadata,
        *,
        mappable: bool = True,
        version: int = 1,
        atomic: bool = True,
        durable: bool = False,
    ):
        super().__init__(path, meta, atomic=atomic, durable=durable)
        if version not in VERSIONS:
            raise VersionError(f"version: found {version!r}, expected 1 or 2", path=self.path)
        self._entries: dict[str, Any] = {}
        for key, entry in meta.items():
            try:
                self._entries[key] = from_json(to_json(entry, STORED))
            except DsError as error:
                raise error.at(path=self.path, variable=None if key == META else unescape(key))
        self._made: dict[str, Any] = {}
        self._mappable = mappable
        with naming(self.path):
            self._file = self._target.open()
        self._pool = BlockPool(self._target.final)
        self._writer = BufferWriter(self.path, self._file, align=mappable, version=version)

    def _write(self, name: str, blocks: Iterable[Any]) -> None:
        size, hint = self.meta[name].get(".size"), self.meta[name].get(".type")
        self._made[name] = None
        self._entries[name][".size"] = None if size is None else list(size)
        if size is None:
            self._entries[name][".type"] = hint if hint in TYPES else None
            return
        if 0 in size:
            ds_type = TYPES.get(hint or "", TYPES["float64"])
            self._made[name] = np.empty(size, ds_type.code)
        else:
            arrays = _Arrays(tuple(size), hint, blocks)
            ds_type = arrays.type
            self._made[name] = self._texts(arrays) if ds_type.is_string else self._numbers(arrays)
        self._entries[name][".type"] = ds_type.name

    def _numbers(self, arrays: _Arrays) -> Any:
        code = arrays.type.code
        dtype = np.dtype(f"<{code}" if arrays.type.ordered else code)
        if not arrays.shape:
            (array,) = arrays
            is_missing = np.ma.getmaskarray(array).all()
            return (
                MaskedParts(np.zeros((), dtype), np.array(True))
                if is_missing
                else np.ma.getdata(array).astype(dtype)[()]
            )
        size = math.prod(arrays.shape) * dtype.itemsize
        values = self._writer.begin(self._writer.end, size)
        mask = _Mask(self._writer, values.offset + size)
        for array in arrays:
            flags = mask.add(array)
            data = np.ma.getdata(array)
            if flags is not None:
                data = np.where(flags, np.zeros((), dtype), data)
            values.write(np.ascontiguousarray(data, dtype))
        self._writer.go_on(max(values.end, mask.end))
        return WrittenArray(
            dtype, arrays.shape, self._entry(values, dtype, arrays.shape), self._entry_of_mask(mask, arrays)
        )

    def _texts(self, arrays: _Arrays) -> Any:
        mask = _Mask(self._writer, self._writer.end)
        blocks = self._pool.add(_filled(arrays, mask))
        self._writer.go_on(max(self._writer.end, mask.end))
        if not arrays.shape:
            (block,) = blocks
            return block[()] if mask.stored is None else MaskedParts(block, np.array(True))
        texts = Texts(arrays.shape, blocks)
        entry = self._entry_of_mask(mask, arrays)
        return texts if entry is None else MaskedParts(texts, WrittenArray(np.dtype("?"), arrays.shape, entry, None))

    def _entry_of_mask(self, mask: _Mask, arrays: _Arrays) -> IndexEntry | None:
        return None if mask.stored is None else self._entry(mask.stored, np.dtype("?"), arrays.shape)

    def _entry(self, stored: Piecewise, dtype: np.dtype[Any], shape: tuple[int, ...]) -> IndexEntry:
        return stored.entry(["ndarray", str(dtype), shape] if self._writer.version == 2 else None)

    def _finish(self) -> None:
        self._pickle()
        self._writer.finish(is_mappable=self._mappable)
        self._close()

    def _pickle(self) -> None:
        """Write the pickle of the object."""
        writer = self._writer
        end = writer.end
        pickled = writer.begin(end)
        views = _Views(self._file.section(0, end))

        def is_in_band(buffer: Any) -> bool:
            entry = views.entry(buffer.raw())
            if entry is not None:
                writer.entries.append(entry)
            return entry is None

        obj = {key: views.of(self._made[key]) for key in self.meta if key != META}
        of_variables = {key: entry for key, entry in self._entries.items() if key != META}
        dump_parts({**obj, META: {**of_variables, META: self._entries.get(META, {})}}, pickled, is_in_band)
        writer.go_on(pickled.end)
        writer.entries.append(pickled.entry())

    def _close(self) -> None:
        self._pool.close()
        self._file.close()


class _Views:
    """Arrays that are in the file already. The pickle needs their positions only, not their values."""

    def __init__(self, file: Body):
        self._map = mapped(file).memory
        self._entries: dict[int, IndexEntry] = {}

    def of(self, made: Any) -> Any:
        """Return the value of a variable in the object."""
        if isinstance(made, MaskedParts):
            return MaskedParts(self.of(made.data), self.of(made.mask))
        if not isinstance(made, WrittenArray):
            return made
        data = self._array(made.dtype, made.shape, made.values)
        return data if made.mask is None else MaskedParts(data, self._array(np.dtype("?"), made.shape, made.mask))

    def _array(self, dtype: np.dtype[Any], shape: tuple[int, ...], entry: IndexEntry) -> Any:
        array: Any = np.ndarray(shape, dtype, self._map, entry.offset)
        self._entries[array.ctypes.data] = entry
        return array

    def entry(self, raw: memoryview) -> IndexEntry | None:
        """Return the entry of the bytes of an array, if they are in the file."""
        return self._entries.get(np.frombuffer(raw, np.uint8).ctypes.data) if raw.nbytes else None


class _Arrays:
    """The blocks of a variable as arrays, of which the first one gives the type."""

    def __init__(self, shape: tuple[int, ...], hint: str | None, blocks: Iterable[Any]):
        self.shape = shape
        self._blocks = typed_blocks(blocks, hint)
        self._first, self.type = next(self._blocks)

    def __iter__(self) -> Iterator[Any]:
        yield vars(self).pop("_first")  # its memory is free for the next one
        yield from (array for array, _ in self._blocks)


class _Mask:
    """The mask of missing values. It is not written before the first one is missing."""

    def __init__(self, writer: BufferWriter, offset: int):
        self.stored: Piecewise | None = None
        self._writer, self._offset, self._n = writer, offset, 0

    @property
    def end(self) -> int:
        """Bytes from the start of the file to its end."""
        return self._offset if self.stored is None else self.stored.end

    def add(self, array: Any) -> Any:
        """Add the next values; return the mask of those that are missing, None if none is."""
        flags: Any = np.ma.getmask(array)
        is_any = flags is not np.ma.nomask and bool(flags.any())
        if is_any and self.stored is None:
            self.stored = self._writer.begin(self._offset)
            left = self._n
            while left:
                left -= self.stored.write(bytes(min(left, mmap.PAGESIZE << 6)))
        if self.stored is not None:
            self.stored.write(np.ascontiguousarray(np.ma.getmaskarray(array)))
        self._n += array.size
        return flags if is_any else None


def _filled(arrays: _Arrays, mask: _Mask) -> Iterator[Any]:
    """Yield strings as objects; missing ones are empty."""
    is_text = arrays.type.name == "unicode"
    for array in arrays:
        flags = mask.add(array)
        if is_text:
            values = as_text(array, "strict")
        else:
            values, _ = as_objects(array)
            check_kind(values, flags, "str")
        if flags is not None:
            values = values.copy()
            values[flags] = "" if is_text else b""
        yield values
