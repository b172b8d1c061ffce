"""The metadata of a netCDF-4 file, reused from earlier files whose objects say the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ....hdf5 import DatasetPlace
from ...library.catalog import DescribedFile, DescribedVariable
from ..format import take_marker
from ..recalled import Memory, escaped
from .description import FileOutline, OutlinedVariable

CHANGEABLE = frozenset((list, np.ndarray))
"""Types of values of attributes that users may change."""


class NetCDF4Memory(Memory[OutlinedVariable]):
    """Metadata of the file before; see `Memory`."""

    idle: ClassVar[list[Any]] = []

    @staticmethod
    def is_same(place: OutlinedVariable, known: OutlinedVariable) -> bool:
        """Compare what the objects say; see `Memory`."""
        if place is known:
            return True
        if place.name != known.name or place.dims != known.dims:
            return False
        one, other = place.dataset, known.dataset
        return (
            one.type == other.type
            and one.layout.chunk == other.layout.chunk
            and one.filters == other.filters
            and (one.fill is None) is (other.fill is None)
            and one.strings == other.strings
            and _are_same(place.attributes, known.attributes)
        )

    def dims(self, place: OutlinedVariable) -> list[str]:
        """See `Memory`."""
        return place.dims

    @staticmethod
    def positions(header: FileOutline) -> Sequence[DatasetPlace]:
        """See `Memory`."""
        return header.places

    def described(self, header: FileOutline, place: OutlinedVariable, position: DatasetPlace) -> DescribedVariable:
        """See `Memory`."""
        return header.described(place, position)

    @staticmethod
    def settings(header: FileOutline) -> Any:
        """See `Memory`."""
        return header.format, [(group.prefix, group.strings) for group in header.groups], header.enums.records

    @staticmethod
    def file(header: FileOutline) -> DescribedFile:
        """See `Memory`."""
        return DescribedFile(header.format, header.dimensions, header.groups, [], list(header.enums.records.items()))

    @staticmethod
    def attributes(header: FileOutline) -> dict[str, Any]:
        """Return attributes that the caller may change; see `Memory`."""
        found: dict[str, Any] = {}
        for prefix, attributes, _ in header.groups:
            own = attributes.copy()
            if not CHANGEABLE.isdisjoint(map(type, own.values())):
                own = {name: value.copy() if type(value) in CHANGEABLE else value for name, value in own.items()}
            take_marker(own)
            found |= escaped(own, prefix)
        return found


def _are_same(attributes: dict[str, Any], known: dict[str, Any]) -> bool:
    """Return whether attributes have the same values, to the last bit, in the same order."""
    if attributes is known:
        return True
    return [*attributes] == [*known] and all(map(_is_same_value, attributes.values(), known.values()))


def _is_same_value(value: Any, known: Any) -> bool:
    if value is known:
        return True
    if type(value) is not type(known):
        return False
    if type(value) is str or type(value) is list:
        return bool(value == known)
    return bool(value.dtype == known.dtype and value.shape == known.shape and value.tobytes() == known.tobytes())
