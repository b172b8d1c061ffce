"""Writing: a dataset as a Sink that makes samples of it."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ...datadings.format import KEY
from ...datadings.writer import FileWriter
from ...dataset import META, as_array
from ...dtypes import TYPES
from ...errors import DsError, UnsupportedError
from ...kernels.portable import temporary_name
from ...names import unescape
from ..base import BLOCK_SIZE, Metadata
from ..ds.sink import DsSink
from ..ds.source import DsSource
from ..loss import refuse
from ..plain_times import PlainTimes
from ..strings import OBJECT_SIZE
from . import companion
from .columns import values_of
from .plan import MASK, Plan, plan_of


class RecordSink:
    """Samples being written; see `ds_format.drivers.base.Sink`.

    Variables come one after another, samples need all of them: until `commit` they are in a ds file under a temporary
    name beside the target.

    Parameters
    ----------
    path : str, bytes or PathLike
    meta : Metadata
        Each variable with `.size`.
    dim : str, optional
        The dimension whose positions become records. By default an unlimited one; else that which is the first one of
        most variables.
    key : str, optional
        The variable whose values become the keys of the samples, as text. By default the text variable `key`, or else
        their numbers are.
    time_units, calendar : str, optional
        What to write time variables in, instead of Julian dates.
    durable : bool
        Flush the files to the disk.
    **options
        Refused, by their names.

    Raises
    ------
    OSError
        If no file can be created.
    DriverError
        If there is an option that the format does not have.
    UnsupportedError
        If no variable has the dimension, or one cannot be the keys.
    """

    def __init__(
        self,
        path: Any,
        meta: Metadata,
        *,
        dim: str | None = None,
        key: str | None = None,
        time_units: str | None = None,
        calendar: str | None = None,
        durable: bool = False,
        **options: Any,
    ):
        self.path = os.fsdecode(path)
        refuse(options, "records", self.path)
        self._times = PlainTimes(meta, time_units, calendar)
        self._meta, self._durable = self._times.meta, durable
        self._source: DsSource | None = None
        self._written = temporary_name(self.path)
        with self._named():
            self._plan = plan_of(self._meta, dim, key)
            self._sink = DsSink(self._written, self._meta, atomic=False)

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Give errors about the temporary file the name that the user knows."""
        try:
            yield
        except DsError as error:
            error.path = self.path if error.path in {None, self._written} else error.path
            raise
        except OSError as error:
            if error.filename == self._written:
                error.filename = self.path
            raise

    def write(self, name: str, blocks: Iterable[Any]) -> None:
        """Write one variable; see `Sink.write`."""
        with self._named():
            self._sink.write(name, self._times.blocks(name, blocks))

    def commit(self) -> None:
        """Write all samples, and give them their name."""
        with self._named():
            self._sink.commit()
            self._source = DsSource(self._written)
            with _Writer(self.path, self._meta, self._plan, self._source, self._durable) as writer:
                for samples in _samples(self._source, self._plan):
                    for sample in samples:
                        writer.put(sample)
        self.abort()

    def abort(self) -> None:
        """Leave no trace of what is not finished."""
        if self._source is not None:
            self._source.close()
        self._sink.abort()


class _Writer(FileWriter):
    """Puts the companion beside the dataset when that is finished."""

    def __init__(self, path: str, meta: Metadata, plan: Plan, source: DsSource, durable: bool):
        super().__init__(path, overwrite=True, total=plan.n, durable=durable)
        self._meta, self._plan, self._source = meta, plan, source

    def put(self, sample: dict[str, Any]) -> None:
        """Add a sample."""
        try:
            self.write(sample)
        except UnsupportedError as error:
            name = self._plan.key
            raise error if name is None else error.at(variable=unescape(name))

    def _finish(self) -> None:
        stored = self._source.meta
        meta = {key: {**entry, ".type": stored[key].get(".type")} for key, entry in self._meta.items() if key != META}
        meta[META] = self._meta.get(META, {})
        axes = self._plan.axes
        missing = [key for key in axes if stored[key].get(".missing")]
        of_data = companion.record(axes, len(self), self._end, self._digest.hexdigest(), missing)
        sink = companion.create(self.path, meta, of_data, self._source)
        try:
            super()._finish()
            sink.commit()
        except BaseException:
            sink.abort()
            raise


def _samples(source: DsSource, plan: Plan) -> Iterator[Iterator[dict[str, Any]]]:
    """Yield the samples in blocks of bounded memory."""
    size = sum(_record_size(source.meta[key], axis) for key, axis in plan.axes.items())
    step = max(BLOCK_SIZE // max(size, 1), 1)
    for start in range(0, plan.n, step):
        yield _block(source, plan, start, min(start + step, plan.n))


def _record_size(entry: dict[str, Any], axis: int) -> int:
    """Return about the bytes of memory that a variable takes in one record."""
    ds_type = TYPES[entry[".type"]]
    inner: int = math.prod(n for i, n in enumerate(entry[".size"]) if i != axis)
    return inner * (OBJECT_SIZE + 64 if ds_type.is_string else max(ds_type.size, 1)) + OBJECT_SIZE


def _block(source: DsSource, plan: Plan, start: int, stop: int) -> Iterator[dict[str, Any]]:
    columns: list[tuple[str, list[Any]]] = []
    keys = [str(i) for i in range(start, stop)]
    for key, axis in plan.axes.items():
        entry = source.meta[key]
        index = tuple(range(start, stop) if i == axis else range(n) for i, n in enumerate(entry[".size"]))
        array = np.moveaxis(as_array(source.read(key, index)), axis, 0)
        values, mask = values_of(array)
        name = unescape(key)
        if key == plan.key:
            keys = _keys(name, values, start)
        if name != KEY:
            columns.append((name, values))
        if entry.get(".missing") and array.ndim > 1 and array.dtype.kind not in "OSUT":
            columns.append((name + MASK, list(np.zeros(array.shape, np.bool_) if mask is None else mask)))
    names = [KEY, *(name for name, _ in columns)]
    for row in zip(keys, *(values for _, values in columns), strict=True):
        yield dict(zip(names, row, strict=True))


def _keys(name: str, values: list[Any], start: int) -> list[str]:
    """Return the values of a variable as keys."""
    if None in values:
        raise UnsupportedError(f"record {start + values.index(None)}: no value, expected a key", variable=name)
    try:
        return [value.decode() if isinstance(value, bytes) else str(value) for value in values]
    except UnicodeDecodeError as error:
        raise UnsupportedError(f"the key {error.object[:20]!r} is not UTF-8", variable=name) from None
