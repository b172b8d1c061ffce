"""Writing: a Sink that converts a dataset to records, and the plan: the variables in the records, and their keys."""

from __future__ import annotations

import contextlib
import math
import os
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...base.dtypes import TYPES
from ...base.exact import NARROW
from ...base.text import escape, unescape
from ...body.target import naming
from ...body.temporary import WorkFolder
from ...datasets import META, as_array, dims
from ...errors import DsError, UnsupportedError
from ...model.settings import HDF5, NETCDF, names, setting
from ..base import BLOCK_SIZE, OBJECT_SIZE, STRING_SIZE, Metadata
from ..ds.sink import DsSink
from ..ds.source import DsSource
from ..sink import BaseSink
from ..strings import as_objects

Label = str | int
"""Name of a dimension, or size of the first dimension if dimensions have no names."""


class RecordSink(BaseSink):
    """Records being written; see `ds_format.drivers.base.Sink`.

    Variables come one after another, but a record needs all of them. Until `commit` they are in a temporary ds file
    next to the target.

    Parameters
    ----------
    path : str, bytes or PathLike
    meta : Metadata
        Each variable with `.size`.
    dim : str, optional
        The dimension of the records. The default is an unlimited one, else the one that is first in most variables.
    key : str, optional
        The variable whose values become the keys, as text. The default is the text variable with the name that the
        container has for keys, else records are numbered.
    durable : bool
        Flush the files to the disk.

    Raises
    ------
    OSError
        If no file can be created.
    UnsupportedError
        If no variable has the dimension, or one cannot be the keys.
    """

    KEY: str
    """The entry of a record that is its key."""

    def __init__(
        self,
        path: Any,
        meta: Metadata,
        *,
        dim: str | None = None,
        key: str | None = None,
        durable: bool = False,
    ):
        super().__init__(path, meta)
        self._durable = durable
        self._source: DsSource | None = None
        self._written = ""
        with self._named():
            self._plan = plan_of(self.meta, dim, key, self.KEY)
            self._check(self._plan)
        with naming(self.path):
            self._folder = WorkFolder(self.path, "records")
        self._written = os.path.join(self._folder.path, "data.ds")
        try:
            with self._named():
                self._sink = DsSink(self._written, self.meta, atomic=False)
        except BaseException:
            self._folder.close()
            raise

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Put the path of the target into errors about the temporary file."""
        try:
            yield
        except DsError as error:
            error.path = self.path if error.path in {None, self._written} else error.path
            raise
        except OSError as error:
            if error.filename == self._written:
                error.filename = self.path
            raise

    def _write(self, name: str, blocks: Iterable[Any]) -> None:
        with self._named():
            self._sink.write(name, blocks)

    def commit(self) -> None:
        """Write all records atomically."""
        self._check_open()
        with self._named():
            self._sink.commit()
            self._source = DsSource(self._written)
            self._store(self._source)
        self.abort()

    def abort(self) -> None:
        """Remove everything that was not committed."""
        self._is_open = False
        if self._source is not None:
            self._source.close()
        self._sink.abort()
        self._folder.close()

    @abstractmethod
    def _check(self, plan: RecordsPlan) -> None:
        """Raise an UnsupportedError if the container cannot hold such records."""

    @abstractmethod
    def _store(self, source: DsSource) -> None:
        """Write the container from the ds file of the dataset."""


class RecordBlock(NamedTuple):
    """Some consecutive records."""

    keys: list[str]
    arrays: dict[str, Any]
    """Key of a variable → (n, ...) array."""


def record_blocks(source: DsSource, plan: RecordsPlan, value_size: int = 0) -> Iterator[RecordBlock]:
    """Yield all records in blocks of bounded memory.

    Parameters
    ----------
    source : DsSource
    plan : RecordsPlan
    value_size : int
        Bytes of memory of a value in a record, if that is more than in an array.
    """
    size = sum(_record_size(source.meta[key], axis, value_size) for key, axis in plan.axes.items())
    step = max(BLOCK_SIZE // max(size, 1), 1)
    for start in range(0, plan.n, step):
        yield _block(source, plan, range(start, min(start + step, plan.n)))


def _record_size(entry: dict[str, Any], axis: int, value_size: int) -> int:
    """Return the approximate bytes of memory of a variable in one record."""
    ds_type = TYPES[entry[".type"]]
    inner: int = math.prod(n for i, n in enumerate(entry[".size"]) if i != axis)
    return inner * (STRING_SIZE if ds_type.is_string else max(ds_type.size, value_size, 1)) + OBJECT_SIZE


def _block(source: DsSource, plan: RecordsPlan, numbers: range) -> RecordBlock:
    arrays: dict[str, Any] = {}
    keys = list(map(str, numbers))
    for key, axis in plan.axes.items():
        size = source.meta[key][".size"]
        index = tuple(numbers if i == axis else range(n) for i, n in enumerate(size))
        arrays[key] = np.moveaxis(as_array(source.read(key, index)), axis, 0)
        if key == plan.key:
            keys = _keys(unescape(key), arrays[key], numbers.start)
    return RecordBlock(keys, arrays)


def _keys(name: str, array: Any, start: int) -> list[str]:
    """Return the values of a variable as keys."""
    values, mask = as_objects(array)
    if mask is not None:
        raise UnsupportedError(f"record {start + int(mask.argmax())}: no value, expected a key", variable=name)
    plain = list(np.ma.getdata(array)) if array.dtype.name in NARROW else values.tolist()
    try:
        return [value.decode() if isinstance(value, bytes) else str(value) for value in plain]
    except UnicodeDecodeError as error:
        raise UnsupportedError(f"the key {error.object[:20]!r} is not UTF-8", variable=name) from None


class RecordsPlan(NamedTuple):
    """A plan for converting a dataset to records."""

    axes: dict[str, int]
    """Key of each variable in the records → its axis along the records."""
    n: int
    """Number of records."""
    key: str | None
    """The variable whose values are the keys of the records; None: records are numbered."""


def plan_of(meta: Metadata, dim: str | None, key: str | None, own: str) -> RecordsPlan:
    """Return the plan for converting a dataset to records.

    Parameters
    ----------
    meta : Metadata
        Each variable with `.size`.
    dim : str, optional
        The dimension. The default is an unlimited one, else the one that is first in most variables.
    key : str, optional
        Name of the variable whose values become keys. The default is the one named `own`, if there is one.
    own : str
        Name of the entry of a record that is its key.

    Raises
    ------
    UnsupportedError
        If no variable has such a dimension, or a variable cannot be the keys.
    """
    labels = {
        name: _labels(name, entry) for name, entry in meta.items() if name != META and entry.get(".size") is not None
    }
    label = _default(meta, labels) if dim is None else dim
    axes = {name: found.index(label) for name, found in labels.items() if label in found}
    if dim is not None and not axes:
        raise UnsupportedError(f'no variable has the dimension "{dim}"')
    sizes = {meta[name][".size"][axis]: name for name, axis in axes.items()}
    if len(sizes) > 1:
        (n, first), (other, second) = list(sizes.items())[:2]
        raise UnsupportedError(
            f'dimension "{label}" has size {other}, but {n} in variable "{unescape(first)}"', variable=unescape(second)
        )
    return RecordsPlan(axes, next(iter(sizes), 0), _key(meta, axes, key, own))


def _labels(key: str, entry: dict[str, Any]) -> Sequence[Label]:
    size = entry[".size"]
    found: list[Label] = list(dims(key, entry, len(size)))
    if entry.get(".dims") is None and size:
        found[0] = size[0]
    return found


def _default(meta: Metadata, labels: dict[str, Sequence[Label]]) -> Label | None:
    present = {label for found in labels.values() for label in found}
    unlimited: list[Label] = [*names(meta.get(META, {}).get(NETCDF), "unlimited")]
    for name, found in labels.items():
        limits = setting(meta[name].get(HDF5), "maxshape", list) or []
        unlimited += [label for label, n in zip(found, limits, strict=False) if n is None]
    for label in unlimited:
        if label in present:
            return label
    first = Counter(found[0] for found in labels.values() if found)
    return first.most_common(1)[0][0] if first else None


def _key(meta: Metadata, axes: dict[str, int], name: str | None, own: str) -> str | None:
    if name is None and own not in axes:
        return None
    key = own if name is None else escape(name)
    if own in axes and (key != own or meta[own].get(".type") != "unicode"):
        raise UnsupportedError(f'the entry "{own}" of a record is its key; expected text that is', variable=own)
    if key not in axes or len(meta[key][".size"]) != 1:
        raise UnsupportedError("expected a variable of one value for each record, to be its key", variable=name or own)
    return key
