"""Writing: variables as columns of groups of rows, and the Sink."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
import pyarrow as arrow
from pyarrow import ipc, parquet

from ...base.dtypes import TYPES
from ...base.text import unescape
from ...body.target import naming
from ...datasets import META, attrs, dims
from ...errors import UnsupportedError
from ...kernels.table.arrow import Batch
from ...tables.columns import JULIAN, Table, column_of, metadata_of
from ...tables.fields import numbers_of, values_of
from ...tables.rows import DIMENSION
from ...timeaxis.units import decode, is_time
from ..base import Metadata, value_size, warn
from ..library.options import check_level, check_one_of
from ..sink import FileSink, typed_blocks
from ..spool import BlockPool
from ..tabular import TableColumns, listed
from .containers import cut

GROUP_ROWS = 1 << 20
"""Rows of a group."""
GROUP_SIZE = 256 * 1024 * 1024
"""Bytes of a group in memory, about, of files with many columns."""
NONE = "none"
TICK = 500
"""Half a microsecond, in nanoseconds."""


class Writing(ABC):
    """A file of rows in one format, being written.

    Parameters
    ----------
    file : file object
    schema : pyarrow.Schema
    compression : str
    level : int, optional
    """

    title: ClassVar[str]
    counts_nulls: ClassVar[bool]
    """Whether a file tells how many values are missing. Otherwise, columns without any are not nullable."""
    compressions: ClassVar[Mapping[str, range]]
    """Name → levels. The first one is the default."""

    @abstractmethod
    def __init__(self, file: Any, schema: Any, compression: str, level: int | None): ...

    @abstractmethod
    def write(self, table: Any) -> None:
        """Write a group of rows."""

    @abstractmethod
    def close(self) -> None:
        """Write the metadata."""


class ParquetWriting(Writing):
    """Parquet, with zstd by default: smaller than snappy at about its speed, and all readers of today have it."""

    title = "Parquet"
    counts_nulls = True
    compressions: ClassVar = {
        "zstd": range(1, 23), "snappy": range(0), "gzip": range(1, 10), "brotli": range(1, 12), "lz4": range(0),
        NONE: range(0),
    }  # fmt: skip

    def __init__(self, file: Any, schema: Any, compression: str, level: int | None):
        self._writer = parquet.ParquetWriter(file, schema, compression=compression, compression_level=level)

    def write(self, table: Any) -> None:
        """See `Writing`."""
        self._writer.write_table(table, GROUP_ROWS)

    def close(self) -> None:
        """See `Writing`."""
        self._writer.close()


class IpcWriting(Writing):
    """Record batches, by default not compressed, so that programs can map them into memory."""

    title = "Arrow"
    counts_nulls = False
    compressions: ClassVar = {NONE: range(0), "lz4": range(0), "zstd": range(1, 23)}

    def __init__(self, file: Any, schema: Any, compression: str, level: int | None):
        codec = None if compression == NONE else arrow.Codec(compression, level)
        self._writer = ipc.new_file(file, schema, options=ipc.IpcWriteOptions(compression=codec))

    def write(self, table: Any) -> None:
        """See `Writing`."""
        self._writer.write_table(table.combine_chunks(), GROUP_ROWS)

    def close(self) -> None:
        """See `Writing`."""
        self._writer.close()


class ArrowSink(FileSink):
    """A file being written; see `ds_format.drivers.base.Sink`.

    The values of each variable go to a temporary file, from which `commit` makes groups of rows.

    Parameters
    ----------
    path : str, bytes or PathLike
    meta : Metadata
        Each variable with `.size`.
    scalars : bool
        Whether variables without dimensions are columns, whose value is repeated. Otherwise they are left out.
    compression : str, optional
        A key of `Writing.compressions`.
    level : int, optional
    atomic, durable : bool
        As `target.Target`.

    Raises
    ------
    OSError
        If the file cannot be created.
    DriverError
        If an option has a wrong value.
    UnsupportedError
        If a variable has no data, or not one dimension, or is not as long as the others; or an attribute has a type
        that JSON cannot represent.
    """

    writing: ClassVar[type[Writing]]
    """The writer of the format."""

    def __init__(
        self,
        path: Any,
        meta: Metadata,
        *,
        scalars: bool = False,
        compression: str | None = None,
        level: int | None = None,
        atomic: bool = True,
        durable: bool = False,
    ):
        super().__init__(path, meta, atomic=atomic, durable=durable)
        known = self.writing.compressions
        self._compression, self._level = next(iter(known)) if compression is None else compression, level
        check_one_of("compression", self._compression, known)
        check_level(level, self._compression, known[self._compression])
        self._columns = TableColumns.of(meta, scalars, self.writing.title, self.path)
        row_size = sum(value_size(meta[key].get(".type")) for key in self._columns.keys)
        self._step = min(GROUP_ROWS, max(1, GROUP_SIZE // max(1, row_size)))
        self._stored: dict[str, Iterable[Any]] = {}
        self._fields: dict[str, Field] = {}
        self._file = open(self._create(), "wb")  # noqa: SIM115 - until commit
        with naming(self.path):
            self._pool = BlockPool(self._target.final)

    def _write(self, name: str, blocks: Iterable[Any]) -> None:
        if name in self._columns.keys:
            self._stored[name] = self._pool.add(self._arrays(name, blocks))

    def _arrays(self, name: str, blocks: Iterable[Any]) -> Iterator[Any]:
        """Yield blocks as arrays of Arrow; times as numbers, since all of them decide whether they are timestamps."""
        self._fields[name] = field = Field(name, self.meta[name])
        for array, ds_type in typed_blocks(blocks, self.meta[name].get(".type")):
            field.type = ds_type.name
            for start in range(0, array.size, self._step):
                yield field.add(array.reshape(-1)[start : start + self._step])

    def _parts(self, key: str) -> Iterator[Any]:
        """Yield the values of a column in all rows."""
        field, n = self._fields[key], self._columns.n
        for stored in self._stored[key]:
            array = field.final(stored)
            if key not in self._columns.scalars:
                yield array
                continue
            for start in range(0, n, self._step):
                yield array.take(arrow.array(np.zeros(min(self._step, n - start), np.int64)))

    def _finish(self) -> None:
        keys, n, step = self._columns.keys, self._columns.n, self._step
        names = {key: dims(key, self.meta[key], 1)[0] for key in keys if key not in self._columns.scalars}
        dim = next(iter(names.values()), DIMENSION)
        fields = [
            self._fields[key].described(None if names.get(key, dim) == dim else names[key], self.writing.counts_nulls)
            for key in keys
        ]
        schema = arrow.schema(fields, metadata_of(self.meta.get(META, {}), {".dim": dim} if keys else {}) or None)
        with naming(self.path):
            writer = self.writing(self._file, schema, self._compression, self._level)
            lengths = [min(step, n - start) for start in range(0, n, step)]
            parts = [cut(self._parts(key), field.type, lengths) for key, field in zip(keys, fields, strict=True)]
            for columns in zip(*parts, strict=True):
                writer.write(arrow.table([*columns], schema))
            writer.close()
        self._pool.close()
        self._file.close()
        losses = self._columns.losses()
        if rounded := [key for key in keys if self._fields[key].is_rounded]:
            losses.append(f"exact times ({listed(rounded)}, read to the microsecond, and NaN as missing)")
        if losses:
            warn(f"{self.writing.title} cannot hold {'; '.join(losses)}", self.path)

    def _close(self) -> None:
        self._pool.close()
        with contextlib.suppress(OSError):
            self._file.close()


class ParquetSink(ArrowSink):
    """A Parquet file being written."""

    writing = ParquetWriting


class IpcSink(ArrowSink):
    """An Arrow file being written."""

    writing = IpcWriting


class Field:
    """A column, and its type in the file, which all of its values decide.

    Parameters
    ----------
    key : str
    entry : mapping
        Metadata of the variable.
    """

    def __init__(self, key: str, entry: Mapping[str, Any]):
        self._key, self._entry = key, entry
        hint = entry.get(".type")
        self.type: str = hint if hint in TYPES else "float64"
        """The ds type of its values."""
        self._times = JULIAN if entry.get(".time") is True else attrs(entry)
        self._is_time = is_time(self._times)
        self._kinds: dict[Any, None] = {}
        self._nulls = 0
        self.is_rounded = False
        """Whether times are not read back exactly."""

    def add(self, values: Any) -> Any:
        """Return (n,) values as they are stored for `final`: those that may become timestamps as numbers."""
        if not self._is_time:
            array = self._array(values, {})
            self._note(array)
            return array
        try:
            array = self._array(values, self._times)
        except UnsupportedError:
            array = None
        if array is None or not arrow.types.is_timestamp(array.type) or not self._fits(array, values):
            array = self._array(values, {})
        self._note(array)
        return values

    def _note(self, array: Any) -> None:
        self._kinds[array.type] = None
        self._nulls += array.null_count

    def _fits(self, array: Any, values: Any) -> bool:
        """Return whether timestamps are the same as numbers, but for half a microsecond of floats."""
        entry = {**self._times, ".type": self.type}
        try:
            back = numbers_of(values_of(arrow.chunked_array([array]), self.type), entry)
        except UnsupportedError:
            return False
        present = ~np.ma.getmaskarray(values)
        numbers = np.ma.getdata(values)[present]
        if numbers.dtype.kind != "f":
            return np.array_equal(numbers, np.ma.getdata(back)[present])
        found = np.ma.filled(back, np.nan)[present]
        self.is_rounded |= not np.array_equal(numbers, found)
        limit = TICK / decode(entry["units"], entry.get("calendar")).unit + 2 * np.spacing(np.abs(numbers))
        return not (np.abs(numbers - found) > limit).any()

    def _array(self, values: Any, times: Mapping[str, Any]) -> Any:
        column = column_of("", values, {".type": self.type, **times})
        return arrow.table(Table(Batch([column], len(values), b""))).column(0).combine_chunks()

    def described(self, dim: str | None, is_nullable: bool) -> Any:
        """Return the field when all values were added.

        Parameters
        ----------
        dim : str, optional
            The dimension, if it is not that of the table.
        is_nullable : bool
            Whether a column without missing values may have some.
        """
        if not self._kinds:
            self.add(np.zeros(0, TYPES[self.type].code))
        kinds = [*self._kinds]
        self._kind = kinds[0]
        if len(kinds) > 1:
            numbers = self._array(np.zeros(0, TYPES[self.type].code), {}).type
            self._kind = numbers if self._is_time else arrow.large_binary()
        is_stamp = arrow.types.is_timestamp(self._kind)
        self._times = self._times if is_stamp else {}
        self.is_rounded &= is_stamp
        facts: dict[str, Any] = {".type": self.type} if is_stamp or self.type == "str" else {}
        if dim is not None:
            facts[".dims"] = [dim]
        metadata = metadata_of(self._entry, facts) or None
        return arrow.field(unescape(self._key), self._kind, is_nullable or self._nulls > 0, metadata)

    def final(self, stored: Any) -> Any:
        """Return values as they are in the file, after `described`."""
        return stored.cast(self._kind) if isinstance(stored, arrow.Array) else self._array(stored, self._times)
