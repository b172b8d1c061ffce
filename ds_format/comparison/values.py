"""The values of two variables, block by block: how many differ, where first, and where most.

Two sources cut a variable into blocks in different ways. They are taken as long rows of values, of which as many are
compared at a time as both have at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import IntegrityError
from .elements import NUMBERS, Rule, distances, taken, unequal

STEP = 1 << 14
"""Values that are compared at a time. They, and what is computed of them, stay in the cache of a processor, and are too
few for memory that comes from the system, and goes back to it, each time."""


class Found(NamedTuple):
    """Two values at one position."""

    position: int
    """Among all values, in C order."""
    a: Any
    """None: missing."""
    b: Any
    size: Any = None
    """By how much they differ, if they are numbers."""


class Tally:
    """What was found of two variables so far.

    Parameters
    ----------
    rule : Rule

    Attributes
    ----------
    n : int
        Values compared, missing ones included.
    missing_a, missing_b : int
        Values that are missing in one alone.
    first_missing : Found or None
        The first of these.
    differing : int
        Values that differ, of those which neither misses.
    first, largest, relative : Found or None
        Of these the first, that which differs most, and that which differs most in relation to the value of B.
    """

    def __init__(self, rule: Rule):
        self._rule = rule
        self.n = self.missing_a = self.missing_b = self.differing = 0
        self.first_missing: Found | None = None
        self.first: Found | None = None
        self.largest: Found | None = None
        self.relative: Found | None = None

    @property
    def differs(self) -> bool:
        """Whether something does."""
        return bool(self.differing or self.missing_a or self.missing_b)

    def skip(self, n: int) -> None:
        """Count values that are known to be the same."""
        self.n += n

    def add(self, left: Any, right: Any) -> None:
        """Compare the next values, (N,) ndarray or MaskedArray each."""
        for start in range(0, left.size, STEP):
            self._add(left[start : start + STEP], right[start : start + STEP])

    def _add(self, left: Any, right: Any) -> None:
        a, b = np.ma.getdata(left), np.ma.getdata(right)
        places = unequal(a, b, self._rule)
        masks = np.ma.getmask(left), np.ma.getmask(right)
        if masks[0] is not np.ma.nomask or masks[1] is not np.ma.nomask:
            gone_a, gone_b = np.ma.getmaskarray(left), np.ma.getmaskarray(right)
            self._add_missing(a, b, gone_a, gone_b)
            places = places[~(gone_a | gone_b)[places]]
        if places.size:
            self._add_differing(taken(a, places), taken(b, places), places)
        self.n += left.size

    def _add_missing(self, a: Any, b: Any, gone_a: NDArray[np.bool_], gone_b: NDArray[np.bool_]) -> None:
        lonely = np.flatnonzero(gone_a != gone_b)
        if not lonely.size:
            return
        n_a = int(np.count_nonzero(gone_a[lonely]))
        self.missing_a += n_a
        self.missing_b += lonely.size - n_a
        if self.first_missing is None:
            i = lonely[0]
            values = (None if gone_a[i] else a[i]), (None if gone_b[i] else b[i])
            self.first_missing = Found(self.n + int(i), *values)

    def _add_differing(self, a: Any, b: Any, places: NDArray[np.intp]) -> None:
        self.differing += places.size
        if self.first is None:
            self.first = Found(self.n + int(places[0]), a[0], b[0])
        if not (a.dtype.kind in NUMBERS and b.dtype.kind in NUMBERS) or "b" in (a.dtype.kind, b.dtype.kind):
            return
        sizes = distances(a, b)
        self.largest = self._larger(self.largest, sizes, a, b, places)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            relative = sizes / np.abs(b.astype(np.float64))
        self.relative = self._larger(self.relative, relative, a, b, places)

    def _larger(self, known: Found | None, sizes: Any, a: Any, b: Any, places: NDArray[np.intp]) -> Found | None:
        """Return the larger one of a difference that is known and those of an array; NaN has no size."""
        i = int(sizes.argmax())
        if sizes[i] != sizes[i]:
            sizes = np.where(np.isnan(sizes), -1.0, sizes)
            i = int(sizes.argmax())
        size = sizes[i].item()
        if size < 0 or (known is not None and size <= known.size):
            return known
        return Found(self.n + int(places[i]), a[i], b[i], size)


def tally(
    parts: Iterable[tuple[Any, Any] | int],
    rule: Rule,
    *,
    first: bool = False,
    report: Callable[[int], None] | None = None,
) -> Tally:
    """Compare the values of two variables.

    Parameters
    ----------
    parts : iterable of (left, right) or int
        The next values of both, (N,) ndarray or MaskedArray each, or how many are known to be the same.
    rule : Rule
    first : bool
        Whether the first difference is enough.
    report : callable, optional
        Takes how many values are compared, while it goes on.

    Raises
    ------
    IntegrityError
        As `pairs`.
    """
    found = Tally(rule)
    for part in parts:
        if isinstance(part, int):
            found.skip(part)
        else:
            found.add(*part)
        if report is not None:
            report(found.n)
        if first and found.differs:
            break
    return found


def pairs(left: Iterable[Any], right: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the values of two variables, as many of each as the other has at hand.

    Parameters
    ----------
    left, right : iterable of ndarray or MaskedArray
        Consecutive blocks of each, as `Source.blocks` yields them.

    Raises
    ------
    IntegrityError
        If one has more values than the other.
    """
    ours, theirs = _flat(left), _flat(right)
    a = b = np.empty(0)
    while True:
        a = next(ours, a) if not a.size else a
        b = next(theirs, b) if not b.size else b
        n = min(a.size, b.size)
        if not n:
            break
        yield a[:n], b[:n]
        a, b = a[n:], b[n:]
    if a.size or b.size:
        raise IntegrityError(f"found {'fewer' if a.size else 'more'} values in the second one than in the first")


def _flat(blocks: Iterable[Any]) -> Iterator[Any]:
    return (block.reshape(-1) for block in blocks if block.size)
