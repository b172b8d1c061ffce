"""All samples in random order."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterator, Sequence
from itertools import chain
from math import ceil
from random import Random
from typing import Any

from ..base import Samples
from .base import Options, Order, indices_of, root_of


class Shuffler(Order):
    """All samples in random order, another one in each epoch.

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
    """Draw places in a buffer of n, without end: the same as `random.randrange(n)` draws, and faster."""
    draw, bits = random.getrandbits, n.bit_length()
    while True:
        place = draw(bits)
        if place < n:
            yield place


class QuasiShuffler(Order):
    """All samples in an order that is random enough, read in pieces.

    The samples are divided into chunks, whose order is random. The first ones fill a buffer; each further sample takes
    a random place in it, and what was there comes next. What is in the buffer at last comes in the order of its places.
    So datasets that are not larger than the buffer are shuffled by chunks only: use a `Shuffler` for those.

    Beginning within an epoch is slower than at its start, because the buffer is then read sample by sample.

    Parameters
    ----------
    reader : Samples
    buf_size : float
        Samples in the buffer; a fraction of all samples if less than 1. Is rounded up to whole chunks.
    chunk_size : int
        Samples in a chunk.
    seed : int, optional
        By default the product of the numbers of samples, in the dataset, the buffer and a chunk.

    Raises
    ------
    ValueError
        If a size is negative, or 0 in the case of chunks.

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
        """Return the random numbers of an epoch, the chunks that fill the buffer, and those behind them."""
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

    def stream(self, epoch: int, run: range, options: Options) -> Iterator[Any]:
        """Iterate over the samples at consecutive places of an epoch."""
        random, first, chunks = self._chunks(epoch)
        root, indices = root_of(self), indices_of(self.reader, epoch)
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
