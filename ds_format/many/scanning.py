"""One pass over files that become one dataset: what each of them says, and the values that are wanted at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base import modes
from ..base.names import unescape
from ..base.wording import hint
from ..dataset import META, as_array, dims
from ..drivers.base import Metadata
from ..drivers.small import Piece
from ..errors import DsError, MissingError, UnsupportedError
from ..model.conventions import COORDINATES, coordinates, named, parents_bounds, with_parents
from ..model.merge_plan import MergeInput, reconcile, size_along
from ..views.subset import open_group, say_missing
from .pieces import SourcePiece
from .reading import no_collection, opened, pieces
from .schemas import Schema
from .watched import WatchedFiles

Entry = Mapping[str, Any]
NAMING = ("bounds", "climatology")
"""Attributes of coordinates that name variables which belong to them (CF conventions 1.12, sections 7.1 and 7.4)."""


@dataclass(frozen=True)
class Wanted:
    """How files are put together."""

    dim: str
    """Name of the dimension along which."""
    only: frozenset[str] | None = None
    """Keys of the variables; None: all."""
    without: frozenset[str] = frozenset()
    """Keys of variables that are left out."""
    stack: frozenset[str] | None = None
    """Keys of those that get the dimension; None: if it is new, all but coordinates."""
    attributes: tuple[str, ...] = ()
    """Keys of attributes of the dataset that become variables."""
    overrides: bool = False
    """Whether other variables than indexes without the dimension are those of the first file, and are not compared."""
    overrides_indexes: bool = False
    """Whether this is so of index coordinates."""
    fills: bool = False
    """Whether what a file lacks is missing, instead of an error."""
    first_units: bool = False
    """Whether units that cannot be converted are those of the first file."""
    at_once: frozenset[str] | None = field(default=frozenset())
    """Keys of variables whose values are read at once; None: all."""
    group: str | None = None
    """Path of the group that is taken of each file, whose variables have short keys; None: all of the file."""

    def has(self, key: str) -> bool:
        """Whether a variable is wanted."""
        return (self.only is None or key in self.only) and key not in self.without


class Scanned(NamedTuple):
    """What was found."""

    files: WatchedFiles
    first: Metadata
    """Of each variable the metadata of the first file that has it, and the attributes of the first file."""
    inputs: list[MergeInput]
    """Files in a row that are alike."""
    held: list[dict[str, Any]]
    """Of each input the values that were wanted at once, by key: (count, *shape) arrays."""
    noted: list[Mapping[str, Any]]
    """Of each file the attributes that are wanted."""
    lengths: NDArray[np.int64]
    """(n,): how many positions each file takes."""
    stacked: frozenset[str]
    """Keys of the variables that get a new dimension."""
    spread: Mapping[str, list[tuple[int, Entry, Any]]]
    """Variables without the dimension that get it, by key: the first file, metadata and (count, *shape) values of each
    input that has them."""


def scan(paths: Sequence[str], wanted: Wanted, threads: int | None) -> Scanned:
    """Read what is wanted of files, one after another, and compare what they must have in common.

    Parameters
    ----------
    paths : sequence of str
        Absolute; at least one.
    wanted : Wanted
    threads : int, optional
        As `reading.batches`.

    Raises
    ------
    OSError, DriverError, FormatError
        If a file cannot be read.
    MissingError, UnsupportedError
        If files do not fit together; the message names the first one that does not, and the variable.
    """
    with open_group(paths[0], wanted.group) as subset:
        meta = {key: entry for key, entry in subset.meta.items() if key == META or wanted.has(key)}
        if modes.get() == "strict":  # otherwise it may be in other files; one in none of them is an error in the end
            say_missing(paths[0], wanted.only or (), subset.meta)
    scanner = _Scanner(meta, wanted)
    files = WatchedFiles(paths, wanted.group)
    with no_collection(), opened(most=1, group=wanted.group) as open_files:
        dim = wanted.dim if wanted.overrides and wanted.overrides_indexes and not wanted.stack else None
        found = files.record(threads, wanted.at_once is not None)
        one_by_one = wanted.group is not None
        for piece in pieces(found, _raise, open_files, scanner.keys, dim, wanted.attributes, one_by_one=one_by_one):
            if isinstance(piece, SourcePiece) and wanted.at_once is not None:
                files.note(scanner.count, piece.digest())
            scanner.add(piece)
    return scanner.scanned(files)


def _raise(path: str, error: Exception) -> None:
    raise error


class _Keys:
    """Keys of variables: some, or all that are wanted, also those that only later files have."""

    def __init__(self, wanted: Wanted):
        self._wanted = wanted
        self._some = set(wanted.at_once or ())

    def __contains__(self, key: object) -> bool:
        return self._wanted.has(str(key)) if self._wanted.at_once is None else key in self._some

    def add(self, key: str) -> None:
        """Let one more be read at once."""
        self._some.add(key)


class _Scanner:
    def __init__(self, meta: Metadata, wanted: Wanted):
        self._wanted = wanted
        self._dim = wanted.dim
        self._schema = Schema(wanted.dim, wanted.fills, wanted.first_units)
        self._exists = size_along(meta, wanted.dim) is not None
        self._coordinates = _coordinates(meta)
        self._scalars = _scalar_coordinates(meta)
        self._spread: dict[str, list[tuple[int, Entry, Any]]] = {}
        self._constants: dict[str, tuple[str, Entry, Any]] = {}
        self._differing: set[str] = set()
        self._inputs: list[MergeInput] = []
        self._held: list[dict[str, Any]] = []
        self._noted: list[Mapping[str, Any]] = []
        self._lengths: list[int] = []
        self._roles: dict[int, bool] = {}
        self.keys = _Keys(wanted)
        """Of the variables that are read at once."""
        for key, entry in meta.items():
            if key != META and (self._is_index(key, entry) or self._compares(key, entry)):
                self.keys.add(key)

    def _is_index(self, key: str, entry: Entry) -> bool:
        size = entry.get(".size")
        return (
            size is not None
            and len(size) <= 1
            and dims(key, entry, len(size)) in ([], [self._dim])
            and unescape(key) == self._dim
        )

    def _is_constant(self, key: str, entry: Entry) -> bool:
        """Whether a variable does not get longer with each file."""
        size = entry.get(".size")
        if size is None:
            return False
        if self._exists:
            return self._dim not in dims(key, entry, len(size))
        if self._wanted.stack is not None:
            return key not in self._wanted.stack
        return key in self._coordinates and unescape(key) != self._dim

    def _compares(self, key: str, entry: Entry) -> bool:
        """Whether a variable must have the same values in each file."""
        if not self._is_constant(key, entry):
            return False
        if self._is_to_spread(key):
            return True
        is_index = dims(key, entry, len(entry[".size"])) == [unescape(key)]
        return not (self._wanted.overrides_indexes if is_index else self._wanted.overrides)

    def _is_to_spread(self, key: str) -> bool:
        return self._exists and self._wanted.stack is not None and key in self._wanted.stack

    @property
    def count(self) -> int:
        """Files that were added."""
        return len(self._lengths)

    def add(self, piece: Piece) -> None:
        """Take files that are alike."""
        path, count = piece.paths[0], len(piece.paths)
        meta = piece.meta
        if not all(map(self._wanted.has, meta)):
            meta = {key: entry for key, entry in meta.items() if key == META or self._wanted.has(key)}
        reduced = self._schema.add(path, meta, piece.first)
        held = {}
        for key, entry in reduced.items():
            if key == META or entry.get(".size") is None:
                continue
            if id(entry) not in self._roles:
                self._roles[id(entry)] = self._compares(key, entry)
            compares = self._roles[id(entry)]
            if key in self.keys:
                held[key] = _read(piece, key, self._wanted.group)
            elif compares and key not in self._constants:  # the first file lacks it
                self.keys.add(key)
                held[key] = _read_again(piece.paths, key, self._wanted.group)
            if compares:
                stack = held.pop(key)
                whole: Entry = entry
                if self._is_to_spread(key) or key in self._scalars:
                    whole = with_parents(reduced)[key]
                    self._spread.setdefault(key, []).append((self.count, whole, stack.copy()))
                self._compare(piece.paths, key, whole, stack)
                if self._constants[key][0] == path:
                    held[key] = self._constants[key][2]
        self._note(piece)
        self._inputs.append(MergeInput(reduced, count))
        self._held.append(held)
        length = size_along(reduced, self._dim) if self._exists else 1
        self._lengths += [length or 0] * count

    def _compare(self, paths: Sequence[str], key: str, entry: Entry, stack: Any) -> None:
        """Check that values are the same in each file; those of the first one are kept."""
        first_path, first_entry, first = self._constants.setdefault(key, (paths[0], entry, stack[:1].copy()))
        if first_entry is not entry:
            (convert, other), _, _ = reconcile(key, [first_entry, entry], False, [first_path, paths[0]])
            first = convert(first) if convert else first
            stack = other(stack) if other else stack
        same = _equal_rows(stack, first)
        if self._is_to_spread(key) or (key in self._scalars and not same.all()):
            self._differing.add(key)
        elif not same.all():
            raise UnsupportedError(
                f'other values than in {first_path}, expected the same, for it has no dimension "{self._dim}" '
                '(compat="override" takes those of the first file, drop_variables leaves it out)',
                path=paths[int(same.argmin())],
                variable=unescape(key),
            )

    def _note(self, piece: Piece) -> None:
        for path, noted in zip(piece.paths, piece.noted if self._wanted.attributes else (), strict=False):
            for key in self._wanted.attributes:
                if key not in noted and not self._wanted.fills:
                    # of the first file of the piece, not of this one
                    known = [unescape(name) for name in piece.first[META] if not name.startswith(".") and name != key]
                    name = unescape(key)
                    raise MissingError(f'attribute "{name}" of the dataset not found{hint(name, known)}', path=path)
            self._noted.append(noted)

    def scanned(self, files: WatchedFiles) -> Scanned:
        """Return what was found, once all were added."""
        first = self._schema.first
        stacked = frozenset(
            key
            for key, entry in first.items()
            if key != META and not self._exists and not self._is_constant(key, entry)
        )
        lengths = np.array(self._lengths, np.int64)
        spread = {key: self._spread[key] for key in first if key in self._differing}
        return Scanned(files, first, self._inputs, self._held, self._noted, lengths, stacked, spread)


def _coordinates(meta: Metadata) -> set[str]:
    """Return the keys of coordinates that have dimensions, of their bounds, and of grid mappings."""
    sizes = {key: entry.get(".size") for key, entry in meta.items() if key != META}
    found: set[str] = coordinates(meta, {key: dims(key, meta[key], len(size)) for key, size in sizes.items() if size})
    bounds = [other for key in found for other in named(key, meta[key], NAMING)]
    mappings = [other for key in meta for other in named(key, meta[key], ("grid_mapping",))]
    return found.union(bounds, mappings)


def _scalar_coordinates(meta: Metadata) -> set[str]:
    """Return the keys of coordinates without dimensions, and of their bounds."""
    found = {other for key, entry in meta.items() for other in named(key, entry, COORDINATES)}
    scalars = {key for key in found if meta.get(key, {}).get(".size") == []}
    return scalars.union(*(parents_bounds(meta[key]) for key in scalars))


def _read(piece: Piece, key: str, group: str | None) -> Any:
    """Return a variable of a piece, which may have been made before it was known that this variable is to be read."""
    try:
        return piece.read(key)
    except KeyError:
        return _read_again(piece.paths, key, group)


def _read_again(paths: Sequence[str], key: str, group: str | None) -> Any:
    found = []
    for path in paths:
        with open_group(path, group) as subset:
            try:
                found.append(as_array(subset.read(key)))
            except DsError as error:
                raise error.at(path=path, variable=unescape(key))
    return np.ma.stack(found) if any(isinstance(one, np.ma.MaskedArray) for one in found) else np.stack(found)


def _equal_rows(stack: Any, first: Any) -> NDArray[np.bool_]:
    """Return which rows of a stack have the values of another one of one row: the same are missing, or NaN."""
    data, expected = np.ma.getdata(stack), np.ma.getdata(first)
    same: NDArray[np.bool_] = np.asarray(data == expected)
    if data.dtype.kind == "f":
        same |= (data != data) & (expected != expected)
    mask, expected_mask = np.ma.getmask(stack), np.ma.getmask(first)
    if mask is not np.ma.nomask or expected_mask is not np.ma.nomask:
        missing, expected_missing = np.ma.getmaskarray(stack), np.ma.getmaskarray(first)
        same = np.where(missing | expected_missing, missing & expected_missing, same)
    return np.asarray(same.reshape(len(stack), -1).all(1))
