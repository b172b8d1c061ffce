"""The samples of a reader in another order, a part of them, or all of them several times.

An order has a list of positions for each *epoch*, which is one pass through the samples. The list depends only on the
number of samples, a seed and the number of the epoch. So every pass can be repeated, from any position.

Iterating without `start` and `stop` continues where the latest iterator stopped, and after the end of an epoch with the
next one. A training run that is resumed needs this. `tell` and `seek` return and set this position, which counts on
from epoch to epoch: `epoch * len(order) + i`.

Sources: the orders that datadings 3.4.7 makes with `random.Random` of Python.
"""

from __future__ import annotations

import operator
from abc import abstractmethod
from array import array
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain
from math import ceil
from random import Random
from typing import Any, SupportsIndex

from ..errors import MissingError
from .base import Samples, TakeOptions


class SampleOrder(Samples):
    """Base of all orders.

    Parameters
    ----------
    reader : Samples
        A reader, or another order, whose epochs of the same numbers are used. The position of that order is ignored.

    Attributes
    ----------
    reader : Samples
    root : Samples
        The innermost reader, which is not an order.
    """

    _endless = False

    def __init__(self, reader: Samples):
        self.reader = reader
        self.root: Samples = reader.root if isinstance(reader, SampleOrder) else reader
        self._n = len(reader)
        self._position = 0
        self._latest: tuple[int, Sequence[int]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_latest": None}

    def __len__(self) -> int:
        """Return the number of samples of one epoch."""
        return self._n

    @abstractmethod
    def _arrange(self, epoch: int) -> Sequence[int]:
        """Return `indices`, without storing them."""

    def _of_reader(self, epoch: int, positions: Sequence[int]) -> Sequence[int]:
        """Convert positions in the inner reader to indices in the innermost reader, which is not an order."""
        indices = self.reader.indices(epoch)
        if indices == range(len(indices)):
            return positions
        if isinstance(positions, range):
            return indices[positions.start : positions.stop]
        return array("q", [indices[position] for position in positions])

    def indices(self, epoch: int = 0) -> Sequence[int]:
        """Return the indices of the samples of an epoch, in the innermost reader, which is not an order."""
        latest = self._latest
        if latest is None or latest[0] != epoch:
            self._latest = latest = (epoch, self._arrange(epoch))
        return latest[1]

    @property
    def epoch(self) -> int:
        """The number of completed epochs."""
        return self._position // len(self) if len(self) else 0

    def tell(self) -> int:
        """Return the position where the next iteration begins."""
        return self._position

    def seek(self, index: SupportsIndex) -> None:
        """Set the position where the next iteration begins.

        Parameters
        ----------
        index : int
            `epoch * len(order) + i`, 0 or more.

        Raises
        ------
        IndexError
            If it is negative.
        """
        position = operator.index(index)
        if position < 0:
            raise IndexError(f"position {position} of an order: expected 0 or more")
        self._position = position

    def get(self, index: SupportsIndex, yield_key: bool = False, raw: bool = False, copy: bool = True) -> Any:
        """Return one sample of the current epoch; see `Samples.get`."""
        return self.root.get(self._index_in_root(index), yield_key, raw, copy)

    def find_key(self, index: SupportsIndex) -> Any:
        """Return the key of a sample of the current epoch."""
        return self.root.find_key(self._index_in_root(index))

    def find_index(self, key: Hashable) -> int:
        """Return the first position of the sample with a key, in the current epoch.

        Raises
        ------
        MissingError
            If the epoch does not contain it.
        """
        try:
            return self.indices(self.epoch).index(self.root.find_index(key))
        except ValueError:
            raise MissingError(f"key {key!r:.60} is not in this order") from None

    def _index_in_root(self, index: SupportsIndex) -> int:
        return self.indices(self.epoch)[self._locate(index)]

    def take_run(self, run: range, options: TakeOptions) -> Iterator[Any]:
        """Iterate over consecutive samples of the current epoch."""
        return self.stream(self.epoch, run, options)

    def take_each(self, indices: Iterable[int], options: TakeOptions) -> Iterator[Any]:
        """Iterate over the samples at these positions of the current epoch."""
        return self.root.take([self._index_in_root(index) for index in indices], *options)

    def iter(
        self,
        start: int | None = None,
        stop: int | None = None,
        yield_key: bool = False,
        raw: bool = False,
        copy: bool = True,
        chunk_size: int | None = None,
        epoch: int | None = None,
    ) -> Iterator[Any]:
        """Iterate over the samples.

        Without `start`, `stop` and `epoch`: from the position where the latest such iteration stopped, to the end of
        the epoch. Otherwise over a part of an epoch, without changing that position.

        Parameters
        ----------
        start, stop : int, optional
            As in a slice of a list.
        yield_key, raw, copy, chunk_size
            As for `Samples.take`.
        epoch : int, optional
            The number of the epoch; by default the current one.
        """
        options = TakeOptions(yield_key, raw, copy, chunk_size)
        if start is None and stop is None and epoch is None:
            return self._go_on(self._position, options)
        return self.stream(self.epoch if epoch is None else epoch, self._between(start, stop), options)

    def _go_on(self, position: int, options: TakeOptions) -> Iterator[Any]:
        n = len(self)
        while n:
            epoch, done = divmod(position, n)
            for sample in self.stream(epoch, range(done, n), options):
                position += 1
                self._position = position
                yield sample
            if not self._endless:
                return

    def stream(self, epoch: int, run: range, options: TakeOptions) -> Iterator[Any]:
        """Iterate over the samples at consecutive positions of an epoch."""
        return self.root.take(self.indices(epoch)[run.start : run.stop], *options)

    def close(self) -> None:
        """Close the reader."""
        self.reader.close()


class Range(SampleOrder):
    """The samples from `start` to before `stop`, as in a slice of a list.

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
        """The position after the last sample in the reader."""
        return self._part.stop

    def _arrange(self, epoch: int) -> Sequence[int]:
        return self._of_reader(epoch, self._part)

    def stream(self, epoch: int, run: range, options: TakeOptions) -> Iterator[Any]:
        """Iterate over the samples at consecutive positions of an epoch."""
        return self.reader.stream(epoch, self._part[run.start : run.stop], options)


class Repeater(SampleOrder):
    """All samples several times; for an order, one epoch after another.

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
        return array("q", chain.from_iterable(map(self.reader.indices, rounds)))

    def stream(self, epoch: int, run: range, options: TakeOptions) -> Iterator[Any]:
        """Iterate over the samples at consecutive positions of an epoch."""
        n = len(self.reader)
        for i in range(self.times):
            part = range(max(run.start - i * n, 0), min(run.stop - i * n, n))
            if part:
                yield from self.reader.stream(epoch * self.times + i, part, options)


class Cycler(SampleOrder):
    """All samples again and again, without end; for an order, one epoch after another.

    An epoch is one round, and `len` is its number of samples.
    """

    _endless = True

    def _arrange(self, epoch: int) -> Sequence[int]:
        return self.reader.indices(epoch)

    def stream(self, epoch: int, run: range, options: TakeOptions) -> Iterator[Any]:
        """Iterate over the samples at consecutive positions of an epoch."""
        return self.reader.stream(epoch, run, options)


class Shuffler(SampleOrder):
    """All samples in random order, which is a different one in each epoch.

    Parameters
    ----------
    reader : Samples
    seed : int, optional
        By default the number of samples.

    Examples
    --------
    >>> from ds_format.datadings.lists import ListReader
    >>> from ds_format.datadings.order import Shuffler
    >>> order = Shuffler(ListReader([{"value": i} for i in range(5)]), seed=0)
    >>> [sample["value"] for sample in order]
    [2, 1, 0, 4, 3]
    >>> [sample["value"] for sample in order]
    [0, 1, 3, 2, 4]
    """

    def __init__(self, reader: Samples, seed: int | None = None):
        super().__init__(reader)
        self.seed = len(reader) if seed is None else seed

    def _arrange(self, epoch: int) -> Sequence[int]:
        positions = array("q", range(len(self)))
        Random(self.seed + epoch * len(self)).shuffle(positions)
        return self._of_reader(epoch, positions)

    def __contains__(self, key: Hashable) -> bool:
        return key in self.reader


_UNREAD = object()


def _places(random: Random, n: int) -> Iterator[int]:
    """Draw positions in a buffer of n, without end: the same as `random.randrange(n)` draws, and faster."""
    draw, bits = random.getrandbits, n.bit_length()
    while True:
        place = draw(bits)
        if place < n:
            yield place


class QuasiShuffler(SampleOrder):
    """All samples in an order that is random enough, read in blocks.

    The samples are divided into chunks, whose order is random. The first chunks fill a buffer. Each further sample
    replaces one at a random position of the buffer, and the replaced sample is next. At the end, the rest of the buffer
    follows in the order of positions. So a dataset that is not larger than the buffer is only shuffled by chunks: use a
    `Shuffler` for these.

    Starting within an epoch is slower than at its start, because the buffer is then read sample by sample.

    Parameters
    ----------
    reader : Samples
    buf_size : float
        Number of samples in the buffer, or a fraction of all samples if less than 1. It is rounded up to whole chunks.
    chunk_size : int
        Samples in a chunk.
    seed : int, optional
        By default the product of the numbers of samples in the dataset, the buffer and a chunk.

    Raises
    ------
    ValueError
        If a size is negative, or `chunk_size` is 0.

    Examples
    --------
    >>> from ds_format.datadings.lists import ListReader
    >>> from ds_format.datadings.order import QuasiShuffler
    >>> order = QuasiShuffler(ListReader([{"value": i} for i in range(10)]), buf_size=4, chunk_size=2)
    >>> [sample["value"] for sample in order]
    [2, 8, 3, 9, 0, 6, 4, 1, 7, 5]
    """

    def __init__(self, reader: Samples, buf_size: float = 0.01, chunk_size: int = 16, seed: int | None = None):
        super().__init__(reader)
        if chunk_size < 1 or buf_size < 0:
            raise ValueError(f"buffer of {buf_size} samples, chunks of {chunk_size}: expected 0 or more, and 1 or more")
        n = len(reader)
        samples = ceil(n * buf_size) if buf_size < 1 else int(buf_size)
        self.chunk_size = chunk_size
        self.buf_size = max(ceil(samples / chunk_size), 1) * chunk_size
        self.seed = n * self.buf_size * chunk_size if seed is None else seed

    def _chunks(self, epoch: int) -> tuple[Random, list[range], list[range]]:
        """Return the random numbers of an epoch, the chunks that fill the buffer, and the chunks after them."""
        n, size = len(self), self.chunk_size
        random = Random(self.seed + epoch * n)
        starts = array("q", range(0, n, size))
        random.shuffle(starts)
        chunks = [range(start, min(start + size, n)) for start in starts]
        first = self.buf_size // size
        return random, chunks[:first], chunks[first:]

    def _arrange(self, epoch: int) -> Sequence[int]:
        random, first, chunks = self._chunks(epoch)
        buffer = list(chain.from_iterable(first))
        positions = array("q")
        for position, place in zip(chain.from_iterable(chunks), _places(random, len(buffer)), strict=False):
            positions.append(buffer[place])
            buffer[place] = position
        positions.extend(buffer)
        return self._of_reader(epoch, positions)

    def stream(self, epoch: int, run: range, options: TakeOptions) -> Iterator[Any]:
        """Iterate over the samples at consecutive positions of an epoch."""
        random, first, chunks = self._chunks(epoch)
        root, indices = self.root, self.reader.indices(epoch)
        buffer = list(chain.from_iterable(first))
        places = _places(random, len(buffer))
        samples: list[Any] = [_UNREAD] * len(buffer)
        if run.start == 0 and run:
            samples = [s for chunk in first for s in root.take(indices[chunk.start : chunk.stop], *options)]

        def at(place: int) -> Any:
            sample = samples[place]
            return root.get(indices[buffer[place]], *options[:3]) if sample is _UNREAD else sample

        done = 0
        for chunk in chunks:
            if done >= run.stop:
                return
            skipped = chunk[: max(run.start - done, 0)]
            for position, place in zip(skipped, places, strict=False):
                buffer[place] = position
            wanted = chunk[len(skipped) :]
            wanted = wanted[: run.stop - done - len(skipped)]
            read = root.take(indices[wanted.start : wanted.stop], *options)
            for position, place, sample in zip(wanted, places, read, strict=False):
                yield at(place)
                buffer[place], samples[place] = position, sample
            done += len(skipped) + len(wanted)
        for place in range(max(run.start - done, 0), run.stop - done):
            yield at(place)

    def __contains__(self, key: Hashable) -> bool:
        return key in self.reader
