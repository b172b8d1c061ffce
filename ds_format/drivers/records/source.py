"""Reading: records as a Source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Protocol

import numpy as np

from ...base.dtypes import TYPES
from ...base.text import unescape
from ...errors import DsError, UnsupportedError
from ...model.index import Index, take
from ..base import BLOCK_SIZE, Metadata, block_slices, value_size
from ..ds.source import DsSource
from ..source import ReopenedSource, finished
from .sidecar import Sidecar

CACHE_SIZE = 64 * 1024 * 1024
"""Bytes of variables that are read together, because decoding a record decodes all of it."""
BLOCK_LENGTH = 1024
"""Limit of records in memory at once."""


class Records(Protocol):
    """An open container, as a source of variables."""

    path: str
    size: int
    """Bytes of the data."""
    sidecar: Sidecar | None
    """None: another program wrote the records."""

    def __len__(self) -> int: ...

    def take(self, positions: Sequence[int]) -> Iterator[Any]:
        """Yield the records at these positions."""
        ...

    def column(
        self, name: str, records: Sequence[Any], numbers: Sequence[int], type_name: str, shape: tuple[int, ...]
    ) -> Any:
        """Return a variable of some records.

        Parameters
        ----------
        name : str
            Its key.
        records : sequence
            n of them, as `take` yields them.
        numbers : sequence of int
            Their positions, for messages.
        type_name : str
            The ds type.
        shape : tuple of int
            Shape in one record.

        Returns
        -------
        (n, *shape) ndarray or MaskedArray

        Raises
        ------
        FormatError
            If a record has another type or shape; the message names it.
        """
        ...

    def infer(self) -> tuple[Metadata, dict[str, UnsupportedError]]:
        """Return the metadata of records without a sidecar file, and errors for entries that cannot be variables."""
        ...

    def close(self) -> None:
        """Release the files."""
        ...


class RecordSource(ReopenedSource):
    """Records of a container; see `ds_format.drivers.base.Source`.

    Data with the sidecar file that this package writes open at once. Otherwise all records are decoded to infer the
    variables: entries of one type and shape are variables along the dimension `n`.

    Parameters
    ----------
    records : Records
        Closed with the source.
    skip_unsupported : bool
        Omit entries that cannot be variables, with a `LossWarning`. By default they are listed, and reading one is an
        error.

    Raises
    ------
    FormatError
        If a record is damaged; the message names the file and the record.
    """

    meta: Metadata

    def __init__(self, records: Records, *, skip_unsupported: bool = False):
        self.path = records.path
        self._records = records
        self._step = min(max(BLOCK_SIZE * len(records) // max(records.size, 1), 1), BLOCK_LENGTH)
        self._cached: dict[str, Any] = {}
        self._constants: DsSource | None = None
        if records.sidecar is not None:
            self._constants, self.meta, self._axes = records.sidecar
            self.faults = self._constants.faults
            return
        try:
            self.meta, self.faults = records.infer()
        except BaseException:
            records.close()
            raise
        self._axes = {key: 0 for key, entry in self.meta.items() if entry.get(".size") is not None}
        if skip_unsupported:
            self._leave_out_faults()

    def _read(self, name: str, index: tuple[Any, ...] | None) -> Any:
        """Return one variable, or a part of it; see `BaseSource`.

        Raises
        ------
        FormatError
            If a record is damaged, or does not match the sidecar file.
        """
        if name not in self._axes:
            return None if self._constants is None else self._constants.read(name, index)
        return finished(self._column(name) if index is None else self._part(name, index))

    def _blocks(self, name: str, budget: int) -> Iterator[Any]:
        if name not in self._axes:
            if self._constants is not None:
                yield from self._constants.blocks(name, budget)
        elif self._size(name) > CACHE_SIZE:
            yield from super()._blocks(name, budget)
        else:
            whole, entry = self._column(name), self.meta[name]
            for slices in block_slices(entry[".size"], value_size(entry[".type"]), budget):
                yield whole[slices]

    def close(self) -> None:
        """Release the files."""
        self._cached = {}
        self._records.close()

    def _size(self, name: str) -> int:
        entry = self.meta[name]
        return int(np.prod(entry[".size"], dtype=object)) * value_size(entry[".type"])

    def _column(self, name: str) -> Any:
        """Return a whole variable, and cache the variables after it, as long as they are small."""
        if name not in self._cached:
            every = list(self._axes)
            group, size = [name], self._size(name)
            for other in every[every.index(name) + 1 :]:
                size += self._size(other)
                if size > CACHE_SIZE:
                    break
                group.append(other)
            self._cached = self._gather(group)
        return self._cached.pop(name)

    def _part(self, name: str, index: tuple[Index, ...]) -> Any:
        """Read a part of a variable, with only that and a block of records in memory."""
        axis = self._axes[name]
        item = index[axis]
        positions = _positions(item)
        rest = (*index[:axis], *index[axis + 1 :])
        shape = self._shape(name)
        records = self._records.take(positions)
        parts = []
        for numbers in _steps(positions, self._step):
            block = self._arrays([name], list(islice(records, len(numbers))), numbers)[name]
            parts.append(take(block, (range(len(block)), *rest)) if shape else block)
        part = parts[0] if len(parts) == 1 else _joined(parts)
        if isinstance(item, int):
            return part.reshape(part.shape[1:])
        return _moved(part, sum(not isinstance(other, int) for other in index[:axis]))

    def _gather(self, names: Sequence[str]) -> dict[str, Any]:
        """Read whole variables in one pass."""
        n = len(self._records)
        records = self._records.take(range(n))
        out = {name: np.empty((n, *self._shape(name)), TYPES[self.meta[name][".type"]].code) for name in names}
        masks: dict[str, Any] = {}
        for numbers in _steps(range(n), self._step):
            part = slice(numbers[0], numbers[-1] + 1) if numbers else slice(0)
            for name, block in self._arrays(names, list(islice(records, len(numbers))), numbers).items():
                out[name][part] = np.ma.getdata(block)
                if isinstance(block, np.ma.MaskedArray):
                    masks.setdefault(name, np.zeros(out[name].shape, np.bool_))[part] = block.mask
        for name, mask in masks.items():
            out[name] = np.ma.MaskedArray(out[name], mask)
        return {name: _moved(array, self._axes[name]) for name, array in out.items()}

    def _shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of one record."""
        size, axis = self.meta[name][".size"], self._axes[name]
        return (*size[:axis], *size[axis + 1 :])

    def _arrays(self, names: Sequence[str], records: list[Any], numbers: Sequence[int]) -> dict[str, Any]:
        """Return variables of some records, which come along the first axis."""
        out: dict[str, Any] = {}
        for name in names:
            try:
                out[name] = self._records.column(name, records, numbers, self.meta[name][".type"], self._shape(name))
            except DsError as error:
                raise error.at(path=self.path, variable=unescape(name))
        return out


def _positions(item: Index) -> Sequence[int]:
    """Return the positions that an item of an index selects."""
    if isinstance(item, int):
        return [item]
    return item if isinstance(item, range) else item.tolist()


def _steps(positions: Sequence[int], step: int) -> Iterator[Sequence[int]]:
    """Cut positions into pieces, at least one."""
    for start in range(0, max(len(positions), 1), step):
        yield positions[start : start + step]


def _joined(parts: list[Any]) -> Any:
    is_masked = any(isinstance(part, np.ma.MaskedArray) for part in parts)
    join: Any = np.ma.concatenate if is_masked else np.concatenate
    return join(parts)


def _moved(array: Any, axis: int) -> Any:
    """Return an array with its first axis elsewhere, in C order; without a mask if nothing is missing."""
    if isinstance(array, np.ma.MaskedArray) and not np.ma.getmaskarray(array).any():
        array = np.ma.getdata(array)
    return np.moveaxis(array, 0, axis).copy() if axis else array
