"""What the header of a classic file says, where files before it said the same.

The files of an archive have the same variables, described in the same words; `classic.read_header` gives the very same
attributes then. What became of them the time before is not found out again.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from .... import classic
from ....conventions import BOUNDS
from ....dataset import META, escape
from ...library.catalog import Catalog, joinable
from ..catalog import ESCAPED, NetCDFVariable, ReadScalar, Uses, dataset_record, read_variable
from ..description import Described, DescribedFile, DescribedGroup
from ..losses import warn
from ..marker import take_marker
from ..storage import PROPERTY

IDLE = 8
"""Most memories that are kept for others."""
CHARACTER = "S1"
MOST = 256
"""Variables that are remembered."""
PARENTS = frozenset(BOUNDS)
"""Attributes of a coordinate that name its bounds."""

_idle: list[_Memory] = []


def catalog_of(
    header: classic.Header,
    path: str,
    read_scalar: ReadScalar,
    *,
    keys: Collection[str] | None = None,
    lends: bool = False,
) -> Catalog[NetCDFVariable]:
    """Return what `catalog.read_catalog` does of a header.

    Parameters
    ----------
    header : Header
        Nobody changes its attributes.
    path : str
        For warnings.
    read_scalar : callable
        See `catalog.read_catalog`.
    keys : collection of str, optional
        Keys of the variables to return; None: all. Variables that name bounds are returned as well, since their
        attributes hold for the bounds.
    lends : bool
        Whether variables may be those of files before, for `ClassicValues.read_whole`, which is told of their places.
        Then nobody may change them.
    """
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
    variable: NetCDFVariable
    properties: dict[str, Any]
    arrays: list[str]
    """Which properties are arrays."""

    def at(self, place: classic.Variable) -> NetCDFVariable:
        """Return the variable at another place."""
        old = self.variable
        return NetCDFVariable(
            name=old.name, type=old.type, kind=old.kind, shape=place.shape, length=None, size=old.size, chunk=None,
            sentinels=old.sentinels, mark=None, is_decoded=False, place=place, growing=(), sought=old.sought,
        )  # fmt: skip

    def said_of(self, place: classic.Variable) -> dict[str, Any]:
        """Return its properties and attributes there."""
        properties = self.properties.copy()
        properties[".dims"] = self.dims.copy()
        properties[".size"] = list(place.shape)
        if PROPERTY in properties:
            properties[PROPERTY] = properties[PROPERTY].copy()
        for key in self.arrays:
            properties[key] = properties[key].copy()
        return properties


class _Memory:
    """What the file before said; for one call at a time."""

    def __init__(self) -> None:
        self.variables: list[_Known | None] = []
        self.dimensions: tuple[classic.Dimension, ...] = ()
        self.names: list[str] = []
        self.unlimited: list[str] = []
        self.record: tuple[str, dict[str, Any]] | None = None
        """Format, and what the variables do not tell about the file."""

    def catalog(
        self,
        header: classic.Header,
        path: str,
        read_scalar: ReadScalar,
        keys: Collection[str] | None,
        lends: bool,
    ) -> Catalog[NetCDFVariable]:
        """Return the catalog of a file, and remember it."""
        catalog: Catalog[NetCDFVariable] = Catalog(path, False, warn)
        variables, meta = catalog.variables, catalog.meta
        uses = Uses()
        is_same = header.dimensions == self.dimensions and len(header.variables) == len(self.variables)
        if header.dimensions != self.dimensions:
            self._take_dimensions(header)
        joins: frozenset[str] = frozenset()
        if any(place.code == CHARACTER for place in header.variables):
            dims = [([self.names[dim] for dim in place.dims], place.code) for place in header.variables]
            joins = joinable((place.name for place in header.variables), dims)
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
        attributes = header.attributes
        take_marker(attributes)
        own = {escape(name) if name[0] in ESCAPED else name: value for name, value in attributes.items()}
        if not is_same or self.record is None or self.record[0] != header.format:
            file = DescribedFile(header.format, header.dimensions, [DescribedGroup("", {}, [])], [])
            uses.add(meta.values())
            self.record = header.format, dataset_record(file, uses, self.unlimited)
        record = {name: value if isinstance(value, str) else value.copy() for name, value in self.record[1].items()}
        meta[META] = {**({PROPERTY: record} if record else {}), **own}
        return catalog

    def _take_dimensions(self, header: classic.Header) -> None:
        names = [dimension.name for dimension in header.dimensions]
        unlimited = [dimension.name for dimension in header.dimensions if dimension.is_record]
        if names != self.names or unlimited != self.unlimited:
            self.variables = []
        self.dimensions, self.names, self.unlimited = header.dimensions, names, unlimited

    def _read(
        self, i: int, place: classic.Variable, joins: frozenset[str], read_scalar: ReadScalar
    ) -> tuple[NetCDFVariable, dict[str, Any]]:
        """Return what is said of a variable, and remember it, unless its values decide."""
        name, dims, attributes, code, shape, _, _ = place
        names = [self.names[dim] for dim in dims]
        described = Described(name, names, shape, code, dict(attributes), [], True, {}, None, place)
        variable, properties = read_variable(described, frozenset(self.unlimited), joins, read_scalar)
        while len(self.variables) <= i < MOST:
            self.variables.append(None)
        if i < MOST:
            self.variables[i] = None
            arrays = [key for key, value in properties.items() if isinstance(value, np.ndarray)]
            for key in arrays:
                # those of the header are for all files that have them
                properties[key] = properties[key].copy()
            if variable.kind == "number" and variable.shape and _is_flat(properties):
                self.variables[i] = _Known(escape(name), attributes, names, variable, _kept(properties, arrays), arrays)
        return variable, properties


def _kept(properties: dict[str, Any], arrays: list[str]) -> dict[str, Any]:
    """Return properties that nobody else can change."""
    kept = properties | {key: properties[key].copy() for key in arrays}
    if PROPERTY in kept:
        kept[PROPERTY] = kept[PROPERTY].copy()
    return kept


def _is_flat(properties: dict[str, Any]) -> bool:
    """Return whether properties have no values inside of values but those that `_Known.said_of` copies."""
    flat = (str, bool, np.generic, np.ndarray)
    record = properties.get(PROPERTY, {})
    others = [value for key, value in properties.items() if key not in (".dims", ".size", PROPERTY)]
    return all(isinstance(value, flat) for value in [*record.values(), *others])
