"""A dataset as samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ....base.names import unescape
from ....datadings.claim import Claim
from ....datadings.format import KEY
from ....datadings.writer import FileWriter
from ....errors import UnsupportedError
from ...base import Metadata
from ...ds.source import DsSource
from .. import companion
from ..plan import RecordsPlan
from ..sink import Block, RecordSink, blocks
from . import companion_file
from .columns import MASK, values_of


class SampleSink(RecordSink):
    """Samples being written; see `RecordSink`. By default the text variable `key` is their keys.

    Raises
    ------
    BusyError
        If somebody else is writing the dataset.
    """

    KEY = KEY

    def __init__(
        self, path: Any, meta: Metadata, *, dim: str | None = None, key: str | None = None, durable: bool = False
    ):
        super().__init__(path, meta, dim=dim, key=key, durable=durable)
        try:
            self._writer = _Writer(self.path, self.meta, self._plan, self._durable)
        except BaseException:
            super().abort()
            raise

    def _check(self, plan: RecordsPlan) -> None:
        for key in plan.axes:
            if key + MASK in plan.axes:
                name = unescape(key)
                raise UnsupportedError(
                    f'the entry "{name}{MASK}" of a sample says where "{name}" is missing', variable=name + MASK
                )

    def _store(self, source: DsSource) -> None:
        self._writer.put_all(source)
        self._writer.close()

    def abort(self) -> None:
        """Leave no trace of what is not finished."""
        try:
            self._writer.abort()
        finally:
            super().abort()


class _Writer(FileWriter):
    """Puts the companion beside the dataset when that is finished."""

    def __init__(self, path: str, meta: Metadata, plan: RecordsPlan, durable: bool):
        super().__init__(path, overwrite=True, total=plan.n, durable=durable)
        self._meta, self._plan = meta, plan

    def put_all(self, source: DsSource) -> None:
        """Add all samples of a ds file of the dataset."""
        self._source = source
        name = self._plan.key
        for block in blocks(source, self._plan):
            for sample in _samples(block, source.meta):
                try:
                    self.write(sample)
                except UnsupportedError as error:
                    raise error if name is None else error.at(variable=unescape(name))

    def _prepare_others(self, claim: Claim) -> None:
        meta = companion.of_written(self._meta, self._source)
        digest = self._digest.hexdigest()
        of_data = companion.record(self._plan.axes, len(self), self._end, self._source.meta, md5=digest)
        companion_file.prepare(claim, meta, of_data, self._source)


def _samples(block: Block, meta: Metadata) -> Iterator[dict[str, Any]]:
    columns: list[tuple[str, list[Any]]] = []
    for key, array in block.arrays.items():
        values, mask = values_of(array)
        name = unescape(key)
        if name != KEY:
            columns.append((name, values))
        if meta[key].get(".missing") and array.ndim > 1 and array.dtype.kind not in "OSUT":
            columns.append((name + MASK, list(np.zeros(array.shape, np.bool_) if mask is None else mask)))
    names = [KEY, *(name for name, _ in columns)]
    for row in zip(block.keys, *(values for _, values in columns), strict=True):
        yield dict(zip(names, row, strict=True))
