"""The catalog of a classic file, reused from earlier files with the same header entries.

`classic.read_header` returns identical attribute objects for variables of which two headers have the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from numpy.typing import NDArray

from .... import classic
from ....base.once import OnDemand
from ....datasets import META, escape
from ....errors import DsError
from ....kernels.header.memory import Original
from ....model.missing import SENTINEL_ATTRIBUTES
from ...library.catalog import Catalog, DescribedFile, DescribedGroup, DescribedVariable, FileVariable
from ..catalog import ReadScalar, Uses, dataset_record, describe_classic_variable, read_variable
from ..format import MARKER, take_marker
from ..recalled import CHARACTER, Memory, dataset_entry, escaped

LARGE = 10_000
"""Variables beyond which their metadata are made on access."""


class ClassicMemory(Memory[classic.ClassicVariable]):
    """Metadata of the file before; see `Memory`."""

    idle: ClassVar[list[Any]] = []

    @staticmethod
    def is_same(place: classic.ClassicVariable, known: classic.ClassicVariable) -> bool:
        """Compare attributes and names; see `Memory`."""
        return place.attributes is known.attributes and place.name == known.name

    def dims(self, place: classic.ClassicVariable) -> list[str]:
        """Look names up; see `Memory`."""
        return [self.names[dim] for dim in place.dims]

    @staticmethod
    def positions(header: classic.ClassicHeader) -> Sequence[classic.ClassicVariable]:
        """See `Memory`."""
        return header.variables

    def described(
        self, header: classic.ClassicHeader, place: classic.ClassicVariable, position: classic.ClassicVariable
    ) -> DescribedVariable:
        """See `Memory`."""
        return describe_classic_variable(place, self.dims(place), position)

    @staticmethod
    def settings(header: classic.ClassicHeader) -> str:
        """See `Memory`."""
        return header.format

    @staticmethod
    def file(header: classic.ClassicHeader) -> DescribedFile:
        """See `Memory`."""
        return DescribedFile(header.format, header.dimensions, [DescribedGroup("", {}, [])], [])

    @staticmethod
    def attributes(header: classic.ClassicHeader) -> dict[str, Any]:
        """See `Memory`."""
        take_marker(header.attributes)
        return escaped(header.attributes)


def is_large(header: classic.ClassicHeader) -> bool:
    """Return whether a file has so many variables that their metadata are made on access."""
    return len(header.variables) > LARGE


def catalog_of(header: classic.ClassicHeader, path: str, read_scalar: ReadScalar) -> Catalog | LargeCatalog:
    """Return what `catalog.read_catalog` does of a header, which is not changed."""
    if is_large(header):
        return LargeCatalog(header, read_scalar)
    return ClassicMemory.recall(header, read_scalar).catalog(path)


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
        form = ClassicMemory()
        form.names = [dimension.name for dimension in header.dimensions]
        self._form, self._header = form, header
        unlimited = [dimension.name for dimension in header.dimensions if dimension.is_record]
        self._unlimited = frozenset(unlimited)
        self._joins = form.find_joins(header.variables)
        # the file may be closed when their metadata are made
        scalars = [place for place in header.variables if not place.shape and _has_sentinels(place)]
        self._scalars = {place.name: read_scalar(place) for place in scalars}
        self._places = {escape(place.name): place for place in header.variables}
        uses = Uses()
        for key, place in self._places.items():
            if MARKER in place.attributes:
                uses.add([self._entry(key)])
            else:
                dims = form.dims(place)
                if place.code == CHARACTER and dims and dims[-1] in self._joins:
                    uses.characters[dims[-1]] = None
                    dims = dims[:-1]
                uses.dims.update(dict.fromkeys(dims))
        record = Original(dataset_record(form.file(header), uses, unlimited))
        self._dataset = Original(dataset_entry(record, form.attributes(header)))
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
        place = self._places[key]
        described = self._form.described(self._header, place, place)
        return read_variable(described, self._unlimited, self._joins, self._scalar)

    def _scalar(self, place: classic.ClassicVariable) -> NDArray[Any] | None:
        return self._scalars[place.name]


def _has_sentinels(place: classic.ClassicVariable) -> bool:
    return not place.attributes.keys().isdisjoint(SENTINEL_ATTRIBUTES)
