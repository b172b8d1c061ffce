"""What all orders have: a place, epochs, and access to samples by their place."""

from __future__ import annotations

import operator
from abc import abstractmethod
from array import array
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple, SupportsIndex

from ...errors import MissingError
from ..base import Samples


class Options(NamedTuple):
    """What samples are handed out as; see `Samples.take`."""

    yield_key: bool = False
    raw: bool = False
    copy: bool = True
    chunk_size: int | None = None


class Order(Samples):
    """Base of all orders.

    Parameters
    ----------
    reader : Samples
        A reader, or another order, of which the same epochs are taken. The place of that is not looked at.

    Attributes
    ----------
    reader : Samples
    """

    _endless = False

    def __init__(self, reader: Samples):
        self.reader = reader
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
        """Do what `indices` does, without remembering it."""

    def _of_reader(self, epoch: int, positions: Sequence[int]) -> Sequence[int]:
        """Return the indices that these positions of the inner reader have in the one that is not an order itself."""
        indices = indices_of(self.reader, epoch)
        if indices == range(len(indices)):
            return positions
        if isinstance(positions, range):
            return indices[positions.start : positions.stop]
        return array("q", [indices[position] for position in positions])

    def indices(self, epoch: int = 0) -> Sequence[int]:
        """Return the indices that the samples of an epoch have in the reader that is not an order itself."""
        latest = self._latest
        if latest is None or latest[0] != epoch:
            self._latest = latest = (epoch, self._arrange(epoch))
        return latest[1]

    @property
    def epoch(self) -> int:
        """The number of epochs that are through."""
        return self._position // len(self) if len(self) else 0

    def tell(self) -> int:
        """Return the place where the next iteration begins."""
        return self._position

    def seek(self, index: SupportsIndex) -> None:
        """Set the place where the next iteration begins.

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
            raise IndexError(f"place {position} of an order: expected 0 or more")
        self._position = position

    def get(self, index: SupportsIndex, yield_key: bool = False, raw: bool = False, copy: bool = True) -> Any:
        """Return one sample of the current epoch; see `Samples.get`."""
        return root_of(self).get(self._inroot_of(index), yield_key, raw, copy)

    def find_key(self, index: SupportsIndex) -> Any:
        """Return the key of a sample of the current epoch."""
        return root_of(self).find_key(self._inroot_of(index))

    def find_index(self, key: Hashable) -> int:
        """Return at which place of the current epoch the sample with a key comes first.

        Raises
        ------
        MissingError
            If it does not come.
        """
        try:
            return self.indices(self.epoch).index(root_of(self).find_index(key))
        except ValueError:
            raise MissingError(f"key {key!r:.60} is not in this order") from None

    def _inroot_of(self, index: SupportsIndex) -> int:
        return self.indices(self.epoch)[self._locate(index)]

    def take(
        self,
        indices: Sequence[int],
        yield_key: bool = False,
        raw: bool = False,
        copy: bool = True,
        chunk_size: int | None = None,
    ) -> Iterator[Any]:
        """Iterate over these samples of the current epoch; see `Samples.take`."""
        options = Options(yield_key, raw, copy, chunk_size)
        if isinstance(indices, range) and indices.step == 1 and indices.start >= 0 and indices.stop <= len(self):
            return self.stream(self.epoch, indices, options)
        return root_of(self).take([self._inroot_of(index) for index in indices], *options)

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

        Without `start`, `stop` and `epoch`: from the place where the latest such iteration stopped, to the end of the
        epoch. Else over a part of an epoch, which leaves that place as it is.

        Parameters
        ----------
        start, stop : int, optional
            As in a slice of a list.
        yield_key, raw, copy, chunk_size
            As for `Samples.take`.
        epoch : int, optional
            Which epoch; by default the current one.
        """
        options = Options(yield_key, raw, copy, chunk_size)
        if start is None and stop is None and epoch is None:
            return self._go_on(self._position, options)
        return self.stream(self.epoch if epoch is None else epoch, self._between(start, stop), options)

    def _go_on(self, position: int, options: Options) -> Iterator[Any]:
        n = len(self)
        while n:
            epoch, done = divmod(position, n)
            for sample in self.stream(epoch, range(done, n), options):
                position += 1
                self._position = position
                yield sample
            if not self._endless:
                return

    def stream(self, epoch: int, run: range, options: Options) -> Iterator[Any]:
        """Iterate over the samples at consecutive places of an epoch."""
        return root_of(self).take(self.indices(epoch)[run.start : run.stop], *options)

    def close(self) -> None:
        """Close the reader."""
        self.reader.close()


def root_of(reader: Samples) -> Samples:
    """Return the reader that an order, or an order of an order, is about."""
    while isinstance(reader, Order):
        reader = reader.reader
    return reader


def indices_of(reader: Samples, epoch: int) -> Sequence[int]:
    """Return `Order.indices`, or for a reader the indices of its samples."""
    return reader.indices(epoch) if isinstance(reader, Order) else range(len(reader))


def read(reader: Samples, epoch: int, run: range, options: Options) -> Iterator[Any]:
    """Read consecutive samples of a reader, or of an epoch of an order."""
    return reader.stream(epoch, run, options) if isinstance(reader, Order) else reader.take(run, *options)
