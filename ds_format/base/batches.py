"""Items in lists of some at a time. It is a file of its own, because rooms use it that have nothing else in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batched(items: Iterable[T], n: int) -> Iterator[list[T]]:
    """Iterate over lists of `n` items; the last may have fewer. Python 3.12 has the same with tuples.

    Examples
    --------
    >>> from ds_format.base.batches import batched
    >>> list(batched("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    left = iter(items)
    while batch := [*islice(left, n)]:
        yield batch
