"""The metadata of a NetCDF file, reused from earlier files that say the same of a variable.

The files of an archive describe the same variables in the same way. Where a variable is described as the one in its
place in the file before, copies of the metadata made from that one are returned.
"""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from ...dataset import META, escape
from ...kernels.header.memory import Original
from ...model.conventions import BOUNDS
from ...model.missing import settle
from ...model.packing import is_unpacked_by
from ..library.catalog import Catalog, DescribedFile, DescribedVariable, FileVariable, dtype_of, joinable
from .catalog import ESCAPED, ReadScalar, Uses, dataset_record, read_variable
from .format import PROPERTY, warn

CHARACTER = "S1"
MOST = 256
"""Variables that are remembered."""
_first = operator.itemgetter(0)
PARENTS = frozenset(BOUNDS)
"""Attributes of a coordinate that name its bounds."""


class HeaderVariable(Protocol):
    """A variable, as the header of a file describes it."""

    @property
    def name(self) -> str:
        """With its groups."""
        ...

    @property
    def attributes(self) -> dict[str, Any]:
        """Not to be changed."""
        ...

    @property
    def code(self) -> str:
        """As of `DescribedVariable`."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of its dimensions."""
        ...


V = TypeVar("V", bound=HeaderVariable)


class RecalledVariable(NamedTuple):
    """A variable and its metadata, those of the file before if it says the same of it."""

    key: str
    place: Any
    """As the header of the first such file describes it."""
    uses: Uses
    variable: FileVariable
    """At its position in this file, unless it is lent; see `Memory.recall`."""
    properties: Original
    """Metadata, with the size that the variable had in the first such file."""
    complete: Original | None
    """Metadata as `ds_format.read` returns them if no value is missing; only of what may be remembered."""
    is_packed: bool
    names_bounds: bool

    def entry(self) -> dict[str, Any]:
        """Return the metadata in this file."""
        properties = self.properties.copy()
        if self.complete is not None:
            properties[".size"] = list(self.variable.shape or ())
        return properties

    def complete_entry(self) -> dict[str, Any] | None:
        """Return the metadata in this file as `ds_format.read` does if no value is missing; None: they depend on it."""
        if self.complete is None:
            return None
        properties = self.complete.copy()
        properties[".size"] = list(self.variable.shape or ())
        return properties


class RecalledFile(NamedTuple):
    """The requested variables of a file, and the metadata of its dataset."""

    variables: Iterable[RecalledVariable]
    """Once."""
    positions: Iterable[Any]
    """Where their values are, for `NativeValues.read_whole`; once."""
    entry: dict[str, Any]
    """Metadata of the dataset."""
    meta: Mapping[str, dict[str, Any]]
    """Metadata of these variables by their keys, for `packing.entries_to_unpack`; empty if none has packed numbers."""

    def catalog(self, path: str) -> Catalog:
        """Return the catalog of the file; the path is for warnings."""
        catalog: Catalog = Catalog(path, False, warn)
        for each in self.variables:
            catalog.variables[each.key], catalog.meta[each.key] = each.variable, each.entry()
        catalog.meta[META] = self.entry
        return catalog


class Memory(Generic[V]):
    """Metadata of the file before; for one call at a time. A subclass knows the form of headers."""

    def __init__(self) -> None:
        self.variables: list[Any] = []
        """A `RecalledVariable` each; None: it depends on its values."""
        self.places: Sequence[V] | None = None
        """The variables of its header, of which it remembers all; otherwise None."""
        self.may_be_packed = False
        """Whether one of these has packed numbers."""
        self.dimensions: Sequence[tuple[str, int, bool]] = ()
        self.names: list[str] = []
        """Names of the dimensions."""
        self.unlimited: list[str] = []
        self.record: tuple[Any, Original] | None = None
        """Format, groups and types, and the settings of the file that its variables do not have."""

    @abstractmethod
    def is_same(self, place: V, known: V) -> bool:
        """Return whether two files say the same of a variable, except for its shape and position.

        The dimensions of both files have the same names.
        """

    @abstractmethod
    def dims(self, place: V) -> list[str]:
        """Return the names of the dimensions of a variable."""

    @abstractmethod
    def positions(self, header: Any) -> Sequence[Any]:
        """Return where the values of the variables of a header are, as `NativeValues` takes it."""

    @abstractmethod
    def described(self, place: V, position: Any) -> DescribedVariable:
        """Return the description of a variable. Its attributes may be changed, but not what is in them."""

    @abstractmethod
    def moved(self, variable: FileVariable, place: V, position: Any) -> FileVariable:
        """Return a variable of the file before as it is in this file."""

    @abstractmethod
    def settings(self, header: Any) -> Any:
        """Return format, groups and types of a file, in a form that can be compared."""

    @abstractmethod
    def file(self, header: Any) -> DescribedFile:
        """Return the description of a file without its variables."""

    @abstractmethod
    def attributes(self, header: Any) -> dict[str, Any]:
        """Return the attributes of the dataset by their keys."""

    def recall(
        self, header: Any, read_scalar: ReadScalar, keys: Collection[str] | None = None, lends: bool = False
    ) -> RecalledFile:
        """Return the variables of a file and their metadata, and remember them.

        Parameters
        ----------
        header
            With `dimensions` (names, sizes, and whether they are unlimited) and `variables`.
        read_scalar : callable
            See `catalog.read_catalog`.
        keys : collection of str, optional
            Keys of the variables to return; None: all. Variables that name bounds are returned as well, since their
            attributes hold for the bounds.
        lends : bool
            Whether variables may be those of earlier files, for `NativeValues.read_whole`, which takes their positions
            as an argument. They must then not be changed.
        """
        settings = self.settings(header)
        if (
            lends
            and header.dimensions == self.dimensions
            and self.record is not None
            and self.record[0] == settings
            and self._remembers(header.variables)
        ):
            entry = dataset_entry(self.record[1], self.attributes(header))
            found, positions = [*self.variables], self.positions(header)
            if keys is not None:
                asked = [i for i, each in enumerate(found) if each.names_bounds or each.key in keys]
                found, positions = [found[i] for i in asked], [positions[i] for i in asked]
        else:
            found, positions, record = self._recall(header, settings, read_scalar, keys, lends)
            entry = dataset_entry(record, self.attributes(header))
        meta = {each.key: each.entry() for each in found} if self.may_be_packed else {}
        return RecalledFile(found, positions, entry, meta)

    def _remembers(self, places: Sequence[V]) -> bool:
        """Return whether these variables are the remembered ones, in the same shapes. The dimensions are the same."""
        if places is self.places:
            return True
        if self.places is None or len(places) != len(self.variables):
            return False
        for place, known in zip(places, self.variables, strict=True):
            if not self.is_same(place, known.place) or place.shape != known.variable.shape:
                return False
        self.places = places
        return True

    def _recall(
        self, header: Any, settings: Any, read_scalar: ReadScalar, keys: Collection[str] | None, lends: bool
    ) -> tuple[list[RecalledVariable], list[Any], Original]:
        """Return the variables one by one, where their values are, and the settings that they do not have."""
        places: Sequence[V] = header.variables
        is_same = header.dimensions == self.dimensions and len(places) == len(self.variables)
        self.places = None
        if header.dimensions != self.dimensions:
            self._take_dimensions(header.dimensions)
        joins = self.joins(places)
        found, asked, uses, may_be_packed = [], [], Uses(), False
        for i, (place, position) in enumerate(zip(places, self.positions(header), strict=True)):
            known: RecalledVariable | None = self.variables[i] if i < len(self.variables) else None
            # where the dimensions have other names, nothing is left in memory
            is_known = known is not None and self.is_same(place, known.place)
            is_same = is_same and is_known
            each = known if known is not None and is_known else self._read(i, place, position, joins, read_scalar)
            uses.update(each.uses)
            may_be_packed |= each.is_packed
            if is_known and place.shape != each.variable.shape:
                # `places` of this file stand for what is remembered, so its shapes are
                each = self.variables[i] = each._replace(variable=self.moved(each.variable, place, position))
            if keys is None or each.names_bounds or each.key in keys:
                if is_known and not lends:
                    each = each._replace(variable=self.moved(each.variable, place, position))
                found.append(each)
                asked.append(position)
        del self.variables[len(places) :]
        if not is_same or self.record is None or self.record[0] != settings:
            self.record = settings, Original(dataset_record(self.file(header), uses, self.unlimited))
        self.may_be_packed = may_be_packed
        if len(self.variables) == len(places) and None not in self.variables:
            self.places = places
        return found, asked, self.record[1]

    def joins(self, places: Sequence[V]) -> frozenset[str]:
        """Return the dimensions along which characters are joined."""
        if all(place.code != CHARACTER for place in places):
            return frozenset()
        return joinable((place.name for place in places), ((self.dims(place), place.code) for place in places))

    def _take_dimensions(self, dimensions: Sequence[tuple[str, int, bool]]) -> None:
        names = [name for name, _, _ in dimensions]
        unlimited = [name for name, _, is_unlimited in dimensions if is_unlimited]
        if names != self.names or unlimited != self.unlimited:
            self.variables = []
        self.dimensions, self.names, self.unlimited = dimensions, names, unlimited

    def _read(
        self, i: int, place: V, position: Any, joins: frozenset[str], read_scalar: ReadScalar
    ) -> RecalledVariable:
        """Return a variable and its metadata, and remember them unless they depend on its values."""
        described = self.described(place, position)
        variable, properties = read_variable(described, frozenset(self.unlimited), joins, read_scalar)
        while len(self.variables) <= i < MOST:
            self.variables.append(None)
        complete = None
        if variable.kind == "number" and variable.shape and "enum" not in described.storage:
            complete = Original(_complete(properties, dtype_of(described.code)))
        # arrays of the header are for all files that have them, so copies are made of these properties, too
        kept = RecalledVariable(
            escape(place.name), place, Uses([properties]), variable, Original(properties), complete,
            is_unpacked_by(True, properties), not PARENTS.isdisjoint(properties),
        )  # fmt: skip
        if i < MOST:
            self.variables[i] = None if complete is None else kept
        return kept


def _complete(properties: dict[str, Any], dtype: np.dtype[Any]) -> dict[str, Any]:
    """Return the metadata of a variable of which no value is missing."""
    entry: dict[str, Any] = settle(properties, np.empty(0, dtype))
    return {name: value for name, value in entry.items() if name != ".missing"}


def dataset_entry(record: Original, attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a dataset."""
    copied = record.copy()
    return {**({PROPERTY: copied} if copied else {}), **attributes}


def escaped(attributes: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return attributes of the dataset by their keys."""
    if not prefix and ESCAPED.isdisjoint(map(_first, attributes)):
        return attributes
    return {escape(prefix + name): value for name, value in attributes.items()}
