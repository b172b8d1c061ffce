"""One pass over files that become one dataset: collect metadata and the values requested at once, and compare them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base import modes
from ..base.dtypes import TYPES
from ..base.text import hint, unescape
from ..body import Location, path_text
from ..body.locating import kept_after
from ..datasets import META, as_array, dims
from ..drivers.alike import DatasetStack
from ..drivers.base import Metadata, check_faults, warn
from ..errors import DsError, MissingError, UnsupportedError
from ..kernels.header.memory import are_alike
from ..model.constants import Value, difference, equal_rows
from ..model.conventions import COORDINATES, coordinates, named, parents_bounds, with_parents
from ..model.dataset_attributes import AttributeComparison
from ..model.merge_plan import DECIDING, MergeInput, reconcile, size_along
from ..model.packing import is_packed
from ..timeaxis import is_time
from ..views.groups import open_group
from ..views.subset import Subset, say_missing
from .pieces import SourcePiece, fail, no_collection, open_sources, read_pieces
from .reading import WatchedFiles, contents

Entry = Mapping[str, Any]
NAMING = ("bounds", "climatology")
"""Attributes of coordinates that name variables which belong to them (CF conventions 1.12, sections 7.1 and 7.4)."""
KEPT = (*DECIDING, ".missing")
"""Properties that are kept for a variable of each file except the first."""
BUT_SIZE = frozenset(KEPT) - {".size"}
ABSENT: dict[str, Any] = {".size": None}
FLOATS = frozenset(name for name, row in TYPES.items() if row.code[0] == "f")
"""Types whose values become float64 if files differ in them."""


class Advice(NamedTuple):
    """Options that errors recommend: by default those of `open_many`."""

    values: str = (
        'stack keeps all of them along the dimension, compat="override" takes those of the first file, drop_variables '
        "leaves it out"
    )
    """If values differ."""
    units: str = 'units="first" takes those of the first file'
    """If units differ."""
    lacking: str = 'missing="fill" fills it, drop_variables leaves it out'
    """If a file lacks a variable."""


OPENING = Advice()


@dataclass(frozen=True)
class JoinOptions:
    """Options of joining files into one dataset."""

    dim: str
    """Name of the dimension to join along."""
    only: frozenset[str] | None = None
    """Keys of the variables; None: all."""
    without: frozenset[str] = frozenset()
    """Keys of variables that are left out."""
    stack: frozenset[str] | None = None
    """Keys of variables that get the dimension; None: for a new dimension, all variables except coordinates."""
    attributes: tuple[str, ...] = ()
    """Keys of attributes of the dataset that become variables."""
    overrides: bool = False
    """Take variables without the dimension from the first file, except indexes, and do not compare them."""
    overrides_indexes: bool = False
    """The same for index coordinates."""
    fills: bool = False
    """Fill variables that a file does not have with missing values, instead of raising an error."""
    first_units: bool = False
    """Replace units that cannot be converted by those of the first file."""
    at_once: frozenset[str] | None = field(default=frozenset())
    """Keys of variables whose values are read at once; None: all."""
    group: str | None = None
    """Path of the group to use in each file, whose variables have short keys; None: the whole file."""
    advice: Advice = OPENING
    """Options that errors recommend."""

    def has(self, key: str) -> bool:
        """Return whether a variable is requested."""
        return (self.only is None or key in self.only) and key not in self.without


class Scanned(NamedTuple):
    """Result of a scan."""

    files: WatchedFiles
    first: Metadata
    """Metadata of each variable, from the first file that has it, and the attributes of the first file."""
    inputs: list[MergeInput]
    """Consecutive files that are alike."""
    arrays: list[dict[str, Any]]
    """Values that were requested at once, for each input, by key: (count, *shape) arrays."""
    attributes: list[Mapping[str, Any]]
    """The requested attributes of each file."""
    lengths: NDArray[np.int64]
    """(n,): number of positions of each file."""
    stacked: frozenset[str]
    """Keys of the variables that get a new dimension."""
    repeated: frozenset[str]
    """Keys of the variables without the dimension that get it. Their values are among those requested at once."""


def scan(paths: Sequence[Location], options: JoinOptions, threads: int | None) -> Scanned:
    """Read requested metadata and values of files in turn, and check that they fit together.

    Parameters
    ----------
    paths : sequence of str or Address
        Absolute paths; at least one.
    options : JoinOptions
    threads : int, optional
        As `reading.batches`.

    Raises
    ------
    OSError, DriverError, FormatError
        If a file cannot be read.
    MissingError, UnsupportedError
        If files do not fit together; the message names the first such file, and the variable.
    """
    with kept_after(paths[0]), open_group(paths[0], options.group) as subset:
        options = _without_unsupported(paths[0], subset, options)
        meta = {key: entry for key, entry in subset.meta.items() if key == META or options.has(key)}
        if modes.get() == "strict":  # otherwise a later file may have it; if none has, merging raises the error
            say_missing(paths[0], options.only or (), subset.meta)
    scanner = _Scanner(meta, options)
    files = WatchedFiles(paths, options.group)
    is_read_again, one_by_one = options.at_once is not None, options.group is not None
    with no_collection(), open_sources(most=1, group=options.group) as open_files:
        dim = options.dim if options.overrides and options.overrides_indexes and not options.stack else None
        given = (open_files, scanner.keys, dim, options.attributes)
        found = files.record(threads) if is_read_again else contents(paths, threads)
        watch = files.note if is_read_again else None
        comparison = AttributeComparison(options.dim, options.attributes)
        for piece in read_pieces(found, fail, *given, one_by_one=one_by_one, compare=comparison.add, watch=watch):
            if isinstance(piece, SourcePiece) and is_read_again:
                files.note(scanner.count, piece.digest())
            scanner.add(piece)
    comparison.report("first")
    return scanner.scanned(files)


def _without_unsupported(path: Location, subset: Subset, options: JoinOptions) -> JoinOptions:
    """Return options that leave out variables of types that ds does not have, with a warning.

    Raises
    ------
    UnsupportedError
        If such a variable is requested by its name.
    """
    check_faults(subset.faults, options.only or ())
    faults = {key: fault for key, fault in subset.faults.items() if isinstance(fault, UnsupportedError)}
    for key, fault in faults.items():
        if options.has(key):
            warn(f"left out: {fault.message}", path_text(path), unescape(key))
    return replace(options, without=options.without | faults.keys())


class _Keys:
    """Keys of variables to read at once: some, or all requested ones, including those that only later files have."""

    def __init__(self, options: JoinOptions):
        self._options = options
        self._some = set(options.at_once or ())

    def __contains__(self, key: object) -> bool:
        return self._options.has(str(key)) if self._options.at_once is None else key in self._some

    def add(self, key: str) -> None:
        """Add a variable to read at once."""
        self._some.add(key)


class _Scanner:
    def __init__(self, meta: Metadata, options: JoinOptions):
        self._options = options
        self._dim = options.dim
        self._schema = ReferenceVariables(options)
        self._exists = size_along(meta, options.dim) is not None
        self._coordinates = _coordinates(meta)
        self._scalars = _scalar_coordinates(meta)
        self._repeated: dict[str, list[tuple[dict[str, Any], Any]]] = {}
        self._constants: dict[str, tuple[Location, Entry, Any]] = {}
        self._differing: set[str] = set()
        self._inputs: list[MergeInput] = []
        self._arrays: list[dict[str, Any]] = []
        self._attributes: list[Mapping[str, Any]] = []
        self._lengths: list[int] = []
        self._roles: dict[int, bool] = {}
        self.keys = _Keys(options)
        """Keys of variables to read at once."""
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
        """Return whether a variable has no position for each file."""
        size = entry.get(".size")
        if size is None:
            return False
        if self._exists:
            return self._dim not in dims(key, entry, len(size))
        if self._options.stack is not None:
            return key not in self._options.stack
        return key in self._coordinates and unescape(key) != self._dim

    def _compares(self, key: str, entry: Entry) -> bool:
        """Return whether a variable must have the same values in each file."""
        if not self._is_constant(key, entry):
            return False
        if self._is_to_repeat(key):
            return True
        is_index = dims(key, entry, len(entry[".size"])) == [unescape(key)]
        return not (self._options.overrides_indexes if is_index else self._options.overrides)

    def _is_to_repeat(self, key: str) -> bool:
        return self._exists and self._options.stack is not None and key in self._options.stack

    @property
    def count(self) -> int:
        """Number of files that were added."""
        return len(self._lengths)

    def add(self, piece: DatasetStack) -> None:
        """Add consecutive files that are alike."""
        path, count = piece.paths[0], len(piece.paths)
        meta = piece.meta
        if not all(map(self._options.has, meta)):
            meta = {key: entry for key, entry in meta.items() if key == META or self._options.has(key)}
        reduced = self._schema.add(path, meta, piece.first)
        arrays = {}
        for key, entry in reduced.items():
            if key == META or entry.get(".size") is None:
                continue
            if id(entry) not in self._roles:
                self._roles[id(entry)] = self._compares(key, entry)
            compares = self._roles[id(entry)]
            if key in self.keys:
                arrays[key] = _read(piece, key, self._options.group)
            elif compares and key not in self._constants:  # the first file does not have it
                self.keys.add(key)
                arrays[key] = _read_again(piece.paths, key, self._options.group)
            if compares:
                stack = arrays.pop(key)
                whole: Entry = entry
                if self._is_to_repeat(key) or key in self._scalars:
                    whole = with_parents(reduced)[key]
                    self._repeated.setdefault(key, []).append((arrays, stack.copy()))
                self._compare(piece.paths, key, whole, stack)
                if self._constants[key][0] == path:
                    arrays[key] = self._constants[key][2]
        self._note(piece)
        self._inputs.append(MergeInput(reduced, count))
        self._arrays.append(arrays)
        length = size_along(reduced, self._dim) if self._exists else 1
        self._lengths += [length or 0] * count

    def _compare(self, paths: Sequence[Location], key: str, entry: Entry, stack: Any) -> None:
        """Check that values are the same in each file. Those of the first one are kept."""
        first_path, first_entry, first = self._constants.setdefault(key, (paths[0], entry, stack[:1].copy()))
        if first_entry is not entry:
            names = [path_text(first_path), path_text(paths[0])]
            (convert, other), _, _ = reconcile(key, [first_entry, entry], False, names)
            first = convert(first) if convert else first
            stack = other(stack) if other else stack
        same = equal_rows(stack, first)
        if self._is_to_repeat(key) or (key in self._scalars and not same.all()):
            self._differing.add(key)
        elif not same.all():
            row = int(same.argmin())
            values = Value(path_text(first_path), first_entry, first), Value("it", entry, stack[row : row + 1])
            raise UnsupportedError(
                f'other values than in {first_path}, expected the same, for it has no dimension "{self._dim}": '
                f"{difference(*values)} ({self._options.advice.values})",
                path=paths[row],
                variable=unescape(key),
            )

    def _note(self, piece: DatasetStack) -> None:
        for path, attributes in zip(
            piece.paths, piece.dataset_attributes if self._options.attributes else (), strict=False
        ):
            for key in self._options.attributes:
                if key not in attributes and not self._options.fills:
                    # this is the first file of the piece, maybe another one
                    known = [unescape(name) for name in piece.first[META] if not name.startswith(".") and name != key]
                    name = unescape(key)
                    raise MissingError(f'attribute "{name}" of the dataset not found{hint(name, known)}', path=path)
            self._attributes.append(attributes)

    def scanned(self, files: WatchedFiles) -> Scanned:
        """Return the result, after all files were added."""
        first = self._schema.first
        stacked = frozenset(
            key
            for key, entry in first.items()
            if key != META and not self._exists and not self._is_constant(key, entry)
        )
        lengths = np.array(self._lengths, np.int64)
        for key in self._differing:
            for arrays, stack in self._repeated[key]:
                arrays[key] = stack
        repeated = frozenset(self._differing)
        return Scanned(files, first, self._inputs, self._arrays, self._attributes, lengths, stacked, repeated)


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


def _read(piece: DatasetStack, key: str, group: str | None) -> Any:
    """Return a variable of a piece. Read it again if the piece was made before this variable was requested."""
    try:
        return piece.read(key)
    except KeyError:
        return _read_again(piece.paths, key, group)


def _read_again(paths: Sequence[Location], key: str, group: str | None) -> Any:
    found = []
    for path in paths:
        with open_group(path, group) as subset:
            try:
                found.append(as_array(subset.read(key)))
            except DsError as error:
                raise error.at(path=path, variable=unescape(key))
    return np.ma.stack(found) if any(isinstance(one, np.ma.MaskedArray) for one in found) else np.stack(found)


class ReferenceVariables:
    """The variables of the first file, with which those of the others are compared.

    Equal metadata are stored as one object, for any number of files.

    Parameters
    ----------
    options : JoinOptions

    Attributes
    ----------
    first : Metadata
        Metadata of each variable, from the first file that has it.
    """

    def __init__(self, options: JoinOptions):
        self.first: Metadata = {}
        self._dim = options.dim
        self._options = options
        self._path: Location = ""
        self._references: dict[str, tuple[Location, dict[str, Any]]] = {}
        self._known: dict[str, dict[str, dict[str, Any]]] = {}
        self._last: dict[str, tuple[Metadata, dict[Any, dict[str, Any]]]] = {}
        self._spans: dict[int, int | None] = {}

    def add(self, path: Location, meta: Metadata, first: Metadata) -> Metadata:
        """Compare the metadata of a file, or of several alike files.

        Parameters
        ----------
        path : str
            The first file.
        meta : Metadata
        first : Metadata
            Metadata of the first file.

        Returns
        -------
        Metadata
            The properties on which merging depends.

        Raises
        ------
        MissingError
            If the file does not have a variable, or the first file does not have it.
        UnsupportedError
            If the metadata do not fit.
        """
        if not self._path:
            self._path = path
        elif not self._options.fills:
            self._check_names(path, meta)
        out = {META: first[META] if not self.first else {}}
        for key, entry in meta.items():
            if key == META:
                continue
            out[key] = self._same(path, key, entry)
            if key not in self.first:
                self.first[key] = first[key]
        self._check_lengths(path, out)
        self.first.setdefault(META, first[META])
        return out

    def _same(self, path: Location, key: str, entry: dict[str, Any]) -> dict[str, Any]:
        """Return the single object for the properties of a variable on which merging depends."""
        whole, size = {key: entry}, entry.get(".size")
        shape = None if size is None else tuple(size)
        last, by_shape = self._last.get(key, ({}, {}))
        if not last or not are_alike(whole, last, BUT_SIZE):
            by_shape = {}
            self._last[key] = whole, by_shape
        if shape not in by_shape:
            reduced = {name: entry[name] for name in KEPT if name in entry}
            known = self._known.setdefault(key, {})
            signature = repr(reduced)
            if signature not in known:
                known[signature] = self._added(path, key, reduced)
            by_shape[shape] = known[signature]
        return by_shape[shape]

    def _added(self, path: Location, key: str, entry: dict[str, Any]) -> dict[str, Any]:
        """Return the metadata of a variable, after checking that they fit those of earlier files."""
        reference_path, reference = self._references.get(key, (path, ABSENT))
        if reference[".size"] is None and (self._options.fills or key not in self._references):
            self._references[key] = path, entry
            return entry
        try:
            return self._compared(entry, reference, key)
        except DsError as error:
            error.message += f" as in {reference_path}"
            raise error.at(path=path, variable=unescape(key))

    def _compared(self, entry: dict[str, Any], reference: dict[str, Any], key: str) -> dict[str, Any]:
        size, expected = entry.get(".size"), reference.get(".size")
        if size is None or expected is None:
            if self._options.fills and size is None:
                return entry
            raise UnsupportedError(f"found {_data(size)}, expected {_data(expected)}")
        names, expected_names = dims(key, entry, len(size)), dims(key, reference, len(expected))
        if names != expected_names:
            raise UnsupportedError(f"dimensions: found {names}, expected {expected_names}")
        for name, found, n in zip(names, size, expected, strict=True):
            if found != n and name != self._dim:
                raise UnsupportedError(f'size of dimension "{name}": found {found}, expected {n}')
        if 0 in size or 0 in expected:
            _settle(entry, reference, is_first_empty=0 in expected)
        type_name, expected_type = entry.get(".type"), reference.get(".type")
        packed = is_packed(entry, type_name), is_packed(reference, expected_type)
        counted = is_time(entry) and is_time(reference) and _axis(entry) != _axis(reference)
        promoted = {type_name, expected_type} <= FLOATS
        if type_name != expected_type and not (promoted or any(packed) or counted):
            raise UnsupportedError(f"type: found {type_name}, expected {expected_type}")
        units, expected_units = entry.get("units"), reference.get("units")
        if repr(units) == repr(expected_units) or (is_time(entry) and is_time(reference)):
            return entry
        if self._options.first_units:
            kept = {name: value for name, value in entry.items() if name != "units"}
            return kept if expected_units is None else {**kept, "units": expected_units}
        raise UnsupportedError(
            f"units: found {_shown(units)}, only those of times are converted ({self._options.advice.units}); "
            f"expected {_shown(expected_units)}"
        )

    def _lacking(self, path: Location, key: str, other: Location) -> MissingError:
        message = f"variable not found, expected as in {other}; {self._options.advice.lacking}"
        return MissingError(message, path=path, variable=unescape(key))

    def _check_names(self, path: Location, meta: Metadata) -> None:
        for key in self.first:
            if key not in meta:
                raise self._lacking(path, key, self._path)
        for key in meta:
            if key not in self.first:
                raise self._lacking(self._path, key, path)

    def _check_lengths(self, path: Location, meta: Metadata) -> None:
        """Check that the variables of a file agree on the size of the dimension to join along."""
        found: int | None = None
        for key, entry in meta.items():
            n = None if key == META else self._span(key, entry)
            if n is None or found is None:
                found = n if found is None else found
            elif n != found:
                raise UnsupportedError(
                    f'size of dimension "{self._dim}": found {n}, expected {found} as another variable has',
                    path=path,
                    variable=unescape(key),
                )

    def _span(self, key: str, entry: dict[str, Any]) -> int | None:
        """Return the size of a variable along the dimension to join along, or None if it does not have it."""
        if id(entry) not in self._spans:
            size = entry.get(".size")
            names = [] if size is None else dims(key, entry, len(size))
            self._spans[id(entry)] = size[names.index(self._dim)] if size and self._dim in names else None
        return self._spans[id(entry)]


def _settle(entry: dict[str, Any], reference: dict[str, Any], is_first_empty: bool) -> None:
    """Give a variable without strings the type of the others: its own type is a guess, byte strings."""
    if {entry.get(".type"), reference.get(".type")} == {"str", "unicode"}:
        settled, other = (reference, entry) if is_first_empty else (entry, reference)
        settled[".type"] = other[".type"]


def _data(size: Any) -> str:
    return "no data" if size is None else "data"


def _axis(entry: dict[str, Any]) -> tuple[Any, Any]:
    return entry.get("units"), entry.get("calendar")


def _shown(units: Any) -> str:
    return "none" if units is None else repr(units)
