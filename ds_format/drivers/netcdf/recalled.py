"""The metadata of a NetCDF file, reused from earlier files that say the same of a variable.

The files of an archive describe the same variables in the same way. Where a variable is described as the one in its
place in the file before, copies of the metadata made from that one are returned.
"""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.ma import nomask

from ...base.dtypes import TYPES
from ...datasets import META, escape
from ...kernels.common.finishing import Finisher
from ...kernels.header.memory import Original
from ...model import packing
from ...model.conventions import BOUNDS
from ...model.marks import settle
from ..library.catalog import Catalog, DescribedFile, DescribedVariable, FileVariable, joinable
from .catalog import ESCAPED, ReadScalar, Uses, dataset_record, read_variable
from .format import PROPERTY, warn

CHARACTER = "S1"
MOST = 256
"""Variables that are remembered."""
IDLE = 8
"""Most memories of a subclass that are kept for others."""
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


class ReturnedForm(NamedTuple):
    """How `ds_format.read` returns a variable: as it is stored, or unpacked."""

    finisher: Finisher | None
    """Makes its values; None: it has no data."""
    complete: Original
    """Metadata if no value is missing, with the size that the variable had in the first such file."""
    partial: Original | None
    """The same if a value is missing; None: they depend on the number that marks missing values."""
    marked: dict[Any, Original]
    """The same by this number, if it is that of all missing values. It is filled as files are read."""

    def entry(self, of: RecalledVariable, value: Any, is_finished: bool) -> dict[str, Any]:
        """Return the metadata of a variable, which has this form, in a file.

        Parameters
        ----------
        of : RecalledVariable
        value : object
            Its value in the file.
        is_finished : bool
            Whether the finisher made it.
        """
        original, mark = self.partial, None
        if value is None:
            original = None
        elif getattr(value, "_mask", nomask) is nomask:
            original = self.complete
        elif original is None and is_finished:
            marks = np.ma.getdata(value)[np.ma.getmask(value)]
            if (marks == marks[0]).all():
                mark = marks[0].item()
                original = self.marked.get(mark)
        if original is None:
            entry: dict[str, Any] = settle(without_missing(of.entry()), value)
            if mark is None:
                return entry
            original = self.marked[mark] = Original(entry)
        properties = original.copy()
        if of.variable.shape is not None:
            properties[".size"] = list(of.variable.shape)
        return properties


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
    stored: ReturnedForm
    unpacked: ReturnedForm | None
    """None: its values are not packed."""
    names_bounds: bool

    def entry(self) -> dict[str, Any]:
        """Return the metadata in this file."""
        properties = self.properties.copy()
        if self.variable.shape is not None:
            properties[".size"] = list(self.variable.shape)
        return properties


class RecalledFile(NamedTuple):
    """The requested variables of a file, and the metadata of its dataset."""

    variables: list[RecalledVariable]
    positions: Sequence[Any]
    """Where their values are, for `NativeValues.read_whole`."""
    entry: dict[str, Any]
    """Metadata of the dataset."""

    def catalog(self, path: str) -> Catalog:
        """Return the catalog of the file; the path is for warnings."""
        catalog: Catalog = Catalog(path, False, warn)
        for each in self.variables:
            catalog.variables[each.key], catalog.meta[each.key] = each.variable, each.entry()
        catalog.meta[META] = self.entry
        return catalog


class Memory(Generic[V]):
    """Metadata of the file before; for one call at a time. A subclass knows the form of headers."""

    idle: ClassVar[list[Any]]
    """Memories of this class that no call uses."""

    def __init__(self) -> None:
        self.variables: list[Any] = []
        """A `RecalledVariable` each; None: it depends on its values."""
        self.places: Sequence[V] | None = None
        """The variables of its header, of which it remembers all; otherwise None."""
        self.joins: frozenset[str] = frozenset()
        """Dimensions along which characters are joined."""
        self.dimensions: Sequence[tuple[str, int, bool]] = ()
        self.names: list[str] = []
        """Names of the dimensions."""
        self.unlimited: list[str] = []
        self.record: tuple[Any, Original] | None = None
        """Format, groups and types, and the settings of the file that its variables do not have."""

    @staticmethod
    @abstractmethod
    def is_same(place: V, known: V) -> bool:
        """Return whether two files say the same of a variable, except for its shape and position.

        The dimensions of both files have the same names.
        """

    @abstractmethod
    def dims(self, place: V) -> list[str]:
        """Return the names of the dimensions of a variable."""

    @staticmethod
    @abstractmethod
    def positions(header: Any) -> Sequence[Any]:
        """Return where the values of the variables of a header are, as `NativeValues` takes it."""

    @abstractmethod
    def described(self, header: Any, place: V, position: Any) -> DescribedVariable:
        """Return the description of a variable. Its attributes may be changed, but not what is in them."""

    @staticmethod
    @abstractmethod
    def settings(header: Any) -> Any:
        """Return format, groups and types of a file, in a form that can be compared."""

    @staticmethod
    @abstractmethod
    def file(header: Any) -> DescribedFile:
        """Return the description of a file without its variables."""

    @staticmethod
    @abstractmethod
    def attributes(header: Any) -> dict[str, Any]:
        """Return the attributes of the dataset by their keys. Those of the header may lose the marker."""

    @classmethod
    def are_alike(cls, header: Any, known: Any) -> bool:
        """Return whether two headers may differ only in attributes of the dataset, and in shapes and positions."""
        return (
            header.dimensions == known.dimensions
            and len(header.variables) == len(known.variables)
            and cls.settings(header) == cls.settings(known)
            and all(map(cls.is_same, header.variables, known.variables))
        )

    @classmethod
    def recall(
        cls, header: Any, read_scalar: ReadScalar, keys: Collection[str] | None = None, lends: bool = False
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
        try:
            memory: Memory[V] = cls.idle.pop()
        except IndexError:
            memory = cls()
        recalled = memory._recall(header, read_scalar, keys, lends)
        if len(cls.idle) < IDLE:  # after an error it may remember parts of two files
            cls.idle.append(memory)
        return recalled

    def _recall(self, header: Any, read_scalar: ReadScalar, keys: Collection[str] | None, lends: bool) -> RecalledFile:
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
            found, positions, record = self._recall_each(header, settings, read_scalar, keys, lends)
            entry = dataset_entry(record, self.attributes(header))
        return RecalledFile(found, positions, entry)

    def _remembers(self, places: Sequence[V]) -> bool:
        """Return whether these variables are the remembered ones, in the same shapes. The dimensions are the same."""
        if places is self.places:
            return True
        if self.places is None or len(places) != len(self.variables):
            return False
        for place, known in zip(places, self.variables, strict=True):
            if not self.is_same(place, known.place) or place.shape != known.variable.shape_in_file:
                return False
        self.places = places
        return True

    def _recall_each(
        self, header: Any, settings: Any, read_scalar: ReadScalar, keys: Collection[str] | None, lends: bool
    ) -> tuple[list[RecalledVariable], list[Any], Original]:
        """Return the variables one by one, where their values are, and the settings that they do not have."""
        places: Sequence[V] = header.variables
        is_same = header.dimensions == self.dimensions and len(places) == len(self.variables)
        self.places = None
        if header.dimensions != self.dimensions:
            self._take_dimensions(header.dimensions)
        joins = self.find_joins(places)
        if joins != self.joins:
            self.variables, self.joins = [], joins
        found, asked, uses = [], [], Uses()
        for i, (place, position) in enumerate(zip(places, self.positions(header), strict=True)):
            known: RecalledVariable | None = self.variables[i] if i < len(self.variables) else None
            # where the dimensions have other names, nothing is left in memory
            is_known = known is not None and self.is_same(place, known.place) and _has_same_length(place, known)
            is_same = is_same and is_known
            each = known if known is not None and is_known else self._read(i, header, place, position, read_scalar)
            uses.update(each.uses)
            if is_known and place.shape != each.variable.shape_in_file:
                # `places` of this file stand for what is remembered, so its shapes are
                each = self.variables[i] = each._replace(variable=_moved(each.variable, place, position))
            if keys is None or each.names_bounds or each.key in keys:
                if is_known and not lends:
                    each = each._replace(variable=_moved(each.variable, place, position))
                found.append(each)
                asked.append(position)
        del self.variables[len(places) :]
        if not is_same or self.record is None or self.record[0] != settings:
            self.record = settings, Original(dataset_record(self.file(header), uses, self.unlimited))
        if len(self.variables) == len(places) and None not in self.variables:
            self.places = places
        return found, asked, self.record[1]

    def find_joins(self, places: Sequence[V]) -> frozenset[str]:
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

    def _read(self, i: int, header: Any, place: V, position: Any, read_scalar: ReadScalar) -> RecalledVariable:
        """Return a variable and its metadata, and remember them unless they depend on its values."""
        described = self.described(header, place, position)
        variable, properties = read_variable(described, frozenset(self.unlimited), self.joins, read_scalar)
        while len(self.variables) <= i < MOST:
            self.variables.append(None)
        kept = _recalled_variable(place, variable, properties)
        if i < MOST:
            is_own = variable.shape is None or "enum" in described.storage  # also in what the file says of it elsewhere
            by_value = not variable.shape and len(variable.sentinels) > 1
            self.variables[i] = None if is_own or by_value else kept
        return kept


def _moved(variable: FileVariable, place: HeaderVariable, position: Any) -> FileVariable:
    """Return a variable of the file before as it is in this file."""
    shape = place.shape if variable.length is None else place.shape[:-1]
    return FileVariable(
        variable.name, variable.type, variable.kind, shape, variable.length, variable.size, variable.chunk,
        variable.sentinels, variable.mark, variable.is_decoded, position, variable.sought, variable.growing,
    )  # fmt: skip


def _recalled_variable(place: HeaderVariable, variable: FileVariable, properties: dict[str, Any]) -> RecalledVariable:
    """Return a variable, which is at a place of the header, with its metadata."""
    stored = ReturnedForm(_finisher(variable, None), *_originals(variable, properties), {})
    unpacked = None
    if packing.is_unpacked_by(True, properties):
        numbers = tuple([properties.get(name) for name in packing.ATTRIBUTES])
        entry = Original(without_missing(packing.unpacked_meta(properties)))
        unpacked = ReturnedForm(_finisher(variable, numbers), entry, entry, {})
    # arrays of the header are for all files that have them, so copies are made of these properties, too
    return RecalledVariable(
        escape(place.name), place, Uses([properties]), variable, Original(properties), stored, unpacked,
        not PARENTS.isdisjoint(properties),
    )  # fmt: skip


def _has_same_length(place: HeaderVariable, known: RecalledVariable) -> bool:
    """Return whether strings have as many characters as those of the file before, where metadata tell how many."""
    length = known.variable.length
    return length is None or place.shape[-1] == length


def _finisher(variable: FileVariable, numbers: tuple[Any, ...] | None) -> Finisher | None:
    """Return what becomes of the values of a variable, unpacked by some numbers unless these are None."""
    if variable.shape is None or (variable.kind == "number" and TYPES[variable.type].size != variable.size):
        return None  # no data, or numbers of another size than those of the type
    mark: str | bytes | None = variable.mark
    is_text = variable.type == "unicode"
    if isinstance(mark, str) and not is_text:
        mark = mark.encode("utf-8", "surrogatepass")
    return Finisher(variable.kind, variable.sought, mark, is_text, variable.length is not None, numbers)


def _originals(variable: FileVariable, properties: dict[str, Any]) -> tuple[Original, Original | None]:
    """Return the metadata of a variable as `ds_format.read` returns them, without and with missing values."""
    entry = without_missing(dict(properties))
    record = entry.get(PROPERTY)
    if not isinstance(record, dict) or record.get("fill") != "default" or variable.kind != "number":
        original = Original(entry)
        return original, original
    complete = settle(entry, np.empty(0, np.dtype(TYPES[variable.type].code)))
    return Original(dict(complete)), None


def without_missing(entry: dict[str, Any]) -> dict[str, Any]:
    """Remove the property that only sources have, and return the metadata of a variable."""
    entry.pop(".missing", None)
    return entry


def dataset_entry(record: Original, attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a dataset."""
    copied = record.copy()
    return {**({PROPERTY: copied} if copied else {}), **attributes}


def escaped(attributes: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return attributes of the dataset by their keys."""
    if not prefix and ESCAPED.isdisjoint(map(_first, attributes)):
        return attributes
    return {escape(prefix + name): value for name, value in attributes.items()}
