"""Samples as records."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from ....base.names import unescape
from ....datadings.format import KEY
from ....datadings.reader import MsgpackReader
from ....errors import FormatError, UnsupportedError
from ...base import Metadata
from ..schema import Schema
from . import companion_file
from .columns import MASK, SCALARS, array_of, described


class SampleRecords:
    """The samples of a dataset; see `Records`.

    Parameters
    ----------
    path : str, bytes or PathLike
    """

    def __init__(self, path: Any):
        self.path = os.fsdecode(path)
        self._reader = MsgpackReader(self.path)
        self.size = self._reader.data_size
        self.companion = companion_file.find(self.path, len(self._reader), self.size)

    def __len__(self) -> int:
        return len(self._reader)

    def take(self, positions: Sequence[int]) -> Iterator[Any]:
        """Yield samples; those of other programs need not have their keys, which then come from the index."""
        if self.companion is not None:
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
        is_masked = shape and self.companion is not None
        masks = [sample.get(text + MASK) for sample in records] if is_masked else None
        return array_of(values, masks, type_name, shape, numbers)

    def infer(self) -> tuple[Metadata, dict[str, UnsupportedError]]:
        """Return the metadata of samples of other programs."""
        schema = Schema(SCALARS, described)
        for number, sample in enumerate(self._reader):
            for name, value in self._checked(sample, number).items():
                if isinstance(name, str):
                    schema.add(name, value)
                else:
                    schema.refuse(repr(name), "found a name that is no text")
        return schema.metadata(len(self), self.path, KEY if len(self) else None)

    def close(self) -> None:
        """Release the files."""
        self._reader.close()
        if self.companion is not None:
            self.companion.source.close()
