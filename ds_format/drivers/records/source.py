"""Reading: a datadings dataset as a Source."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ...datadings.format import KEY
from ...datadings.reader import MsgpackReader
from ...dataset import META, as_array
from ...dtypes import TYPES
from ...errors import DsError, FormatError, MissingError, UnsupportedError
from ...names import unescape
from ...selection import Index, take
from ..base import BLOCK_SIZE, Metadata, block_slices
from ..ds.source import DsSource
from ..loss import LossWarning
from ..strings import OBJECT_SIZE
from . import companion, schema
from .columns import array_of
from .plan import MASK

HELD_SIZE = 64 * 1024 * 1024
"""Bytes of variables that are read together, since decoding a sample decodes all of it."""
STRING_SIZE = OBJECT_SIZE + 64
STEP = 1024
"""Most samples that are held at once."""


class RecordSource:
    """A datadings dataset; see `ds_format.drivers.base.Source`.

    Beside the companion that this package writes it opens at once. Of datasets of other programs all samples are
    decoded to learn what is in them: entries of one type and shape are variables along the dimension `n`.

    Parameters
    ----------
    path : str, bytes or PathLike
    skip_unsupported : bool
        Leave out entries that are no variables, with a `LossWarning`. Else they are listed, and reading them is an
        error.

    Raises
    ------
    OSError
        If there is no such file, or no index of it.
    FormatError
        If it is damaged; the message names the file and the sample.
    """

    meta: Metadata

    def __init__(self, path: Any, *, skip_unsupported: bool = False):
        self.path = os.fsdecode(path)
        self._reader = MsgpackReader(self.path)
        n, size = len(self._reader), os.stat(self.path).st_size
        self._step = min(max(BLOCK_SIZE * n // max(size, 1), 1), STEP)
        self._faults: dict[str, UnsupportedError] = {}
        self._held: dict[str, Any] = {}
        self._constants: DsSource | None = None
        found = companion.find(self.path, n, size)
        self.is_own = found is not None
        """Whether this package wrote it."""
        if found is not None:
            self._constants, self.meta, self._axes = found
            return
        self.meta, self._faults = schema.infer(self._reader, n, self.path)
        self._axes = {key: 0 for key, entry in self.meta.items() if entry.get(".size") is not None}
        if skip_unsupported:
            for key, fault in self._faults.items():
                warnings.warn(f"{fault}; it is left out", LossWarning, stacklevel=4)
                del self.meta[key]

    def read(self, name: str, index: tuple[Any, ...] | None = None) -> Any:
        """Return one variable, or a part of it; see `Source.read`.

        Raises
        ------
        FormatError
            If a sample is damaged, or has something else than the companion says.
        UnsupportedError
            If an entry is no variable.
        """
        if name not in self.meta or name == META:
            raise MissingError("variable not found", path=self.path, variable=unescape(name))
        if name in self._faults:
            raise self._faults[name].with_traceback(None)
        if name not in self._axes:
            return None if self._constants is None else self._constants.read(name, index)
        try:
            part = self._column(name) if index is None else self._part(name, index)
        except DsError as error:
            raise error.at(path=self.path, variable=unescape(name))
        return part[()] if not part.ndim and not isinstance(part, np.ma.MaskedArray) else part

    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Yield one variable in blocks; see `Source.blocks`."""
        if name not in self._axes:
            if self._constants is not None:
                yield from self._constants.blocks(name, budget)
            return
        size = self.meta[name][".size"]
        whole = self._column(name) if self._size(name) <= HELD_SIZE else None
        for slices in block_slices(size, _item_size(self.meta[name]), budget):
            if whole is not None:
                yield whole[slices]
            else:
                yield as_array(self.read(name, tuple(range(s.start, s.stop) for s in slices)))

    def close(self) -> None:
        """Release the files."""
        self._held = {}
        self._reader.close()
        if self._constants is not None:
            self._constants.close()

    def _size(self, name: str) -> int:
        entry = self.meta[name]
        return int(np.prod(entry[".size"], dtype=object)) * _item_size(entry)

    def _column(self, name: str) -> Any:
        """Return a whole variable, and keep those behind it, as long as they are small, for who wants them next."""
        if name not in self._held:
            every = list(self._axes)
            group, size = [name], self._size(name)
            for other in every[every.index(name) + 1 :]:
                size += self._size(other)
                if size > HELD_SIZE:
                    break
                group.append(other)
            self._held = self._gather(group)
        return self._held.pop(name)

    def _part(self, name: str, index: tuple[Index, ...]) -> Any:
        """Read a part of a variable, holding no more than that and a block of samples."""
        axis = self._axes[name]
        item = index[axis]
        positions = _positions(item)
        rest = (*index[:axis], *index[axis + 1 :])
        shape = self._shape(name)
        samples = self._samples(positions)
        parts = []
        for numbers in _steps(positions, self._step):
            block = self._arrays([name], list(islice(samples, len(numbers))), numbers)[name]
            parts.append(take(block, (range(len(block)), *rest)) if shape else block)
        part = parts[0] if len(parts) == 1 else _joined(parts)
        if isinstance(item, int):
            return part.reshape(part.shape[1:])
        return _moved(part, sum(not isinstance(other, int) for other in index[:axis]))

    def _gather(self, names: Sequence[str]) -> dict[str, Any]:
        """Read whole variables in one pass."""
        n = len(self._reader)
        samples = self._samples(range(n))
        out = {name: np.empty((n, *self._shape(name)), TYPES[self.meta[name][".type"]].code) for name in names}
        masks: dict[str, Any] = {}
        for numbers in _steps(range(n), self._step):
            part = slice(numbers[0], numbers[-1] + 1) if numbers else slice(0)
            for name, block in self._arrays(names, list(islice(samples, len(numbers))), numbers).items():
                out[name][part] = np.ma.getdata(block)
                if isinstance(block, np.ma.MaskedArray):
                    masks.setdefault(name, np.zeros(out[name].shape, np.bool_))[part] = block.mask
        for name, mask in masks.items():
            out[name] = np.ma.MaskedArray(out[name], mask)
        return {name: _moved(array, self._axes[name]) for name, array in out.items()}

    def _samples(self, positions: Sequence[int]) -> Iterator[Any]:
        if self.is_own:
            return self._reader.take(positions)
        pairs = self._reader.take(positions, yield_key=True)
        return ({**sample, KEY: key} for key, sample in pairs)

    def _shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of one record."""
        size, axis = self.meta[name][".size"], self._axes[name]
        return (*size[:axis], *size[axis + 1 :])

    def _arrays(self, names: Sequence[str], samples: list[Any], numbers: Sequence[int]) -> dict[str, Any]:
        """Return variables of some samples, which come along the first axis."""
        for number, sample in zip(numbers, samples, strict=True):
            if type(sample) is not dict:
                raise FormatError(f"sample {number}: found {type(sample).__name__}, expected a map", path=self.path)
        out: dict[str, Any] = {}
        for name in names:
            text, shape = unescape(name), self._shape(name)
            values = [sample.get(text) for sample in samples]
            masks = [sample.get(text + MASK) for sample in samples] if shape and self.is_own else None
            try:
                out[name] = array_of(values, masks, self.meta[name][".type"], shape, numbers)
            except DsError as error:
                raise error.at(path=self.path, variable=text)
        return out


def _positions(item: Index) -> Sequence[int]:
    """Return what one item of an index selects."""
    if isinstance(item, int):
        return [item]
    return item if isinstance(item, range) else item.tolist()


def _steps(positions: Sequence[int], step: int) -> Iterator[Sequence[int]]:
    """Cut positions into pieces, of which there is at least one."""
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


def _item_size(entry: dict[str, Any]) -> int:
    """Return the bytes of memory that one value takes."""
    ds_type = TYPES[entry[".type"]]
    return STRING_SIZE if ds_type.is_string else max(ds_type.size, 1)
