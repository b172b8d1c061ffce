"""The metadata of a classic file, reused from earlier files with the same header entries.

The files of an archive describe the same variables in the same way. `classic.read_header` then returns identical
attribute objects, and the metadata made from them the time before are reused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray

from .... import classic
from ....base.once import OnDemand
from ....dataset import META, escape
from ....errors import DsError
from ....kernels.header.memory import Original
from ....model.conventions import BOUNDS
from ...library.catalog import Catalog, DescribedFile, DescribedGroup, DescribedVariable, FileVariable, joinable
from ..catalog import (
    ESCAPED,
    SENTINEL_ATTRIBUTES,
    ReadScalar,
    Uses,
    dataset_record,
    read_variable,
)  # fmt: skip
from ..format import MARKER, PROPERTY, take_marker, warn

IDLE = 8
"""Most memories that are kept for others."""
CHARACTER = "S1"
MOST = 256
"""Variables that are remembered."""
LARGE = 10_000
"""Variables beyond which their metadata are made on access."""
PARENTS = frozenset(BOUNDS)
"""Attributes of a coordinate that name its bounds."""

_idle: list[_Memory] = []


def catalog_of(
    header: classic.ClassicHeader,
    path: str,
    read_scalar: ReadScalar,
    *,
    keys: Collection[str] | None = None,
    lends: bool = False,
) -> Catalog | LargeCatalog:
    """Return what `catalog.read_catalog` does of a header.

    Parameters
    ----------
    header : Header
        Its attributes are not changed.
    path : str
        For warnings.
    read_scalar : callable
        See `catalog.read_catalog`.
    keys : collection of str, optional
        Keys of the variables to return; None: all. Variables that name bounds are returned as well, since their
        attributes hold for the bounds.
    lends : bool
        Whether variables may be those of earlier files, for `ClassicValues.read_whole`, which takes their positions as
        an argument. They must then not be changed.
    """
    if keys is None and len(header.variables) > LARGE:
        return LargeCatalog(header, read_scalar)
    try:
        memory = _idle.pop()
    except IndexError:
        memory = _Memory()
    catalog = memory.catalog(header, path, read_scalar, keys, lends)
    if len(_idle) < IDLE:  # after an error it may remember parts of two files
        _idle.append(memory)
    return catalog


class _Known(NamedTuple):
    """A variable of a file before."""

    key: str
    attributes: dict[str, Any]
    """In the file."""
    dims: list[str]
    variable: FileVariable
    properties: Original

    def at(self, place: classic.ClassicVariable) -> FileVariable:
        """Return the variable at another place."""
        old = self.variable
        return FileVariable(
            name=old.name, type=old.type, kind=old.kind, shape=place.shape, length=None, size=old.size, chunk=None,
            sentinels=old.sentinels, mark=None, is_decoded=False, place=place, growing=(), sought=old.sought,
        )  # fmt: skip

    def said_of(self, place: classic.ClassicVariable) -> dict[str, Any]:
        """Return its properties and attributes there."""
        properties = self.properties.copy()
        properties[".size"] = list(place.shape)
        return properties


class _Memory:
    """Metadata of the file before; for one call at a time."""

    def __init__(self) -> None:
        self.variables: list[_Known | None] = []
        self.dimensions: tuple[classic.Dimension, ...] = ()
        self.names: list[str] = []
        self.unlimited: list[str] = []
        self.record: tuple[str, Original] | None = None
        """Format, and settings of the file that its variables do not have."""

    def catalog(
        self,
        header: classic.ClassicHeader,
        path: str,
        read_scalar: ReadScalar,
        keys: Collection[str] | None,
        lends: bool,
    ) -> Catalog:
        """Return the catalog of a file, and remember it."""
        catalog: Catalog = Catalog(path, False, warn)
        variables, meta = catalog.variables, catalog.meta
        uses = Uses()
        is_same = header.dimensions == self.dimensions and len(header.variables) == len(self.variables)
        if header.dimensions != self.dimensions:
            self._take_dimensions(header)
        joins = _joins(header, self.names)
        for i, place in enumerate(header.variables):
            known = self.variables[i] if i < len(self.variables) else None
            if known is not None and known.attributes is place.attributes and known.variable.name == place.name:
                # where the dimensions have other names, nothing is left in memory
                key = known.key
                if keys is not None and key not in keys and PARENTS.isdisjoint(known.attributes):
                    uses.dims.update(known.dims)
                    continue
                variables[key] = known.variable if lends else known.at(place)
                meta[key] = known.said_of(place)
            else:
                is_same = False
                key = escape(place.name)
                variable, properties = self._read(i, place, joins, read_scalar)
                if keys is None or key in keys or not PARENTS.isdisjoint(properties):
                    variables[key], meta[key] = variable, properties
                else:
                    uses.add([properties])
        del self.variables[len(header.variables) :]
        if not is_same or self.record is None or self.record[0] != header.format:
            uses.add(meta.values())
            self.record = header.format, _dataset_record(header, uses, self.unlimited)
        meta[META] = _dataset_entry(header, self.record[1])
        return catalog

    def _take_dimensions(self, header: classic.ClassicHeader) -> None:
        names = [dimension.name for dimension in header.dimensions]
        unlimited = [dimension.name for dimension in header.dimensions if dimension.is_record]
        if names != self.names or unlimited != self.unlimited:
            self.variables = []
        self.dimensions, self.names, self.unlimited = header.dimensions, names, unlimited

    def _read(
        self, i: int, place: classic.ClassicVariable, joins: frozenset[str], read_scalar: ReadScalar
    ) -> tuple[FileVariable, dict[str, Any]]:
        """Return a variable and its metadata, and remember them unless they depend on its values."""
        described = _described(place, self.names)
        variable, properties = read_variable(described, frozenset(self.unlimited), joins, read_scalar)
        while len(self.variables) <= i < MOST:
            self.variables.append(None)
        if i < MOST:
            self.variables[i] = None
            kept = Original(properties)
            properties = kept.copy()  # arrays of the header are for all files that have them
            if variable.kind == "number" and variable.shape:
                known = _Known(escape(place.name), place.attributes, list(described.dims), variable, kept)
                self.variables[i] = known
        return variable, properties


class LargeCatalog:
    """A catalog of a file with very many variables, which needs no memory per variable in addition to the header.

    Parameters
    ----------
    header : Header
    read_scalar : callable
        See `catalog.read_catalog`.

    Attributes
    ----------
    meta : mapping
        Each look-up makes an entry, which shares nothing that can be changed.
    variables : mapping
    faults : mapping
    """

    def __init__(self, header: classic.ClassicHeader, read_scalar: ReadScalar):
        self._names = [dimension.name for dimension in header.dimensions]
        unlimited = [dimension.name for dimension in header.dimensions if dimension.is_record]
        self._unlimited = frozenset(unlimited)
        self._joins = _joins(header, self._names)
        # the file may be closed when their metadata are made
        scalars = [place for place in header.variables if not place.shape and _has_sentinels(place)]
        self._scalars = {place.name: read_scalar(place) for place in scalars}
        self._places = {escape(place.name): place for place in header.variables}
        uses = Uses()
        for key, place in self._places.items():
            if MARKER in place.attributes:
                uses.add([self._entry(key)])
            else:
                uses.dims.update([self._names[dim] for dim in place.dims])
        self._dataset = Original(_dataset_entry(header, _dataset_record(header, uses, unlimited)))
        self.variables = OnDemand(self._places, self._variable)
        self.meta = OnDemand(dict.fromkeys([*self._places, META]), self._entry)
        self.faults: Mapping[str, DsError] = {}

    def _variable(self, key: str) -> FileVariable:
        return self._read(key)[0]

    def _entry(self, key: str) -> dict[str, Any]:
        if key == META:
            return self._dataset.copy()
        return Original(self._read(key)[1]).copy()

    def _read(self, key: str) -> tuple[FileVariable, dict[str, Any]]:
        described = _described(self._places[key], self._names)
        return read_variable(described, self._unlimited, self._joins, self._scalar)

    def _scalar(self, place: classic.ClassicVariable) -> NDArray[Any] | None:
        return self._scalars[place.name]


def _has_sentinels(place: classic.ClassicVariable) -> bool:
    return not SENTINEL_ATTRIBUTES.isdisjoint(place.attributes)


def _joins(header: classic.ClassicHeader, names: list[str]) -> frozenset[str]:
    """Return the dimensions along which characters are joined."""
    if all(place.code != CHARACTER for place in header.variables):
        return frozenset()
    dims = (([names[dim] for dim in place.dims], place.code) for place in header.variables)
    return joinable((place.name for place in header.variables), dims)


def _described(place: classic.ClassicVariable, names: list[str]) -> DescribedVariable:
    dims = [names[dim] for dim in place.dims]
    return DescribedVariable(
        place.name, dims, place.shape, place.code, dict(place.attributes), [], True, {}, None, place
    )


def _dataset_record(header: classic.ClassicHeader, uses: Uses, unlimited: list[str]) -> Original:
    file = DescribedFile(header.format, header.dimensions, [DescribedGroup("", {}, [])], [])
    return Original(dataset_record(file, uses, unlimited))


def _dataset_entry(header: classic.ClassicHeader, record: Original) -> dict[str, Any]:
    """Return the metadata of the dataset; attributes of the header lose the marker."""
    attributes = header.attributes
    take_marker(attributes)
    own = {escape(name) if name[0] in ESCAPED else name: value for name, value in attributes.items()}
    copied = record.copy()
    return {**({PROPERTY: copied} if copied else {}), **own}
