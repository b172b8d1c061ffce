"""The catalog of a classic file, reused from earlier files with the same header entries.

`classic.read_header` returns identical attribute objects for variables of which two headers have the same bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from .... import classic
from ....base.once import OnDemand
from ....dataset import META, escape
from ....errors import DsError
from ....kernels.header.memory import Original
from ....model.missing import SENTINEL_ATTRIBUTES
from ...library.catalog import Catalog, DescribedFile, DescribedGroup, DescribedVariable, FileVariable
from ..catalog import ReadScalar, Uses, dataset_record, describe_classic_variable, read_variable
from ..format import MARKER, take_marker
from ..recalled import CHARACTER, Memory, RecalledFile, RecalledVariable, dataset_entry, escaped, recalled_variable

IDLE = 8
"""Most memories that are kept for others."""
LARGE = 10_000
"""Variables beyond which their metadata are made on access."""


class ClassicMemory(Memory[classic.ClassicVariable]):
    """Metadata of the file before; see `Memory`."""

    def is_same(self, place: classic.ClassicVariable, known: classic.ClassicVariable) -> bool:
        """Compare attributes and names; see `Memory`."""
        return place.attributes is known.attributes and place.name == known.name

    def dims(self, place: classic.ClassicVariable) -> list[str]:
        """Look names up; see `Memory`."""
        return [self.names[dim] for dim in place.dims]

    def positions(self, header: classic.ClassicHeader) -> Sequence[classic.ClassicVariable]:
        """See `Memory`."""
        return header.variables

    def described(self, place: classic.ClassicVariable, position: classic.ClassicVariable) -> DescribedVariable:
        """See `Memory`."""
        return describe_classic_variable(place, self.dims(place), position)

    def moved(
        self, variable: FileVariable, place: classic.ClassicVariable, position: classic.ClassicVariable
    ) -> FileVariable:
        """See `Memory`."""
        shape = place.shape if variable.length is None else place.shape[:-1]
        return FileVariable(
            variable.name, variable.type, variable.kind, shape, variable.length, variable.size, variable.chunk,
            variable.sentinels, variable.mark, variable.is_decoded, position, variable.sought, variable.growing,
        )  # fmt: skip

    def settings(self, header: classic.ClassicHeader) -> str:
        """See `Memory`."""
        return header.format

    def file(self, header: classic.ClassicHeader) -> DescribedFile:
        """See `Memory`."""
        return DescribedFile(header.format, header.dimensions, [DescribedGroup("", {}, [])], [])

    def attributes(self, header: classic.ClassicHeader) -> dict[str, Any]:
        """See `Memory`; attributes of the header lose the marker."""
        take_marker(header.attributes)
        return escaped(header.attributes)


_idle: list[ClassicMemory] = []


def catalog_of(header: classic.ClassicHeader, path: str, read_scalar: ReadScalar) -> Catalog | LargeCatalog:
    """Return what `catalog.read_catalog` does of a header, which is not changed."""
    if len(header.variables) > LARGE:
        return LargeCatalog(header, read_scalar)
    return recall(header, read_scalar).catalog(path)


def recall(
    header: classic.ClassicHeader, read_scalar: ReadScalar, keys: Collection[str] | None = None, lends: bool = False
) -> RecalledFile:
    """Return the variables of a file and their metadata; parameters as of `Memory.recall`."""
    if keys is None and len(header.variables) > LARGE:
        return LargeCatalog(header, read_scalar).recalled()
    try:
        memory = _idle.pop()
    except IndexError:
        memory = ClassicMemory()
    recalled = memory.recall(header, read_scalar, keys, lends)
    if len(_idle) < IDLE:  # after an error it may remember parts of two files
        _idle.append(memory)
    return recalled


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
        self._form = form
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

    def recalled(self) -> RecalledFile:
        """Return all of it for one pass."""
        return RecalledFile(
            map(self._recalled, self._places), self._places.values(), self._entry(META), True, self.meta
        )

    def _recalled(self, key: str) -> RecalledVariable:
        return recalled_variable(self._places[key], *self._read(key))

    def _variable(self, key: str) -> FileVariable:
        return self._read(key)[0]

    def _entry(self, key: str) -> dict[str, Any]:
        if key == META:
            return self._dataset.copy()
        return Original(self._read(key)[1]).copy()

    def _read(self, key: str) -> tuple[FileVariable, dict[str, Any]]:
        place = self._places[key]
        described = self._form.described(place, place)
        return read_variable(described, self._unlimited, self._joins, self._scalar)

    def _scalar(self, place: classic.ClassicVariable) -> NDArray[Any] | None:
        return self._scalars[place.name]


def _has_sentinels(place: classic.ClassicVariable) -> bool:
    return not place.attributes.keys().isdisjoint(SENTINEL_ATTRIBUTES)
