"""The metadata of a NetCDF file, reused from earlier files that say the same of a variable.

The files of an archive describe the same variables in the same way. Where a variable is described as the one in its
place in the file before, copies of the metadata made from that one are returned.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from ...dataset import META, escape
from ...kernels.header.memory import Original
from ...model.conventions import BOUNDS
from ..library.catalog import Catalog, DescribedFile, DescribedVariable, FileVariable, joinable
from .catalog import ESCAPED, ReadScalar, Uses, dataset_record, read_variable
from .format import PROPERTY, warn

CHARACTER = "S1"
MOST = 256
"""Variables that are remembered."""
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


class _Known(NamedTuple):
    """A variable of the file before."""

    key: str
    place: Any
    """As the header describes it."""
    dims: Sequence[str]
    variable: FileVariable
    properties: Original

    def properties_at(self, place: HeaderVariable) -> dict[str, Any]:
        """Return its properties and attributes in another file."""
        properties = self.properties.copy()
        properties[".size"] = list(place.shape)
        return properties


class Memory(Generic[V]):
    """Metadata of the file before; for one call at a time. A subclass knows the form of headers."""

    def __init__(self) -> None:
        self.variables: list[_Known | None] = []
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
    def described(self, place: V) -> DescribedVariable:
        """Return the description of a variable. Its attributes may be changed, but not what is in them."""

    @abstractmethod
    def moved(self, variable: FileVariable, place: V) -> FileVariable:
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

    def catalog(
        self, header: Any, path: str, read_scalar: ReadScalar, keys: Collection[str] | None = None, lends: bool = False
    ) -> Catalog:
        """Return the catalog of a file, and remember it.

        Parameters
        ----------
        header
            With `dimensions` (names, sizes, and whether they are unlimited) and `variables`.
        path : str
            For warnings.
        read_scalar : callable
            See `catalog.read_catalog`.
        keys : collection of str, optional
            Keys of the variables to return; None: all. Variables that name bounds are returned as well, since their
            attributes hold for the bounds.
        lends : bool
            Whether variables may be those of earlier files, for `NativeValues.read_whole`, which takes their positions
            as an argument. They must then not be changed.
        """
        catalog: Catalog = Catalog(path, False, warn)
        variables, meta = catalog.variables, catalog.meta
        uses = Uses()
        places: Sequence[V] = header.variables
        is_same = header.dimensions == self.dimensions and len(places) == len(self.variables)
        if header.dimensions != self.dimensions:
            self._take_dimensions(header.dimensions)
        joins = self.joins(places)
        for i, place in enumerate(places):
            known = self.variables[i] if i < len(self.variables) else None
            if known is not None and self.is_same(place, known.place):
                # where the dimensions have other names, nothing is left in memory
                key = known.key
                if keys is not None and key not in keys and PARENTS.isdisjoint(known.place.attributes):
                    uses.dims.update(known.dims)
                    continue
                is_lent = lends and place.shape == known.place.shape
                variables[key] = known.variable if is_lent else self.moved(known.variable, place)
                meta[key] = known.properties_at(place)
            else:
                is_same = False
                key = escape(place.name)
                variable, properties = self._read(i, place, joins, read_scalar)
                if keys is None or key in keys or not PARENTS.isdisjoint(properties):
                    variables[key], meta[key] = variable, properties
                else:
                    uses.add([properties])
        del self.variables[len(places) :]
        settings = self.settings(header)
        if not is_same or self.record is None or self.record[0] != settings:
            uses.add(meta.values())
            self.record = settings, Original(dataset_record(self.file(header), uses, self.unlimited))
        meta[META] = dataset_entry(self.record[1], self.attributes(header))
        return catalog

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
        self, i: int, place: V, joins: frozenset[str], read_scalar: ReadScalar
    ) -> tuple[FileVariable, dict[str, Any]]:
        """Return a variable and its metadata, and remember them unless they depend on its values."""
        described = self.described(place)
        variable, properties = read_variable(described, frozenset(self.unlimited), joins, read_scalar)
        while len(self.variables) <= i < MOST:
            self.variables.append(None)
        kept = Original(properties)
        if i < MOST:
            self.variables[i] = None
            if variable.kind == "number" and variable.shape and "enum" not in described.storage:
                self.variables[i] = _Known(escape(place.name), place, list(described.dims), variable, kept)
        return variable, kept.copy()  # arrays of the header are for all files that have them


def dataset_entry(record: Original, attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a dataset."""
    copied = record.copy()
    return {**({PROPERTY: copied} if copied else {}), **attributes}


def escaped(attributes: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return attributes of the dataset by their keys."""
    if prefix:
        return {escape(prefix + name): value for name, value in attributes.items()}
    return {escape(name) if name[0] in ESCAPED else name: value for name, value in attributes.items()}
