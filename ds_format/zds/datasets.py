"""The documents of a collection by index, as PyTorch's `DataLoader` takes them."""

from __future__ import annotations

import copy
from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from random import Random
from typing import Any, Self, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from ..pytorch import TorchLike
from .documents import Document
from .format import DEFAULT_COLLECTION, ID
from .query import Where, predicate
from .store import ZDSStore
from .tables.columns import chunks

Positions = range | NDArray[np.int64]


class Ids:
    """Ids by number, in one text: a list of them takes four times the memory.

    Parameters
    ----------
    ids : iterable of str

    Examples
    --------
    >>> from ds_format.zds.datasets import Ids
    >>> ids = Ids(["a", "bc"])
    >>> len(ids), ids[0], ids[1]
    (2, 'a', 'bc')
    """

    def __init__(self, ids: Iterable[str]):
        texts, sizes = [], array("q")
        for chunk in chunks(ids, 4096):
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
    """The documents of a collection by index: a dataset of PyTorch's map style.

    A dataset holds no documents, but positions in the file, and functions. All methods but `filter` read nothing: they
    return another view of the same collection, of which is read what is looked at. A dataset can be pickled, unless the
    store is open for writing; another process opens the collection anew.

    Parameters
    ----------
    store : ZDSStore
        An open store. What is put into it later is not seen.

    Examples
    --------
    >>> from ds_format.zds.datasets import ZDataset
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
        """Return a document, or what the functions of `map` make of it; of a slice a view.

        Raises
        ------
        IndexError
            If there is none.
        """
        if isinstance(index, slice):
            return self._view(_positions=self._positions[index])
        return self._apply(self._store[self._ids[self._positions[index]]])

    def _apply(self, value: Any) -> Any:
        for function in self._functions:
            value = function(value)
        return value

    def __iter__(self) -> Iterator[Any]:
        positions = self._positions
        if isinstance(positions, range) and positions == range(len(self._ids)):
            return map(self._apply, self._in_order())
        return (self[i] for i in range(len(self)))

    def _in_order(self) -> Iterator[Document]:
        """Iterate over all documents. Reading them in a row is faster, but may leave some out, or have a new order."""
        documents = self._store.scan()
        for id in self._ids:
            document = next(documents, None)
            yield document if document is not None and document[ID] == id else self._store[id]

    def select(self, indices: Iterable[SupportsIndex]) -> Self:
        """Return a view of the documents with these indices, in this order.

        Parameters
        ----------
        indices : iterable of int
            Negative ones count from the end. The same may come several times.

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
        """Return a view of what a function returns for each document, called each time when it is looked at."""
        return self._view(_functions=(*self._functions, function))

    def filter(self, where: Where | Callable[[Any], Any]) -> Self:
        """Return a view of some documents. All of this view are read for that, now.

        Parameters
        ----------
        where : callable, dict or str
            See `query.predicate`. It gets what `map` made of the documents.
        """
        wanted = predicate(where)
        if wanted is None:
            return self
        return self.select([i for i, value in enumerate(self) if wanted(value)])

    def take(self, n: int) -> Self:
        """Return a view of the first `n` documents; of all, if there are fewer."""
        return self._view(_positions=self._positions[: _count(n)])

    def skip(self, n: int) -> Self:
        """Return a view without the first `n` documents."""
        return self._view(_positions=self._positions[_count(n) :])

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
        """Close the store, and so all views of it."""
        self._store.close()


class Batches(TorchLike):
    """Lists of documents, by index; what `ZDataset.batch` returns.

    Parameters
    ----------
    dataset : ZDataset
    n : int
        Documents in a list; the last has what is left.
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
        return islice(chunks(self._dataset, self._n), len(self))


def _count(n: int) -> int:
    if n < 0:
        raise ValueError(f"{n} documents: expected 0 or more")
    return n
