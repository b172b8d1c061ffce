"""The interface of all sources of samples: access by index and key, iteration, and a cursor for readers."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, SupportsIndex

from ..body import Closing


def locate(index: SupportsIndex, n: int) -> int:
    """Return the position in [0, n) of an index; negative indices count from the end.

    Raises
    ------
    IndexError
        If there is no such position.
    """
    found = operator.index(index)
    position = found + n if found < 0 else found
    if not 0 <= position < n:
        raise IndexError(f"index {found} is out of range for {n} samples")
    return position


class TakeOptions(NamedTuple):
    """Options of iterating over samples; see `Samples.take`."""

    yield_key: bool = False
    raw: bool = False
    copy: bool = True
    chunk_size: int | None = None


class Samples(Closing, ABC):
    """Samples by index, by key and in sequence.

    Subclasses implement `__len__`, `get`, `find_key` and `find_index`. They override `take_run` and `take_each` if they
    can read several samples at once faster than one by one. All methods are thread-safe.
    """

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def get(self, index: SupportsIndex, yield_key: bool = False, raw: bool = False, copy: bool = True) -> Any:
        """Return one sample.

        Parameters
        ----------
        index : int
            Index of the sample; negative ones count from the end.
        yield_key : bool
            Return the pair of key and sample.
        raw : bool
            Return the message of the sample as bytes, undecoded.
        copy : bool
            If false, a raw message may be a `memoryview` of a larger buffer.

        Raises
        ------
        IndexError
            If there is no such sample.
        FormatError
            If it cannot be decoded.
        """

    @abstractmethod
    def find_key(self, index: SupportsIndex) -> Any:
        """Return the key of a sample.

        Raises
        ------
        IndexError
            If there is no such sample.
        """

    @abstractmethod
    def find_index(self, key: Hashable) -> int:
        """Return the index of the sample with a key.

        Raises
        ------
        MissingError
            If no sample has it. It is a `KeyError`.
        """

    def __contains__(self, key: Hashable) -> bool:
        try:
            self.find_index(key)
        except KeyError:
            return False
        return True

    def take(
        self,
        indices: Sequence[int],
        yield_key: bool = False,
        raw: bool = False,
        copy: bool = True,
        chunk_size: int | None = None,
    ) -> Iterator[Any]:
        """Iterate over the samples with the given indices, in this order.

        Parameters
        ----------
        indices : sequence of int
            A range with the step 1 is read in large blocks.
        yield_key, raw, copy
            As for `get`.
        chunk_size : int, optional
            Maximum number of samples read at once, to bound memory. By default as many as fit into a few MB.
        """
        options = TakeOptions(yield_key, raw, copy, chunk_size)
        if not isinstance(indices, range) or indices.step != 1 or indices.start < 0:
            return self.take_each(indices, options)
        if indices:
            self._locate(indices[-1])
        return self.take_run(indices, options)

    def take_run(self, run: range, options: TakeOptions) -> Iterator[Any]:
        """Iterate over consecutive samples, all of which exist."""
        return self.take_each(run, options)

    def take_each(self, indices: Iterable[int], options: TakeOptions) -> Iterator[Any]:
        """Iterate over the samples with the given indices, which may be negative."""
        yield_key, raw, copy, _ = options
        return (self.get(index, yield_key, raw, copy) for index in indices)

    def indices(self, epoch: int = 0) -> Sequence[int]:
        """Return the indices of the samples of an epoch, in the innermost reader, which is not an order."""
        return range(len(self))

    def stream(self, epoch: int, run: range, options: TakeOptions) -> Iterator[Any]:
        """Iterate over the samples at consecutive positions of an epoch. Only an order has different epochs."""
        return self.take_run(run, options)

    def slice(
        self,
        start: int | None = None,
        stop: int | None = None,
        yield_key: bool = False,
        raw: bool = False,
        copy: bool = True,
    ) -> Iterator[Any]:
        """Iterate over the samples from `start` to before `stop`, as in a slice of a list."""
        return self.take(self._between(start, stop), yield_key, raw, copy)

    def iter(
        self,
        start: int | None = None,
        stop: int | None = None,
        yield_key: bool = False,
        raw: bool = False,
        copy: bool = True,
        chunk_size: int | None = None,
    ) -> Iterator[Any]:
        """Iterate over all samples or a part of them; parameters as for `slice` and `take`."""
        return self.take(self._between(start, stop), yield_key, raw, copy, chunk_size)

    def rawiter(self, yield_key: bool = False) -> Iterator[Any]:
        """Iterate over the messages of all samples."""
        return self.iter(yield_key=yield_key, raw=True)

    def _locate(self, index: SupportsIndex) -> int:
        return locate(index, len(self))

    def _between(self, start: int | None, stop: int | None) -> range:
        return range(len(self))[start:stop]

    def __iter__(self) -> Iterator[Any]:
        return self.iter()

    def __getitem__(self, index: Any) -> Any:
        """Return the sample at an index, or an iterator over those of a slice."""
        if isinstance(index, slice):
            return self.take(range(len(self))[index])
        return self.get(index)

    def close(self) -> None:
        """Close open files. A later read opens them again."""
        return


class Reader(Samples):
    """Samples as they are stored, with a cursor for `next` and `seek`.

    Iterators do not use the cursor. Each has its own position, so several do not disturb one another.
    The cursor must be used by one thread only.
    """

    _cursor = 0
    _sought: Any = None

    def seek(self, index: SupportsIndex) -> None:
        """Move the cursor to a sample.

        Raises
        ------
        IndexError
            If there is no such sample.
        """
        self._cursor = self._locate(index)
        self._sought = None

    def seek_index(self, index: SupportsIndex) -> None:
        """Do the same as `seek`."""
        self.seek(index)

    def seek_key(self, key: Hashable) -> None:
        """Move the cursor to the sample with a key. `next` then checks that the sample has this key.

        Raises
        ------
        MissingError
            If no sample has it.
        """
        self._cursor = self.find_index(key)
        self._sought = key

    def tell(self) -> int:
        """Return the index of the sample at the cursor, or the number of samples if it is at the end."""
        return self._cursor

    def next(self) -> Any:
        """Return the sample at the cursor, and move the cursor to the next one.

        Raises
        ------
        StopIteration
            After the last sample.
        """
        return self._next(raw=False)

    def rawnext(self) -> Any:
        """Return the message of the sample at the cursor, and move the cursor to the next one."""
        return self._next(raw=True)

    def __next__(self) -> Any:
        return self.next()

    def _next(self, *, raw: bool) -> Any:
        if self._cursor >= len(self):
            raise StopIteration
        sample = self.get(self._cursor, raw=raw)
        if self._sought is not None and not raw:
            self._check_key(sample, self._cursor, self._sought)
        self._cursor, self._sought = self._cursor + 1, None
        return sample

    def find(self, key: Hashable) -> Any:
        """Return the sample with a key, and check that the sample has this key itself.

        Raises
        ------
        MissingError
            If no sample has it.
        IntegrityError
            If the index has this key for a sample that contains another one.
        """
        index = self.find_index(key)
        sample = self.get(index)
        self._check_key(sample, index, key)
        return sample

    def _check_key(self, sample: Any, index: int, key: Hashable) -> None:
        """Raise an error if a sample contains another key. A sample may contain none."""
        return
