"""Records in a datadings dataset: samples.

A sample has the entry `key`, and one for each variable that has the dimension, without that dimension::

    {"key": "0", "time": 6.0, "pressure": array of (lat, lon), "pressure.mask": array of bool, "name": "Brno"}

Numbers are NumPy scalars of their type, except int64, float64 and booleans, which are those of msgpack. Text and byte
strings stay as they are, in lists where a record has several. A missing value is nil. For arrays of numbers the entry
with `.mask` marks the missing values, in all samples of a variable that has any. The sidecar file of the data file D is
`D.meta`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...base.progress import Progress
from ...base.text import unescape
from ...body import Address, path_text
from ...datadings import format
from ...datadings.claim import Claim, publish
from ...datadings.dataset_files import JOURNAL, current_name, hidden_name
from ...datadings.format import KEY
from ...datadings.reader import MsgpackReader
from ...datadings.verify import verify
from ...datadings.writer import FileWriter, reindex
from ...errors import FormatError, UnsupportedError
from ...kernels.files.names import exists
from ..base import ERROR, WARNING, Metadata, Problem, Report
from ..ds.source import DsSource
from . import sidecar
from .columns import MASK, SAMPLE_SCALARS, array_of_samples, describe_sample_value, values_for_samples
from .schema import RecordSchema
from .sidecar import ONLY_VALUES, SUFFIX, find_file, prepare_file
from .sink import RecordBlock, RecordSink, RecordsPlan, record_blocks
from .source import RecordSource

__all__ = ["check", "create", "open", "publish", "reindex"]

OPTIONAL = (format.KEYS, format.KEY_HASHES, format.FILTER, format.MD5)
"""Files that a dataset does not need for reading."""


def open(path: Any, *, skip_unsupported: bool = False) -> RecordSource:
    """Open a datadings dataset.

    Parameters
    ----------
    path : str, bytes or PathLike
    skip_unsupported : bool
        See `RecordSource`.

    Raises
    ------
    OSError
        If there is no such file, or no index of it.
    FormatError
        If it is damaged; the message names the file and the sample.
    """
    return RecordSource(SampleRecords(path), skip_unsupported=skip_unsupported)


def check(path: Any, report: Report, *, strict: bool, progress: Progress | None = None) -> RecordSource | None:
    """Check all files of a dataset except the sidecar file.

    Returns
    -------
    RecordSource, optional
        If its variables are still to be checked: this package wrote it, and there was no error.

    Raises
    ------
    OSError
        If there is no data file.
    """
    name = path_text(path)
    if isinstance(path, Address):
        report(Problem(name, None, ONLY_VALUES, WARNING))
        return open(path, skip_unsupported=True)
    reported: set[str] = set()
    has_errors = False
    for flaw in verify(name, progress=progress):
        is_absent = _is_absent(flaw.file)
        if is_absent and flaw.file in reported:
            continue
        reported.add(flaw.file)
        is_error = not is_absent and flaw.file != hidden_name(name, JOURNAL)
        has_errors |= is_error
        report(Problem(flaw.file, None, flaw.message, ERROR if is_error else WARNING))
    if has_errors or not exists(current_name(name, SUFFIX)):
        return None
    return RecordSource(SampleRecords(name), skip_unsupported=True)


def _is_absent(path: str) -> bool:
    return path.endswith(OPTIONAL) and not exists(path)


class SampleRecords:
    """The samples of a dataset; see `Records`.

    Parameters
    ----------
    path : str, bytes, PathLike or Address
    """

    def __init__(self, path: Any):
        self.path = path_text(path)
        where = path if isinstance(path, Address) else self.path
        self._reader = MsgpackReader(where)
        self.size = self._reader.data_size
        self.sidecar = find_file(where, len(self._reader), self.size)

    def __len__(self) -> int:
        return len(self._reader)

    def take(self, positions: Sequence[int]) -> Iterator[Any]:
        """Yield samples. Those of other programs may lack their keys, which then come from the index."""
        if self.sidecar is not None:
            yield from map(self._checked, self._reader.take(positions), positions)
            return
        for number, (key, sample) in zip(positions, self._reader.take(positions, yield_key=True), strict=True):
            yield {**self._checked(sample, number), KEY: key}

    def _checked(self, sample: Any, number: int) -> Any:
        if type(sample) is not dict:
            raise FormatError(f"sample {number}: found {type(sample).__name__}, expected a map", path=self.path)
        return sample

    def column(
        self, name: str, records: Sequence[Any], numbers: Sequence[int], type_name: str, shape: tuple[int, ...]
    ) -> Any:
        """Return a variable of some samples; see `Records.column`."""
        text = unescape(name)
        values = [sample.get(text) for sample in records]
        is_masked = shape and self.sidecar is not None
        masks = [sample.get(text + MASK) for sample in records] if is_masked else None
        return array_of_samples(values, masks, type_name, shape, numbers)

    def infer(self) -> tuple[Metadata, dict[str, UnsupportedError]]:
        """Return the metadata of samples of other programs."""
        schema = RecordSchema(SAMPLE_SCALARS, describe_sample_value)
        for number, sample in enumerate(self._reader):
            for name, value in self._checked(sample, number).items():
                if isinstance(name, str):
                    schema.add(name, value)
                else:
                    schema.refuse(repr(name), "found a name that is not text")
        return schema.metadata(len(self), self.path, KEY if len(self) else None)

    def close(self) -> None:
        """Release the files."""
        self._reader.close()
        if self.sidecar is not None:
            self.sidecar.source.close()


class SampleSink(RecordSink):
    """Samples being written; see `RecordSink`. By default the text variable `key` is their keys.

    Raises
    ------
    BusyError
        If another process is writing the dataset.
    """

    KEY = KEY

    def __init__(
        self, path: Any, meta: Metadata, *, dim: str | None = None, key: str | None = None, durable: bool = False
    ):
        super().__init__(path, meta, dim=dim, key=key, durable=durable)
        try:
            self._writer = _SampleWriter(self.path, self.meta, self._plan, self._durable)
        except BaseException:
            super().abort()
            raise

    def _check(self, plan: RecordsPlan) -> None:
        for key in plan.axes:
            if key + MASK in plan.axes:
                name = unescape(key)
                raise UnsupportedError(
                    f'the entry "{name}{MASK}" of a sample is the mask of "{name}"', variable=name + MASK
                )

    def _store(self, source: DsSource) -> None:
        self._writer.put_all(source)
        self._writer.close()

    def abort(self) -> None:
        """Remove everything that was not committed."""
        try:
            self._writer.abort()
        finally:
            super().abort()


class _SampleWriter(FileWriter):
    """Writes samples, and the sidecar file when the dataset is finished."""

    def __init__(self, path: str, meta: Metadata, plan: RecordsPlan, durable: bool):
        super().__init__(path, overwrite=True, total=plan.n, durable=durable)
        self._meta, self._plan = meta, plan

    def put_all(self, source: DsSource) -> None:
        """Add all samples of a ds file of the dataset."""
        self._source = source
        name = self._plan.key
        for block in record_blocks(source, self._plan):
            for sample in _samples(block, source.meta):
                try:
                    self.write(sample)
                except UnsupportedError as error:
                    raise error if name is None else error.at(variable=unescape(name))

    def _prepare_others(self, claim: Claim) -> None:
        meta = sidecar.with_stored_types(self._meta, self._source)
        digest = self._digest.hexdigest()
        of_data = sidecar.records_property(self._plan.axes, len(self), self._end, self._source.meta, md5=digest)
        prepare_file(claim, meta, of_data, self._source)


def _samples(block: RecordBlock, meta: Metadata) -> Iterator[dict[str, Any]]:
    columns: list[tuple[str, list[Any]]] = []
    for key, array in block.arrays.items():
        values, mask = values_for_samples(array)
        name = unescape(key)
        if name != KEY:
            columns.append((name, values))
        if meta[key].get(".missing") and array.ndim > 1 and array.dtype.kind not in "OSUT":
            columns.append((name + MASK, list(np.zeros(array.shape, np.bool_) if mask is None else mask)))
    names = [KEY, *(name for name, _ in columns)]
    for row in zip(block.keys, *(values for _, values in columns), strict=True):
        yield dict(zip(names, row, strict=True))


create = SampleSink
