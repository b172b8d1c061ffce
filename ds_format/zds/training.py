"""The documents of a collection by index or in sequence, as datasets for PyTorch's `DataLoader`."""

from __future__ import annotations

import copy
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from random import Random
from typing import Any, NamedTuple, Self, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from ..base.batches import batched
from ..pytorch import TorchLike, this_rank, this_worker
from .documents import Document
from .format import DEFAULT_COLLECTION, ID
from .query import Where, predicate
from .store import ZDSStore

Positions = range | NDArray[np.int64]


class Ids:
    """Ids by number, stored as one text. A list of them takes four times the memory.

    Parameters
    ----------
    ids : iterable of str

    Examples
    --------
    >>> from ds_format.zds.training import Ids
    >>> ids = Ids(["a", "bc"])
    >>> len(ids), ids[0], ids[1]
    (2, 'a', 'bc')
    """

    def __init__(self, ids: Iterable[str]):
        texts, sizes = [], array("q")
        for chunk in batched(ids, 4096):
            texts.append("".join(chunk))
            sizes.extend(map(len, chunk))
        self._text = "".join(texts)
        self._ends = np.cumsum(sizes, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, i: int) -> str:
        return self._text[self._ends[i - 1] if i else 0 : self._ends[i]]

    def __iter__(self) -> Iterator[str]:
        start = 0
        for end in map(int, self._ends):
            yield self._text[start:end]
            start = end


class ZDataset(TorchLike):
    """The documents of a collection by index: a map-style dataset of PyTorch.

    A dataset holds positions in the file and functions, but no documents. The methods except `filter` read
    nothing: they return another view of the same collection, whose documents are read on demand. A dataset can be
    pickled, unless the store is open for writing. Another process opens the collection again.

    Parameters
    ----------
    store : ZDSStore
        An open store. Documents added later are not included.

    Examples
    --------
    >>> from ds_format.zds.training import ZDataset
    >>> from ds_format.zds.store import ZDSStore
    >>> with ZDSStore.open("numbers.zds", mode="w") as store:
    ...     _ = store.put_many({"_id": f"n{i}", "x": i} for i in range(10))
    >>> dataset = ZDataset.from_store("numbers.zds")
    >>> len(dataset), dataset[-1]
    (10, {'_id': 'n9', 'x': 9})
    >>> odd = dataset.filter("x>=3").map(lambda document: document["x"])[::2]
    >>> list(odd), list(odd.batch(3)), list(odd.shuffle(seed=1).take(2))
    ([3, 5, 7, 9], [[3, 5, 7], [9]], [9, 3])
    """

    torch_name = "Dataset"

    def __init__(self, store: ZDSStore):
        self._store = store
        self._ids = Ids(store.ids())
        self._positions: Positions = range(len(self._ids))
        self._functions: tuple[Callable[[Any], Any], ...] = ()

    @classmethod
    def from_store(cls, path: Any, collection: str = DEFAULT_COLLECTION, **options: Any) -> Self:
        """Open a collection.

        Parameters
        ----------
        path : str or PathLike
            A folder or an archive.
        collection : str
        **options
            As for `ZDSStore.open`.
        """
        return cls(ZDSStore.open(path, collection, **options))

    def _view(self, **changes: Any) -> Self:
        view = copy.copy(self)
        view.__dict__ |= changes
        return view

    def __len__(self) -> int:
        return len(self._positions)

    def __getitem__(self, index: Any) -> Any:
        """Return a document, or the result of the functions of `map` for it. A slice returns a view.

        Raises
        ------
        IndexError
            If there is no such document.
        """
        if isinstance(index, slice):
            return self._view(_positions=self._positions[index])
        return self._apply(self._store[self._ids[self._positions[index]]])

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """Return the documents of a batch of a `DataLoader`: those at an address come side by side."""
        return [*self.select(indices)]

    def _apply(self, value: Any) -> Any:
        for function in self._functions:
            value = function(value)
        return value

    def __iter__(self) -> Iterator[Any]:
        positions = self._positions
        if isinstance(positions, range) and positions == range(len(self._ids)):
            return map(self._apply, self._in_order())
        return map(self._apply, self._store.take(self._ids[i] for i in positions))

    def _in_order(self) -> Iterator[Document]:
        """Iterate over all documents. A scan is faster, but after changes it may lack some or have another order."""
        documents = self._store.scan()
        for id in self._ids:
            document = next(documents, None)
            yield document if document is not None and document[ID] == id else self._store[id]

    def select(self, indices: Iterable[SupportsIndex]) -> Self:
        """Return a view of the documents with these indices, in this order.

        Parameters
        ----------
        indices : iterable of int
            Negative ones count from the end. Indices may be repeated.

        Raises
        ------
        IndexError
            If there is no such document.
        """
        chosen = np.fromiter((index.__index__() for index in indices), np.int64)
        return self._view(_positions=np.asarray(self._positions, np.int64)[chosen])

    def shuffle(self, seed: int = 0) -> Self:
        """Return a view in random order, the same for the same seed."""
        order = list(range(len(self)))
        Random(seed).shuffle(order)
        return self.select(order)

    def map(self, function: Callable[[Any], Any]) -> Self:
        """Return a view of the results of a function. It is called each time a document is requested."""
        return self._view(_functions=(*self._functions, function))

    def filter(self, where: Where | Callable[[Any], Any]) -> Self:
        """Return a view of some documents. This reads all documents of the current view at once.

        Parameters
        ----------
        where : callable, dict or str
            See `query.predicate`. It gets the results of `map`.
        """
        is_selected = predicate(where)
        if is_selected is None:
            return self
        return self.select([i for i, value in enumerate(self) if is_selected(value)])

    def take(self, n: int) -> Self:
        """Return a view of the first `n` documents, or of all if there are fewer."""
        return self._view(_positions=self._positions[: _at_least(n, 0)])

    def skip(self, n: int) -> Self:
        """Return a view without the first `n` documents."""
        return self._view(_positions=self._positions[_at_least(n, 0) :])

    def batch(self, n: int, drop_last: bool = False) -> Batches:
        """Return lists of `n` documents, by index.

        Parameters
        ----------
        n : int
        drop_last : bool
            Leave out the last list if it has fewer than `n`.
        """
        return Batches(self, n, drop_last)

    def close(self) -> None:
        """Close the store. This closes all views of it."""
        self._store.close()


class Batches(TorchLike):
    """Lists of documents, by index; what `ZDataset.batch` returns.

    Parameters
    ----------
    dataset : ZDataset
    n : int
        Number of documents in a list; the last list may have fewer.
    drop_last : bool
        Leave out the last list if it has fewer than `n`.
    """

    torch_name = "Dataset"

    def __init__(self, dataset: ZDataset, n: int, drop_last: bool = False):
        if n < 1:
            raise ValueError(f"lists of {n} documents: expected 1 or more")
        self._dataset = dataset
        self._n = n
        self._starts = range(0, len(dataset) - (n - 1 if drop_last else 0), n)

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, index: SupportsIndex) -> list[Any]:
        """Return a list of documents.

        Raises
        ------
        IndexError
            If there is none.
        """
        start = self._starts[index]
        return list(self._dataset[start : start + self._n])

    def __iter__(self) -> Iterator[list[Any]]:
        return islice(batched(self._dataset, self._n), len(self))


class StreamStep(NamedTuple):
    """A step in the processing of a stream."""

    apply: Callable[[Iterator[Any], int], Iterator[Any]]
    """Called with the stream and the epoch; returns a stream."""
    counts: bool = False
    """Whether the step counts documents, so that it must be applied before they are divided among processes."""


class ZIterableDataset(TorchLike):
    """The documents of a collection in sequence: an iterable-style dataset of PyTorch.

    It holds a list of steps, but no documents. Each method returns another dataset with one more step. Each
    iteration starts from the beginning, and needs memory only for shuffle buffers and batches. It can be pickled,
    unless the store is open for writing. Another process opens the collection again.

    The workers of a `DataLoader`, in each rank, divide the documents among them, one by one; together they get each
    once. They are divided after the last `take` or `skip`, so that these mean the same for any number of workers, or
    otherwise before the first step. Each worker reads the whole file, but applies later steps only to its documents.

    Parameters
    ----------
    store : ZDSStore
        An open store.
    fields, where : optional
        As for `ZDSStore.scan`.
    rank, world_size : int, optional
        By default those of `torch.distributed`, if it is in use when the dataset is created; otherwise 0 and 1.

    Attributes
    ----------
    epoch : int

    Examples
    --------
    >>> from ds_format.zds.store import ZDSStore
    >>> from ds_format.zds.training import ZIterableDataset
    >>> with ZDSStore.open("numbers.zds", mode="w") as store:
    ...     _ = store.put_many({"_id": f"n{i}", "x": i} for i in range(10))
    >>> dataset = ZIterableDataset.from_store("numbers.zds", where="x>=3").map(
    ...     lambda document: document["x"]
    ... )
    >>> list(dataset.batch(3)), list(dataset.skip(1).take(2))
    ([[3, 4, 5], [6, 7, 8], [9]], [4, 5])
    >>> shuffled = dataset.shuffle(buffer=4, seed=1)
    >>> sorted(shuffled) == list(dataset), list(shuffled) == list(shuffled)
    (True, True)
    """

    torch_name = "IterableDataset"

    def __init__(
        self,
        store: ZDSStore,
        fields: Iterable[str] | str | None = None,
        where: Where | None = None,
        *,
        rank: int | None = None,
        world_size: int | None = None,
    ):
        self._store = store
        self._fields = fields if fields is None or isinstance(fields, str) else list(fields)
        self._where = where
        self._rank, self._world_size = this_rank(rank, world_size)
        self._steps: tuple[StreamStep, ...] = ()
        self.epoch = 0

    @classmethod
    def from_store(
        cls,
        path: Any,
        collection: str = DEFAULT_COLLECTION,
        fields: Iterable[str] | str | None = None,
        where: Where | None = None,
        *,
        rank: int | None = None,
        world_size: int | None = None,
        **options: Any,
    ) -> Self:
        """Open a collection.

        Parameters
        ----------
        path : str or PathLike
            A folder or an archive.
        collection : str
        fields, where : optional
            As for `ZDSStore.scan`.
        rank, world_size : int, optional
            As for the class.
        **options
            As for `ZDSStore.open`.
        """
        store = ZDSStore.open(path, collection, **options)
        return cls(store, fields, where, rank=rank, world_size=world_size)

    def __iter__(self) -> Iterator[Any]:
        worker, workers = this_worker()
        part, parts = self._rank * workers + worker, self._world_size * workers
        before = max((i for i, step in enumerate(self._steps, 1) if step.counts), default=0)
        items: Iterator[Any] = self._store.scan(fields=self._fields, where=self._where)
        for step in self._steps[:before]:
            items = step.apply(items, self.epoch)
        if parts > 1:
            items = islice(items, part, None, parts)
        for step in self._steps[before:]:
            items = step.apply(items, self.epoch)
        return items

    def _then(self, step: StreamStep) -> Self:
        other = copy.copy(self)
        other.__dict__ |= {"_steps": (*self._steps, step)}
        return other

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch. `shuffle` has another order in each epoch.

        Workers of a `DataLoader` that are kept (`persistent_workers=True`) do not get the new value.
        """
        self.epoch = epoch

    def shuffle(self, buffer: int = 1000, seed: int = 0) -> Self:
        """Shuffle by a buffer: each further document replaces a random one in the full buffer, which is returned.

        Parameters
        ----------
        buffer : int
            Number of documents in the buffer. If it is at least the number of documents, all orders are equally likely.
        seed : int
        """
        return self._then(StreamStep(partial(_shuffled, buffer=_at_least(buffer, 1), seed=seed)))

    def map(self, function: Callable[[Any], Any]) -> Self:
        """Continue with the results of a function for each document."""
        return self._then(StreamStep(partial(_mapped, function=function)))

    def filter(self, where: Where | Callable[[Any], Any]) -> Self:
        """Continue with some documents.

        Parameters
        ----------
        where : callable, dict or str
            See `query.predicate`.
        """
        predicate(where)  # reports mistakes now
        return self._then(StreamStep(partial(_filtered, where=where)))

    def take(self, n: int) -> Self:
        """Stop after `n` documents, counted over all processes together."""
        return self._then(StreamStep(partial(_sliced, start=0, stop=_at_least(n, 0)), counts=True))

    def skip(self, n: int) -> Self:
        """Leave out the first `n` documents, counted over all processes together."""
        return self._then(StreamStep(partial(_sliced, start=_at_least(n, 0), stop=None), counts=True))

    def batch(self, n: int, drop_last: bool = False) -> Self:
        """Continue with lists of `n` documents.

        Parameters
        ----------
        n : int
        drop_last : bool
            Leave out the last list if it has fewer than `n`.
        """
        return self._then(StreamStep(partial(_batched, n=_at_least(n, 1), drop_last=drop_last)))

    def close(self) -> None:
        """Close the store."""
        self._store.close()


def _at_least(n: int, least: int) -> int:
    if n < least:
        raise ValueError(f"{n} documents: expected {least} or more")
    return n


def _mapped(items: Iterator[Any], epoch: int, function: Callable[[Any], Any]) -> Iterator[Any]:
    return map(function, items)


def _filtered(items: Iterator[Any], epoch: int, where: Where | Callable[[Any], Any]) -> Iterator[Any]:
    is_selected = predicate(where)
    return items if is_selected is None else filter(is_selected, items)


def _sliced(items: Iterator[Any], epoch: int, start: int, stop: int | None) -> Iterator[Any]:
    return islice(items, start, stop)


def _batched(items: Iterator[Any], epoch: int, n: int, drop_last: bool) -> Iterator[Any]:
    lists = batched(items, n)
    return (each for each in lists if len(each) == n) if drop_last else lists


def _shuffled(items: Iterator[Any], epoch: int, buffer: int, seed: int) -> Iterator[Any]:
    random = Random(f"{seed} {epoch}")
    buffered = list(islice(items, buffer))
    for item in items:
        place = random.randrange(buffer)
        yield buffered[place]
        buffered[place] = item
    random.shuffle(buffered)
    yield from buffered
