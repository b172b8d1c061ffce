"""A part of the samples, or all of them several times."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from ..base import Samples
from .base import Options, Order, indices_of, read


class Range(Order):
    """The samples from `start` up to before `stop`, which mean what they mean in a slice of a list.

    Examples
    --------
    >>> from ds_format.datadings.lists import ListReader
    >>> from ds_format.datadings.order import Range
    >>> reader = ListReader([{"value": i} for i in range(10)])
    >>> [sample["value"] for sample in Range(reader, 2, -5)]
    [2, 3, 4]
    """

    def __init__(self, reader: Samples, start: int = 0, stop: int | None = None):
        super().__init__(reader)
        self._part = range(len(reader))[start:stop]
        self._n = len(self._part)

    @property
    def start(self) -> int:
        """The position of the first sample in the reader."""
        return self._part.start

    @property
    def stop(self) -> int:
        """The position behind the last sample in the reader."""
        return self._part.stop

    def _arrange(self, epoch: int) -> Sequence[int]:
        return self._of_reader(epoch, self._part)

    def stream(self, epoch: int, run: range, options: Options) -> Iterator[Any]:
        """Iterate over the samples at consecutive places of an epoch."""
        return read(self.reader, epoch, self._part[run.start : run.stop], options)


class Repeater(Order):
    """All samples several times; of an order, one epoch after another.

    Examples
    --------
    >>> from ds_format.datadings.lists import ListReader
    >>> from ds_format.datadings.order import Repeater, Shuffler
    >>> reader = ListReader([{"value": i} for i in range(3)])
    >>> [sample["value"] for sample in Repeater(Shuffler(reader), 2)]
    [1, 2, 0, 1, 0, 2]
    """

    def __init__(self, reader: Samples, times: int):
        super().__init__(reader)
        if times < 0:
            raise ValueError(f"{times} times: expected 0 or more")
        self.times = times
        self._n = len(reader) * times

    def _arrange(self, epoch: int) -> Sequence[int]:
        rounds = range(epoch * self.times, (epoch + 1) * self.times)
        return array("q", chain.from_iterable(indices_of(self.reader, i) for i in rounds))

    def stream(self, epoch: int, run: range, options: Options) -> Iterator[Any]:
        """Iterate over the samples at consecutive places of an epoch."""
        n = len(self.reader)
        for i in range(self.times):
            part = range(max(run.start - i * n, 0), min(run.stop - i * n, n))
            if part:
                yield from read(self.reader, epoch * self.times + i, part, options)


class Cycler(Order):
    """All samples again and again, without end; of an order, one epoch after another.

    An epoch is one round, which also is what `len` tells.
    """

    _endless = True

    def _arrange(self, epoch: int) -> Sequence[int]:
        return indices_of(self.reader, epoch)

    def stream(self, epoch: int, run: range, options: Options) -> Iterator[Any]:
        """Iterate over the samples at consecutive places of an epoch."""
        return read(self.reader, epoch, run, options)
