"""A variable of many files as one array, which is read when it is indexed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.dtypes import TYPES
from ..base.names import unescape
from ..dataset import as_array
from ..errors import DsError
from ..model.index import Index, shape_of, take
from ..model.merge_plan import Convert
from ..model.merged_arrays import MergedArray, joined
from .pieces import SourcePiece, name_of
from .reading import no_collection, opened, pieces
from .watched import WatchedFiles

AS_IT_IS, ABSENT = 0, -1
"""Numbers of the conversions that every variable knows."""


class _Wanted(NamedTuple):
    """What of a variable is read."""

    items: Sequence[Index]
    """One for each dimension."""
    positions: NDArray[np.int64]
    """Along the axis, ascending."""
    owners: NDArray[np.int64]
    """Which file each of them is in."""
    order: NDArray[np.intp] | None
    """Where each of them goes; None: where it stands."""


@dataclass(frozen=True)
class Concatenation:
    """A variable whose values are those of files, one behind the other along an axis.

    It can be pickled, and holds nothing open. A read opens the files that it needs, one after another, each once.

    Attributes
    ----------
    key : str
        Of the variable.
    files : WatchedFiles
    ends : (n,) ndarray of int64
        Where along the axis the values of each file end.
    numbers : (n,) ndarray of int32
        By which of the conversions the values of a file become those of the whole; `ABSENT`: the file has none.
    conversions : tuple of callable
        Number 0 is None: values stay as they are.
    axis : int
    is_new : bool
        Whether files do not have the axis, and each is one position of it.
    shape : tuple of int
    type : str
        Name of the ds type.
    missing : bool
        Whether values may be missing.
    threads : int or None
        How many read; see `reading.batches`.
    """

    key: str
    files: WatchedFiles
    ends: NDArray[np.int64]
    numbers: NDArray[np.int32]
    conversions: tuple[Convert | None, ...]
    axis: int
    is_new: bool
    shape: tuple[int, ...]
    type: str
    missing: bool
    threads: int | None = None

    def read_by(self, threads: int | None) -> Concatenation:
        """Return the same with another number of threads."""
        return replace(self, threads=threads)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the arrays that are read; object for text and byte strings."""
        return np.dtype(TYPES[self.type].code)

    def read(self, index: tuple[Any, ...] | None = None) -> Any:
        """Return the variable, or the part that an index selects; see `drivers.base.Source.read`.

        Raises
        ------
        OSError
            If a file cannot be read.
        ReplacedError
            If it is not the one any more that was opened; no numbers are returned.
        FormatError
            If it is damaged.
        UnsupportedError
            If a value cannot be converted.
        """
        whole = tuple(map(range, self.shape)) if index is None else index
        along = whole[self.axis]
        positions = _positions(along)
        shape = shape_of([*whole[: self.axis], positions, *whole[self.axis + 1 :]])
        before: tuple[Any, ...] = (slice(None),) * len(shape_of(whole[: self.axis]))
        order = None
        if (positions[1:] < positions[:-1]).any():
            order = np.argsort(positions, kind="stable")
            positions = positions[order]
        wanted = _Wanted(whole, positions, self._owners(positions), order)
        needed = _distinct(wanted.owners)
        present = needed[self.numbers[needed] != ABSENT]
        target = MergedArray(shape, self.type, is_gappy=len(present) < len(needed))
        if target.values.size:
            with no_collection():
                for where, values in self._parts(wanted, present):
                    target.put((*before, where), values)
        values, mask = target.values, target.mask
        if isinstance(along, int):
            at = (*before, 0)
            values, mask = values[at], None if mask is None else np.asarray(mask[at])
        if mask is not None and mask.any():
            return np.ma.MaskedArray(np.asarray(values, target.values.dtype), mask, copy=False)
        return values

    def _owners(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which file each of some ascending positions is in."""
        if len(positions) < 2 or positions[-1] - positions[0] != len(positions) - 1 or (np.diff(positions) != 1).any():
            return np.searchsorted(self.ends, positions, side="right")
        first, last = np.searchsorted(self.ends, positions[[0, -1]], side="right").tolist()
        ends = np.minimum(self.ends[first : last + 1], positions[-1] + 1)
        return np.repeat(np.arange(first, last + 1), np.diff(ends, prepend=positions[0]))

    def _parts(self, wanted: _Wanted, needed: NDArray[np.int64]) -> Iterator[tuple[Any, Any]]:
        """Yield the values of some files, and at which positions along the axis of the result they go."""
        start, path = 0, None
        group = self.files.group
        with opened(most=1, group=group) as files:
            try:
                again = self.files.again(needed.tolist(), self.threads)
                for piece in pieces(again, _raise, files, [self.key], one_by_one=group is not None):
                    path = piece.paths[0] if len(piece.paths) == 1 else None
                    some = needed[start : start + len(piece.paths)]
                    start += len(some)
                    where, local = self._local(wanted, some)
                    values = self._values(piece, wanted.items, local, int(self.numbers[some[0]]))
                    if isinstance(piece, SourcePiece):
                        self.files.check(int(some[0]), piece.digest())
                    yield where if wanted.order is None else wanted.order[where], values
                    path = None
            except DsError as error:
                raise error.at(path=path, variable=unescape(self.key))

    def _local(self, wanted: _Wanted, some: NDArray[np.int64]) -> tuple[Any, Index]:
        """Return which of the positions are those of some files that are alike, and where they lie in their stack."""
        owners = wanted.owners
        where: Any = slice(np.searchsorted(owners, some[0]), np.searchsorted(owners, some[-1], side="right"))
        if some[-1] - some[0] >= len(some):  # files between them are absent
            where = np.flatnonzero(np.isin(owners, some))
        own = owners[where]
        length = self.ends[some[0]] - (self.ends[some[0] - 1] if some[0] else 0)
        found = wanted.positions[where] - self.ends[own] + length + np.searchsorted(some, own) * length
        first, last = int(found[0]), int(found[-1])
        if last - first == len(found) - 1 and (len(found) < 3 or (np.diff(found) == 1).all()):
            return where, range(first, last + 1)
        return where, found

    def _values(self, piece: Any, index: Sequence[Index], local: Index, number: int) -> Any:
        """Return what an index selects of files that are alike."""
        inner = list(index)
        if isinstance(piece, SourcePiece) and self.is_new:
            del inner[self.axis]
            values = as_array(piece.part(self.key, tuple(inner)))[None]
            values = values[np.asarray(local)]
        elif isinstance(piece, SourcePiece):
            inner[self.axis] = local
            values = piece.part(self.key, tuple(inner))
        else:
            inner[self.axis] = local
            stack = piece.read(self.key)
            values = take(stack if self.is_new else joined(stack, self.axis), inner)
        convert = self.conversions[number]
        try:
            return values if convert is None else convert(values)
        except DsError as error:
            raise error.at(path=name_of(piece.paths), variable=unescape(self.key))


@dataclass(frozen=True)
class One:
    """A variable that is the same in each file, and read from one of them.

    Attributes
    ----------
    whole : Concatenation
        Along a new first axis of size 1.
    """

    whole: Concatenation

    def read_by(self, threads: int | None) -> One:
        """Return the same: there is one file."""
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the variable."""
        return self.whole.shape[1:]

    @property
    def dtype(self) -> np.dtype[Any]:
        """As of `Concatenation`."""
        return self.whole.dtype

    @property
    def type(self) -> str:
        """Name of the ds type."""
        return self.whole.type

    @property
    def missing(self) -> bool:
        """Whether values may be missing."""
        return self.whole.missing

    def read(self, index: tuple[Any, ...] | None = None) -> Any:
        """Return the variable or a part of it; see `Concatenation.read`."""
        return self.whole.read((0, *(map(range, self.shape) if index is None else index)))


def _positions(item: Index) -> NDArray[np.int64]:
    if isinstance(item, range):
        return np.arange(item.start, item.start + len(item) * item.step, item.step, dtype=np.int64)
    return np.array([item] if isinstance(item, int) else item, np.int64)


def _distinct(sorted_values: NDArray[np.int64]) -> NDArray[np.int64]:
    keep = np.ones(len(sorted_values), np.bool_)
    keep[1:] = sorted_values[1:] != sorted_values[:-1]
    return sorted_values[keep]


def _raise(path: str, error: Exception) -> None:
    raise error
