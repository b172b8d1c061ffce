"""Opening many files as one dataset, whose variables are read when they are indexed, or at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.dtypes import TYPES
from ..base.text import unescape
from ..body import Location
from ..codec.encode import describe
from ..datasets import META, as_array, dims
from ..drivers.base import Metadata
from ..errors import DsError, UnsupportedError
from ..model.conventions import parents_bounds
from ..model.dataset_attributes import as_variable, check_name
from ..model.index import Index, shape_of, take
from ..model.merge_plan import UNWRITTEN, Convert, MergePlan, Way, plan_merge
from ..model.merged_arrays import Filler, MergedArray, joined
from ..model.packing import is_packed, unpacked_meta
from ..model.settings import NETCDF
from .pieces import SourcePiece, fail, name_of, no_collection, open_sources, read_pieces
from .reading import WatchedFiles
from .scanning import JoinOptions, Scanned, scan

AS_IT_IS, ABSENT = 0, -1
"""Numbers of two conversions that every variable has."""
PROPERTIES = (".dims", ".size", ".type", ".missing")


class ManyFiles(NamedTuple):
    """Many files as one dataset."""

    meta: Metadata
    """Metadata, as those of a Source."""
    lazy: Mapping[str, Concatenation]
    """Variables that are read when they are indexed, by key."""
    arrays: Mapping[str, Any]
    """Other variables with data: arrays or masked arrays, by key."""
    files: WatchedFiles
    lengths: NDArray[np.int64]
    """(n,): number of positions of each file along the dimension."""


def open_files(
    paths: Sequence[Location],
    options: JoinOptions,
    threads: int | None = None,
    sortby: str | None = None,
    later: int | None = None,
) -> ManyFiles:
    """Open files as one dataset, in one pass.

    Parameters
    ----------
    paths : sequence of str or Address
        Absolute paths; at least one.
    options : JoinOptions
    threads : int, optional
        As `reading.batches`.
    sortby : str, optional
        Key of a variable. Files are sorted by its values; the order within a file is kept.
    later : int, optional
        Number of threads that read a variable when it is indexed.

    Raises
    ------
    DsError, OSError
        As for `scan`; UnsupportedError also if files cannot be sorted.
    """
    if sortby is not None and options.at_once is not None:
        options = replace(options, at_once=options.at_once | {sortby})
    many = _opened(scan(paths, options, threads), options, later)
    return many if sortby is None else _ordered(many, _order(many, options.dim, sortby), options.dim)


def _opened(scanned: Scanned, options: JoinOptions, threads: int | None) -> ManyFiles:
    stacked, repeated = ([unescape(key) for key in keys] for keys in (scanned.stacked, scanned.repeated))
    plans, merged = plan_merge(scanned.inputs, options.dim, None, stacked, False, repeated)
    meta = {plan.key: _entry(plan, merged[plan.key], scanned) for plan in plans}
    meta[META] = {key: value for key, value in scanned.first[META].items() if key not in options.attributes}
    arrays = _arrays(plans, scanned)
    starts, ends = _first_files(scanned), np.cumsum(scanned.lengths)
    unread = [plan for plan in plans if plan.shape is not None and plan.key not in arrays]
    lazy = {plan.key: _lazy(plan, scanned, starts, ends, threads) for plan in unread}
    for key in options.attributes:
        check_name(key, meta)
        arrays[key] = as_variable(key, [attributes.get(key) for attributes in scanned.attributes], scanned.lengths)
        meta[key] = {".dims": [options.dim], **describe({key: arrays[key]}, {})[key]}
    return ManyFiles(meta, lazy, arrays, scanned.files, scanned.lengths)


def _entry(plan: MergePlan, merged: Mapping[str, Any], scanned: Scanned) -> dict[str, Any]:
    """Return the metadata of a variable: those of the first file, changed as needed for unpacking."""
    entry = scanned.first[plan.key]
    if any(part.convert is not None for part in plan.parts):
        parts = {id(found): found for part in plan.parts if (found := scanned.inputs[part.input].meta[plan.key])}
        if any(is_packed(found, found.get(".type")) for found in parts.values()):
            entry = unpacked_meta(entry)
    if isinstance(entry.get(NETCDF), dict):
        kept = merged.get(NETCDF, {})  # only properties that hold for all files
        record = {name: value for name, value in entry[NETCDF].items() if name not in UNWRITTEN or name in kept}
        entry = {name: value for name, value in entry.items() if name != NETCDF} | ({NETCDF: record} if record else {})
    return {**entry, **{name: merged[name] for name in PROPERTIES if name in merged}}


def _arrays(plans: Sequence[MergePlan], scanned: Scanned) -> dict[str, Any]:
    """Return the values that were read while scanning, joined into one array for each variable."""
    known = {key for arrays in scanned.arrays for key in arrays}
    filler = Filler([plan for plan in plans if plan.key in known and plan.shape is not None], len(scanned.inputs))
    starts = _first_files(scanned)
    for i, arrays in enumerate(scanned.arrays):
        try:
            filler.add(i, arrays.__getitem__)
        except DsError as error:
            raise error.at(path=name_of(scanned.files.paths[starts[i] : starts[i + 1]]))
        arrays.clear()
    return {key: as_array(array) for key, array in filler.arrays().items()}


def _first_files(scanned: Scanned) -> NDArray[np.int64]:
    """Return the index of the first file of each input, and the number of all files."""
    return np.cumsum([0, *(given.repeat for given in scanned.inputs)])


def _lazy(
    plan: MergePlan, scanned: Scanned, starts: NDArray[np.int64], ends: NDArray[np.int64], threads: int | None
) -> Concatenation:
    """Return a variable that is read when it is indexed."""
    type_name, shape = plan.type or "float64", plan.shape or ()
    if plan.way is Way.FIRST:
        files = scanned.files.some([int(starts[plan.parts[0].input])])
        end, none = np.ones(1, np.int64), np.zeros(1, np.int32)
        return Concatenation(
            plan.key, files, end, none, (None,), 0, True, shape, type_name, plan.missing, is_single=True
        )
    numbers: NDArray[np.int32] = np.full(len(scanned.files.paths), ABSENT, np.int32)
    conversions: list[Any] = [None]
    known: dict[tuple[int, ...], int] = {}
    deciding = [plan.key, *(key for key, entry in scanned.first.items() if plan.key in parents_bounds(entry))]
    for part in plan.parts:
        number = AS_IT_IS
        if part.convert is not None:
            meta = scanned.inputs[part.input].meta  # equal metadata are the same object
            entries = tuple(id(meta.get(key)) for key in deciding)
            number = known.setdefault(entries, len(conversions))
            if number == len(conversions):
                conversions.append(part.convert)
        numbers[starts[part.input] : starts[part.input + 1]] = number
    is_new = plan.way is Way.STACK
    return Concatenation(
        plan.key,
        scanned.files,
        ends,
        numbers,
        tuple(conversions),
        plan.axis,
        is_new,
        shape,
        type_name,
        plan.missing,
        threads,
    )


def _order(many: ManyFiles, dim: str, sortby: str) -> list[int]:
    """Return the order of files by their minimum; those without a valid value come last."""
    array = many.arrays.get(sortby)
    if array is None or dims(sortby, many.meta[sortby], array.ndim) != [dim]:
        message = f'cannot sort by it, expected a variable whose only dimension is "{dim}"'
        raise UnsupportedError(message, variable=unescape(sortby))
    starts = np.cumsum(many.lengths) - many.lengths
    each = zip(starts.tolist(), many.lengths.tolist(), strict=True)
    values = [array[start : start + n].min() if n else None for start, n in each]
    unknown = [value is None or value is np.ma.masked or value != value for value in values]
    return sorted(range(len(values)), key=lambda i: (True, 0) if unknown[i] else (False, values[i]))


def _ordered(many: ManyFiles, order: list[int], dim: str) -> ManyFiles:
    """Return the files in another order."""
    if order == sorted(order):
        return many
    lengths = many.lengths[order]
    starts = (np.cumsum(many.lengths) - many.lengths)[order]
    positions = np.arange(lengths.sum()) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    files, ends = many.files.some(order), np.cumsum(lengths)
    lazy = {
        key: one if one.is_single else replace(one, files=files, ends=ends, numbers=one.numbers[order])
        for key, one in many.lazy.items()
    }
    arrays = {}
    for key, array in many.arrays.items():
        names = dims(key, many.meta[key], array.ndim)
        arrays[key] = array.take(positions, axis=names.index(dim)) if dim in names else array
    return many._replace(lazy=lazy, arrays=arrays, files=files, lengths=lengths)


class _Selection(NamedTuple):
    """The selected part of a variable."""

    items: Sequence[Index]
    """One index for each dimension."""
    positions: NDArray[np.int64]
    """Positions along the axis, ascending."""
    owners: NDArray[np.int64]
    """Index of the file of each position."""
    order: NDArray[np.intp] | None
    """Position of each in the result; None: in the same order."""


@dataclass(frozen=True)
class Concatenation:
    """A variable that joins the values of files, one after another along an axis.

    It can be pickled, and holds no open file. Reading opens the required files in turn, each once.

    Attributes
    ----------
    key : str
        Key of the variable.
    files : WatchedFiles
    ends : (n,) ndarray of int64
        End of the values of each file along the axis.
    numbers : (n,) ndarray of int32
        Number of the conversion for the values of each file; `ABSENT`: the file does not have the variable.
    conversions : tuple of callable
        Number 0 is None: values are unchanged.
    axis : int
    is_new : bool
        Whether files do not have the axis, so that each file is one position.
    shape : tuple of int
    type : str
        Name of the ds type.
    missing : bool
        Whether values may be missing.
    threads : int or None
        Number of threads; see `reading.batches`.
    is_single : bool
        Whether the variable is the same in each file, and read from one of them. Then `shape` does not include the
        axis, which is the first one, of size 1.
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
    is_single: bool = False

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the arrays that are read; object for text and byte strings."""
        return np.dtype(TYPES[self.type].code)

    def read(self, index: tuple[Any, ...] | None = None) -> Any:
        """Return the variable, or the part selected by an index; see `drivers.base.Source.read`.

        Raises
        ------
        OSError
            If a file cannot be read.
        ReplacedError
            If a file was replaced or modified after it was opened. Then no numbers are returned.
        FormatError
            If a file is damaged.
        UnsupportedError
            If a value cannot be converted.
        """
        whole = tuple(map(range, self.shape)) if index is None else index
        if self.is_single:
            whole = (0, *whole)
        along = whole[self.axis]
        positions = _positions(along)
        shape = shape_of([*whole[: self.axis], positions, *whole[self.axis + 1 :]])
        before: tuple[Any, ...] = (slice(None),) * len(shape_of(whole[: self.axis]))
        order = None
        if (positions[1:] < positions[:-1]).any():
            order = np.argsort(positions, kind="stable")
            positions = positions[order]
        selection = _Selection(whole, positions, self._owners(positions), order)
        needed = _distinct(selection.owners)
        present = needed[self.numbers[needed] != ABSENT]
        target = MergedArray(shape, self.type, is_gappy=len(present) < len(needed))
        if target.values.size:
            with no_collection():
                for where, values in self._parts(selection, present):
                    target.put((*before, where), values)
        values, mask = target.values, target.mask
        if isinstance(along, int):
            at = (*before, 0)
            values, mask = values[at], None if mask is None else np.asarray(mask[at])
        if mask is not None and mask.any():
            return np.ma.MaskedArray(np.asarray(values, target.values.dtype), mask, copy=False)
        return values

    def _owners(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the index of the file of each of some ascending positions."""
        if len(positions) < 2 or positions[-1] - positions[0] != len(positions) - 1 or (np.diff(positions) != 1).any():
            return np.searchsorted(self.ends, positions, side="right")
        first, last = np.searchsorted(self.ends, positions[[0, -1]], side="right").tolist()
        ends = np.minimum(self.ends[first : last + 1], positions[-1] + 1)
        return np.repeat(np.arange(first, last + 1), np.diff(ends, prepend=positions[0]))

    def _parts(self, selection: _Selection, needed: NDArray[np.int64]) -> Iterator[tuple[Any, Any]]:
        """Iterate over the values of some files, and their positions along the axis of the result."""
        start, path = 0, None
        group, positions = self.files.group, needed.tolist()

        def check(i: int, digest: int, is_late: bool) -> None:
            self.files.check(positions[i], digest, is_late)

        with open_sources(most=1, group=group) as files:
            try:
                again, one_by_one = self.files.again(positions, self.threads), group is not None
                for piece in read_pieces(again, fail, files, [self.key], one_by_one=one_by_one, watch=check):
                    path = piece.paths[0] if len(piece.paths) == 1 else None
                    some = needed[start : start + len(piece.paths)]
                    start += len(some)
                    where, local = self._local(selection, some)
                    values = self._values(piece, selection.items, local, int(self.numbers[some[0]]))
                    if isinstance(piece, SourcePiece):
                        self.files.check(int(some[0]), piece.digest())
                    yield where if selection.order is None else selection.order[where], values
                    path = None
            except DsError as error:
                raise error.at(path=path, variable=unescape(self.key))

    def _local(self, selection: _Selection, some: NDArray[np.int64]) -> tuple[Any, Index]:
        """Return the selected positions in some alike files, and their positions in the stack of these files."""
        owners = selection.owners
        where: Any = slice(np.searchsorted(owners, some[0]), np.searchsorted(owners, some[-1], side="right"))
        if some[-1] - some[0] >= len(some):  # files between them do not have the variable
            where = np.flatnonzero(np.isin(owners, some))
        own = owners[where]
        length = self.ends[some[0]] - (self.ends[some[0] - 1] if some[0] else 0)
        found = selection.positions[where] - self.ends[own] + length + np.searchsorted(some, own) * length
        first, last = int(found[0]), int(found[-1])
        if last - first == len(found) - 1 and (len(found) < 3 or (np.diff(found) == 1).all()):
            return where, range(first, last + 1)
        return where, found

    def _values(self, piece: Any, index: Sequence[Index], local: Index, number: int) -> Any:
        """Return the values that an index selects in alike files."""
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


def _positions(item: Index) -> NDArray[np.int64]:
    if isinstance(item, range):
        return np.arange(item.start, item.start + len(item) * item.step, item.step, dtype=np.int64)
    return np.array([item] if isinstance(item, int) else item, np.int64)


def _distinct(sorted_values: NDArray[np.int64]) -> NDArray[np.int64]:
    keep = np.ones(len(sorted_values), np.bool_)
    keep[1:] = sorted_values[1:] != sorted_values[:-1]
    return sorted_values[keep]
